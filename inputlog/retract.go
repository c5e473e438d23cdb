package inputlog

import (
	"fmt"

	"github.com/driftback/driftback"
)

// Retract takes back participant p's inputs from tick t on: they count as guesses
// that a step has used, until others are confirmed in their place. It is for whoever
// finds out that inputs it held do not count, because not everybody had them. Only what
// no tick has been final on can be taken back: t must not be below the log's Confirmed.
// Of a participant that holds nothing from t on nothing is taken.
func (l *Log[I]) Retract(p driftback.Participant, t driftback.Tick) error {
	if int(p) >= l.n {
		return l.noParticipant(p)
	}
	if t < l.confirmed {
		return fmt.Errorf("inputlog: participant %d's inputs cannot be taken back from tick %d on: every tick below %d is confirmed", p, t, l.confirmed)
	}
	bit := uint16(1) << p
	for at := t; at < l.end; at++ {
		if m := &l.marks[int(at)&l.mask]; m.held&bit != 0 {
			m.held &^= bit
			m.guessed |= bit
			m.suggested &^= bit
		}
	}
	l.confirmedOf[p] = min(l.confirmedOf[p], t)
	if newest := &l.newest[p]; newest.tick >= t {
		tick, in := l.newestBefore(int(p), t)
		newest.tick, newest.in = tick, *in
	}
	return nil
}
