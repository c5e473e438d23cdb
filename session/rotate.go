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

// agreedBefore returns the newest tick at which two peers whose fingerprints of tick found differ had one
// state: the due tick before, or where fingerprints rotate the one from which on each subsystem has been
// compared. Both sides come to the same.
func (m *Lockstep[S, I]) agreedBefore(found driftback.Tick) driftback.Tick {
	every, turn := driftback.Tick(m.cfg.FingerprintEvery), driftback.Tick(1)
	if m.cfg.FingerprintRotate {
		turn = driftback.Tick(len(m.hasher.Subsystems()))
		turn = max(1, min(turn, keptStates-1, maxAnew/every)) // more is not kept, or not run anew
	}
	return max(0, (found-1)/every+1-turn) * every
}

// intervalSetting says in words what is compared when.
func (c *Config[S, I]) intervalSetting() string {
	if c.FingerprintRotate {
		return orNone(c.FingerprintEvery) + ", one subsystem at a time"
	}
	return orNone(c.FingerprintEvery)
}
