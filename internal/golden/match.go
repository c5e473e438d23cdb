package golden

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/rng"
)

// late is by how many ticks an input comes late at most.
const late = 12

// Match is a long match of a game, S its state and I its inputs.
type Match[S any, I comparable] struct {
	Step driftback.Step[S, I]
	// Start is the world as the match begins.
	Start S
	// Ticks is how long it is, and Players how many inputs a tick has.
	Ticks, Players int
	// Press says what a player holds on tick t, which begins with world. It is asked once
	// for each tick and player, in order, so it may be a bot that remembers.
	Press func(world *S, player int, t driftback.Tick) I
	// Statuses says who plays on tick t. nil: everybody.
	Statuses func(t driftback.Tick, dst []driftback.Status)
}

// Played is what became of it.
type Played[S any] struct {
	// End is the world after the last tick, with every input on time.
	End S
	// Rewound is the same world where inputs came up to 12 ticks late.
	Rewound S
	// Counts are those of the loop that came to Rewound.
	Counts rewind.Counts
}

// Play plays the match twice: once with every input on time, in a plain loop, and then with
// the same inputs late, each player's by another few ticks every time, so that guesses are
// wrong and states are taken back.
func (m Match[S, I]) Play() (Played[S], error) {
	inputs, end := m.onTime()
	rewound, counts, err := m.again(inputs)
	return Played[S]{End: end, Rewound: rewound, Counts: counts}, err
}

func (m Match[S, I]) onTime() (inputs [][]I, world S) {
	world = m.Start
	var pass driftback.Pass
	statuses := make([]driftback.Status, m.Players)
	for t := range driftback.Tick(m.Ticks) {
		row := make([]I, m.Players)
		for p := range row {
			row[p] = m.Press(&world, p, t)
		}
		inputs = append(inputs, row)
		if m.Statuses != nil {
			m.Statuses(t, statuses)
		}
		pass.Begin(t, statuses)
		m.Step(&world, append([]I(nil), row...), &pass)
	}
	return inputs, world
}

func (m Match[S, I]) again(inputs [][]I) (world S, counts rewind.Counts, err error) {
	log, err := inputlog.New(inputlog.Config[I]{Participants: m.Players, Depth: 4 * late})
	if err != nil {
		return world, counts, err
	}
	start := m.Start
	loop, err := rewind.New(rewind.Config[S, I]{Step: m.Step, Initial: &start, Inputs: log, Depth: late + 2, Statuses: m.Statuses})
	if err != nil {
		return world, counts, err
	}
	r := rng.New(uint64(m.Ticks), uint64(m.Players))
	next := make([]int, m.Players) // the first tick whose input has not come
	bring := func(p, until int) error {
		for ; next[p] < min(until, m.Ticks); next[p]++ {
			if err := loop.Supply(driftback.Participant(p), driftback.Tick(next[p]), inputs[next[p]][p]); err != nil {
				return fmt.Errorf("golden: player %d, tick %d: %w", p, next[p], err)
			}
		}
		return nil
	}
	for t := range m.Ticks {
		for p := range next {
			if err := bring(p, t+1-r.IntN(late+1)); err != nil {
				return world, counts, err
			}
		}
		if _, err := loop.Advance(); err != nil {
			return world, counts, err
		}
		log.Forget(loop.Oldest())
	}
	for p := range next {
		if err := bring(p, m.Ticks); err != nil {
			return world, counts, err
		}
	}
	_, err = loop.Settle()
	return *loop.State(), loop.Counts(), err
}
