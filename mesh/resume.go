package mesh

import (
	"errors"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// Resume returns the mesh of a peer that has come back to a match and was let in: it plays
// from the start. w is the first welcome that came, and from who sent it. first is the first
// tick of which this peer has not run; it has all inputs below it, and asks for the others.
//
// The error wraps [ErrBehind] if first is so low that inputs would be missing: run on, and
// try again with the same welcome. Say with [Mesh.LinkUp] which links are up.
func Resume(c Config, w wire.Welcome, from driftback.Peer, first driftback.Tick) (*Mesh, error) {
	return nil, errors.New("mesh: not yet")
}

// LinkUp says, after [Resume] and before the first Poll, that the link to a peer is up, and that
// [ReturnHello] has been sent over it.
func (m *Mesh) LinkUp(peer driftback.Peer) {}

// From returns the first tick that this peer publishes for, if it has come back, and 0
// otherwise. Held says the same of each of its participants until it has published.
func (m *Mesh) From() driftback.Tick { return 0 }

// Joined returns the first tick that participant p plays since it came back last; ok is
// false if it never did.
func (m *Mesh) Joined(p driftback.Participant) (t driftback.Tick, ok bool) { return 0, false }

// Status says who is behind participant p's input for tick t, which is one of those that
// can still run again, or of those to come as far as is known now.
func (m *Mesh) Status(p driftback.Participant, t driftback.Tick) driftback.Status {
	return driftback.Playing
}

// ReturnHello is the hello with which a peer comes back to a match: c is what [Resume] will be given.
func ReturnHello(c *Config) wire.Hello { return wire.Hello{} }
