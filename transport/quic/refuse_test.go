package quic

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	quicgo "github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
)

// refusalPatience is within what time each side knows why there is no link. It takes
// some ten milliseconds.
const refusalPatience = time.Second

// stolen shows somebody's certificate in place of one's own, and keeps one's own key.
func stolen(from *identity.Identity) func(*tls.Config) {
	return func(c *tls.Config) {
		mine := c.Certificates[0]
		theirs := from.ClientConfig(protocol, identity.Pin{}).Certificates[0]
		c.Certificates = []tls.Certificate{{Certificate: theirs.Certificate, PrivateKey: mine.PrivateKey}}
	}
}

func newer(c *tls.Config) { c.NextProtos = []string{"driftback/2"} }

// What either side says is one sentence, and names the peer, its address and the reason.
func TestEveryRefusalIsToldOnBothSidesWithinASecond(t *testing.T) {
	host, guest, other := newIdentity(t), newIdentity(t), newIdentity(t)
	right := func() (h, g Config) {
		return Config{Self: 0, Identity: host, Peers: []Remote{{Peer: 1, Pin: guest.Pin()}}},
			Config{Self: 1, Identity: guest, Peers: []Remote{{Peer: 0, Pin: host.Pin()}}}
	}
	for name, c := range map[string]struct {
		wrong               func(h, g *Config)
		hostSays, guestSays error
		hostWord, guestWord string
	}{
		"a stranger": {
			func(_, g *Config) { g.Identity = other },
			identity.ErrNotPinned, ErrRefused,
			"identity: the key with pin " + other.Pin().String() + " is not pinned here",
			"it does not have our key pinned",
		},
		"a guest that was told another key": {
			func(_, g *Config) { g.Peers[0].Pin = other.Pin() },
			ErrRefused, identity.ErrNotPinned,
			"it does not have our key pinned",
			"identity: the key has pin " + host.Pin().String() + ", and " + other.Pin().String() + " is pinned: either it was replaced or somebody else answers",
		},
		"a guest with a stolen certificate": {
			func(_, g *Config) { g.Identity, g.tamper = other, stolen(guest) },
			ErrUnproven, errUnprovenHere,
			"it shows a certificate and does not hold its key",
			"it says that we do not hold the key of our certificate",
		},
		"a host with a stolen certificate": {
			func(h, _ *Config) { h.Identity, h.tamper = other, stolen(host) },
			errUnprovenHere, ErrUnproven,
			"it says that we do not hold the key of our certificate",
			"it shows a certificate and does not hold its key",
		},
		"a guest of another version": {
			func(_, g *Config) { g.tamper = newer },
			ErrVersion, ErrVersion,
			"it speaks another version of the protocol, and ours is driftback/1",
			"it speaks another version of the protocol, and ours is driftback/1",
		},
		"a host of another version": {
			func(h, _ *Config) { h.tamper = newer },
			ErrVersion, ErrVersion,
			"it speaks another version of the protocol, and ours is driftback/1",
			"it speaks another version of the protocol, and ours is driftback/1",
		},
		"a code that is wrong": {
			func(h, g *Config) {
				h.Peers[0] = Remote{Peer: 1, Code: identity.NewCode()}
				g.Peers[0].Code = identity.NewCode()
			},
			errBadCode, ErrCodeRefused,
			"it called with a code that is wrong or has been used",
			"it refuses our code",
		},
		"a stranger without a code": {
			func(h, g *Config) {
				h.Peers[0] = Remote{Peer: 1, Code: identity.NewCode()}
				g.Identity = other
			},
			identity.ErrNotPinned, ErrRefused,
			"identity: the key with pin " + other.Pin().String() + " is not pinned here",
			"it does not have our key pinned",
		},
	} {
		t.Run(name, func(t *testing.T) {
			hc, gc := right()
			c.wrong(&hc, &gc)
			h := open(t, hc)
			gc.Peers[0].Addr = h.LocalAddr().String()
			start := time.Now()
			g := open(t, gc)
			told(t, g, 0, c.guestSays, "quic: no link with peer 0 at "+gc.Peers[0].Addr+": "+c.guestWord)
			told(t, h, 1, c.hostSays, "quic: no link with peer 1 at "+g.LocalAddr().String()+": "+c.hostWord)
			took := time.Since(start)
			t.Log("known on both sides after", took)
			require.Less(t, took, refusalPatience)
			for _, tr := range []*Transport{h, g} {
				_, any := tr.Receive()
				require.False(t, any, "a link that was never up has nothing to tell")
			}
		})
	}
}

