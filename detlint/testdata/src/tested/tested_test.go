package tested

import (
	"time"

	"github.com/driftback/driftback"
)

type in struct{}

func step(s *State, _ []in, _ *driftback.Pass) {
	s.X = time.Now().Unix() // want `clock: time.Now`
}

var _ = step
