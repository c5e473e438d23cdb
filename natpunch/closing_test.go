package natpunch

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/pion/turn/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/signalling"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/quic"
)

// recorded is a socket that remembers where packets have come from, and does not hear
// requests of one kind.
type recorded struct {
	net.PacketConn
	deafTo uint16 // a STUN type; 0 is none, as nobody asks for bindings here
	mu     sync.Mutex
	from   []net.Addr
	missed int
}

func (c *recorded) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := c.PacketConn.ReadFrom(b)
		c.mu.Lock()
		c.from = append(c.from, from)
		deaf := err == nil && n > 1 && c.deafTo != 0 && binary.BigEndian.Uint16(b) == c.deafTo
		if deaf {
			c.missed++
		}
		c.mu.Unlock()
		if !deaf {
			return n, from, err
		}
	}
}

func (c *recorded) sources() []net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]net.Addr(nil), c.from...)
}

// serveHere starts a STUN and TURN server on the loopback interface.
func serveHere(t testing.TB) (socket *recorded, servers []Server, stop func()) {
	t.Helper()
	return serveDeaf(t, 0)
}

// serveDeaf starts one that does not hear requests of one kind.
func serveDeaf(t testing.TB, to uint16) (socket *recorded, servers []Server, stop func()) {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	socket = &recorded{PacketConn: conn, deafTo: to}
	server := newServer(t, socket, relaysHere)
	return socket, serversAt(conn.LocalAddr().String()), func() { _ = server.Close() }
}

// relaysHere has relays on the loopback interface.
var relaysHere = &turn.RelayAddressGeneratorStatic{RelayAddress: net.IPv4(127, 0, 0, 1), Address: "127.0.0.1"}

func serversAt(addr string) []Server {
	return []Server{{URL: "stun:" + addr}, {URL: "turn:" + addr, Username: "player", Password: "secret"}}
}

// Whatever is closed first, and however early, nothing is left running.
func TestNothingIsLeftBehindInAnyOrderOfClosing(t *testing.T) {
	const a, b, signal, server = "a", "b", "the signal", "the server"
	moments := map[string]func(m *match){
		"at once":         func(*match) {},
		"while gathering": func(m *match) { until(m.t, "a round", func() bool { return m.path(0, 1).Rounds > 0 }) },
		"linked": func(m *match) {
			for _, end := range m.ends {
				await(m.t, end, transport.Up)
			}
		},
	}
	for when, wait := range moments {
		for _, order := range [][]string{
			{a, b, signal, server}, {b, a, server, signal}, {signal, a, b, server}, {server, a, b, signal}, {signal, server, b, a},
		} {
			t.Run(when+" "+order[0]+" first", func(t *testing.T) {
				ignored := goleak.IgnoreCurrent()
				_, servers, stop := serveHere(t)
				m := newMatch(t, 2)
				var members []*signalling.Member
				for i := range 2 {
					c := m.config(i)
					c.Servers = servers
					members = append(members, m.room.Join(c.Self))
					c.Signal = members[i]
					var err error
					m.ends[i], err = Listen(context.Background(), c)
					require.NoError(t, err)
				}
				wait(m)
				for _, what := range order {
					switch what {
					case a:
						require.NoError(t, m.ends[0].Close())
						require.NoError(t, m.ends[0].Close(), "twice is once")
					case b:
						require.NoError(t, m.ends[1].Close())
					case signal:
						members[0].Leave()
						members[1].Leave()
					case server:
						stop()
					}
				}
				require.NoError(t, goleak.Find(ignored))
			})
		}
	}
	t.Run("both at the same time, and the server answers nobody", func(t *testing.T) {
		ignored := goleak.IgnoreCurrent()
		dead, err := net.ListenPacket("udp4", "127.0.0.1:0")
		require.NoError(t, err)
		m := newMatch(t, 2)
		for i := range 2 {
			c := m.config(i)
			c.Servers = []Server{
				{URL: "stun:" + dead.LocalAddr().String()},
				{URL: "turn:" + dead.LocalAddr().String(), Username: "player", Password: "secret"},
			}
			c.Signal = m.room.Join(c.Self)
			m.ends[i], err = Listen(context.Background(), c)
			require.NoError(t, err)
		}
		moments["linked"](m)
		start := time.Now()
		var both sync.WaitGroup
		for _, end := range m.ends {
			both.Go(func() { _ = end.Close() })
		}
		both.Wait()
		require.Less(t, time.Since(start), 2*time.Second)
		require.NoError(t, dead.Close())
		require.NoError(t, goleak.Find(ignored))
	})
}

