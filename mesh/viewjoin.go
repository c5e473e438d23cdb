package mesh

import (
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// joinMargin is by how many ticks a member that promises to let somebody in may still go on
// before the view is decided: about what a decision takes, so that nobody waits for it, and
// what the one who comes in has to catch up.
const joinMargin = 64

// keptAbsences is how many of a participant's absences are remembered: no more than the
// newest few touch ticks that can still run again.
const keptAbsences = 4

// letsIn returns the peers outside the view that this member would let in: they have come
// as far as they could without, and it holds their last inputs.
func (m *Mesh) letsIn() (ready wire.Peers) {
	if !m.cfg.Rejoin || m.phase != Playing || m.finish.ready || m.dispute.open {
		return 0
	}
	for i := range m.links {
		if l := &m.links[i]; l.view.cut && l.up && l.view.fresh && l.view.apply != nil && m.holdsLast(l) {
			ready |= wire.PeersOf(l.peer)
		}
	}
	return ready
}

// holdsLast reports whether all inputs of a peer's that count are held.
func (m *Mesh) holdsLast(l *link) bool {
	for _, p := range l.plays {
		if t := m.views.cuts[p]; t != never && m.histories[p].held < t {
			return false
		}
	}
	return true
}

// joinable returns whom every member but the suspects would let in.
func (m *Mesh) joinable(suspects wire.Peers) wire.Peers {
	ready := m.letsIn()
	for i := range m.links {
		if l := &m.links[i]; !l.view.cut && !suspects.Has(l.peer) {
			ready &= l.view.ready
		}
	}
	return ready
}

// capped reports whether this peer has promised not to go on for long, so that a view must
// be decided.
func (v *views) capped() bool { return v.caps != [driftback.MaxParticipants]driftback.Tick{} }

// waits reports whether some member has.
func (m *Mesh) waits() bool {
	if m.views.capped() {
		return true
	}
	for i := range m.links {
		if l := &m.links[i]; !l.view.cut && l.view.waits {
			return true
		}
	}
	return false
}

// setCaps limits how far this peer goes on without those that a round lets in. A cap
// outlasts the promise and every other one until some view is installed: whatever tick the
// highest of all members' caps is, none of them confirms it before.
func (m *Mesh) setCaps(joins wire.Peers) {
	v := &m.views
	for p, peer := range m.cfg.Players {
		if joins.Has(peer) && v.caps[p] == 0 {
			// One that was lost before it played again is let in later than then, be all at a tick far below.
			v.caps[p] = max(m.newest()+joinMargin, m.histories[p].held+1, v.cuts[p]+1)
		}
	}
}

// newest returns the first tick for which no member is known to have published an input.
func (m *Mesh) newest() (t driftback.Tick) {
	for p, cut := range m.views.cuts {
		if h := &m.histories[p]; cut == never && h.held > m.joined(driftback.Participant(p)) {
			t = max(t, h.held)
		}
	}
	return t
}

// joins makes what a value says of those that a round lets in; ok is false if one of them has gone.
func (m *Mesh) joins(r *round) (list []wire.Join, ok bool) {
	for i := range m.links {
		l := &m.links[i]
		if !r.joins.Has(l.peer) {
			continue
		}
		if l.view.apply == nil {
			return nil, false
		}
		j := wire.Join{Peer: l.peer, Nonce: l.view.apply.Nonce, Delays: slices.Clone(l.view.apply.Delays)}
		for _, p := range l.plays {
			j.Tick = max(j.Tick, r.held[p])
		}
		list = append(list, j)
	}
	return list, true
}

// illJoins returns whom a value lets in, and says what is wrong with that; "" is nothing.
func (m *Mesh) illJoins(value *wire.Value) (joins wire.Peers, why string) {
	v := &m.views
	if len(value.Joins) > 0 && !m.cfg.Rejoin {
		return 0, "it lets a peer in, and none may come back"
	}
	for _, j := range value.Joins {
		l := m.linkTo(j.Peer)
		if l == nil || v.members.Has(j.Peer) {
			return 0, "it lets in a peer that the match does not have, or that is in"
		}
		if !delaysOf(l, j.Delays) {
			return 0, "it lets in a peer with delays of others"
		}
		for _, p := range l.plays {
			switch {
			case tickOf(*value, p) != never:
				return 0, "it lets in a peer and cuts it"
			case j.Tick < v.cuts[p]:
				return 0, "it lets in a peer before it was cut"
			case j.Tick > m.farthest(p)+joinMargin:
				return 0, "it lets in a peer at a tick that nobody can have reached"
			}
		}
		joins |= wire.PeersOf(j.Peer)
	}
	return joins, ""
}

// delaysOf reports whether delays are one for each participant of a peer's.
func delaysOf(l *link, delays []wire.Delay) bool {
	return slices.EqualFunc(delays, l.plays, func(d wire.Delay, p driftback.Participant) bool {
		return d.Participant == p && d.Ticks <= MaxDelay
	})
}

// mayJoin reports whether this member has nothing that a value's joins would change: what
// it has promised holds it back from there on.
func (m *Mesh) mayJoin(value *wire.Value) bool {
	v := &m.views
	for _, j := range value.Joins {
		for _, p := range m.linkTo(j.Peer).plays {
			if v.caps[p] == 0 || v.caps[p] > j.Tick || m.histories[p].held > j.Tick || m.histories[p].held < v.cuts[p] {
				return false
			}
		}
	}
	return true
}

// changes returns the tick from which on a value changes what participant p, one of
// those in it, does.
func (m *Mesh) changes(value *wire.Value, p driftback.Participant) driftback.Tick {
	for _, j := range value.Joins {
		if j.Peer == m.cfg.Players[p] {
			return j.Tick
		}
	}
	return tickOf(*value, p)
}

// same reports whether two values are.
func same(a, b *wire.Value) bool {
	return slices.Equal(a.Cuts, b.Cuts) && slices.EqualFunc(a.Joins, b.Joins, func(a, b wire.Join) bool {
		return a.Peer == b.Peer && a.Tick == b.Tick && a.Nonce == b.Nonce && slices.Equal(a.Delays, b.Delays)
	})
}

// joined returns the first tick that participant p plays since it came back last; 0: it
// never did.
func (m *Mesh) joined(p driftback.Participant) driftback.Tick {
	if list := m.views.absences[p]; len(list) > 0 {
		return list[len(list)-1].To
	}
	return 0
}

// returns ends the absence of participant p with tick t. One that follows another at once
// is the same one: it came back and was lost again before it had played.
func (v *views) returns(p driftback.Participant, t driftback.Tick) {
	list, from := v.absences[p], v.cuts[p]
	v.cuts[p] = never
	if last := len(list) - 1; last >= 0 && list[last].To == from {
		list[last].To = t
		return
	}
	if list = append(list, wire.Absence{Participant: p, From: from, To: t}); len(list) > keptAbsences {
		list = slices.Delete(list, 0, 1)
	}
	v.absences[p] = list
}

// Joined returns the first tick that participant p plays since it came back last; ok is
// false if it never did.
func (m *Mesh) Joined(p driftback.Participant) (t driftback.Tick, ok bool) {
	t = m.joined(p)
	return t, t != 0
}

// Status says who is behind participant p's input for tick t, which is one of those that
// can still run again, or of those to come as far as is known now.
func (m *Mesh) Status(p driftback.Participant, t driftback.Tick) driftback.Status {
	if t >= m.views.cuts[p] {
		return driftback.Replaced
	}
	for _, a := range m.views.absences[p] {
		if a.From <= t && t < a.To {
			return driftback.Replaced
		}
	}
	return driftback.Playing
}

// letIn takes a peer that a value lets in, whose link begins anew.
func (m *Mesh) letIn(j *wire.Join) {
	v := &m.views
	l := m.linkTo(j.Peer)
	for i, p := range l.plays {
		h := &m.histories[p]
		v.returns(p, j.Tick)
		m.delays[p] = j.Delays[i].Ticks
		h.limit = never
		for h.held < j.Tick {
			h.append(v.neutral)
		}
	}
	m.renew(l, j)
	m.note(Event{Kind: PeerReturned, Peer: l.peer, Tick: j.Tick})
}
