package natpunch

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/internal/waittest"
	"github.com/driftback/driftback/signalling"
	"github.com/driftback/driftback/transport"
)

func TestMain(m *testing.M) {
	if os.Getenv(relayProcess) != "" {
		runRelay()
		return
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait of a test over real sockets.
const patience = waittest.Patience

var (
	await = waittest.Message[Counts]
	until = waittest.Until
	pause = waittest.Pause
)

func newIdentity(t testing.TB) *identity.Identity {
	t.Helper()
	id, err := identity.Generate()
	require.NoError(t, err)
	return id
}

// match is some peers that know each other's pins, and the room that they meet in.
type match struct {
	t    testing.TB
	room *signalling.Room
	ids  []*identity.Identity
	ends []*Transport
}

func newMatch(t testing.TB, peers int) *match {
	t.Helper()
	m := &match{t: t, room: signalling.NewRoom(), ends: make([]*Transport, peers)}
	for range peers {
		m.ids = append(m.ids, newIdentity(t))
	}
	return m
}

// config is that of one peer, on a loopback address.
func (m *match) config(self int) Config {
	c := Config{Self: driftback.Peer(self), Identity: m.ids[self], Addr: "127.0.0.1:0"}
	for i, id := range m.ids {
		if i != self {
			c.Peers = append(c.Peers, Remote{Peer: driftback.Peer(i), Pin: id.Pin()})
		}
	}
	return c
}

// open opens one peer, with a member of the room for its signal unless it has another,
// and closes both when the test ends.
func (m *match) open(c Config) *Transport {
	m.t.Helper()
	if c.Signal == nil {
		member := m.room.Join(c.Self)
		m.t.Cleanup(member.Leave)
		c.Signal = member
	}
	tr, err := Listen(context.Background(), c)
	require.NoError(m.t, err)
	m.ends[c.Self] = tr
	m.t.Cleanup(func() { require.NoError(m.t, tr.Close()) })
	return tr
}

// meet opens the peers that are not open yet, and waits until all are linked.
func (m *match) meet() {
	m.t.Helper()
	for i, end := range m.ends {
		if end == nil {
			m.open(m.config(i))
		}
	}
	for _, end := range m.ends {
		for up := 1; up < len(m.ends); up++ {
			await(m.t, end, transport.Up)
		}
	}
}

// path returns the path of one peer to another.
func (m *match) path(from, to int) Path {
	s, ok := m.ends[from].Stats(driftback.Peer(to))
	require.True(m.t, ok)
	return s.Path
}

// talk sends a message each way between two peers.
func (m *match) talk(a, b int) {
	m.t.Helper()
	for _, way := range [][2]int{{a, b}, {b, a}} {
		require.NoError(m.t, m.ends[way[0]].SendReliable(driftback.Peer(way[1]), []byte("are you there")))
		require.Equal(m.t, "are you there", string(await(m.t, m.ends[way[1]], transport.Reliable).Data))
	}
}
