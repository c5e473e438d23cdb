package mesh

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/wire"
)

func TestOfEventsOnlyLinksThatFlapAreDropped(t *testing.T) {
	m := playing(t, 3, func(c *Config) { c.RejoinGrace = time.Hour })
	a, b, c := m.seats[0], m.seats[1], m.seats[2]
	b.lose, c.lose = everything, everything
	for !a.mesh.Blocked() {
		m.turn()
	}
	for range maxEvents {
		a.up(b)
		a.down(b, "it flaps")
	}
	a.give(c, wire.Finish{At: 5})
	a.turn()
	require.Len(t, a.mesh.Events(), maxEvents+2)
	require.Equal(t, maxEvents+1, a.mesh.EventsDropped(), "one of them made room for the first resumption")
	require.Contains(t, a.mesh.Events(), Event{Kind: PeerResumed, Peer: 1})
	require.Contains(t, a.mesh.Events(), Event{Kind: PeerResumed, Peer: 2})
	require.Contains(t, a.mesh.Events(), Event{Kind: PeerFinished, Peer: 2})
	a.turn()
	require.Empty(t, a.mesh.Events(), "each Poll begins anew")
}
