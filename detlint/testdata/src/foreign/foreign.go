package foreign

import "github.com/driftback/driftback"

type State struct{ X int64 }

type in struct{}

func Step(s *State, _ []in, _ *driftback.Pass) { s.X = fast(s.X) }

func fast(int64) int64 // want `foreign: fast has no body in Go, so nothing is known of it: write it in Go`
