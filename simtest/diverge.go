package simtest

import (
	"errors"
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// diverged is a peer whose world becomes another, and what becomes of that.
type diverged[S any, I comparable] struct {
	peer  driftback.Peer
	tick  driftback.Tick
	fault int
	truth *truth[S, I]
	same  driftback.Tick // up to this one the two worlds are the same where they are compared
}

func (s *Scenario) validateDiverge(fault int, f Fault) error {
	switch {
	case len(f.From) != 1:
		return fmt.Errorf("simtest: fault %d (diverge) names the peers %v: it is one peer's", fault, f.From)
	case len(s.Peers) < 2:
		return fmt.Errorf("simtest: fault %d (diverge) is the only peer's: there is no other to differ from", fault)
	case s.FingerprintEvery == None:
		return fmt.Errorf("simtest: fault %d (diverge) and fingerprintEvery is %d: nobody would notice", fault, None)
	}
	for _, other := range s.Faults[:fault] {
		if other.Kind == Diverge {
			return fmt.Errorf("simtest: fault %d (diverge) is the second: one world may be another", fault)
		}
	}
	return nil
}

// doubled returns a step that runs one tick twice.
func doubled[S, I any](step driftback.Step[S, I], at driftback.Tick) driftback.Step[S, I] {
	return func(s *S, in []I, pass *driftback.Pass) {
		if pass.Tick() == at {
			first := *pass // what this one raises is not told
			step(s, in, &first)
		}
		step(s, in, pass)
	}
}

// diverge plants that one peer's world becomes another, if a fault says so.
func (m *match[S, I]) diverge() {
	for i, f := range m.s.Faults {
		if f.Kind != Diverge {
			continue
		}
		g := m.game
		g.Step = doubled(g.Step, driftback.Tick(f.Tick))
		t := *m.truth
		t.game = &g
		m.diverged = &diverged[S, I]{peer: driftback.Peer(f.From[0]), tick: driftback.Tick(f.Tick), fault: i, truth: &t}
		m.plant(cause{
			elsewhere: []like{as[*session.DesyncError]()}, wrong: m.desyncWrongly, may: true,
		})
	}
}

// parted returns the first compared tick up to last at whose beginning the two worlds
// differ; ok is false if there is none. The last tick of a match is compared too.
func (m *match[S, I]) parted(last driftback.Tick) (first driftback.Tick, ok bool) {
	d := m.diverged
	if d == nil || last <= d.tick {
		return 0, false
	}
	for t := d.same + m.every; t <= last; t += m.every {
		if m.truth.at(t).sum != d.truth.at(t).sum {
			return t, true
		}
		d.same = t
	}
	end := driftback.Tick(m.s.Ticks)
	return end, last == end && m.truth.at(end).sum != d.truth.at(end).sum
}

// desyncWrongly returns why a peer may not say that its state differs from another's.
func (m *match[S, I]) desyncWrongly(self driftback.Peer, err error) string {
	var e *session.DesyncError
	errors.As(err, &e)
	d, end := m.diverged, driftback.Tick(m.s.Ticks)
	// A peer that cannot be heard any more keeps the fingerprints of earlier ticks to itself.
	first, ok := m.parted(e.Tick)
	switch {
	case e.Tick != end && e.Tick%m.every != 0 || e.Tick > m.peers[self].final:
		return fmt.Sprintf("tick %d is not one that it compares", e.Tick)
	case int(e.Peer) >= len(m.peers) || (self == d.peer) == (e.Peer == d.peer):
		return fmt.Sprintf("its state is the same as that of peer %d", e.Peer)
	case !ok || first != e.Tick && (e.Tick != end || !m.hardOfHearing()):
		return fmt.Sprintf("tick %d is not the first at which they differ", e.Tick)
	case e.Ours != m.peers[self].truth.at(e.Tick).sum || e.Theirs != m.peers[e.Peer].truth.at(e.Tick).sum:
		return "these are not the fingerprints"
	}
	return ""
}

// hardOfHearing reports whether links are so bad that a peer may be done with another
// that has not said all.
func (m *match[S, I]) hardOfHearing() bool { return m.outlook.silences || m.s.has(Crash, Down) }

// checkDiverged checks that a peer that has finished was right to.
func (p *peer[S, I]) checkDiverged() {
	m := p.m
	if t, ok := m.parted(driftback.Tick(m.s.Ticks)); ok && !m.hardOfHearing() {
		p.breaks(RuleCause, t, "the world of peer %d is another as tick %d begins, and it has finished", m.diverged.peer, t)
	}
}
