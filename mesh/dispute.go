package mesh

import (
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// maxDispute is how long a peer that found a disagreement waits for the other to
// have found it too, and for both to know in what they differ.
const maxDispute = 5 * time.Second

// maxThird is how long two that differ and know in what wait for others, who may differ from one of them
// too and not have come to that yet.
const maxThird = time.Second

// dispute is a disagreement that both sides have to have seen.
type dispute struct {
	open  bool
	err   DesyncError
	since time.Duration
}

func (d *dispute) msg() wire.Control {
	return wire.Disagree{Tick: d.err.Tick, Sum: d.err.Ours}
}

// disagree opens a dispute: nothing advances, and both sides go on talking until
// each knows what the other found.
func (m *Mesh) disagree(l *link, t driftback.Tick, ours, theirs uint64) {
	m.dispute = dispute{
		open: true, since: m.clock,
		err: DesyncError{Tick: t, Peer: l.peer, Ours: ours, Theirs: theirs},
	}
	for i := range m.links {
		m.links[i].owed |= owesDisagree
	}
	m.sendOwed()
	if l.disagreed {
		m.settleDispute()
	}
}

func (m *Mesh) receiveDisagree(l *link, d wire.Disagree) {
	if m.phase == Joining {
		m.refuse(Early)
		return
	}
	if m.relayed() {
		m.disagreesWithRelay(l, d)
		return
	}
	if !l.disagreed {
		l.disagreed, l.disagree = true, d
	}
	if m.dispute.open {
		m.settleDispute()
		return
	}
	// It is one more copy of a fingerprint that may have been lost, or of the last
	// state's, which is compared when this peer has finished too. In another view it is that of
	// another state.
	f, t := &m.prints, &l.prints
	if f.every != 0 && l.view.known == m.views.number && d.Tick%f.every == 0 && uint64(d.Tick/f.every)-1 == t.next {
		m.receiveSums(l, &wire.Packet{Sums: wire.Sums{First: t.next, List: []uint64{d.Sum}}})
	}
}

func (m *Mesh) settleDispute() {
	for i := range m.links {
		if !m.settledWith(&m.links[i]) {
			return
		}
	}
	m.endDispute()
}

// settledWith reports whether a dispute waits for nothing between this peer and another: what each
// has found is known to both, and in what they differ as far as that can be known.
func (m *Mesh) settledWith(l *link) bool {
	e := &l.evidence
	switch {
	case e.gone:
		return true
	case l.peer == m.dispute.err.Peer && (!l.disagreed || l.owed&owesDisagree != 0 && l.up):
		return false
	case m.cfg.Evidence && !m.relayed() && l.up && !l.disagreed && !l.view.cut && m.clock-m.dispute.since < maxThird:
		return false
	case !m.explains(l):
		return true // it is of the same mind, or there is nothing to find out
	case !l.up:
		return e.settled
	}
	return e.settled && e.over && l.owed&owesSettled == 0
}

func (m *Mesh) endDispute() {
	err := m.dispute.err
	m.end(&err, wire.Leave{Reason: LeaveHalted, Text: fmt.Sprintf("the states differ as tick %d begins", err.Tick)})
}

// leavesDispute takes that a peer leaves while a dispute is open: because of that, and it may be the
// only witness. Others may have evidence yet.
func (m *Mesh) leavesDispute(l *link) {
	if !m.cfg.Evidence || m.relayed() {
		m.endDispute()
		return
	}
	l.evidence.gone = true
	m.settleDispute()
}

// judgeDispute ends a dispute when it is settled or has lasted too long.
func (m *Mesh) judgeDispute() {
	if m.phase != Playing || !m.dispute.open {
		return
	}
	if m.clock-m.dispute.since >= maxDispute {
		m.endDispute()
		return
	}
	m.settleDispute()
}
