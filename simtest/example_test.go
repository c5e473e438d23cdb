package simtest_test

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
)

// A race on a straight road: who holds the pedal goes faster, and gusts of wind come from
// a generator in the state.
type (
	Pedals struct{ Gas, Brake bool }
	Race   struct {
		Wind  rng.PCG
		X     [driftback.MaxParticipants]int32
		Speed [driftback.MaxParticipants]int32
	}
)

func (r *Race) step(in []Pedals, pass *driftback.Pass) {
	for p, press := range in {
		if press.Gas {
			r.Speed[p]++
		}
		if press.Brake {
			r.Speed[p] = max(0, r.Speed[p]-3)
		}
		before := r.X[p]
		r.X[p] += r.Speed[p] - int32(r.Wind.IntN(2))
		if before < 1000 && r.X[p] >= 1000 {
			pass.Raise(driftback.Effect{Kind: 1, Args: [3]int32{int32(p)}}) // across the line
		}
	}
}

func race() simtest.Game[Race, Pedals] {
	return simtest.Game[Race, Pedals]{
		Name:  "race",
		Step:  (*Race).step,
		Start: func(seed uint64, r *Race) { r.Wind.Seed(seed, 1) },
		Input: func(r *rng.PCG, _ driftback.Participant, _ driftback.Tick) Pedals {
			return Pedals{Gas: r.Chance(2, 3), Brake: r.Chance(1, 6)}
		},
	}
}

// A game of one's own in ten matches between two, three or four peers, over links that are
// as bad as each seed says. In a test it is simtest.Run(t, race(), simtest.Options{}) and
// nothing more.
func Example() {
	broken, rollbacks := 0, uint64(0)
	for seed := range uint64(10) {
		report, err := simtest.Check(race(), seed)
		if err != nil {
			fmt.Println(err)
			return
		}
		if report.Violation != nil {
			broken++
		}
		rollbacks += report.Rollbacks
	}
	fmt.Println("rules broken:", broken)
	fmt.Println("guessed wrongly on the way:", rollbacks > 300)
	// Output:
	// rules broken: 0
	// guessed wrongly on the way: true
}

// The same race with a step that counts outside the state how often it has run, so that
// a tick which is run again moves the cars further than it did before.
func ExampleCheck() {
	game := race()
	game.Step = func(r *Race, in []Pedals, pass *driftback.Pass) {
		(*Race).step(r, in, pass)
		for p := range in {
			r.X[p] += runs // a package variable
		}
		runs++
	}
	report, err := simtest.Check(game, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("broken:", report.Violation.Rule)
	fmt.Println("the first field that differs:", report.Violation.Difference.Path)
	// Output:
	// broken: a step that is run again with the same inputs gives the same state
	// the first field that differs: X[0]
}

var runs int32

// The race with gusts from a generator that the step has captured. It needs no second
// peer to be noticed: the ticks that a rollback runs again have other gusts.
func ExampleSyncTest() {
	var wind rng.PCG
	game := race()
	game.Start = func(seed uint64, _ *Race) { wind.Seed(seed, 1) }
	game.Step = func(r *Race, in []Pedals, pass *driftback.Pass) {
		(*Race).step(r, in, pass)
		for p := range in {
			r.X[p] += int32(wind.IntN(1000))
		}
	}
	report, err := simtest.SyncTest(game, simtest.Scenario{
		Version: simtest.Version, Seed: 1, Ticks: 100, Frame: 16_667, Hold: 5,
		Peers: []simtest.Peer{{Plays: []int{0}}, {Plays: []int{1}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Finding)

	// The sound race is rewound after each of its ticks.
	report, err = simtest.SyncTest(race(), simtest.Generate(1))
	fmt.Println(report.Finding == nil, err, report.Rewinds == report.Ticks)
	// Output:
	// simtest: the step uses something outside the snapshot: a whole run repeats, but a tick that is run again after later ones does not
	//   tick 0: rewound from tick 1 to tick 0 and run again, it comes to something else (saved by snapshot.For)
	//   the first field that differs is X[0]: 998 and then 864
	//   look for: a generator, counter or cache in a package variable or captured by the step, which a new match sets up again and a rewind does not: keep it in the state; a field that the snapshot and AppendBinary both leave out
	// true <nil> true
}
