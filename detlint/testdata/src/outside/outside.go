package outside

import (
	"math/rand/v2"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

type State struct{ X int64 }

type in struct{ B uint8 }

var (
	score   int64
	grid    [4]int64
	gravity = int64(10)
	table   [4]int64
	source  = rand.New(rand.NewPCG(1, 2))
	fixed   = []int64{1, 2}
)

func init() { fill() }

func fill() { table[0] = 1 }

// SetGravity is for a menu.
func SetGravity(g int64) { gravity = g }

func Step(s *State, _ []in, _ *driftback.Pass) {
	score = s.X // want `outside: changes the package variable score, which no rewind takes back: keep it in the state`
	cell := &grid[1]
	*cell = 2      // want `outside: changes the package variable grid`
	s.X += gravity // want `outside: reads the package variable gravity, which SetGravity changes`
	s.X += table[0] + fixed[1]
	raise(&grid[0]) // want `outside: raise changes the package variable grid`
	raise(&s.X)
	s.X += source.Int64() // want `outside: rand.Rand.Int64 changes the package variable source`
	local := grid
	local[2] = 1
}

func raise(n *int64) { *n++ }

type Game struct {
	drawn int64
	world State
}

func (g *Game) step(s *State, _ []in, _ *driftback.Pass) {
	s.X++
	g.drawn = s.X // want `outside: changes g, which is not in the state`
}

func New() session.Config[State, in] {
	steps := 0
	return session.Config[State, in]{
		Step: func(s *State, _ []in, _ *driftback.Pass) {
			steps++ // want `outside: changes steps, which is not in the state`
			n := 0
			func() { n++ }()
		},
		Start: func(seed uint64, s *State) {
			score = 0 // want `outside: changes the package variable score`
			s.X = int64(seed)
		},
		Predict: func(last in, age int) in {
			last.B += uint8(rand.N(3)) // want `random: rand.N draws`
			return last
		},
	}
}
