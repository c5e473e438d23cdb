package natpunch

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/stun/v4"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/signalling"
)

// junk is what strangers send: nonsense of every size, STUN of every kind, and the
// beginning of QUIC.
func junk(t testing.TB) [][]byte {
	t.Helper()
	var list [][]byte
	for _, size := range []int{0, 1, 19, 20, 24, 100, 548, 1200, 1452} {
		b := make([]byte, size)
		_, _ = rand.Read(b)
		list = append(list, b)
		if size > 0 {
			b = slices.Clone(b)
			b[0] &= 0x3f
			list = append(list, b)
		}
	}
	initial := make([]byte, 1200)
	_, _ = rand.Read(initial)
	initial[0] = 0xc3
	binary.BigEndian.PutUint32(initial[1:], 1)
	initial[5] = 8
	return append(list, initial,
		build(t, stun.BindingRequest, stun.TransactionID),
		build(t, stun.BindingRequest, stun.TransactionID, stun.NewUsername(randomText(ufragSize)+":"+randomText(ufragSize)), stun.NewShortTermIntegrity("x"), stun.Fingerprint),
		build(t, stun.BindingSuccess, stun.TransactionID, &stun.XORMappedAddress{IP: net.IPv4(1, 2, 3, 4), Port: 5}),
		build(t, stun.BindingError, stun.TransactionID, stun.CodeRoleConflict),
		build(t, stun.NewType(stun.MethodData, stun.ClassIndication), stun.TransactionID),
		probe(0x0101, 0x0020), probe(0x0017, 0x0012),
	)
}

// probe is a STUN message with one empty attribute, which once made the library panic:
// an address of no bytes.
func probe(typ, attribute uint16) []byte {
	b := make([]byte, 24)
	binary.BigEndian.PutUint16(b, typ)
	b[3] = 4
	binary.BigEndian.PutUint32(b[4:], stunCookie)
	binary.BigEndian.PutUint16(b[20:], attribute)
	return b
}

func TestAFloodOfJunkNeitherStallsAMatchNorGrowsMemory(t *testing.T) {
	m := newMatch(t, 2)
	m.meet()
	stop := m.stream()
	heap := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	before := heap()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var strangers sync.WaitGroup
	for range 3 {
		conn, err := net.Dial("udp4", m.ends[0].LocalAddr().String())
		require.NoError(t, err)
		list := junk(t)
		strangers.Go(func() {
			defer func() { _ = conn.Close() }()
			for n := 0; ctx.Err() == nil; n++ {
				_, _ = conn.Write(list[n%len(list)])
				if n%20 == 0 {
					time.Sleep(time.Millisecond) // the machine has other things to do
				}
			}
		})
	}
	strangers.Wait()
	gap := stop()
	after := heap()
	c := m.ends[0].Counts()
	t.Logf("longest gap %d ticks, heap %d and then %d bytes, %+v", gap, before, after, c)
	require.Greater(t, c.Strangers, uint64(1000))
	require.Greater(t, c.Checks, uint64(1000))
	require.Zero(t, c.Busy, "QUIC saw none of it")
	require.Less(t, gap, kept)
	require.Less(t, after, before+2<<20)
	require.Equal(t, 1, m.path(0, 1).Rounds)
}

// scripted is a socket that brings the same packets over and over.
type scripted struct {
	net.PacketConn
	packets [][]byte
	from    *net.UDPAddr
	next    int
}

func (s *scripted) ReadFrom(b []byte) (int, net.Addr, error) {
	if s.next == len(s.packets) {
		s.next = 0
		return 0, nil, net.ErrClosed
	}
	s.next++
	return copy(b, s.packets[s.next-1]), s.from, nil
}

func TestJunkCostsNoMemory(t *testing.T) {
	var routes [driftback.MaxPeers]*route
	var c counts
	conn := &scripted{packets: junk(t), from: &net.UDPAddr{IP: net.IPv4(192, 0, 2, 1).To4(), Port: 9}}
	s := newSocket(conn, &routes, &c)
	var b [maxPacket]byte
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _, err := s.ReadFrom(b[:])
		require.ErrorIs(t, err, net.ErrClosed)
	}))
	require.NotZero(t, c.strangers.Load())
	require.NotZero(t, c.checks.Load())
	require.Empty(t, s.checks)
}

// idle is a socket of which only the tables matter.
func idleSocket() (*socket, []*route) {
	t := &Transport{}
	t.socket = newSocket(nil, &t.routes, &t.counts)
	for i := range 3 {
		t.routes[i] = newRoute(t, driftback.Peer(i))
	}
	return t.socket, t.routes[:3]
}

