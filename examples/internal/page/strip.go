package page

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// Strip remembers what became of the newest ticks, and of the calls between them
// that could not run one.
type Strip struct {
	marks [StripTicks]mark
	n     int // marks there have been
}

// mark is one tick, or one call that stalled before it.
type mark struct {
	tick           driftback.Tick
	stalled, rerun bool
}

func (s *Strip) add(m mark) {
	s.marks[s.n%StripTicks] = m
	s.n++
}

// Note takes what one call of Tick did.
func (s *Strip) Note(r *session.Result) {
	for i := range s.marks {
		if m := &s.marks[i]; m.tick >= r.Rerun.From && m.tick < r.Rerun.To {
			m.rerun = true
		}
	}
	switch r.Phase {
	case session.Advanced:
		s.add(mark{tick: r.Tick - 1})
	case session.Stalled:
		s.add(mark{tick: r.Tick, stalled: true})
	case session.Joining, session.CatchingUp, session.Ended:
	}
}

// Letters returns a letter for each mark, oldest first, given the first tick that
// lacks an input.
func (s *Strip) Letters(confirmed driftback.Tick) string {
	b := make([]byte, 0, StripTicks)
	for i := max(0, s.n-StripTicks); i < s.n; i++ {
		switch m := &s.marks[i%StripTicks]; {
		case m.stalled:
			b = append(b, stripStalled)
		case m.rerun:
			b = append(b, stripResimulated)
		case m.tick < confirmed:
			b = append(b, stripConfirmed)
		default:
			b = append(b, stripPredicted)
		}
	}
	return string(b)
}
