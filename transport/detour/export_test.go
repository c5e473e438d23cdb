package detour

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
)

// WellFormed says whether a message that came from a neighbour is one of these.
func WellFormed(as transport.Kind, b []byte) bool {
	if !wellFormed(as, b) {
		return false
	}
	if b[0] < kindCall {
		return true
	}
	_, _, ok := parties(b)
	return ok
}

// Seal sends a message by the detour to a peer, whatever is in it.
func (d *Transport) Seal(to driftback.Peer, b []byte) error {
	return d.seal(to, d.peers[to].way, b[0], b[1:])
}
