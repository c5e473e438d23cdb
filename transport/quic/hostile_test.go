package quic

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	quicgo "github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/testutils/simnet"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
)

// caller is a peer of which every byte can be chosen.
type caller struct {
	endpoint *quicgo.Transport
	id       *identity.Identity
}

func newCaller(t testing.TB, id *identity.Identity, conn net.PacketConn) *caller {
	t.Helper()
	c := &caller{endpoint: &quicgo.Transport{Conn: conn}, id: id}
	t.Cleanup(func() { _ = c.endpoint.Close(); _ = conn.Close() })
	return c
}

// dial makes a connection to the peer at addr that has the given pin.
func (c *caller) dial(t testing.TB, addr net.Addr, pin identity.Pin) (*quicgo.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return c.endpoint.Dial(ctx, addr, c.id.ClientConfig(protocol, pin), &quicgo.Config{
		EnableDatagrams: true, InitialPacketSize: 1200, DisablePathMTUDiscovery: true,
	})
}

// victim opens peer 0 that has a caller pinned as peer 1, and connects the two.
func victim(t *testing.T) (tr *Transport, conn *quicgo.Conn) {
	t.Helper()
	mine, theirs := newIdentity(t), newIdentity(t)
	tr = open(t, Config{Self: 0, Identity: mine, Peers: []Remote{{Peer: 1, Pin: theirs.Pin()}}})
	conn, err := newCaller(t, theirs, sockets(t, 1)[0]).dial(t, tr.LocalAddr(), mine.Pin())
	require.NoError(t, err)
	return tr, conn
}

func TestAStreamOfNonsenseEndsTheLink(t *testing.T) {
	greeted := greeting{instance: 1}.bytes()
	header := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	for name, c := range map[string]struct {
		bytes []byte
		want  error // of the Down
	}{
		"a length one too high":       {header(transport.MaxReliable + 1), ErrProtocol},
		"the highest length":          {header(1<<32 - 1), ErrProtocol},
		"a message cut short":         {append(header(100), 1, 2, 3), ErrProtocol},
		"half a length":               {[]byte{0, 0}, ErrProtocol},
		"an orderly end":              {nil, ErrPeerClosed},
		"an empty message and an end": {header(0), ErrPeerClosed},
	} {
		t.Run(name, func(t *testing.T) {
			tr, conn := victim(t)
			stream, err := conn.OpenStream()
			require.NoError(t, err)
			_, err = stream.Write(append(bytes.Clone(greeted), c.bytes...))
			require.NoError(t, err)
			require.NoError(t, stream.Close())
			require.Equal(t, driftback.Peer(1), await(t, tr, transport.Up).From)
			down := await(t, tr, transport.Down)
			require.ErrorIs(t, down.Err, c.want)
			require.ErrorContains(t, down.Err, "peer 1 at 127.0.0.1:")
			<-conn.Context().Done()
		})
	}
}

func TestAGreetingOfNonsenseMakesNoLink(t *testing.T) {
	for name, b := range map[string][]byte{
		"another mark":        bytes.Repeat([]byte{'x'}, greetingSize),
		"a greeting too soon": {greetingMark, 1, 2},
		"nothing at all":      nil,
	} {
		t.Run(name, func(t *testing.T) {
			tr, conn := victim(t)
			stream, err := conn.OpenStream()
			require.NoError(t, err)
			_, err = stream.Write(b)
			require.NoError(t, err)
			require.NoError(t, stream.Close())
			<-conn.Context().Done()
			require.EqualValues(t, 1, tr.Counts().Malformed)
			_, told := tr.Receive()
			require.False(t, told)
		})
	}
}

func TestACallerMayOpenOneStreamAndNoMore(t *testing.T) {
	tr, conn := victim(t)
	stream, err := conn.OpenStream()
	require.NoError(t, err)
	_, err = stream.Write(greeting{}.bytes())
	require.NoError(t, err)
	await(t, tr, transport.Up)
	_, err = conn.OpenStream()
	require.Error(t, err)
	_, err = conn.OpenUniStream()
	require.Error(t, err)
}

func TestDatagramsBeyondTheLimitAreNotHandedOver(t *testing.T) {
	tr, conn := victim(t)
	stream, err := conn.OpenStream()
	require.NoError(t, err)
	_, err = stream.Write(greeting{}.bytes())
	require.NoError(t, err)
	await(t, tr, transport.Up)
	for range 10 * inboxDatagrams {
		require.NoError(t, conn.SendDatagram([]byte("flood")))
	}
	until(t, "the flood to be counted", func() bool {
		// A busy machine loses most of a flood before it arrives.
		require.NoError(t, conn.SendDatagram([]byte("flood")))
		s, _ := tr.Stats(1)
		return s.ReceiveDropped > 0
	})
	tr.mu.Lock()
	held := tr.remotes[0].told.received.n
	tr.mu.Unlock()
	require.LessOrEqual(t, held, inboxDatagrams)
}

