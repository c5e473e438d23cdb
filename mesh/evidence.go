package mesh

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/wire"
)

const (
	// MaxEvidence is the size in bytes of the largest piece of evidence.
	MaxEvidence = wire.MaxEvidence
	// maxUnheard is how many pieces of a peer's may wait to be taken. Each side answers what the
	// other has said, and whatever they talk about is less than half of that.
	maxUnheard = 64
	// evidencePerTurn is how many pieces go to a peer between two calls of Poll, so that a
	// transport's queue keeps room for what else has to be said.
	evidencePerTurn = 8
)

// evidence is what goes to and fro between this peer and one from which it differs.
type evidence struct {
	ring  []byte // places of MaxEvidence bytes, made for the first piece
	sizes [maxUnheard]int
	first int // the place of the oldest that was not taken
	n     int // how many were not
	sent  int // since the last Poll
	// rounds is how often the link has come up while a dispute was open: what was on its way is
	// lost then, and both begin anew.
	rounds int
	// settled: this peer knows all that it can, over: the other one does. gone: it has left.
	settled, over, gone bool
}

// Disagreement is one between this peer and another, about which both have said what they have.
type Disagreement struct {
	Peer driftback.Peer
	// Tick is the compared one at whose beginning their states differ, and Ours and Theirs are
	// the states' fingerprints.
	Tick         driftback.Tick
	Ours, Theirs uint64
	// Round is by how much this is not the first attempt to find out more: a link that went down
	// takes with it what was said, and both begin anew when it is back.
	Round int
}

// Disputed returns the disagreement that this peer has found, after the end too; ok is false if it has
// found none. The other one need not know of it yet.
func (m *Mesh) Disputed() (d Disagreement, ok bool) {
	e := &m.dispute.err
	return Disagreement{Peer: e.Peer, Tick: e.Tick, Ours: e.Ours, Theirs: e.Theirs}, m.dispute.open
}

// Disagreements appends to dst those about which evidence is exchanged, by peer. It says so
// after the end too, for which see [Mesh.NextEvidence].
func (m *Mesh) Disagreements(dst []Disagreement) []Disagreement {
	for i := range m.links {
		if l := &m.links[i]; m.explains(l) {
			dst = append(dst, Disagreement{
				Peer: l.peer, Tick: l.disagree.Tick, Ours: m.dispute.err.Ours, Theirs: l.disagree.Sum, Round: l.evidence.rounds,
			})
		}
	}
	return dst
}

// explains reports whether this peer and another find out in what they differ: each has told the
// other what it has for one and the same tick.
func (m *Mesh) explains(l *link) bool {
	d := &m.dispute
	return m.cfg.Evidence && d.open && l.disagreed && l.owed&owesDisagree == 0 && !l.view.cut && !m.relayed() &&
		l.disagree.Tick == d.err.Tick && l.disagree.Sum != d.err.Ours
}

// SendEvidence sends the next piece, of 1 to [MaxEvidence] bytes, to a peer with which there is a
// disagreement. It copies b. False: there is no room for it now, or nobody to send it to; try
// again after the next Poll.
func (m *Mesh) SendEvidence(to driftback.Peer, b []byte) bool {
	l := m.linkTo(to)
	if l == nil || m.phase != Playing || !m.explains(l) || !l.up || !l.greeted || l.evidence.gone || l.evidence.settled || l.evidence.sent == evidencePerTurn ||
		m.cfg.Buggify.Fires(buggify.FullChannel) {
		return false
	}
	if len(b) == 0 || len(b) > MaxEvidence {
		m.broken(fmt.Errorf("a piece of evidence of %d bytes: from 1 to %d are allowed", len(b), MaxEvidence))
		return false
	}
	if !m.sendControl(l, wire.Evidence{Tick: l.disagree.Tick, Data: b}) {
		return false
	}
	l.evidence.sent++
	return true
}

// NextEvidence returns the oldest piece of a peer's that has not been taken, borrowed until the
// next Poll; ok is false if there is none. What has come before the match ended can be taken
// after it.
func (m *Mesh) NextEvidence(from driftback.Peer) (b []byte, ok bool) {
	l := m.linkTo(from)
	if l == nil || l.evidence.n == 0 {
		return nil, false
	}
	e := &l.evidence
	at := e.first * MaxEvidence
	b = e.ring[at : at+e.sizes[e.first] : at+e.sizes[e.first]]
	e.first = (e.first + 1) % maxUnheard
	e.n--
	return b, true
}

// Settle says that this peer has told another all that it had to tell, and knows all that it
// can know. The dispute is over when both sides have said so, with every peer that differs.
func (m *Mesh) Settle(with driftback.Peer) {
	l := m.linkTo(with)
	if l == nil || m.phase != Playing || !m.explains(l) || l.evidence.settled {
		return
	}
	l.evidence.settled = true
	l.owed |= owesSettled
	m.sendOwed()
	m.settleDispute()
}

func (m *Mesh) receiveEvidence(l *link, c wire.Evidence) {
	e := &l.evidence
	switch {
	case m.phase == Joining:
		m.refuse(Early)
	case !m.explains(l) || c.Tick != l.disagree.Tick || e.over:
		m.refuse(BadEvidence)
	case len(c.Data) == 0:
		e.over = true
		m.settleDispute()
	case e.n == maxUnheard:
		m.refuse(Flood)
	default:
		if e.ring == nil {
			e.ring = make([]byte, maxUnheard*MaxEvidence)
		}
		place := (e.first + e.n) % maxUnheard
		e.sizes[place] = copy(e.ring[place*MaxEvidence:], c.Data)
		e.n++
	}
}

// again begins anew, as the link has come up.
func (e *evidence) again() { *e = evidence{ring: e.ring, rounds: e.rounds + 1, gone: e.gone} }
