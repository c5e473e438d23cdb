package natpunch

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/stun/v4"
	quicgo "github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"
)

// forged is a game's socket to which packets can be sent in another's name, as on a
// network that does not look at where they come from. It keeps some of what has come, as
// somebody who sees the traffic can.
type forged struct {
	net.PacketConn
	deaf   atomic.Bool // loses all
	forger netip.AddrPort

	mu   sync.Mutex
	tape [2 * half][]byte // the first that came, and the newest
	n    int
}

const (
	half        = 32
	forgedFrom  = 6 // an IPv4 address and a port, before the packet
	forgedLimit = maxPacket - forgedFrom
)

// newForged opens the socket, and that of who forges.
func newForged(t testing.TB) (victim *forged, forger *net.UDPConn) {
	t.Helper()
	forger = listenHere(t)
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	return &forged{PacketConn: conn, forger: forger.LocalAddr().(*net.UDPAddr).AddrPort()}, forger
}

// listenHere opens a socket on a loopback address, until the test ends.
func listenHere(t testing.TB) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (c *forged) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := c.PacketConn.ReadFrom(b)
		if err != nil {
			return n, from, err
		}
		if c.deaf.Load() {
			continue
		}
		if from.(*net.UDPAddr).AddrPort() == c.forger && n >= forgedFrom {
			from = &net.UDPAddr{IP: slices.Clone(b[:4]), Port: int(binary.BigEndian.Uint16(b[4:]))}
			return copy(b, b[forgedFrom:n]), from, nil
		}
		c.mu.Lock()
		at := c.n
		if at >= half {
			at = half + at%half
		}
		c.tape[at] = append(c.tape[at][:0], b[:n]...)
		c.n++
		c.mu.Unlock()
		return n, from, nil
	}
}

// heard returns a packet that has come, by a number that may be any; nil if none has.
func (c *forged) heard(n int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == 0 {
		return nil
	}
	return slices.Clone(c.tape[n%min(c.n, len(c.tape))])
}

// inName puts the address that a packet shall be said to come from before it.
func inName(of netip.AddrPort, b []byte) []byte {
	ip := of.Addr().As4()
	head := binary.BigEndian.AppendUint16(ip[:], of.Port())
	return append(head, b[:min(len(b), forgedLimit)]...)
}

// credentials are what a peer's round is told from others by, and what its checks are
// signed with: who carries the signals knows both.
type credentials struct{ username, password string }

func (m *match) credentials(of int) credentials {
	r := m.ends[of].routes[1-of]
	r.mu.Lock()
	defer r.mu.Unlock()
	return credentials{r.current.ufrag + ":" + r.theirs.ufrag, r.current.password}
}

// check builds one that carries the password, and more.
func (c credentials) check(t testing.TB, more ...stun.Setter) []byte {
	t.Helper()
	setters := append([]stun.Setter{stun.BindingRequest, stun.TransactionID, stun.NewUsername(c.username)}, more...)
	return build(t, append(setters, stun.NewShortTermIntegrity(c.password), stun.Fingerprint)...)
}

// prove has the first peer's end accept QUIC from a socket as the second's.
func (m *match) prove(conn *net.UDPConn) {
	m.t.Helper()
	_, err := conn.WriteTo(m.credentials(0).check(m.t), m.ends[0].LocalAddr())
	require.NoError(m.t, err)
	from := canonical(conn.LocalAddr().(*net.UDPAddr).AddrPort())
	until(m.t, "the address to be the peer's", func() bool {
		return m.ends[0].socket.table.Load().owners[from] == m.ends[0].routes[1]
	})
}

// initials returns the first packets of so many calls by a stranger's key.
func initials(t testing.TB, n int) (list [][]byte) {
	t.Helper()
	nobody, conn := listenHere(t), listenHere(t)
	endpoint := &quicgo.Transport{Conn: conn}
	defer func() { require.NoError(t, endpoint.Close()) }()
	id := newIdentity(t)
	for len(list) < n {
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error)
		go func() {
			_, err := endpoint.Dial(ctx, nobody.LocalAddr(), id.ClientConfig("driftback/1", id.Pin()), &quicgo.Config{})
			given <- err
		}()
		b := make([]byte, maxPacket)
		require.NoError(t, nobody.SetReadDeadline(time.Now().Add(patience)))
		size, _, err := nobody.ReadFrom(b)
		require.NoError(t, err)
		list = append(list, b[:size])
		cancel()
		require.Error(t, <-given)
	}
	return list
}

// versions is a packet that says which versions of QUIC somebody speaks: none that we do.
func versions() []byte {
	b := make([]byte, 40)
	_, _ = rand.Read(b)
	b[0] |= 0xc0
	copy(b[1:], []byte{0, 0, 0, 0, 8})
	b[14] = 8
	return b
}
