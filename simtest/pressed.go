package simtest

import "github.com/driftback/driftback"

// pressed remembers what was pressed, since several ask for it: each peer for what it
// presses, and the rules for what it should have run.
type pressed[I any] struct {
	ask  func(p driftback.Participant, t driftback.Tick) I
	each [driftback.MaxParticipants][]I
}

// at returns what participant p presses for tick t, in whatever order it is asked.
func (w *pressed[I]) at(p driftback.Participant, t driftback.Tick) I {
	of := &w.each[p]
	for n := driftback.Tick(len(*of)); n <= t; n++ {
		*of = append(*of, w.ask(p, n))
	}
	return (*of)[t]
}
