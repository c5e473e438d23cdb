package session

import (
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/rewind"
)

// Stats is what a session has done since it began.
type Stats struct {
	// Tick is the next tick to run and Confirmed the first that lacks an input.
	Tick, Confirmed driftback.Tick
	// Advanced and Stalled count the calls of Tick, once the match was being played,
	// that ran a tick and that could not.
	Advanced, Stalled uint64
	// Filled, Discarded and Merged count the inputs that changes of input delays made up,
	// left out, and put into another; see Config.Fill and Config.Merge.
	Filled, Discarded, Merged uint64
	// Loop counts steps, rollbacks and their depths.
	Loop rewind.Counts
	// Spacing is how many ticks may lie now from one state that is put away to the next.
	Spacing int
	// Agreed is the newest tick to whose fingerprint every peer has agreed.
	Agreed driftback.Tick
	// View is how often peers have been cut, and Status who is behind each participant's
	// input on Tick; borrowed until the next call of Stats.
	View   int
	Status []driftback.Status
	// Late is, by participant, on how many confirmed ticks the relay has repeated its last
	// input because its own came too late; nil without one: see Config.Relay. Borrowed until the next call of Stats.
	Late []uint64
	// EffectsDropped and EventsDropped count what exceeded a bound.
	EffectsDropped, EventsDropped uint64
	// Refused counts what was dropped, by reason.
	Refused [mesh.Refusals]uint64
	// StepTime is spent in first runs of ticks, RerunTime in re-simulation; both are 0
	// without a Config.Clock.
	StepTime, RerunTime time.Duration
	// Pace is this peer's own, as the others hear of it.
	Pace PaceStats
	// Peers has the link to each other peer, by number. Borrowed until the next call
	// of Stats.
	Peers []PeerStats
}

// PeerStats is the link to one peer.
type PeerStats struct {
	Peer driftback.Peer
	mesh.LinkStats
	// Pace is what the peer said last about its own, which may be a lie; zero if it has
	// said nothing.
	Pace PaceStats
}

// Stats returns what the session has done so far.
func (m *Lockstep[S, I]) Stats() Stats {
	s := Stats{
		Tick: m.loop.Next(), Confirmed: m.confirmed(),
		Advanced: m.advanced, Stalled: m.stalled,
		Filled: m.delays.filled, Discarded: m.delays.discarded, Merged: m.delays.merged,
		Loop: m.loop.Counts(), Spacing: m.loop.Spacing(), Agreed: m.mesh.Agreed(),
		EffectsDropped: m.effects.dropped, EventsDropped: uint64(m.mesh.EventsDropped()),
		View: m.mesh.View(), Status: m.status,
		Refused:  m.mesh.Refused(),
		StepTime: m.stepTime, RerunTime: m.rerunTime,
	}
	m.statuses(m.loop.Next(), m.status)
	for p := range m.late {
		m.late[p] = m.mesh.Late(driftback.Participant(p))
	}
	s.Late = m.late
	s.Pace = PaceStats{Lead: m.pace.regulator.Lead(), Load: m.pace.regulator.Load()}
	for i := range m.peerStats {
		p := &m.peerStats[i]
		p.LinkStats, _ = m.mesh.Link(p.Peer)
		said, _ := m.mesh.Pace(p.Peer)
		p.Pace = PaceStats{Lead: said.Lead, Load: said.Load}
	}
	s.Peers = m.peerStats
	return s
}
