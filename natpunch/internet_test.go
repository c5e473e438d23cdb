package natpunch

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/transport/v5/vnet"
	"github.com/pion/turn/v5"
	"github.com/stretchr/testify/require"
)

// nats are the kinds of router that people have at home, by what they let in.
var nats = []struct {
	name string
	kind vnet.NATType
}{
	{"full cone", vnet.NATType{MappingBehavior: vnet.EndpointIndependent, FilteringBehavior: vnet.EndpointIndependent}},
	{"address-restricted", vnet.NATType{MappingBehavior: vnet.EndpointIndependent, FilteringBehavior: vnet.EndpointAddrDependent}},
	{"port-restricted", vnet.NATType{MappingBehavior: vnet.EndpointIndependent, FilteringBehavior: vnet.EndpointAddrPortDependent}},
	{"symmetric", vnet.NATType{MappingBehavior: vnet.EndpointAddrPortDependent, FilteringBehavior: vnet.EndpointAddrPortDependent}},
}

const stunIP, turnIP, serverPort = "1.2.3.4", "1.2.3.5", 3478

var outsideIPs = [2]string{"27.1.1.1", "28.1.1.1"}

// internet is a simulated one: two homes, each behind a router, and a STUN and TURN
// server.
type internet struct {
	t     testing.TB
	homes [2]*vnet.Net
	relay *turn.Server
	// blocked loses what goes straight from one home to the other, and dark everything.
	blocked, dark atomic.Bool
	direct        atomic.Int32 // packets that went straight
}

func newInternet(t testing.TB, a, b vnet.NATType, latency time.Duration, lose func(vnet.Chunk) bool) *internet {
	t.Helper()
	w := &internet{t: t}
	quiet := logging.NewDefaultLoggerFactory()
	quiet.DefaultLogLevel = logging.LogLevelDisabled
	wan, err := vnet.NewRouter(&vnet.RouterConfig{CIDR: "0.0.0.0/0", LoggerFactory: quiet, MinDelay: latency})
	require.NoError(t, err)
	var servers [2]*vnet.Net
	for i, ip := range []string{stunIP, turnIP} {
		servers[i], err = vnet.NewNet(&vnet.NetConfig{StaticIPs: []string{ip}})
		require.NoError(t, err)
		require.NoError(t, wan.AddNet(servers[i]))
	}
	for i, kind := range []vnet.NATType{a, b} {
		home, err := vnet.NewRouter(&vnet.RouterConfig{
			StaticIPs: []string{outsideIPs[i]}, CIDR: fmt.Sprintf("10.%d.0.0/24", i), NATType: &kind, LoggerFactory: quiet,
		})
		require.NoError(t, err)
		w.homes[i], err = vnet.NewNet(&vnet.NetConfig{StaticIPs: []string{fmt.Sprintf("10.%d.0.1", i)}})
		require.NoError(t, err)
		require.NoError(t, home.AddNet(w.homes[i]))
		require.NoError(t, wan.AddRouter(home))
	}
	wan.AddChunkFilter(func(c vnet.Chunk) bool {
		if w.dark.Load() {
			return false
		}
		if isServer(c.SourceAddr()) || isServer(c.DestinationAddr()) {
			return lose == nil || !lose(c)
		}
		if w.blocked.Load() {
			return false
		}
		w.direct.Add(1)
		return true
	})
	require.NoError(t, wan.Start())
	t.Cleanup(func() { require.NoError(t, wan.Stop()) })

	w.relay = serve(t, servers[1], turnIP)
	serve(t, servers[0], stunIP)
	return w
}

func isRelay(a net.Addr) bool { return a.(*net.UDPAddr).IP.String() == turnIP }

func isServer(a net.Addr) bool { return isRelay(a) || a.(*net.UDPAddr).IP.String() == stunIP }

