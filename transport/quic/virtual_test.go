package quic

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go/testutils/simnet"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transport"
)

// virtually runs a test in a bubble, between two peers on a simulated network that
// lose a packet when drop says so.
func virtually(t *testing.T, latency time.Duration, drop func(simnet.Packet) bool, f func(t *testing.T, a, b *Transport)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, stop := simulate(t, 2, latency, drop)
		defer stop()
		ends := mesh(t, w.conns, Config{})
		for _, e := range ends {
			defer func() { require.NoError(t, e.Close()) }()
		}
		f(t, ends[0], ends[1])
	})
}

func TestALinkIsUpWithinAFewRoundTrips(t *testing.T) {
	const latency = 50 * time.Millisecond
	virtually(t, latency, nil, func(t *testing.T, a, b *Transport) {
		start := time.Now()
		linkUp(t, a, b)
		require.Less(t, time.Since(start), headStart+6*latency)
		until(t, "the round trip to be measured", func() bool {
			s, ok := a.Stats(1)
			return ok && s.Up && s.RTT >= 2*latency && s.RTT < 3*latency
		})
	})
}

func TestAPeerThatFallsSilentIsDownAfterTheIdleTimeout(t *testing.T) {
	var cut atomic.Bool
	virtually(t, 20*time.Millisecond, func(simnet.Packet) bool { return cut.Load() }, func(t *testing.T, a, b *Transport) {
		linkUp(t, a, b)
		time.Sleep(3 * defaultIdle)
		_, told := a.Receive()
		require.False(t, told, "keep-alives hold an idle link up")

		cut.Store(true)
		start := time.Now()
		for _, tr := range []*Transport{a, b} {
			down := await(t, tr, transport.Down)
			require.ErrorIs(t, down.Err, ErrSilent)
			require.ErrorContains(t, down.Err, "for 5s")
			require.InDelta(t, defaultIdle, time.Since(start), float64(2*time.Second))
		}
		require.ErrorIs(t, a.SendReliable(1, nil), transport.ErrNoLink)

		cut.Store(false)
		linkUp(t, a, b)
		require.NoError(t, a.SendReliable(1, []byte("again")))
		require.Equal(t, "again", string(await(t, b, transport.Reliable).Data))
		s, _ := a.Stats(1)
		require.Equal(t, 2, s.Ups)
		require.NoError(t, s.LastError)
	})
}

// On a virtual clock a call that waits takes time, and one that does not takes
// none at all.
func TestSendNeverWaits(t *testing.T) {
	var cut atomic.Bool
	virtually(t, 20*time.Millisecond, func(simnet.Packet) bool { return cut.Load() }, func(t *testing.T, a, b *Transport) {
		linkUp(t, a, b)
		cut.Store(true)
		start := time.Now()
		large := make([]byte, MaxDatagram)
		for range 20_000 {
			a.Send(1, large)
		}
		var refused error
		queued := 0
		for refused == nil {
			refused = a.SendReliable(1, large)
			queued++
		}
		require.ErrorIs(t, refused, transport.ErrFull)
		require.LessOrEqual(t, queued, 2*queueMessages+1)
		_, told := a.Receive()
		require.False(t, told)
		require.Zero(t, time.Since(start), "the flood took virtual time, so a call waited")
		require.Greater(t, first(a.Stats(1)).SendDropped, uint64(15_000))

		cut.Store(false)
		for range queued - 1 {
			require.Equal(t, large, await(t, b, transport.Reliable).Data, "what was taken arrives")
		}
	})
}

func TestReceiveHoldsBackAPeerThatSendsFasterThanItIsAsked(t *testing.T) {
	virtually(t, 5*time.Millisecond, nil, func(t *testing.T, a, b *Transport) {
		linkUp(t, a, b)
		message := make([]byte, 8<<10)
		sent, refused := 0, false
		for start := time.Now(); time.Since(start) < 2*time.Second; time.Sleep(time.Millisecond) {
			switch err := a.SendReliable(1, message); err {
			case nil:
				sent++
			default:
				require.ErrorIs(t, err, transport.ErrFull)
				refused = true
			}
		}
		require.True(t, refused)
		b.mu.Lock()
		held := b.remotes[0].told.arrived.bytes
		b.mu.Unlock()
		require.LessOrEqual(t, held, queueBytes)
		require.Greater(t, held, queueBytes/2)
		for range sent {
			await(t, b, transport.Reliable)
		}
	})
}

// refusals counts the calls that lost to another.
type refusals struct {
	slog.Handler
	n *atomic.Int64
}

func (refusals) Enabled(context.Context, slog.Level) bool { return true }

func (h refusals) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && errors.Is(err, errLinked) {
			h.n.Add(1)
		}
		return true
	})
	return nil
}

