package session

import (
	"time"

	"github.com/driftback/driftback/mesh"
)

// looking remembers the last look.
type looking struct {
	started bool
	last    time.Duration
	before  numbers // the totals then
}

// due reports whether it is time to look.
func (l *looking) due(now time.Duration) bool {
	if !l.started || now < l.last {
		l.started, l.last = true, now
		return false
	}
	return now-l.last >= lookEvery
}

// since returns what happened since the last look, of the totals so far.
func (l *looking) since(now time.Duration, n numbers) numbers {
	before := l.before
	l.last, l.before = now, n
	n.ticks -= before.ticks
	n.stalls -= before.stalls
	n.rollbacks -= before.rollbacks
	n.resimulated -= before.resimulated
	return n
}

// adapt has the delays follow the links. It comes after a tick has run, or could not.
func (m *Lockstep[S, I]) adapt(now time.Duration) {
	d := &m.delays
	if !m.cfg.AdaptDelay.on() || !d.look.due(now) {
		return
	}
	counts := m.loop.Counts()
	oneWay, known := m.oneWay()
	speed, _ := m.Speed()
	tick := m.pace.length * time.Duration(NormalSpeed) / time.Duration(speed)
	oneWay += time.Duration(m.cfg.PublishEvery-1) * tick // for which an input may wait to be sent
	n := d.look.since(now, numbers{
		tick: tick, oneWay: oneWay,
		load: m.othersLoad(), ticks: m.advanced, stalls: m.stalled,
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
			way := s.RoundTrip / 2
			if m.cfg.Relay != 0 {
				way = s.RoundTrip // to the relay, and on to the others
			}
			t = max(t, way+s.Jitter)
		}
	}
	return t, known
}

// othersLoad returns the largest load that another peer has, by its own word, which may be
// a lie: it adds maxPressure at the most.
func (m *Lockstep[S, I]) othersLoad() (load float64) {
	for i := range m.peerStats {
		if said, ok := m.mesh.Pace(m.peerStats[i].Peer); ok && said.Age < maxAge {
			load = max(load, said.Load)
		}
	}
	return load
}
