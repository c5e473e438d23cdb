package dynamic

import "github.com/driftback/driftback"

type State struct{ X int64 }

type in struct{}

type thinker interface{ Think(s *State) }

type rules struct {
	run  func(*State)
	free func(*State)
}

var current = rules{run: func(s *State) { s.X++ }}

func Step(s *State, _ []in, _ *driftback.Pass) {
	var t thinker
	t.Think(s)      // want `dynamic: what Think runs here could not be found`
	current.run(s)  // it is seen what is put there
	current.free(s) // want `dynamic: the function that this value stands for could not be found`
	apply(func() { s.X-- })
}

func apply(f func()) { f() }
