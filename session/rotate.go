package session

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fingerprint"
)

// Where fingerprints rotate, a due tick's is that of one subsystem, and of which follows from
// the tick, so that peers who come later take the same. Every other fingerprint is that of a
// whole state.

// dueSum returns the fingerprint of the state as tick t began that is compared if t is due.
func (c *Config[S, I]) dueSum(h *fingerprint.Hasher[S], t driftback.Tick, s *S) uint64 {
	if every := driftback.Tick(c.FingerprintEvery); c.FingerprintRotate && t%every == 0 {
		return uint64(h.SumOne(uint64(t/every), s))
	}
	return uint64(h.Sum(s))
}

// sumAt is sum of the state as tick t began, as it is compared there.
func (m *Lockstep[S, I]) sumAt(t driftback.Tick, state *S) uint64 {
	sum := m.cfg.dueSum(m.hasher, t, state)
	if err := m.hasher.Err(); err != nil {
		m.check(fmt.Errorf("%w: %w", ErrState, err))
	}
	return sum
}

// sumDue is sum of the state as the next tick begins, which is due.
func (m *Spectator[S, I]) sumDue() uint64 {
	sum := m.cfg.dueSum(m.hasher, m.next, m.state)
	if err := m.hasher.Err(); err != nil {
		m.fail(fmt.Errorf("%w: %w", ErrState, err))
	}
	return sum
}

// intervalSetting says in words what is compared when.
func (c *Config[S, I]) intervalSetting() string {
	if c.FingerprintRotate {
		return orNone(c.FingerprintEvery) + ", one subsystem at a time"
	}
	return orNone(c.FingerprintEvery)
}
