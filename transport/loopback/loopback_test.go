package loopback_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/transport/transporttest"
)

const ms = time.Millisecond

// drain receives everything and returns it as text, one thing a line.
func drain(e *loopback.Endpoint) []string {
	var got []string
	for m, ok := e.Receive(); ok; m, ok = e.Receive() {
		line := fmt.Sprintf("%v %d", m.Kind, m.From)
		if len(m.Data) > 0 {
			line += " " + string(m.Data)
		}
		if m.Err != nil {
			line += " " + m.Err.Error()
		}
		got = append(got, line)
	}
	return got
}

// pair opens peers 0 and 1 and brings their link up.
func pair(t testing.TB, seed uint64) (net *loopback.Network, a, b *loopback.Endpoint) {
	net = loopback.New(seed)
	a, b = net.Open(0), net.Open(1)
	net.Advance(0)
	require.Equal(t, []string{"up 1"}, drain(a))
	require.Equal(t, []string{"up 0"}, drain(b))
	return net, a, b
}

func TestItKeepsWhatTransportPromises(t *testing.T) {
	for name, im := range map[string]loopback.Impairment{
		"over a perfect link": {},
		"over a bad link": {
			Latency: 20 * ms, Jitter: 10 * ms, Loss: 0.2, Reorder: 0.1, Duplicate: 0.1, BytesPerSecond: 2_000_000,
		},
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.Run(t, func(t *testing.T, peers int) transporttest.Match {
				net := loopback.New(1)
				m := transporttest.Match{Step: func() { net.Advance(ms) }}
				for i := range driftback.Peer(peers) {
					for j := range driftback.Peer(peers) {
						if i != j {
							require.NoError(t, net.Impair(i, j, im))
						}
					}
				}
				for i := range driftback.Peer(peers) {
					m.Ends = append(m.Ends, net.Open(i))
				}
				return m
			})
		})
	}
}

func TestNothingArrivesUntilTheClockIsMoved(t *testing.T) {
	net, a, b := pair(t, 1)
	a.Send(1, []byte("x"))
	require.NoError(t, a.SendReliable(1, []byte("y")))
	require.Empty(t, drain(b))
	net.Advance(-time.Second)
	require.Zero(t, net.Now(), "a clock does not go back")
	require.Equal(t, []string{"datagram 0 x", "reliable 0 y"}, drain(b), "what is due now arrived all the same")
}

func TestEqualTimesArriveInTheOrderTheyWereSent(t *testing.T) {
	net := loopback.New(1)
	ends := []*loopback.Endpoint{net.Open(0), net.Open(1), net.Open(2)}
	net.Advance(0)
	for _, e := range ends {
		drain(e)
	}
	// What is sent later over the shorter way arrives at the same time.
	require.NoError(t, net.Impair(0, 2, loopback.Impairment{Latency: 30 * ms}))
	require.NoError(t, net.Impair(1, 2, loopback.Impairment{Latency: 20 * ms}))
	for i := range 20 {
		ends[0].Send(2, fmt.Appendf(nil, "slow %d", i))
	}
	net.Advance(10 * ms)
	var want []string
	for i := range 20 {
		ends[1].Send(2, fmt.Appendf(nil, "fast %d", i))
		want = append(want, fmt.Sprintf("datagram 1 fast %d", i))
	}
	for i := 19; i >= 0; i-- {
		want = append([]string{fmt.Sprintf("datagram 0 slow %d", i)}, want...)
	}
	net.Advance(20 * ms)
	require.Equal(t, want, drain(ends[2]))
}

func TestTheSameSeedAndCallsGiveTheSameSchedule(t *testing.T) {
	run := func(seed uint64) (trace []string, stats loopback.Stats) {
		net, a, b := pair(t, seed)
		require.NoError(t, net.Impair(0, 1, loopback.Impairment{
			Latency: 50 * ms, Jitter: 30 * ms, Loss: 0.1, Reorder: 0.2, Duplicate: 0.1,
		}))
		for i := range 300 {
			a.Send(1, fmt.Append(nil, i))
			net.Advance(5 * ms)
			for _, line := range drain(b) {
				trace = append(trace, fmt.Sprint(net.Now(), " ", line))
			}
		}
		return trace, net.Stats(0, 1)
	}
	first, stats := run(1)
	again, _ := run(1)
	require.Equal(t, first, again)
	other, _ := run(2)
	require.NotEqual(t, first, other)
	for what, n := range map[string]uint64{"lost": stats.Lost, "reordered": stats.Reordered, "duplicated": stats.Duplicated} {
		require.NotZero(t, n, what)
	}
	require.EqualValues(t, len(first), stats.Received)
}

