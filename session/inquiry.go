package session

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/mesh"
)

// inquiry is how peers whose fingerprints differ find out where their states began to: each runs the
// ticks since they last agreed once more, and then tells the others what it has come to. It lasts for as long as
// the mesh's dispute does, in which nothing advances, and leaves the world as it is.
type inquiry[S any, I comparable] struct {
	open bool
	// agreed is the newest compared tick at which the two had one state, found is that at which they differ, where this peer's fingerprint is ours.
	agreed, found driftback.Tick
	ours, theirs  uint64
	// base is the tick of the state from which ticks are run anew, and baseControl what was agreed on beside
	// it; of speed 0 it is not known.
	base        driftback.Tick
	baseControl Control
	anew        anew[S, I]
	retracing   bool // the step is being run for this

	disagreements []mesh.Disagreement
	parleys       []parley
	// states are the last two that were asked for; nil: none was.
	states [2]struct {
		tick  driftback.Tick
		bytes []byte
	}

	// What is known when it is over: what was found with the peer that the match ended with, and this
	// peer's states as two ticks began, nil where they cannot be had.
	concluded     bool
	finding       dispute.Finding
	start, end    driftback.Tick
	before, after []byte
}

// parley is what is found out together with one peer.
type parley struct {
	mesh.Disagreement
	search  *dispute.Search
	before  *dispute.Search // the one that a link has cut short, if that knows more
	unsent  []byte          // a message for which there was no room; nil: none
	settled bool
}

// inquires reports whether this peer is to find out why fingerprints differ, should they.
func (m *Lockstep[S, I]) inquires() bool {
	return m.hasher != nil && len(m.peerStats) > 0 && m.cfg.Relay == 0
}

// inquire goes on with what there is to find out.
func (m *Lockstep[S, I]) inquire() {
	q := &m.inquiry
	if m.err != nil || !m.beginInquiry() || m.mesh.Phase() != mesh.Playing || !m.runAnew() {
		return
	}
	q.disagreements = m.mesh.Disagreements(q.disagreements[:0])
	for _, d := range q.disagreements {
		m.talk(m.parleyWith(d))
	}
}

// beginInquiry begins it if there is a dispute, and reports whether there is.
func (m *Lockstep[S, I]) beginInquiry() (open bool) {
	q := &m.inquiry
	d, open := m.mesh.Disputed()
	if !open || q.open || !m.inquires() {
		return q.open
	}
	q.open, q.found, q.ours, q.theirs = true, d.Tick, d.Ours, d.Theirs
	q.agreed = m.agreedBefore(d.Tick)
	q.base, _ = m.kept.base(q.agreed)
	q.baseControl, _ = m.kept.control(q.base)
	m.archive() // of ticks that have just become final
	m.beginAnew()
	return true
}

// parleyWith returns the one about a disagreement. Where the link has been down it begins anew.
func (m *Lockstep[S, I]) parleyWith(d mesh.Disagreement) *parley {
	q := &m.inquiry
	var p *parley
	for i := range q.parleys {
		if q.parleys[i].Peer == d.Peer {
			p = &q.parleys[i]
		}
	}
	switch {
	case p == nil:
		q.parleys = append(q.parleys, parley{})
		p = &q.parleys[len(q.parleys)-1]
	case p.Round == d.Round:
		return p
	case p.before == nil || p.search.Done():
		p.before = p.search
	}
	*p = parley{Disagreement: d, before: p.before, search: dispute.New(q.agreed, q.found, q.anew.repeats, (*witness[S, I])(m))}
	return p
}

// talk takes what has come from a peer, and sends what there is to say.
func (m *Lockstep[S, I]) talk(p *parley) {
	m.say(p)
	for m.hearOne(p) {
		m.say(p)
	}
	if p.search.Done() && p.unsent == nil && !p.settled {
		p.settled = true
		m.mesh.Settle(p.Peer)
	}
}

// say sends as much as there is room for.
func (m *Lockstep[S, I]) say(p *parley) {
	for {
		if p.unsent == nil {
			b, ok := p.search.Next(nil)
			if !ok {
				return
			}
			p.unsent = b
		}
		if !m.mesh.SendEvidence(p.Peer, p.unsent) {
			return
		}
		p.unsent = nil
	}
}

// hearOne takes one message of a peer's, and reports whether there was one. One that is ill ends the
// search with what is known.
func (m *Lockstep[S, I]) hearOne(p *parley) bool {
	b, ok := m.mesh.NextEvidence(p.Peer)
	if ok && !p.search.Done() && p.search.Take(b) != nil {
		p.unsent = nil
	}
	return ok
}

// concludeInquiry takes what has come before the match ended, and returns what is known about the states of this
// peer and another.
func (m *Lockstep[S, I]) concludeInquiry(with driftback.Peer) (f dispute.Finding) {
	q := &m.inquiry
	m.beginInquiry()
	if !q.open {
		return f
	}
	m.runAnew()
	q.disagreements = m.mesh.Disagreements(q.disagreements[:0])
	f.Repeats[0] = q.anew.repeats
	for _, d := range q.disagreements {
		if d.Peer != with || !q.anew.over {
			continue
		}
		p := m.parleyWith(d)
		for more := true; more; more = m.hearOne(p) {
			for ok := true; ok; { // nobody hears it any more
				_, ok = p.search.Next(nil)
			}
		}
		f = p.search.Finding()
		if p.before != nil && !p.search.Done() {
			f = p.before.Finding()
		}
	}
	return f
}

// witness is what package dispute asks.
type witness[S any, I comparable] Lockstep[S, I]

// Root implements [dispute.Witness].
func (w *witness[S, I]) Root(t driftback.Tick) (sum uint64, ok bool) {
	return (*Lockstep[S, I])(w).root(t)
}

// State implements [dispute.Witness].
func (w *witness[S, I]) State(t driftback.Tick) (b []byte, ok bool) {
	return (*Lockstep[S, I])(w).stateBytesAt(t)
}
