package main

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// stripTicks is how many of the newest ticks the strip shows.
const stripTicks = 120

// strip remembers what became of the newest ticks.
type strip struct {
	cells   [stripTicks]cell
	next    driftback.Tick // the first that has not run
	stalled bool           // it could not run when it was first tried
}

type cell struct{ stalled, rerun bool }

func (s *strip) at(t driftback.Tick) *cell { return &s.cells[t%stripTicks] }

// note takes what one call of Tick did.
func (s *strip) note(r *session.Result) {
	for t := max(r.Rerun.From, s.next-stripTicks); t < r.Rerun.To; t++ {
		s.at(t).rerun = true
	}
	switch r.Phase {
	case session.Advanced:
		*s.at(r.Tick - 1) = cell{stalled: s.stalled}
		s.next, s.stalled = r.Tick, false
	case session.Stalled:
		s.stalled = true
	case session.Joining, session.Ended:
	}
}

// letters returns one letter for each tick, oldest first: s for one that had to
// wait, r for one that was run again, c for one that is confirmed and p for one
// that is predicted; b is filled and returned.
func (s *strip) letters(b []byte, confirmed driftback.Tick) []byte {
	for t := max(0, s.next-stripTicks); t < s.next; t++ {
		switch c := s.at(t); {
		case c.stalled:
			b = append(b, 's')
		case c.rerun:
			b = append(b, 'r')
		case t < confirmed:
			b = append(b, 'c')
		default:
			b = append(b, 'p')
		}
	}
	return b
}