func TestEachDirectionHasItsOwnImpairment(t *testing.T) {
	net, a, b := pair(t, 1)
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{Latency: 30 * ms}))
	require.NoError(t, net.Impair(1, 0, loopback.Impairment{Blocked: true}))
	a.Send(1, []byte("there"))
	b.Send(0, []byte("back"))
	net.Advance(29 * ms)
	require.Empty(t, drain(b))
	net.Advance(ms)
	require.Equal(t, []string{"datagram 0 there"}, drain(b))
	require.Empty(t, drain(a))
	require.EqualValues(t, 1, net.Stats(1, 0).Blocked)
	require.Zero(t, net.Stats(0, 1).Blocked)
}

func TestALinkComesUpOnlyWhenBothDirectionsWork(t *testing.T) {
	net := loopback.New(1)
	require.NoError(t, net.Impair(1, 0, loopback.Impairment{Blocked: true}))
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{Latency: 10 * ms}))
	a, b := net.Open(0), net.Open(1)
	for range 10 {
		net.Advance(100 * ms)
		a.Send(1, []byte("x"))
		require.ErrorIs(t, a.SendReliable(1, nil), transport.ErrNoLink)
	}
	require.Empty(t, drain(a))
	require.Empty(t, drain(b))
	require.EqualValues(t, 10, net.Stats(0, 1).Dropped)

	require.NoError(t, net.Impair(1, 0, loopback.Impairment{}))
	net.Advance(9 * ms) // b's hello went out at once; a's answer takes its latency
	require.Empty(t, drain(a))
	require.Empty(t, drain(b))
	net.Advance(ms)
	require.Equal(t, []string{"up 0"}, drain(b))
	require.Equal(t, []string{"up 1"}, drain(a))
}

func TestADatagramThatOvertakesUpIsDropped(t *testing.T) {
	net := loopback.New(3)
	// With this seed the last message of the handshake is late by a retry.
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{Latency: 10 * ms, Loss: 0.5}))
	a, b := net.Open(0), net.Open(1)
	overtaken := uint64(0)
	for range 50 {
		net.Advance(ms)
		a.Send(1, []byte("x"))
		if got := drain(b); len(got) > 0 {
			require.Equal(t, "up 0", got[0])
			overtaken = net.Stats(0, 1).Dropped
			break
		}
	}
	require.NotZero(t, overtaken, "no datagram arrived before Up, so nothing was tried")
}

func TestReliableMessagesAreDelayedAndNeitherLostNorOvertaken(t *testing.T) {
	net, a, b := pair(t, 1)
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{
		Latency: 50 * ms, Jitter: 50 * ms, Loss: 0.5, Reorder: 0.5, Duplicate: 0.5,
	}))
	var want, got []string
	for i := range 200 {
		require.NoError(t, a.SendReliable(1, fmt.Append(nil, i)))
		want = append(want, fmt.Sprintf("reliable 0 %d", i))
		net.Advance(16 * ms)
		got = append(got, drain(b)...)
	}
	require.Less(t, len(got), len(want), "some are late")
	net.Advance(10 * time.Second)
	require.Equal(t, want, append(got, drain(b)...))
	require.NotZero(t, net.Stats(0, 1).Retried)
}

func TestABlockDelaysReliableMessagesUntilTheQueueIsFull(t *testing.T) {
	for name, c := range map[string]struct{ size, room int }{
		"many small ones": {1, loopback.MaxReliableMessages},
		"few large ones":  {transport.MaxReliable, loopback.MaxReliableBytes / transport.MaxReliable},
	} {
		t.Run(name, func(t *testing.T) {
			net, a, b := pair(t, 1)
			require.NoError(t, net.Impair(0, 1, loopback.Impairment{Blocked: true}))
			for i := range c.room {
				require.NoError(t, a.SendReliable(1, make([]byte, c.size)), "message %d", i)
			}
			require.ErrorIs(t, a.SendReliable(1, make([]byte, c.size)), transport.ErrFull)
			net.Advance(time.Hour)
			require.Empty(t, drain(b))

			require.NoError(t, net.Impair(0, 1, loopback.Impairment{Latency: 10 * ms}))
			require.ErrorIs(t, a.SendReliable(1, make([]byte, c.size)), transport.ErrFull, "they are on their way")
			net.Advance(10 * ms)
			require.ErrorIs(t, a.SendReliable(1, make([]byte, c.size)), transport.ErrFull, "they have not been received")
			require.Len(t, drain(b), c.room)
			require.NoError(t, a.SendReliable(1, make([]byte, c.size)))
		})
	}
}

