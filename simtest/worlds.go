package simtest

import (
	"errors"
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// world returns the truth that a peer is compared with. It is that of the match, unless a
// fault makes the peer's world another: because it runs a tick twice, or because it is told
// other inputs than the rest.
func (m *match[S, I]) world(self int) *truth[S, I] {
	other := *m.truth
	if t, fault := m.s.doubles(self); fault >= 0 {
		g := m.game
		g.Step = doubled(g.Step, t)
		other.game = &g
		return &other
	}
	for _, f := range m.s.Faults {
		if f.Kind != Equivocate {
			continue
		}
		for _, d := range m.s.pairs(f) {
			if d.to == self {
				other.inputs = func(q driftback.Participant, t driftback.Tick) I { return m.told(driftback.Peer(self), q, t) }
				return &other
			}
		}
	}
	return m.truth
}

// parts reports whether the worlds of two peers differ as tick t begins. Both must have
// come to it.
func (p *peer[S, I]) parts(other *peer[S, I], t driftback.Tick) bool {
	return p.truth != other.truth && p.truth.at(t).sum != other.truth.at(t).sum
}

// hardOfHearing reports whether links are so bad that a peer may be done with another
// that has not said all.
func (m *match[S, I]) hardOfHearing() bool {
	return m.outlook.silences || m.s.has(Crash, Down) || m.s.playsOn()
}

// checkAgreed checks that nobody agrees with one whose world is another, or who says that
// it is.
func (p *peer[S, I]) checkAgreed(t driftback.Tick) {
	for due := p.agreed + p.m.every; due <= t; due += p.m.every {
		for _, q := range p.m.peers {
			if due <= q.final && p.view.members[q.self] && p.m.newest().joined[q.is.Plays[0]] <= q.from && p.parts(q, due) {
				p.breaks(RuleFingerprint, due, "it says that all agree, and the world of peer %d is another", q.self)
			}
			if _, fault := p.reported(q, due, 0); fault >= 0 {
				p.breaks(RuleHostile, due, "it says that all agree, and peer %d has told it another fingerprint", q.self)
			}
		}
	}
}

// checkFinished checks that nobody finishes whose world is another than that of the rest.
func (p *peer[S, I]) checkFinished() {
	m, last := p.m, driftback.Tick(p.m.s.Ticks)
	if m.every == 0 || m.hardOfHearing() {
		return
	}
	for _, q := range m.peers {
		for due := m.every; due < last+m.every; due += m.every {
			if t := min(due, last); t <= q.final && p.parts(q, t) {
				p.breaks(RuleCause, t, "the world of peer %d is another as tick %d begins, and it has finished", q.self, t)
			}
		}
	}
}

// desyncMay plants that worlds that differ end the match.
func (m *match[S, I]) desyncMay() {
	m.plant(cause{elsewhere: []like{as[*session.DesyncError]()}, wrong: m.desyncWrongly, may: true})
}

// desyncWrongly returns why a peer may not say that its state differs from another's: it
// does so at the first compared tick at which their worlds differ, or at which the other
// says that they do.
func (m *match[S, I]) desyncWrongly(self driftback.Peer, err error) string {
	var e *session.DesyncError
	errors.As(err, &e)
	p, last := m.peers[self], driftback.Tick(m.s.Ticks)
	if int(e.Peer) >= len(m.peers) {
		return fmt.Sprintf("there is no peer %d", e.Peer)
	}
	other := m.peers[e.Peer]
	if m.every == 0 || e.Found%m.every != 0 && e.Found != last || e.Found > min(p.final, other.final) {
		return fmt.Sprintf("tick %d is not one that they compare", e.Found)
	}
	// A peer that cannot be heard any more keeps the fingerprints of earlier ticks to itself.
	for t := m.every; t < e.Found && (e.Found != last || !m.hardOfHearing()); t += m.every {
		if _, fault := p.reported(other, t, 0); fault >= 0 || p.parts(other, t) {
			return fmt.Sprintf("tick %d is not the first at which they differ: tick %d is one", e.Found, t)
		}
	}
	ours, theirs := p.truth.at(e.Found).sum, other.truth.at(e.Found).sum
	told, fault := p.reported(other, e.Found, theirs)
	switch {
	case fault >= 0 && e.Tick == e.Found && e.Ours == ours && e.Theirs == told && ours != told:
		m.happens[fault] = true
		return ""
	case ours == theirs:
		return fmt.Sprintf("its state is the same as that of peer %d", e.Peer)
	}
	return ""
}
