package mesh

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// limit says of every participant up to which tick its inputs count now: all, if it
// plays; what was held at the promise, if it is frozen; what was accepted; and what
// it was cut at, until all survivors hold that. What lies beyond the cut is known with it: ticks
// would be run twice if that came later.
func (m *Mesh) limit() {
	v := &m.views
	for p := range m.histories {
		h := &m.histories[p]
		limit := never // also beyond the cut, where its inputs are neutral
		if h.held < v.cuts[p] {
			limit = v.cuts[p]
		}
		if m.cfg.Players[p] == m.cfg.Self {
			continue
		}
		if frozen := v.frozen.Has(m.cfg.Players[p]) || v.stands && v.cuts[p] != never; frozen && v.held[p] < v.cuts[p] {
			limit = min(limit, v.held[p])
		}
		if v.acceptedIn != 0 {
			if t := tickOf(v.accepted, driftback.Participant(p)); t < v.cuts[p] {
				limit = min(limit, t)
			}
		}
		h.setLimit(limit)
	}
	m.fill()
}

// Used says that the owner has run all ticks before t, or is about to. With a relay the set is
// held only so far beyond it as inputs can be kept. Without, whoever was cut is known to do nothing
// on them.
func (m *Mesh) Used(t driftback.Tick) {
	m.used = t
	m.fill()
}

// fill gives participants that were cut neutral inputs for as far as others play, and for what this
// peer runs: one that comes back runs ticks before those for which it gives inputs.
func (m *Mesh) fill() {
	v := &m.views
	if v.number == 0 {
		return
	}
	newest := m.newest()
	if !m.relayed() {
		newest = max(newest, m.used)
	}
	for p, t := range v.cuts {
		h := &m.histories[p]
		if t == never || h.held < t {
			continue
		}
		h.limit = never
		to := newest
		if v.caps[p] != 0 {
			to = min(to, v.caps[p])
		}
		for h.held < to {
			h.append(v.neutral)
		}
	}
}

// lacksShared returns a participant that was cut and of which this peer waits for inputs.
func (m *Mesh) lacksShared() (q driftback.Participant, lacks bool) {
	if m.views.number == 0 {
		return 0, false
	}
	for p, t := range m.views.cuts {
		if t != never && m.histories[p].held < t {
			return driftback.Participant(p), true
		}
	}
	return 0, false
}

// putAcks adds what a packet to a peer acknowledges.
func (m *Mesh) putAcks(l *link, p *wire.Packet) {
	if m.relayed() { // it sends all participants' together
		p.Acks = append(p.Acks, wire.Ack{Next: m.Confirmed()})
		return
	}
	if m.views.number == 0 {
		for _, q := range l.plays {
			p.Acks = append(p.Acks, wire.Ack{Participant: q, Next: m.histories[q].held})
		}
		return
	}
	said := false
	for q, t := range m.views.cuts {
		h := &m.histories[q]
		switch {
		case m.cfg.Players[q] == l.peer:
			p.Acks = append(p.Acks, wire.Ack{Participant: driftback.Participant(q), Next: h.held})
		case t != never && (h.held < t || l.view.shared[q] < t || l.view.asked):
			p.Acks = append(p.Acks, wire.Ack{Participant: driftback.Participant(q), Next: min(h.held, t)})
			said = true
		}
	}
	if said {
		l.view.asked, l.view.ackedAt = false, m.clock
	}
}

// receiveSharedAck takes what a survivor holds of a participant that was cut, and
// reports whether it is that.
func (m *Mesh) receiveSharedAck(l *link, a *wire.Ack) bool {
	if int(a.Participant) >= len(m.cfg.Players) {
		return false
	}
	t := m.views.cuts[a.Participant]
	if t == never || a.Next > t {
		return false
	}
	l.view.shared[a.Participant] = max(l.view.shared[a.Participant], a.Next)
	// It may not have heard what this peer holds, and says so for as long.
	l.view.asked = l.view.asked || m.clock-l.view.ackedAt >= repeatEvery
	return true
}

// supplies reports whether a peer may send a participant's inputs of these ticks.
func (m *Mesh) supplies(l *link, r *wire.Run) bool {
	if int(r.Participant) >= len(m.cfg.Players) {
		return false
	}
	if m.relayed() {
		return true
	}
	t := m.views.cuts[r.Participant]
	if t == never {
		return m.cfg.Players[r.Participant] == l.peer
	}
	l.view.asked = true
	return r.First+driftback.Tick(r.Count) <= t
}

// share sends a peer the last inputs of participants that were cut, as far as this
// peer has them and it has not.
func (m *Mesh) share(l *link) {
	if m.views.number == 0 || m.clock-l.view.sharedAt < heartbeat {
		return
	}
	p := &m.outgoing
	p.Runs, p.Acks, p.Sums.List, p.SumAck.Set = p.Runs[:0], p.Acks[:0], p.Sums.List[:0], false
	m.runs, m.entries = m.runs[:0], m.entries[:0]
	budget := m.cfg.Transport.MaxDatagram() - maxHead
	for q, t := range m.views.cuts {
		h, from := &m.histories[q], l.view.shared[q]
		to := min(t, h.held)
		if t == never || from < 0 || from >= to || from < h.oldest() {
			continue
		}
		rest, left := m.putRun(driftback.Participant(q), h, from, to, budget)
		if rest == from {
			break
		}
		budget = left
	}
	if len(p.Runs) == 0 {
		return
	}
	l.view.sharedAt = m.clock
	m.putAcks(l, p)
	p.Tag, p.Seq, p.Echo = m.tag, l.meter.stamp(m.clock), wire.Echo{}
	m.transmit(l, false)
}
