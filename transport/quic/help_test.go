package quic

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test over real sockets.
const patience = 30 * time.Second

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

// await asks a transport for messages until one is of a kind, and returns it with
// its data copied. Others on the way are dropped.
func await(t testing.TB, tr *Transport, kind transport.Kind) transport.Message {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		m, ok := tr.Receive()
		if !ok {
			pause()
			continue
		}
		if m.Kind == kind {
			m.Data = append([]byte(nil), m.Data...)
			return m
		}
	}
	require.FailNow(t, "nothing of the kind came", "peer %d waited %v for %v; its counts: %+v", tr.self, patience, kind, tr.Counts())
	return transport.Message{}
}

// pause lets the network work, between two looks at what it has brought.
func pause() { time.Sleep(200 * time.Microsecond) }

// until waits for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); pause() {
		if ok() {
			return
		}
	}
	require.FailNow(t, "it did not happen", what)
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
