package session

import (
	"github.com/driftback/driftback"
)

// Loss says what happens when a peer is lost or leaves.
type Loss uint8

const (
	// End: the match ends for everybody.
	End Loss = iota
	// PlayOn: of three peers or more, those that are left agree on a tick from which on
	// the lost peer's participants do not play, and go on, as long as they play more than
	// half of the participants that were left before. From that tick on a participant's
	// input is the zero value and its status [driftback.Replaced].
	PlayOn
)

func (l Loss) String() string {
	if l == PlayOn {
		return "play on"
	}
	return "end"
}

// Cut returns the first tick that participant p, one of the match, does not play
// because its peer was lost or has left; ok is false while it plays, and when it is agreed from
// when on it plays again. All survivors of a
// view have the same. Losing another peer at about the same time may lower it, but never to a tick that a
// survivor has confirmed.
func (m *Lockstep[S, I]) Cut(p driftback.Participant) (t driftback.Tick, ok bool) {
	return m.mesh.Cut(p)
}

// Joined returns the first tick that participant p, one of the match, plays since its peer
// came back last: see Config.Rejoin; ok is false if it never did. All survivors have the same.
func (m *Lockstep[S, I]) Joined(p driftback.Participant) (t driftback.Tick, ok bool) {
	return m.mesh.Joined(p)
}

// statuses tells the step who is behind the inputs of tick t.
func (m *Lockstep[S, I]) statuses(t driftback.Tick, dst []driftback.Status) {
	for p := range dst {
		dst[p] = m.mesh.Status(driftback.Participant(p), t)
	}
}

// parts is from when on a participant does not play, and from when on it plays again:
// None where it is not so.
type parts struct{ cut, joined driftback.Tick }

func (m *Lockstep[S, I]) partsOf(p driftback.Participant) parts {
	of := parts{cut: None, joined: None}
	if t, ok := m.mesh.Cut(p); ok {
		of.cut = t
	}
	if t, ok := m.mesh.Joined(p); ok {
		of.joined = t
	}
	return of
}

// takeViews brings the loop up to date with what was agreed on: inputs that do not count
// are taken back, and the ticks that ran as if somebody played, or did not, run again.
func (m *Lockstep[S, I]) takeViews() {
	for p := range m.supplied {
		p := driftback.Participant(p)
		if held := m.mesh.Held(p); held < m.supplied[p] {
			if m.check(m.log.Retract(p, held)); m.err != nil {
				return
			}
			m.supplied[p], held = held, m.supplied[p]
			m.withdraw(p, m.supplied[p], held)
		}
		now, before := m.partsOf(p), m.parts[p]
		m.parts[p] = now
		if now.joined != before.joined {
			m.check(m.loop.Redo(now.joined))
		}
		if now.cut != before.cut && now.cut != None {
			m.check(m.loop.Redo(now.cut))
		}
	}
}

// withdraw takes back participant p's entries for the ticks in [from, to): what others did
// on the same ticks counts instead.
func (m *Lockstep[S, I]) withdraw(p driftback.Participant, from, to driftback.Tick) {
	for t := from; t < to && m.err == nil; t++ {
		if !m.controls.withdraw(p, t) {
			continue
		}
		for q, supplied := range m.supplied {
			q := driftback.Participant(q)
			if e := m.mesh.Entry(q, t); t < supplied && e != 0 {
				m.controls.give(q, t, e)
			}
		}
		if from, wrong := m.controls.correct(t, m.loop.Next()); wrong {
			m.check(m.redo(from))
		}
	}
}
