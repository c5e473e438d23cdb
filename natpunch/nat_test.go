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

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/quic"
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

func isServer(a net.Addr) bool {
	ip := a.(*net.UDPAddr).IP.String()
	return ip == stunIP || ip == turnIP
}

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
	quiet := logging.NewDefaultLoggerFactory()
	quiet.DefaultLogLevel = logging.LogLevelDisabled
	server, err := turn.NewServer(turn.ServerConfig{
		Realm: "driftback", LoggerFactory: quiet,
		AuthHandler: func(a *turn.RequestAttributes) (string, []byte, bool) {
			return a.Username, turn.GenerateAuthKey(a.Username, a.Realm, "secret"), a.Username == "player"
		},
		PacketConnConfigs: []turn.PacketConnConfig{{PacketConn: conn, RelayAddressGenerator: relays}},
	})
	require.NoError(t, err)
	return server
}

// config puts a peer of a match into one of the homes.
func (w *internet) config(m *match, self int) Config {
	w.t.Helper()
	c := m.config(self)
	conn, err := w.homes[self].ListenPacket("udp4", fmt.Sprintf("10.%d.0.1:5000", self))
	require.NoError(w.t, err)
	c.network, c.conn = w.homes[self], conn
	c.Servers = []Server{
		{URL: fmt.Sprintf("stun:%s:%d", stunIP, serverPort)},
		{URL: fmt.Sprintf("turn:%s:%d", turnIP, serverPort), Username: "player", Password: "secret"},
	}
	return c
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

func TestEveryPairOfNATsIsLinked(t *testing.T) {
	const symmetric, portRestricted = 3, 2
	for i, a := range nats {
		for j, b := range nats[i:] {
			j += i
			t.Run(a.name+" and "+b.name, func(t *testing.T) {
				w := newInternet(t, a.kind, b.kind, 10*time.Millisecond, nil)
				start := time.Now()
				m := w.meet()
				took := time.Since(start)
				m.talk(0, 1)
				p := m.path(0, 1)
				t.Logf("linked after %v: %+v", took.Round(time.Millisecond), p)
				relayed := j == symmetric && i >= portRestricted
				require.Equal(t, relayed, p.Relayed)
				require.Equal(t, relayed, m.path(1, 0).Relayed)
				require.Equal(t, relayed, w.direct.Load() == 0 || p.Relayed)
			})
		}
	}
}

func TestALostQuestionToTheServerIsAskedAgain(t *testing.T) {
	var lost atomic.Int32
	w := newInternet(t, nats[2].kind, nats[2].kind, 10*time.Millisecond, func(c vnet.Chunk) bool {
		typ, _, _, ok := parseSTUN(c.UserData())
		return ok && typ == stunRequest && lost.Add(1) <= 2
	})
	m := w.meet()
	m.talk(0, 1)
	require.GreaterOrEqual(t, lost.Load(), int32(3), "the first two were lost, and others followed")
	until(t, "the direct path to be found", func() bool { return !m.path(0, 1).Relayed && !m.path(1, 0).Relayed })
}

// stream sends a datagram every tick both ways, until stop, which returns the longest
// time for which either end heard nothing.
func (m *match) stream() (stop func() time.Duration) {
	quit, done := make(chan struct{}), make(chan time.Duration)
	go func() {
		tick := time.NewTicker(time.Second / 60)
		defer tick.Stop()
		heard := [2]time.Time{time.Now(), time.Now()}
		var gap time.Duration
		for {
			for i, end := range m.ends {
				end.Send(driftback.Peer(1-i), []byte("input"))
				for got, ok := end.Receive(); ok; got, ok = end.Receive() {
					if got.Kind == transport.Datagram {
						gap = max(gap, time.Since(heard[i]))
						heard[i] = time.Now()
					}
					if got.Kind == transport.Down {
						gap = time.Hour
					}
				}
			}
			select {
			case <-tick.C:
			case <-quit:
				done <- max(gap, time.Since(heard[0]), time.Since(heard[1]))
				return
			}
		}
	}()
	return func() time.Duration { close(quit); return <-done }
}

// most is the longest gap that a change of paths may make: 60 ticks.
const most = time.Second

func TestAMatchGoesOnWhenItsPathIsLost(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until something better than a relay is looked for")
	}
	w := newInternet(t, nats[2].kind, nats[2].kind, 10*time.Millisecond, nil)
	m := w.meet()
	require.False(t, m.path(0, 1).Relayed)
	stop := m.stream()
	time.Sleep(time.Second) // of play

	w.blocked.Store(true)
	until(t, "a relay to be used", func() bool { return m.path(0, 1).Relayed && m.path(1, 0).Relayed })
	time.Sleep(time.Second / 2)
	gap := stop()
	t.Log("longest gap", gap)
	require.Less(t, gap, most)

	stop = m.stream()
	w.blocked.Store(false)
	until(t, "the direct path to be used again", func() bool { return !m.path(0, 1).Relayed && !m.path(1, 0).Relayed })
	time.Sleep(time.Second / 2)
	gap = stop()
	t.Log("longest gap", gap)
	require.Less(t, gap, 250*time.Millisecond, "the relay is used until there is something better")
	for i := range 2 {
		s, _ := m.ends[i].Stats(driftback.Peer(1 - i))
		require.Equal(t, 1, s.Ups, "QUIC noticed nothing")
	}
}

