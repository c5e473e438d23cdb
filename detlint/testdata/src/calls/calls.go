package calls

import (
	"calls/physics"
	"math/rand/v2"
	"sort"
	"time"

	"github.com/driftback/driftback"
)

type State struct {
	X int64
	F float64
}

type in struct{}

type move struct{ run func(*State) }

var moves = []move{{run: punch}, {run: func(s *State) { s.X = rand.Int64() }}} // want `random: rand.Int64`

func punch(s *State) { s.X = time.Now().Unix() } // want `clock: time.Now reads a clock.*\(from Step → .*punch\)`

var total int64

func Step(s *State, _ []in, _ *driftback.Pass) {
	s.X = physics.Sweep(1) // want `clock: time.Now reads a clock at physics/physics.go:24: count ticks in the state.*\(from Step → physics.Sweep → deep → now\)`
	s.X = physics.Known(1)
	s.F = physics.Table[1]        // want `math: math.Sin gives other last bits on other architectures at physics/physics.go:13`
	s.F = physics.Mul(2, s.F) + 1 // want `fuse: the product that physics.Mul returns may be fused`
	s.F = physics.Rounded(2, s.F) + 1
	physics.Raise(&s.X)
	physics.Raise(&total) // want `outside: Raise changes the package variable total`
	moves[0].run(s)
	var b physics.Body = heavy{}
	s.X += b.Weight() // want `clock: time.Now reads a clock at physics/physics.go:22.*Clocked.Weight`
	sort.Sort(byAge{})
	each(func(n int64) { s.X = n + roll() })
}

type heavy struct{}

func (heavy) Weight() int64 { return int64(rand.IntN(3)) } // want `random: rand.IntN`

type byAge struct{}

func (byAge) Len() int           { return 2 }
func (byAge) Swap(i, j int)      {}
func (byAge) Less(i, j int) bool { return rand.IntN(2) == 0 } // want `random: rand.IntN.*Step → byAge.Less`

func each(f func(int64)) { f(1) }

func roll() int64 { return rand.Int64() } // want `random: rand.Int64.*Step → a function in Step → roll`