func TestTwoCallsAtOnceMakeOneLink(t *testing.T) {
	lost := &atomic.Int64{}
	for latency := 20 * time.Millisecond; latency <= 240*time.Millisecond; latency += 20 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			w, stop := simulate(t, 2, latency, nil)
			defer stop()
			ends := mesh(t, w.conns, Config{Logger: slog.New(refusals{slog.DiscardHandler, lost})})
			for _, e := range ends {
				defer func() { require.NoError(t, e.Close()) }()
			}
			ups := 0
			for start := time.Now(); time.Since(start) < 8*time.Second; time.Sleep(10 * time.Millisecond) {
				for _, tr := range ends {
					for m, ok := tr.Receive(); ok; m, ok = tr.Receive() {
						require.Equal(t, transport.Up, m.Kind, "at a latency of %v: %v", latency, m.Err)
						ups++
					}
				}
			}
			require.Equal(t, 2, ups, "at a latency of %v", latency)
		})
	}
	require.NotZero(t, lost.Load(), "no two calls met, so the test showed nothing")
}

func TestAPeerThatCrashedAndCameBackReplacesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cut atomic.Bool // cuts the connection that crashes
		w, stop := simulate(t, 3, 20*time.Millisecond, func(p simnet.Packet) bool {
			return cut.Load() && (p.From.String() == "10.0.0.2:7777" || p.To.String() == "10.0.0.2:7777")
		})
		defer stop()
		mine, theirs := newIdentity(t), newIdentity(t)
		a, err := Listen(context.Background(), Config{Self: 0, Identity: mine, Conn: w.conns[0], Peers: []Remote{{Peer: 1, Pin: theirs.Pin()}}})
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		incarnation := func(conn net.PacketConn) *Transport {
			tr, err := Listen(context.Background(), Config{Self: 1, Identity: theirs, Conn: conn, Peers: []Remote{
				{Peer: 0, Pin: mine.Pin(), Addr: w.conns[0].LocalAddr().String()},
			}})
			require.NoError(t, err)
			return tr
		}
		before := incarnation(w.conns[1])
		linkUp(t, a, before)
		cut.Store(true)
		start := time.Now()
		after := incarnation(w.conns[2])
		defer func() { require.NoError(t, after.Close()) }()

		require.ErrorIs(t, await(t, a, transport.Down).Err, ErrReplaced)
		require.Equal(t, transport.Up, first(a.Receive()).Kind, "Up follows Down at once")
		await(t, after, transport.Up)
		require.Less(t, time.Since(start), defaultIdle/2, "the time-out was not waited for")
		require.NoError(t, a.SendReliable(1, []byte("welcome back")))
		require.Equal(t, "welcome back", string(await(t, after, transport.Reliable).Data))

		start = time.Now()
		require.NoError(t, before.Close())
		require.Less(t, time.Since(start), linger+100*time.Millisecond, "Close does not wait for a peer that cannot answer")
	})
}

func TestCloseAtBothEndsAtOnce(t *testing.T) {
	virtually(t, 50*time.Millisecond, nil, func(t *testing.T, a, b *Transport) {
		linkUp(t, a, b)
		require.NoError(t, a.SendReliable(1, make([]byte, 10_000)))
		require.NoError(t, b.SendReliable(0, make([]byte, 10_000)))
		start := time.Now()
		errs := make(chan error, 4)
		for _, tr := range []*Transport{a, b, a, b} { // twice each
			go func() { errs <- tr.Close() }()
		}
		for range 4 {
			require.NoError(t, <-errs)
		}
		require.Less(t, time.Since(start), linger+100*time.Millisecond)
	})
}

func TestCloseWaitsNoLongerThanThePeerNeeds(t *testing.T) {
	const latency = 20 * time.Millisecond
	virtually(t, latency, nil, func(t *testing.T, a, b *Transport) {
		linkUp(t, a, b)
		start := time.Now()
		require.NoError(t, a.Close())
		require.Less(t, time.Since(start), 5*latency)
		require.ErrorIs(t, await(t, b, transport.Down).Err, ErrPeerClosed)
	})
}

func TestTheEndOfTheContextEndsTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		packets := atomic.Int64{}
		w, stop := simulate(t, 1, 0, func(simnet.Packet) bool { packets.Add(1); return true })
		defer stop()
		ctx, cancel := context.WithCancel(context.Background())
		tr, err := Listen(ctx, Config{Self: 1, Identity: newIdentity(t), Conn: w.conns[0], Peers: []Remote{
			{Peer: 0, Pin: newIdentity(t).Pin(), Addr: "10.0.0.9:9"},
		}})
		require.NoError(t, err)
		defer func() { require.NoError(t, tr.Close()) }()
		time.Sleep(time.Minute)
		called := packets.Load()
		require.Greater(t, called, int64(30), "it keeps calling")
		require.ErrorIs(t, first(tr.Stats(0)).LastError, ErrUnanswered)
		cancel()
		time.Sleep(time.Minute)
		require.LessOrEqual(t, packets.Load(), called+1)
	})
}