func TestARelayIsUsedWhileSomethingBetterIsLookedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until something better than a relay is looked for")
	}
	w := newInternet(t, nats[3].kind, nats[3].kind, 10*time.Millisecond, nil)
	m := w.meet()
	stop := m.stream()
	until(t, "nothing better to be found", func() bool { return m.path(0, 1).Changes == 2 && m.path(1, 0).Changes == 2 })
	time.Sleep(overlap + 500*time.Millisecond) // until the old relay is given back
	gap := stop()
	t.Log("longest gap", gap)
	require.Less(t, gap, 250*time.Millisecond)
	require.Equal(t, 2, m.path(0, 1).Rounds)
}

func TestAMatchGoesOnWhenItsRelayDies(t *testing.T) {
	if testing.Short() {
		t.Skip("plays for two seconds")
	}
	w := newInternet(t, nats[2].kind, nats[2].kind, 10*time.Millisecond, nil)
	w.blocked.Store(true)
	m := w.meet()
	require.True(t, m.path(0, 1).Relayed)
	stop := m.stream()
	time.Sleep(time.Second) // of play

	w.blocked.Store(false)
	require.NoError(t, w.relay.Close())
	until(t, "the direct path to be used", func() bool { return !m.path(0, 1).Relayed && !m.path(1, 0).Relayed })
	time.Sleep(time.Second / 2)
	gap := stop()
	t.Log("longest gap", gap)
	require.Less(t, gap, most)
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

func TestAMatchGoesOnWhenARouterForgetsIt(t *testing.T) {
	if testing.Short() {
		t.Skip("plays for two seconds")
	}
	w := newInternet(t, nats[2].kind, nats[2].kind, 10*time.Millisecond, nil)
	m := newMatch(t, 2)
	home := w.open(m, func(*Config) {})
	m.meet()
	old := m.path(1, 0).Remote
	stop := m.stream()
	time.Sleep(time.Second) // of play
	w.move(home)
	until(t, "the new port to be used", func() bool { return m.path(1, 0).Remote != old })
	time.Sleep(time.Second / 2)
	gap := stop()
	t.Log("longest gap", gap, m.path(1, 0))
	require.Less(t, gap, most)
	require.False(t, m.path(0, 1).Relayed)
}

// Rounds that were begun without a network are given up for ones that have it.
func TestALinkComesBackWhenTheNetworkDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for idle time-outs")
	}
	w := newInternet(t, nats[2].kind, nats[2].kind, 10*time.Millisecond, nil)
	m := newMatch(t, 2)
	home := w.open(m, func(c *Config) { c.IdleTimeout = time.Second })
	m.meet()
	w.dark.Store(true)
	for i, end := range m.ends {
		require.ErrorIs(t, await(t, end, transport.Down).Err, quic.ErrSilent)
		until(t, "the path to be given up", func() bool { return !m.path(i, 1-i).Remote.IsValid() })
		_, err := end.Why(driftback.Peer(1 - i))
		require.ErrorIs(t, err, ErrNoPath)
		require.ErrorContains(t, err, fmt.Sprintf("natpunch: no path to peer %d: no path to it works", 1-i))
	}
	w.move(home) // so that the old path will not do
	until(t, "rounds to fail in the dark", func() bool { return m.path(0, 1).Rounds >= 3 })
	w.dark.Store(false)
	start := time.Now()
	m.meet()
	t.Log("linked after", time.Since(start))
	m.talk(0, 1)
}
