package fixes

import "github.com/driftback/driftback"

type scale float32

type State struct {
	X, Y, V float64
	A, B    scale
}

type in struct{}

func Step(s *State, _ []in, _ *driftback.Pass) {
	s.X = s.X*s.V + s.Y     // want `fuse`
	s.A = s.B - (s.A * s.B) // want `fuse`
	s.V *= s.X - 1          // want `fuse`
	s.X = s.V + s.X*s.Y*s.X // want `fuse`
	s.Y += s.X
}