func TestAPeerCannotTakeAnAddressThatAnothersPathLeadsTo(t *testing.T) {
	s, routes := idleSocket()
	addr := netip.MustParseAddrPort("192.0.2.1:1")
	s.allow(routes[0], addr)
	s.allow(routes[1], addr)
	require.Same(t, routes[1], s.table.Load().owners[addr], "who was heard last, as long as no path leads there")
	require.Empty(t, routes[0].addresses)
	routes[1].path.Store(&path{remote: addr})
	s.allow(routes[0], addr)
	require.Same(t, routes[1], s.table.Load().owners[addr])
	require.EqualValues(t, 1, s.counts.contested.Load())
}

func TestTheAddressesOfAPeerAreBounded(t *testing.T) {
	s, routes := idleSocket()
	r := routes[0]
	at := func(n int) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), uint16(n)) }
	r.path.Store(&path{remote: at(1)})
	for n := 1; n <= 5*maxAddresses; n++ {
		s.allow(r, at(n))
	}
	require.Len(t, s.table.Load().owners, maxAddresses)
	require.Len(t, r.addresses, maxAddresses)
	require.Contains(t, r.addresses, at(1), "where its path leads")
	require.Contains(t, r.addresses, at(5*maxAddresses), "and the newest")

	n := &round{}
	n.budget.Store(10 * maxSources)
	taken := 0
	for i := 1; i <= 5*maxSources; i++ {
		if n.takes(at(i)) {
			taken++
		}
	}
	require.Equal(t, maxSources, taken)
	require.True(t, n.takes(at(1)))
	n.budget.Store(1)
	require.True(t, n.takes(at(1)))
	require.False(t, n.takes(at(1)), "no more before the next look")
}

// Where QUIC is accepted from as a peer's is for the round's password to say.
func TestAnAddressIsAPeersOnceACheckWithThePasswordHasComeFromIt(t *testing.T) {
	m := newMatch(t, 2)
	m.meet()
	r := m.ends[0].routes[1]
	r.mu.Lock()
	round := r.current
	r.mu.Unlock()
	theirs := m.ends[1].routes[0].path.Load().round
	conn, err := net.Dial("udp4", m.ends[0].LocalAddr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	from := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	ask := func(password string) {
		_, err := conn.Write(build(t, stun.BindingRequest, stun.TransactionID,
			stun.NewUsername(round.ufrag+":"+theirs.ufrag), stun.NewShortTermIntegrity(password), stun.Fingerprint))
		require.NoError(t, err)
	}
	owner := func() *route { return m.ends[0].socket.table.Load().owners[from] }

	ask(randomText(passwordSize))
	ask(theirs.password)
	time.Sleep(100 * time.Millisecond) // whether it is taken can only be found out by waiting
	require.Nil(t, owner())
	ask(round.password)
	until(t, "the address to be the peer's", func() bool { return owner() == r })
	require.NotEqual(t, from, m.path(0, 1).Remote, "nothing is sent there: the check may have been repeated by a stranger")
}

func TestWhatARelayBringsIsReadAtOnce(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	var routes [driftback.MaxPeers]*route
	s := newSocket(conn, &routes, &counts{})
	r := &route{virtual: virtual(3)}
	for range 100 {
		go s.inject(r, []byte("input"))
		var b [maxPacket]byte
		n, from, err := s.ReadFrom(b[:]) // which would otherwise wait for ever
		require.NoError(t, err)
		require.Equal(t, "input", string(b[:n]))
		require.Equal(t, r.virtual, from)
	}
	require.NoError(t, s.SetReadDeadline(time.Now()))
	_, _, err = s.ReadFrom(make([]byte, maxPacket))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "QUIC's own wish to stop is heeded")
	require.NoError(t, s.Close())
}

// A server whose answers are malformed, and a stranger who knows the socket towards
// a relay, harm nobody.
func TestPacketsThatOnceMadeTheLibraryPanic(t *testing.T) {
	server, _, quit := serveMalformed(t)
	socket, servers, stop := serveHere(t)
	m := newMatch(t, 2)
	for i := range 2 {
		c := m.config(i)
		c.Servers = append([]Server{{URL: server}}, servers...)
		m.open(c)
	}
	m.meet()
	until(t, "both to have asked for a relay", func() bool { return len(socket.sources()) >= 6 })
	stranger, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	for _, to := range socket.sources() {
		for _, b := range junk(t) {
			_, _ = stranger.WriteTo(b, to)
		}
	}
	m.talk(0, 1)
	for _, end := range m.ends {
		require.NoError(t, end.Close())
	}
	require.NoError(t, stranger.Close())
	stop()
	quit()
}