// A relay that gives an address and then is deaf does not hold up the end.
func TestARelayThatAnswersNoMoreIsNotWaitedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for what is not waited for longer")
	}
	const createPermission = 0x0008
	socket, servers, stop := serveDeaf(t, createPermission)
	defer stop()
	m := newMatch(t, 2)
	for i := range 2 {
		c := m.config(i)
		c.Servers, c.relayOnly = servers, true
		m.open(c)
	}
	until(t, "the relay to be asked", func() bool {
		socket.mu.Lock()
		defer socket.mu.Unlock()
		return socket.missed > 1
	})
	start := time.Now()
	for _, end := range m.ends {
		require.NoError(t, end.Close())
	}
	t.Log("closed after", time.Since(start))
	require.Less(t, time.Since(start), 4*time.Second)
}

func TestListenRefusesAConfigurationThatCannotWork(t *testing.T) {
	ignored := goleak.IgnoreCurrent()
	id, pin := newIdentity(t), newIdentity(t).Pin()
	member := signalling.NewRoom().Join(0)
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"no signal":            {Config{Identity: id}, "Config.Signal is nil"},
		"no identity":          {Config{Signal: member}, "Config.Identity is nil"},
		"ourselves as a peer":  {Config{Signal: member, Identity: id, Peers: []Remote{{Peer: 0, Pin: pin}}}, "which is Config.Self"},
		"a number too high":    {Config{Signal: member, Identity: id, Peers: []Remote{{Peer: 64, Pin: pin}}}, "holds peer 64"},
		"anybody":              {Config{Signal: member, Identity: id, Peers: []Remote{{Peer: 1}}}, "anybody could be it"},
		"an address of nobody": {Config{Signal: member, Identity: id, Addr: "192.0.2.1:0"}, "no socket"},
		"no address":           {Config{Signal: member, Identity: id, Addr: "nonsense"}, `Config.Addr is "nonsense"`},
		"no server":            {Config{Signal: member, Identity: id, Servers: []Server{{URL: "nonsense"}}}, `Config.Servers holds "nonsense"`},
		"a relay for nobody":   {Config{Signal: member, Identity: id, Servers: []Server{{URL: "turn:192.0.2.1"}}}, "without a user name"},
		"DTLS":                 {Config{Signal: member, Identity: id, Servers: []Server{{URL: "turns:192.0.2.1?transport=udp", Username: "a", Password: "b"}}}, "turns with transport=tcp"},
		"many servers":         {Config{Signal: member, Identity: id, Servers: make([]Server, 9)}, "8 is the most"},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := Listen(context.Background(), c.config)
			require.Nil(t, tr)
			require.ErrorContains(t, err, c.want)
		})
	}
	require.NoError(t, goleak.Find(ignored))
}

// A peer that comes back is let in anew.
func TestAPeerThatWasStartedAnewIsFoundAgain(t *testing.T) {
	m := newMatch(t, 2)
	m.meet()
	require.NoError(t, m.ends[1].Close())
	await(t, m.ends[0], transport.Down)
	start := time.Now()
	m.open(m.config(1))
	for _, end := range m.ends {
		await(t, end, transport.Up)
	}
	require.Less(t, time.Since(start), silenceIdle, "its coming is noticed, not its silence")
	m.talk(0, 1)
	require.Equal(t, m.ends[1].LocalAddr().String(), m.path(0, 1).Remote.String())
}

func TestWhyThereIsNoLink(t *testing.T) {
	m := newMatch(t, 2)
	alone := m.open(m.config(0))
	_, err := alone.Why(1)
	require.ErrorIs(t, err, ErrNoSignal)
	require.ErrorContains(t, err, "natpunch: no path to peer 1: nothing has come from it")

	stranger := m.open(Config{
		Self: 1, Identity: newIdentity(t), Addr: "127.0.0.1:0",
		Peers: []Remote{{Peer: 0, Pin: m.ids[0].Pin()}},
	})
	// It is there, and not the one that was expected: each side says so, and how.
	start := time.Now()
	until(t, "the stranger to be refused", func() bool {
		_, err = stranger.Why(0)
		return errors.Is(err, quic.ErrRefused)
	})
	until(t, "its key not to be the one expected", func() bool {
		_, err = alone.Why(1)
		return errors.Is(err, identity.ErrNotPinned) || alone.Counts().Refused > 0
	})
	require.Less(t, time.Since(start), 2*time.Second)
	for _, end := range m.ends {
		_, told := end.Receive()
		require.False(t, told, "a link that was never up has nothing to tell")
	}
}