func TestARateLimitSpacesWhatArrives(t *testing.T) {
	net, a, b := pair(t, 1)
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{BytesPerSecond: 100_000}))
	for range 100 {
		a.Send(1, make([]byte, 1000)) // 100 kB, of which 64 KiB may wait
	}
	for i := range 64 {
		net.Advance(10 * ms)
		require.Len(t, drain(b), 1, "after %d ms", 10*(i+1))
	}
	net.Advance(time.Minute)
	require.EqualValues(t, 36-len(drain(b)), net.Stats(0, 1).Overflowed)
	require.NotZero(t, net.Stats(0, 1).Overflowed)
}

func TestDatagramsOnTheirWayAreBounded(t *testing.T) {
	net, a, b := pair(t, 1)
	for range loopback.MaxDatagrams + 10 {
		a.Send(1, []byte("x"))
	}
	net.Advance(0)
	for range 10 {
		a.Send(1, []byte("x")) // arrived ones that nobody receives count too
	}
	require.EqualValues(t, 20, net.Stats(0, 1).Dropped)
	require.Len(t, drain(b), loopback.MaxDatagrams)
	a.Send(1, []byte("x"))
	net.Advance(0)
	require.Len(t, drain(b), 1)
}

func TestTheWrongAddressIsNoLink(t *testing.T) {
	_, a, _ := pair(t, 1)
	for _, to := range []driftback.Peer{0, 2, driftback.MaxPeers, 255} {
		a.Send(to, []byte("x"))
		require.ErrorIs(t, a.SendReliable(to, []byte("x")), transport.ErrNoLink)
	}
}

func TestAnImpairmentThatIsRefusedIsNamed(t *testing.T) {
	net := loopback.New(1)
	require.EqualError(t, net.Impair(3, 4, loopback.Impairment{Loss: 2}),
		"loopback: from peer 3 to peer 4: impair: loss is 2: want a share from 0 to 1")
	require.EqualError(t, net.Impair(3, 3, loopback.Impairment{}),
		"loopback: from peer 3 to peer 3: want two peers below 64")
	require.Error(t, net.Impair(64, 3, loopback.Impairment{}))
	require.Zero(t, net.Stats(3, 64))
	require.PanicsWithValue(t, "loopback: peer 64: want one below 64", func() { net.Open(64) })
}

// warm returns one tick of a match of four peers in which everybody sends
// everybody a datagram and, now and then, a reliable message.
func warm(t testing.TB) (tick func()) {
	const peers = 4
	net := loopback.New(1)
	ends := make([]*loopback.Endpoint, peers)
	for i := range ends {
		for j := range ends {
			if i != j {
				require.NoError(t, net.Impair(driftback.Peer(i), driftback.Peer(j), loopback.Impairment{
					Latency: 60 * ms, Jitter: 10 * ms, Loss: 0.05, Reorder: 0.05, Duplicate: 0.05, BytesPerSecond: 1_000_000,
				}))
			}
		}
		ends[i] = net.Open(driftback.Peer(i))
	}
	n := 0
	var b [64]byte
	tick = func() {
		n++
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		for i, e := range ends {
			for j := range ends {
				if i == j {
					continue
				}
				e.Send(driftback.Peer(j), b[:])
				if n%8 == 0 {
					_ = e.SendReliable(driftback.Peer(j), b[:]) // refused until the link is up
				}
			}
		}
		net.Advance(16 * ms)
		for _, e := range ends {
			for _, ok := e.Receive(); ok; _, ok = e.Receive() {
				continue
			}
		}
	}
	for range 2000 {
		tick()
	}
	s := net.Stats(0, 1)
	require.NotZero(t, s.Received)
	require.NotZero(t, s.Reliable)
	require.NotZero(t, s.Reordered)
	return tick
}

func TestAWarmTickAllocatesNothing(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(500, warm(t)))
}

// BenchmarkTick is one tick of four peers: 12 datagrams sent and received.
func BenchmarkTick(b *testing.B) {
	tick := warm(b)
	b.ReportAllocs()
	for b.Loop() {
		tick()
	}
}
