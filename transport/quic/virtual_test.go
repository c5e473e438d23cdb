package quic

import (
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
