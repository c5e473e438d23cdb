package natpunch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/quic"
)

// listen6 opens a socket on every interface, for IPv4 and IPv6.
func listen6(t testing.TB) net.PacketConn {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv6unspecified})
	if err != nil {
		t.Skip("no IPv6 here:", err)
	}
	return conn
}

func TestAPeerWithIPv6LinksWithOnesThatHaveOneOfBoth(t *testing.T) {
	for name, other := range map[string]string{"IPv4": "127.0.0.1:0", "IPv6": "[::1]:0"} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2)
			both := m.config(0)
			both.conn, both.loopback = listen6(t), true
			m.open(both)
			one := m.config(1)
			one.Addr = other
			m.open(one)
			m.meet()
			m.talk(0, 1)
			require.Equal(t, m.ends[1].LocalAddr().String(), m.path(0, 1).Remote.String())
		})
	}
	t.Run("both", func(t *testing.T) {
		m := newMatch(t, 2)
		for i := range 2 {
			c := m.config(i)
			c.conn, c.loopback = listen6(t), true
			m.open(c)
		}
		m.meet()
		m.talk(0, 1)
	})
}

func TestEightPeersAllLinkWithEachOther(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two seconds of both cores")
	}
	m := newMatch(t, 8)
	start := time.Now()
	m.meet()
	t.Log("linked after", time.Since(start))
	m.talk(0, 7)
	m.talk(3, 4)
}

func TestACodeLetsAPeerInWhoseKeyIsNotKnown(t *testing.T) {
	m := newMatch(t, 2)
	code := identity.NewCode()
	m.open(Config{Self: 0, Identity: m.ids[0], Addr: "127.0.0.1:0", Peers: []Remote{{Peer: 1, Code: code}}})
	m.open(Config{Self: 1, Identity: m.ids[1], Addr: "127.0.0.1:0", Peers: []Remote{{Peer: 0, Pin: m.ids[0].Pin(), Code: code}}})
	m.meet()
	m.talk(0, 1)
	pin, ok := m.ends[0].Pin(1)
	require.True(t, ok)
	require.Equal(t, m.ids[1].Pin(), pin)
}

// What each side is told of the other's key when it is not the one that it pins.
func TestKeysThatAreNotPinnedMakeNoLink(t *testing.T) {
	for name, pins := range map[string][2]bool{ // whether each side pins the other's true key
		"neither does":    {false, false},
		"the lower does":  {true, false},
		"the higher does": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2)
			for i := range 2 {
				config := m.config(i)
				if !pins[i] {
					config.Peers[0].Pin = newIdentity(t).Pin()
				}
				m.open(config)
			}
			start := time.Now()
			for i, end := range m.ends {
				until(t, "the reason to be known", func() bool {
					_, err := end.Why(driftback.Peer(1 - i))
					return errors.Is(err, identity.ErrNotPinned) || errors.Is(err, quic.ErrRefused)
				})
				_, err := end.Why(driftback.Peer(1 - i))
				t.Log(err)
				require.ErrorContains(t, err, m.ends[1-i].LocalAddr().String(), "it names the real address")
			}
			require.Less(t, time.Since(start), time.Second)
			for _, end := range m.ends {
				_, told := end.Receive()
				require.False(t, told, "a link that was never up has nothing to tell")
			}
		})
	}
}

// newer is the signal of a peer whose messages are of another version, and which takes
// ours for such.
type newer struct{ Signal }

func (s newer) Send(ctx context.Context, to driftback.Peer, b []byte) error {
	b = slices.Clone(b)
	b[0] = messageProtocol + 1
	return s.Signal.Send(ctx, to, b)
}

func (s newer) Receive(ctx context.Context) (driftback.Peer, []byte, error) {
	from, b, err := s.Signal.Receive(ctx)
	if err == nil {
		b = slices.Clone(b)
		b[0] = messageProtocol - 1
	}
	return from, b, err
}

func TestAPeerWhoseSignalsAreOfAnotherVersionIsToldAndTold(t *testing.T) {
	m := newMatch(t, 2)
	m.open(m.config(0))
	c := m.config(1)
	member := m.room.Join(1)
	t.Cleanup(member.Leave)
	c.Signal = newer{member}
	start := time.Now()
	m.open(c)
	for i, end := range m.ends {
		until(t, "the reason to be known", func() bool {
			_, err := end.Why(driftback.Peer(1 - i))
			return errors.Is(err, ErrVersion)
		})
		_, err := end.Why(driftback.Peer(1 - i))
		require.EqualError(t, err, fmt.Sprintf("natpunch: no path to peer %d: it speaks another version of the signals, %d, and ours is 1", 1-i, 2-2*i))
	}
	require.Less(t, time.Since(start), time.Second)
}

// Who calls from an address that no check with the password has come from is not heard,
// whatever key it has.
func TestAStrangerWhoseAddressIsNotProvedSeesOnlyATimeOut(t *testing.T) {
	m := newMatch(t, 2)
	m.meet()
	before := m.ends[0].Counts()
	conn := listenHere(t)
	endpoint := &quicgo.Transport{Conn: conn}
	defer func() { require.NoError(t, endpoint.Close()) }()
	for _, id := range []*identity.Identity{newIdentity(t), m.ids[1]} {
		_, err := endpoint.Dial(t.Context(), m.ends[0].LocalAddr(), id.ClientConfig("driftback/1", m.ids[0].Pin()), &quicgo.Config{
			HandshakeIdleTimeout: 100 * time.Millisecond,
		})
		var silent *quicgo.HandshakeTimeoutError
		var idle *quicgo.IdleTimeoutError
		require.True(t, errors.As(err, &silent) || errors.As(err, &idle), "%v", err)
	}
	after := m.ends[0].Counts()
	require.Greater(t, after.Strangers, before.Strangers)
	before.Strays = after.Strays // what is left of a second call between the two
	require.Equal(t, before.Counts, after.Counts, "QUIC saw none of it")
	m.talk(0, 1)
}

func TestALinkThatEndsNamesTheRealAddress(t *testing.T) {
	m := newMatch(t, 2)
	m.meet()
	addr := m.ends[1].LocalAddr().String()
	s, ok := m.ends[0].Stats(1)
	require.True(t, ok)
	require.Equal(t, addr, s.Addr)
	require.NoError(t, m.ends[1].Close())
	down := await(t, m.ends[0], transport.Down)
	require.ErrorIs(t, down.Err, quic.ErrPeerClosed)
	require.ErrorContains(t, down.Err, addr)
}

func TestPeersOnEveryInterfaceFindEachOther(t *testing.T) {
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	usable := func(a net.Addr) bool {
		ip, ok := a.(*net.IPNet)
		return ok && !ip.IP.IsLoopback() && !ip.IP.IsLinkLocalUnicast()
	}
	if !slices.ContainsFunc(addrs, usable) {
		t.Skip("this machine has none but the loopback interface")
	}
	m := newMatch(t, 2)
	for i := range 2 {
		c := m.config(i)
		c.Addr = "" // as a game has it
		m.open(c)
	}
	m.meet()
	m.talk(0, 1)
	require.False(t, m.path(0, 1).Remote.Addr().IsLoopback())
}
