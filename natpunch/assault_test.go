package natpunch

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/transport/v5/stdnet"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
)

// assault is some who send to the sockets of a match all they can think of.
type assault struct {
	quit    chan struct{}
	running sync.WaitGroup
	sent    atomic.Int64
}

// attack sends ten packets in a millisecond, of the kinds that next gives.
func (a *assault) attack(conn net.PacketConn, to net.Addr, next func(random *rand.Rand) []byte) {
	random := rand.New(rand.NewPCG(uint64(a.sent.Load()), 1))
	a.running.Go(func() {
		for n := 0; ; n++ {
			if n%10 == 0 {
				select {
				case <-a.quit:
					return
				case <-time.After(time.Millisecond): // the machine has other things to do
				}
			}
			if _, err := conn.WriteTo(next(random), to); err == nil {
				a.sent.Add(1)
			}
		}
	})
}

func (a *assault) end() {
	close(a.quit)
	a.running.Wait()
}

// usage is what a flood may make grow.
type usage struct {
	heap       uint64
	goroutines int
}

func usageNow() usage {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return usage{s.HeapAlloc, runtime.NumGoroutine()}
}

// grown says what has grown since, by more than chance.
func (u usage) grown(now usage) error {
	switch {
	case now.heap > u.heap+2<<20:
		return fmt.Errorf("the heap had %d bytes and has %d", u.heap, now.heap)
	case now.goroutines > u.goroutines:
		return fmt.Errorf("there were %d goroutines and are %d", u.goroutines, now.goroutines)
	}
	return nil
}

// spoil changes a packet in one of the ways that matter: not at all, a few bits of it,
// its end, or what follows it.
func spoil(b []byte, random *rand.Rand) []byte {
	if len(b) == 0 {
		return b
	}
	switch random.IntN(4) {
	case 0:
		for range 1 + random.IntN(4) {
			b[random.IntN(len(b))] ^= 1 << random.IntN(8)
		}
	case 1:
		b = b[:random.IntN(len(b))]
	case 2:
		b = append(b, b[:random.IntN(len(b))]...)
	}
	return b
}

// The first peer's socket is the system's, and who attacks it has an address of its own: one that
// is nobody's, and one that has proved to be the other peer's. To the second's
// packets are sent in the first one's name. In between are copies of what the peers
// have sent, whole and spoilt, and the beginnings of calls.
func TestAMatchIsPlayedWhileItsSocketsAreAttacked(t *testing.T) {
	m := newMatch(t, 2)
	m.open(m.config(0))
	victim, forger := newForged(t)
	c := m.config(1)
	c.conn = victim
	m.open(c)
	calls, rubbish := initials(t, 16), junk(t)
	stranger, proven := listenHere(t), listenHere(t)
	const attackers, maxCopies = 4, 50
	first, second := m.ends[0].LocalAddr(), m.ends[1].LocalAddr()

	a := &assault{quit: make(chan struct{})}
	var before, meanwhile usage
	var strays [2]uint64
	longest := m.play(180, map[driftback.Tick]func(){
		40: func() {
			for i, end := range m.ends {
				strays[i] = end.Counts().Strays // what is left of a second call between the two
			}
			m.prove(proven)
			before = usageNow()
			rounds := m.credentials(1)
			anything := func(random *rand.Rand) []byte {
				switch random.IntN(4) {
				case 0:
					return calls[random.IntN(len(calls))]
				case 1:
					return versions()
				case 2:
					return rubbish[random.IntN(len(rubbish))]
				default:
					return spoil(victim.heard(random.Int()), random)
				}
			}
			a.attack(stranger, first, anything)
			a.attack(proven, first, anything)
			peer := canonical(first.(*net.UDPAddr).AddrPort())
			a.attack(forger, second, func(random *rand.Rand) []byte { return inName(peer, anything(random)) })
			a.attack(forger, second, func(random *rand.Rand) []byte {
				return inName(peer, spoil(rounds.check(t), random))
			})
		},
		110: func() { meanwhile = usageNow() },
		150: a.end,
	})
	t.Logf("longest gap %d ticks, %d packets were sent; counted by the first peer %+v, by the second %+v",
		longest, a.sent.Load(), m.ends[0].Counts(), m.ends[1].Counts())
	require.Less(t, longest, kept)
	require.Greater(t, meanwhile.goroutines, before.goroutines+attackers, "calls had begun, and were waited for")
	require.Less(t, meanwhile.goroutines, before.goroutines+attackers+100, "few at a time")
	t.Log(before, meanwhile)
	until(t, "what the calls had begun to end", func() bool { return before.grown(usageNow()) == nil })
	for i, end := range m.ends {
		s, _ := end.Stats(driftback.Peer(1 - i))
		require.Equal(t, 1, s.Ups, "the link is the first one")
		require.Equal(t, 1, s.Path.Rounds, "and so is its path")
		n := end.Counts()
		require.Greater(t, n.Checks, uint64(100))
		require.Greater(t, n.Strays, strays[i]+100)
		require.Zero(t, n.BadCodes, "no call got so far as to say who it is from")
		require.LessOrEqual(t, n.Refused, uint64(maxCopies), "but a copy of the peer's own, which is known for that")
	}
	require.Greater(t, m.ends[0].Counts().Strangers, uint64(100))
}