// told waits until a peer says why there is no link.
func told(t testing.TB, tr *Transport, peer driftback.Peer, want error, word string) {
	t.Helper()
	until(t, "the reason to be known", func() bool { _, err := tr.Why(peer); return err != nil })
	_, err := tr.Why(peer)
	require.ErrorIs(t, err, want)
	require.EqualError(t, err, word)
	s, ok := tr.Stats(peer)
	require.True(t, ok)
	require.Equal(t, err.Error(), s.LastError.Error())
}

// tapped is a socket that keeps what it sends.
type tapped struct {
	net.PacketConn
	mu   sync.Mutex
	sent [][]byte
}

func (c *tapped) WriteTo(b []byte, to net.Addr) (int, error) {
	c.mu.Lock()
	c.sent = append(c.sent, bytes.Clone(b))
	c.mu.Unlock()
	return c.PacketConn.WriteTo(b, to)
}

// Whoever has seen a call and repeats it gets no further; and who waits for a peer is told.
func TestAReplayedHandshakeIsToldWithinASecondAndLeadsNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := simulate(t, 3, 10*time.Millisecond, nil)
		defer stop()
		host, guest := newIdentity(t), newIdentity(t)
		h, err := Listen(context.Background(), Config{Self: 0, Identity: host, Conn: w.conns[0], Peers: []Remote{
			{Peer: 1, Pin: guest.Pin()}, {Peer: 2, Pin: newIdentity(t).Pin()},
		}})
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close()) }()
		wire := &tapped{PacketConn: w.conns[1]}
		g, err := Listen(context.Background(), Config{Self: 1, Identity: guest, Conn: wire, Peers: []Remote{
			{Peer: 0, Pin: host.Pin(), Addr: w.conns[0].LocalAddr().String()},
		}})
		require.NoError(t, err)
		linkUp(t, h, g)
		require.NoError(t, g.Close())
		require.ErrorIs(t, await(t, h, transport.Down).Err, ErrPeerClosed)
		time.Sleep(time.Minute) // of the bubble's clock, until QUIC has forgotten the connection
		_, err = h.Why(2)
		require.NoError(t, err)

		thief := w.conns[2]
		defer func() { require.NoError(t, thief.Close()) }()
		start := time.Now()
		for _, b := range wire.sent {
			_, err := thief.WriteTo(b, w.conns[0].LocalAddr())
			require.NoError(t, err)
		}
		told(t, h, 2, ErrReplayed, "quic: no link with peer 2 at "+thief.LocalAddr().String()+": the call is a copy of one that was made before")
		require.Less(t, time.Since(start), refusalPatience)
		require.EqualValues(t, 1, h.Counts().Refused)
		require.EqualValues(t, 1, h.pending.Load())
		until(t, "its place to be given back", func() bool { return h.pending.Load() == 0 })
		require.Less(t, time.Since(start), greetTimeout+time.Second)
		require.Equal(t, 1, first(h.Stats(1)).Ups)
		_, any := h.Receive()
		require.False(t, any)
	})
}

func TestTheCallsThatAreKnownAreBounded(t *testing.T) {
	tr := &Transport{spentCalls: newRing[quicgo.ConnectionID](maxSpent)}
	for n := range 3 * maxSpent {
		tr.spend(quicgo.ConnectionIDFromBytes([]byte{byte(n >> 8), byte(n)}))
	}
	require.Len(t, tr.spentCalls.places, maxSpent)
	require.Contains(t, tr.spentCalls.places, quicgo.ConnectionIDFromBytes([]byte{2, 255}))
	require.NotContains(t, tr.spentCalls.places, quicgo.ConnectionIDFromBytes([]byte{0, 1}))
}