// serveMalformed is a server whose answers once made the library panic. It counts them.
func serveMalformed(t testing.TB) (url string, answers *atomic.Int64, stop func()) {
	t.Helper()
	server := listenHere(t)
	answers = new(atomic.Int64)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		b := make([]byte, maxPacket)
		for {
			n, from, err := server.ReadFrom(b)
			if err != nil {
				return
			}
			if typ, id, _, ok := parseSTUN(b[:n]); ok && typ == stunRequest {
				answer := probe(stunSuccess, 0x0020)
				copy(answer[8:], id[:])
				_, _ = server.WriteTo(answer, from)
				answers.Add(1)
			}
		}
	}()
	return "stun:" + server.LocalAddr().String(), answers, func() {
		t.Helper()
		require.NoError(t, server.Close())
		<-answered
	}
}

// torn is a signal that loses, repeats and delays, and fails for a while.
type torn struct {
	Signal
	mu    sync.Mutex
	sent  int
	kept  []byte
	fails int
}

func (s *torn) Send(ctx context.Context, to driftback.Peer, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return net.ErrClosed
	}
	s.sent++
	switch s.sent % 4 {
	case 0:
		return nil
	case 1:
		s.kept = slices.Clone(b)
		return nil
	case 2:
		_ = s.Signal.Send(ctx, to, b)
	}
	if s.kept != nil {
		_ = s.Signal.Send(ctx, to, s.kept)
	}
	return s.Signal.Send(ctx, to, b)
}

func TestSignalsMayBeLostRepeatedAndLate(t *testing.T) {
	m := newMatch(t, 2)
	for i := range 2 {
		c := m.config(i)
		member := m.room.Join(c.Self)
		t.Cleanup(member.Leave)
		c.Signal = &torn{Signal: member, fails: 2}
		m.open(c)
	}
	m.meet()
	m.talk(0, 1)
}

func TestSignalsThatMakeNoSenseAreCounted(t *testing.T) {
	m := newMatch(t, 2)
	m.meet()
	stop := m.stream()
	liar := m.room.Join(1) // the member of peer 1 has to go
	t.Cleanup(liar.Leave)
	stranger := m.room.Join(9)
	t.Cleanup(stranger.Leave)
	send := func(from *signalling.Member, b []byte) { require.NoError(t, from.Send(context.Background(), 0, b)) }
	for n := range 50 {
		b := make([]byte, n*20)
		_, _ = rand.Read(b)
		send(liar, b)
		send(stranger, (&message{instance: 1}).bytes())
		// Other processes of the peer's, each in a round of its own.
		lie := message{
			ask: true, instance: uint64(1 + n), version: 1, round: uint32(n * 1000),
			ufrag: randomText(ufragSize), password: randomText(passwordSize), candidateCount: 1,
		}
		lie.candidates[0] = candidate{kind: host, addr: netip.MustParseAddrPort("127.0.0.1:9")}
		send(liar, lie.bytes())
		time.Sleep(10 * time.Millisecond)
	}
	gap := stop()
	c := m.ends[0].Counts()
	t.Logf("longest gap %d ticks, %d rounds, %+v", gap, m.path(0, 1).Rounds, c)
	require.GreaterOrEqual(t, c.Signals, uint64(90))
	require.Less(t, gap, kept, "who carries the signals cannot break a path that works")
	require.Less(t, m.path(0, 1).Rounds, 10)
}

func TestAPeerThatKeepsAskingIsNotAnsweredEachTime(t *testing.T) {
	m := newMatch(t, 2)
	member := m.room.Join(1)
	defer member.Leave()
	m.open(m.config(0))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	asked := 0
	var asking sync.WaitGroup
	asking.Go(func() {
		for ; ctx.Err() == nil; asked++ {
			_ = member.Send(ctx, 0, (&message{ask: true, instance: 1, version: 1}).bytes())
			time.Sleep(time.Millisecond)
		}
	})
	answers := 0
	for {
		if _, _, err := member.Receive(ctx); err != nil {
			break
		}
		answers++
	}
	asking.Wait()
	t.Log(asked, "asked,", answers, "answered")
	require.Greater(t, asked, 100)
	require.GreaterOrEqual(t, answers, tellAtOnce)
	require.LessOrEqual(t, answers, tellAtOnce+2+int(time.Second/tellEvery))
}