// What the test above looks at would tell.
func TestAStallAndGrowthAreNoticed(t *testing.T) {
	m := newMatch(t, 2)
	victim, _ := newForged(t)
	c := m.config(1)
	c.conn = victim
	m.open(c)
	m.open(m.config(0))
	longest := m.play(90, map[driftback.Tick]func(){
		30: func() {
			victim.deaf.Store(true)
			time.AfterFunc(time.Second*2/3, func() { victim.deaf.Store(false) })
		},
	})
	require.GreaterOrEqual(t, longest, kept)

	before := usageNow()
	require.NoError(t, before.grown(usageNow()))
	hoard := make([]byte, 3<<20)
	require.ErrorContains(t, before.grown(usageNow()), "the heap had")
	runtime.KeepAlive(hoard)
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { <-stop })
	require.ErrorContains(t, before.grown(usageNow()), "goroutines")
	close(stop)
	running.Wait()
}

// crowd is the network of a peer, with sockets to relays that strangers find.
type crowd struct {
	*stdnet.Net
	stranger net.PacketConn
	mu       sync.Mutex
	open     []net.Addr
	heard    atomic.Int64 // what has come from the stranger
}

func (n *crowd) ListenPacket(network, address string) (net.PacketConn, error) {
	conn, err := n.Net.ListenPacket(network, address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = append(n.open, conn.LocalAddr())
	return &crowded{conn, n}, nil
}

// newest returns where the newest socket to a relay is.
func (n *crowd) newest() net.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open[len(n.open)-1]
}

type crowded struct {
	net.PacketConn
	crowd *crowd
}

func (c *crowded) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.PacketConn.ReadFrom(b)
	if err == nil && from.(*net.UDPAddr).Port == c.crowd.stranger.LocalAddr().(*net.UDPAddr).Port {
		c.crowd.heard.Add(1)
	}
	return n, from, err
}

// The match goes through a relay, and something better is looked for meanwhile: a server whose answers are
// malformed is asked again and again, and a stranger sends to the sockets towards the relay.
func TestAMatchIsPlayedAmongPacketsThatOnceMadeTheLibraryPanic(t *testing.T) {
	server, malformed, quit := serveMalformed(t)
	_, servers, stop := serveHere(t)
	m := newMatch(t, 2)
	var crowds [2]*crowd
	for i := range crowds {
		system, err := stdnet.NewNet()
		require.NoError(t, err)
		crowds[i] = &crowd{Net: system, stranger: listenHere(t)}
		c := m.config(i)
		c.network, c.Servers = crowds[i], append([]Server{{URL: server}}, servers[1:]...)
		c.better = slices.Repeat([]time.Duration{time.Second}, 20) // while the match is played
		conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
		require.NoError(t, err)
		c.conn = &walled{conn}
		m.open(c)
	}
	a := &assault{quit: make(chan struct{})}
	var before int64
	longest := m.play(150, map[driftback.Tick]func(){
		1: func() { before = malformed.Load() },
		30: func() {
			rubbish := junk(t)
			for i := range crowds {
				a.attack(crowds[i].stranger, crowds[i].newest(), func(random *rand.Rand) []byte {
					if random.IntN(2) == 0 {
						return probe(0x0017, 0x0012)
					}
					return rubbish[random.IntN(len(rubbish))]
				})
			}
		},
		130: a.end,
	})
	t.Logf("longest gap %d ticks, %d malformed answers, %d and %d packets at the sockets to relays",
		longest, malformed.Load(), crowds[0].heard.Load(), crowds[1].heard.Load())
	require.Less(t, longest, kept)
	require.Greater(t, malformed.Load(), before, "the server was asked while the match was being played")
	for i := range crowds {
		require.True(t, m.path(i, 1-i).Relayed)
		require.Greater(t, m.path(i, 1-i).Rounds, 1)
		require.Greater(t, crowds[i].heard.Load(), int64(100))
		require.NoError(t, m.ends[i].Close())
	}
	stop()
	quit()
}

// walled is a socket from which nothing but questions to servers gets out, so that a
// relay is all there is.
type walled struct{ net.PacketConn }

func (c *walled) WriteTo(b []byte, to net.Addr) (int, error) {
	if typ, _, username, ok := parseSTUN(b); ok && typ == stunRequest && username == nil {
		return c.PacketConn.WriteTo(b, to)
	}
	return len(b), nil
}
