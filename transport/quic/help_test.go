package quic

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/internal/waittest"
	"github.com/driftback/driftback/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test over real sockets.
const patience = waittest.Patience

var (
	await = waittest.Message[Counts]
	until = waittest.Until
)

func newIdentity(t testing.TB) *identity.Identity {
	t.Helper()
	id, err := identity.Generate()
	require.NoError(t, err)
	return id
}

// open listens on the loopback interface and closes when the test ends.
func open(t testing.TB, c Config) *Transport {
	t.Helper()
	if c.Addr == "" && c.Conn == nil {
		c.Addr = "127.0.0.1:0"
	}
	tr, err := Listen(context.Background(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tr.Close()) })
	return tr
}

// pair opens two peers, 0 and 1, of which 1 calls.
func pair(t testing.TB) (a, b *Transport) {
	t.Helper()
	ia, ib := newIdentity(t), newIdentity(t)
	a = open(t, Config{Self: 0, Identity: ia, Peers: []Remote{{Peer: 1, Pin: ib.Pin()}}})
	b = open(t, Config{Self: 1, Identity: ib, Peers: []Remote{{Peer: 0, Pin: ia.Pin(), Addr: a.LocalAddr().String()}}})
	return a, b
}

func linked(t testing.TB) (a, b *Transport) {
	t.Helper()
	a, b = pair(t)
	linkUp(t, a, b)
	return a, b
}

// linkUp waits until two peers know that they are linked.
func linkUp(t testing.TB, a, b *Transport) {
	t.Helper()
	require.Equal(t, b.self, await(t, a, transport.Up).From)
	require.Equal(t, a.self, await(t, b, transport.Up).From)
}