func TestGarbageAtTheSocketHarmsNobody(t *testing.T) {
	a, b := linked(t)
	noise := sockets(t, 1)[0]
	defer func() { require.NoError(t, noise.Close()) }()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		p := make([]byte, 1+random.IntN(1400))
		for j := range p {
			p[j] = byte(random.Uint32())
		}
		switch i % 4 {
		case 0:
			p[0] |= 0xc0 // looks like the start of a connection
			copy(p[min(1, len(p)):], []byte{0, 0, 0, 1})
		case 1:
			p[0] = p[0]&0x3f | 0x40 // looks like a packet of one
		}
		_, err := noise.WriteTo(p, a.LocalAddr())
		require.NoError(t, err)
	}
	require.NoError(t, b.SendReliable(0, []byte("unharmed")))
	require.Equal(t, "unharmed", string(await(t, a, transport.Reliable).Data))
	require.Equal(t, 1, first(a.Stats(1)).Ups)
	require.NotZero(t, a.Counts().Strays)
}

func first[T any](v T, _ bool) T { return v }

// Callers that finish the handshake and then say nothing must not keep a friend
// out for longer than it takes to lose patience with them.
func TestSilentCallersAreBoundedAndLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := simulate(t, 3, 10*time.Millisecond, nil)
		defer stop()
		code, mine := identity.NewCode(), newIdentity(t)
		tr, err := Listen(context.Background(), Config{Self: 0, Identity: mine, Conn: w.conns[0], Peers: []Remote{{Peer: 1, Code: code}}})
		require.NoError(t, err)
		defer func() { require.NoError(t, tr.Close()) }()
		stranger := &caller{endpoint: &quicgo.Transport{Conn: w.conns[1]}, id: newIdentity(t)}
		defer func() { require.NoError(t, stranger.endpoint.Close()) }()

		for range 2 * maxPending {
			_, _ = stranger.dial(t, w.conns[0].LocalAddr(), mine.Pin())
		}
		require.EqualValues(t, maxPending, tr.pending.Load())
		require.NotZero(t, tr.Counts().Busy)

		start := time.Now()
		friend, err := Listen(context.Background(), Config{Self: 1, Identity: newIdentity(t), Conn: w.conns[2], Peers: []Remote{
			{Peer: 0, Pin: mine.Pin(), Addr: w.conns[0].LocalAddr().String(), Code: code},
		}})
		require.NoError(t, err)
		defer func() { require.NoError(t, friend.Close()) }()
		linkUp(t, tr, friend)
		require.Less(t, time.Since(start), greetTimeout+2*maxBackoff)
		require.NotZero(t, tr.Counts().Malformed)
		until(t, "everybody to be let go", func() bool { return tr.pending.Load() == 0 })
	})
}

func FuzzReadMessage(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 3})
	f.Add([]byte{0, 1, 0, 1})
	f.Add([]byte{255, 255, 255, 255, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		from := bytes.NewReader(b)
		var again []byte
		for {
			m, err := readMessage(from)
			if errors.Is(err, io.EOF) {
				require.Equal(t, len(b), len(again), "everything was read")
				require.True(t, bytes.Equal(b, again))
				return
			}
			if err != nil {
				require.Nil(t, m)
				return
			}
			require.LessOrEqual(t, len(m), transport.MaxReliable)
			again = append(binary.BigEndian.AppendUint32(again, uint32(len(m))), m...)
		}
	})
}

func FuzzReadGreeting(f *testing.F) {
	f.Add(greeting{instance: 1, ups: 2, code: identity.Code{3}}.bytes())
	f.Add([]byte{greetingMark})
	f.Add(bytes.Repeat([]byte{0}, greetingSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := readGreeting(bytes.NewReader(b))
		if err != nil {
			return
		}
		require.Equal(t, b[:greetingSize], g.bytes())
	})
}

// Whoever begins a handshake and does not go on holds a place for a while, and
// does not keep Close waiting.
func TestHalfAHandshakeDoesNotDelayClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := simulate(t, 2, 10*time.Millisecond, func(p simnet.Packet) bool { return p.To.String() == "10.0.0.2:7777" })
		defer stop()
		mine := newIdentity(t)
		tr, err := Listen(context.Background(), Config{Self: 0, Identity: mine, Conn: w.conns[0], Peers: []Remote{{Peer: 1, Code: identity.NewCode()}}})
		require.NoError(t, err)
		stranger := &caller{endpoint: &quicgo.Transport{Conn: w.conns[1]}, id: newIdentity(t)}
		ctx, cancel := context.WithCancel(context.Background())
		given := make(chan error)
		go func() {
			_, err := stranger.endpoint.Dial(ctx, w.conns[0].LocalAddr(), stranger.id.ClientConfig(protocol, mine.Pin()), &quicgo.Config{})
			given <- err
		}()
		until(t, "the handshake to begin", func() bool { return tr.pending.Load() == 1 })
		start := time.Now()
		require.NoError(t, tr.Close())
		require.Less(t, time.Since(start), 100*time.Millisecond)
		cancel()
		require.Error(t, <-given)
		require.NoError(t, stranger.endpoint.Close())
		require.Zero(t, tr.pending.Load())
	})
}
