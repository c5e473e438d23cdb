package session

import (
	"time"

	"github.com/driftback/driftback/mesh"
)

// looking gathers numbers between two looks.
type looking struct {
	started bool
	last    time.Duration // the time of the last look
	called  time.Duration // the time of the last call
	ran     bool          // a tick ran in it
	// inRow are the times between two ticks that ran in calls one after the other, and calls
	// those between any two calls.
	inRow, calls spans
	tick         time.Duration
	before       numbers // the totals at the last look
}

// spans are some times.
type spans struct {
	n   int
	sum time.Duration
}

const (
	// minSpans is how many times are enough to say how long a tick lasts, and one above
	// maxSpan is a game that was held up.
	minSpans = 10
	maxSpan  = 250 * time.Millisecond
)

func (s *spans) add(span time.Duration) {
	s.n++
	s.sum += span
}

// call takes one call of Tick.
func (l *looking) call(now time.Duration, ran bool) {
	if span := now - l.called; l.started && span >= 0 && span <= maxSpan {
		l.calls.add(span)
		if ran && l.ran {
			l.inRow.add(span)
		}
	}
	l.called, l.ran = now, ran
}

// due reports whether it is time to look.
func (l *looking) due(now time.Duration) bool {
	if !l.started || now < l.last {
		l.started, l.last = true, now
		return false
	}
	return now-l.last >= lookEvery
}

// take returns what happened since the last look, of the totals so far.
func (l *looking) take(now time.Duration, total numbers) numbers {
	switch {
	case l.inRow.n >= minSpans:
		l.tick = l.inRow.sum / time.Duration(l.inRow.n)
	case l.tick == 0 && l.calls.n >= minSpans:
		// It waits before every tick, and for the next frame after each call.
		l.tick = l.calls.sum / time.Duration(l.calls.n)
	}
	n := numbers{
		tick: l.tick, oneWay: total.oneWay,
		ticks: total.ticks - l.before.ticks, stalls: total.stalls - l.before.stalls,
		rollbacks: total.rollbacks - l.before.rollbacks, resimulated: total.resimulated - l.before.resimulated,
	}
	l.last, l.before = now, total
	l.inRow, l.calls = spans{}, spans{}
	return n
}

// adapt has the delays follow the links. It comes after a tick has run, or could not.
func (m *Lockstep[S, I]) adapt(now time.Duration, ran bool) {
	if !m.cfg.AdaptDelay.on() {
		return
	}
	d := &m.delays
	d.look.call(now, ran)
	if !d.look.due(now) {
		return
	}
	counts := m.loop.Counts()
	oneWay, known := m.oneWay()
	n := d.look.take(now, numbers{
		oneWay: oneWay, ticks: m.advanced, stalls: m.stalled,
		rollbacks: counts.Rollbacks, resimulated: counts.Resimulated,
	})
	if !known {
		return
	}
	shortest := mesh.MaxDelay
	for i := range d.of {
		if !d.of[i].byHand {
			shortest = min(shortest, d.of[i].ticks)
		}
	}
	d.adapt.look(&n, shortest)
	if !d.adapt.rested(now) {
		return
	}
	for i := range d.of {
		of := &d.of[i]
		if of.byHand {
			continue
		}
		if ticks := d.adapt.next(of.ticks); ticks != of.ticks {
			of.ticks = ticks
			d.adapt.changes(now)
		}
	}
}

// oneWay returns the time that the slowest link takes, with a margin, once one has been
// measured; without other peers it is none. A round trip has been smoothed over about a
// second and its mean deviation is of both ways, so that the latter whole covers most of
// what one way takes more.
func (m *Lockstep[S, I]) oneWay() (t time.Duration, known bool) {
	known = len(m.peerStats) == 0
	for i := range m.peerStats {
		if s, _ := m.mesh.Link(m.peerStats[i].Peer); s.RoundTrip > 0 {
			known = true
			t = max(t, s.RoundTrip/2+s.Jitter)
		}
	}
	return t, known
}
