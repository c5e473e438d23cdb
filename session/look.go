package session

import "time"

// looking gathers numbers between two looks.
type looking struct {
	started bool
	last    time.Duration // the time of the last look
	ran     time.Duration // the time of the tick that ran last
	running bool          // that was the last call
	spans   int
	span    time.Duration // the sum of the times between ticks that ran in a row
	tick    time.Duration
	before  numbers // the totals at the last look
}

const (
	// minSpans is how many times between ticks are enough to say how long one lasts, and a
	// time above maxSpan is a game that was held up.
	minSpans = 10
	maxSpan  = 250 * time.Millisecond
)

// call takes one call of Tick.
func (l *looking) call(now time.Duration, ran bool) {
	if span := now - l.ran; ran && l.running && span >= 0 && span <= maxSpan {
		l.span += span
		l.spans++
	}
	l.running, l.ran = ran, now
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
	if l.spans >= minSpans {
		l.tick = l.span / time.Duration(l.spans)
	}
	n := numbers{
		tick: l.tick, oneWay: total.oneWay,
		ticks: total.ticks - l.before.ticks, stalls: total.stalls - l.before.stalls,
		rollbacks: total.rollbacks - l.before.rollbacks, resimulated: total.resimulated - l.before.resimulated,
	}
	l.last, l.span, l.spans, l.before = now, 0, 0, total
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
	d.adapt.look(&n)
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