// serve starts a STUN and TURN server.
func serve(t testing.TB, on *vnet.Net, ip string) *turn.Server {
	t.Helper()
	conn, err := on.ListenPacket("udp4", fmt.Sprintf("%s:%d", ip, serverPort))
	require.NoError(t, err)
	server := newServer(t, conn, &turn.RelayAddressGeneratorStatic{RelayAddress: net.ParseIP(ip), Address: "0.0.0.0", Net: on})
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// newServer starts a STUN and TURN server on a socket.
func newServer(t testing.TB, conn net.PacketConn, relays turn.RelayAddressGenerator) *turn.Server {
	t.Helper()
	server, err := turn.NewServer(serverConfig(conn, relays))
	require.NoError(t, err)
	return server
}

func serverConfig(conn net.PacketConn, relays turn.RelayAddressGenerator) turn.ServerConfig {
	quiet := logging.NewDefaultLoggerFactory()
	quiet.DefaultLogLevel = logging.LogLevelDisabled
	return turn.ServerConfig{
		Realm: "driftback", LoggerFactory: quiet,
		AuthHandler: func(a *turn.RequestAttributes) (string, []byte, bool) {
			return a.Username, turn.GenerateAuthKey(a.Username, a.Realm, "secret"), a.Username == "player"
		},
		PacketConnConfigs: []turn.PacketConnConfig{{PacketConn: conn, RelayAddressGenerator: relays}},
	}
}

// config puts a peer of a match into one of the homes.
func (w *internet) config(m *match, self int) Config {
	w.t.Helper()
	c := m.config(self)
	conn, err := w.homes[self].ListenPacket("udp4", fmt.Sprintf("10.%d.0.1:5000", self))
	require.NoError(w.t, err)
	c.better = []time.Duration{time.Second}
	c.network, c.conn = homeNet{w.homes[self]}, conn
	c.Servers = []Server{
		{URL: fmt.Sprintf("stun:%s:%d", stunIP, serverPort)},
		{URL: fmt.Sprintf("turn:%s:%d", turnIP, serverPort), Username: "player", Password: "secret"},
	}
	return c
}

// homeNet is a home's network, whose sockets fail once they are closed as the
// system's do. The simulated ones go on taking what is sent.
type homeNet struct{ *vnet.Net }

func (n homeNet) ListenPacket(network, address string) (net.PacketConn, error) {
	conn, err := n.Net.ListenPacket(network, address)
	return &homeConn{PacketConn: conn}, err
}

type homeConn struct {
	net.PacketConn
	closed atomic.Bool
}

func (c *homeConn) WriteTo(b []byte, to net.Addr) (int, error) {
	if c.closed.Load() {
		return 0, net.ErrClosed
	}
	return c.PacketConn.WriteTo(b, to)
}

func (c *homeConn) Close() error {
	c.closed.Store(true)
	return c.PacketConn.Close()
}

// meet links two peers, one in each home.
func (w *internet) meet() *match {
	w.t.Helper()
	m := newMatch(w.t, 2)
	for i := range 2 {
		m.open(w.config(m, i))
	}
	m.meet()
	return m
}

// moving is a socket that can be given another port, as a router does that forgets
// what it had noted: nothing reaches the old one any more, and what is sent comes from
// the new one.
type moving struct {
	mu      sync.Mutex
	conn    net.PacketConn
	first   net.Addr
	stopped time.Time // a read deadline
}

func (c *moving) now() net.PacketConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn
}

func (c *moving) move(to net.PacketConn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.conn
	c.conn = to
	return errors.Join(to.SetReadDeadline(c.stopped), old.Close())
}

func (c *moving) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		conn := c.now()
		n, from, err := conn.ReadFrom(b)
		if err == nil || conn == c.now() {
			return n, from, err
		}
	}
}

func (c *moving) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = t
	return c.conn.SetReadDeadline(t)
}

func (c *moving) WriteTo(b []byte, to net.Addr) (int, error) { return c.now().WriteTo(b, to) }
func (c *moving) Close() error                               { return c.now().Close() }
func (c *moving) LocalAddr() net.Addr                        { return c.first }
func (c *moving) SetDeadline(t time.Time) error              { return c.SetReadDeadline(t) }
func (c *moving) SetWriteDeadline(time.Time) error           { return nil }

// open opens both peers, and the first on a socket that can move.
func (w *internet) open(m *match, also func(*Config)) (home *moving) {
	w.t.Helper()
	for i := range 2 {
		c := w.config(m, i)
		if i == 0 {
			home = &moving{conn: c.conn, first: c.conn.LocalAddr()}
			c.conn = home
		}
		also(&c)
		m.open(c)
	}
	return home
}

// move gives the first home's socket another port.
func (w *internet) move(home *moving) {
	w.t.Helper()
	to, err := w.homes[0].ListenPacket("udp4", "10.0.0.1:6000")
	require.NoError(w.t, err)
	require.NoError(w.t, home.move(to))
}
