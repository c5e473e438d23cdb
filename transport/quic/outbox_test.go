package quic

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go/testutils/simnet"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/transport"
)

func TestAFullOutboxDropsItsOldest(t *testing.T) {
	var o outbox
	now := time.Now()
	for i := range byte(outboxDatagrams + 3) {
		o.push([]byte{i}, now)
	}
	require.EqualValues(t, 3, o.dropped)
	var got []byte
	var dst [MaxDatagram]byte
	for {
		if _, ok := o.next(now); !ok {
			break
		}
		got = append(got, o.pop(dst[:])...)
	}
	require.Len(t, got, outboxDatagrams)
	require.EqualValues(t, 3, got[0])
	require.EqualValues(t, outboxDatagrams+2, got[len(got)-1])
}

func TestTheDatagramsOfOneTickStayTogetherAndStaleOnesGiveWay(t *testing.T) {
	var o outbox
	now := time.Now()
	o.push([]byte("old 1"), now)
	o.push([]byte("old 2"), now)
	size, ok := o.next(now.Add(time.Hour))
	require.True(t, ok, "the newest is never stale")
	require.Equal(t, 5, size)
	require.EqualValues(t, 1, o.dropped)

	tick := now.Add(time.Hour)
	o.push([]byte("new 1"), tick)
	o.push([]byte("new 2"), tick)
	_, ok = o.next(tick.Add(stale))
	require.True(t, ok)
	var dst [MaxDatagram]byte
	require.Equal(t, "new 1", string(o.pop(dst[:])))
	require.Equal(t, "new 2", string(o.pop(dst[:])))
	require.EqualValues(t, 2, o.dropped)
}

func TestTheGateHoldsBackWhatDoesNotFitTheWindow(t *testing.T) {
	g := newGate()
	now := time.Now()
	const window, round, size = 2400, 100 * time.Millisecond, 1000
	require.Zero(t, g.wait(1<<20, window, round, now), "with nothing on its way anything may go")
	g.sent(size, now)
	require.Zero(t, g.wait(size, window, round, now))
	g.sent(size, now.Add(10*time.Millisecond))
	later := now.Add(30 * time.Millisecond)
	require.Equal(t, 70*time.Millisecond, g.wait(size, window, round, later), "the first is acknowledged then")
	require.Equal(t, 80*time.Millisecond, g.wait(2*size, window, round, later), "and the second then")
	require.Zero(t, g.wait(size, window, round, now.Add(round)))
	require.Zero(t, g.wait(size, 1<<62, round, later))
}

func TestTheGateIsBoundedAndNeverShutForLongerThanARound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGate()
		now := time.Now()
		round := time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "round"))
		for range rapid.IntRange(0, 2*flightRecords).Draw(t, "sends") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(round)/8).Draw(t, "gap")))
			g.sent(rapid.IntRange(0, MaxDatagram).Draw(t, "size"), now)
			d := g.wait(MaxDatagram, uint64(rapid.IntRange(0, 1<<20).Draw(t, "window")), round, now)
			require.LessOrEqual(t, d, round)
			require.GreaterOrEqual(t, d, time.Duration(0))
			sum := 0
			for i := range g.flight.n {
				sum += g.flight.places[(g.flight.head+i)%flightRecords].size
			}
			require.Equal(t, sum, g.bytes)
		}
	})
}

func TestRingsKeepTheirOrderAndTheirBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := parcels{ring: newRing[[]byte](queueMessages)}
		var want [][]byte
		for range rapid.IntRange(0, 300).Draw(t, "operations") {
			size := rapid.IntRange(0, transport.MaxReliable).Draw(t, "size")
			if rapid.Bool().Draw(t, "push") && p.fits(size) {
				b := make([]byte, size)
				p.push(b)
				want = append(want, b)
			} else if len(want) > 0 {
				require.Len(t, p.pop(), len(want[0]))
				want = want[1:]
			}
			require.Equal(t, len(want), p.ring.n)
			require.LessOrEqual(t, p.bytes, queueBytes)
			require.LessOrEqual(t, p.ring.n, queueMessages)
		}
	})
}

// latencies measures how long datagrams take that are sent 60 times per second
// over a link that loses one packet in ten, all on a virtual clock; through the
// outbox, or straight into quic-go's queue.
func latencies(t *testing.T, outbox bool) (median, worst time.Duration) {
	t.Helper()
	const size, tick = 1100, time.Second / 60
	var mu sync.Mutex // quic-go sends from its own goroutines
	random := rand.New(rand.NewPCG(3, 4))
	lose := false
	drop := func(simnet.Packet) bool {
		mu.Lock()
		defer mu.Unlock()
		return lose && random.Float64() < 0.1
	}
	var took []time.Duration
	virtually(t, 50*time.Millisecond, drop, func(t *testing.T, a, b *Transport) {
		linkUp(t, a, b)
		mu.Lock()
		lose = true
		mu.Unlock()
		straight := make(chan []byte, 2048)
		defer close(straight)
		if l := a.remotes[0].told; !outbox {
			go func() {
				for b := range straight {
					_ = l.conn.SendDatagram(b) // fails once the link is closed
				}
			}()
		}
		start := time.Now()
		message := make([]byte, size)
		next := start
		for time.Since(start) < 20*time.Second {
			if !time.Now().Before(next) {
				next = next.Add(tick)
				binary.BigEndian.PutUint64(message, uint64(time.Since(start)))
				if outbox {
					a.Send(1, message)
				} else {
					straight <- slices.Clone(message)
				}
				b.Send(0, message[:64])
			}
			for _, tr := range []*Transport{a, b} {
				for m, ok := tr.Receive(); ok; m, ok = tr.Receive() {
					require.Equal(t, transport.Datagram, m.Kind, "%v", m.Err)
					if tr == b {
						took = append(took, time.Since(start)-time.Duration(binary.BigEndian.Uint64(m.Data)))
					}
				}
			}
			time.Sleep(time.Millisecond)
		}
	})
	require.Greater(t, len(took), 100)
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

func TestDatagramsStayFreshThroughACongestedLink(t *testing.T) {
	median, worst := latencies(t, true)
	plainMedian, plainWorst := latencies(t, false)
	t.Logf("median and 99 in 100: %v, %v; without the outbox %v, %v", median, worst, plainMedian, plainWorst)
	require.Greater(t, plainMedian, 3*median)
	require.Greater(t, plainWorst, 3*worst)
}
