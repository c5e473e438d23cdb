package detour_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
	"github.com/driftback/driftback/transport/loopback"
)

// lane is peers 0 and 1 and, if there is one, who stands between them.
type lane struct {
	net  *loopback.Network
	ends []transport.Transport
	got  int
}

func newLane(t require.TestingT, peers int, over func(e *loopback.Endpoint) transport.Transport) *lane {
	l := &lane{net: loopback.New(1)}
	if peers == 3 {
		require.NoError(t, l.net.TakeDown(0, 1))
	}
	for i := range peers {
		l.ends = append(l.ends, over(l.net.Open(driftback.Peer(i))))
	}
	for range 40 {
		l.net.Advance(ms)
		l.receive()
	}
	return l
}

// bytes is how many have been sent over all links.
func (l *lane) bytes() (n uint64) {
	for from := range driftback.Peer(3) {
		for to := range driftback.Peer(3) {
			n += l.net.Stats(from, to).Bytes
		}
	}
	return n
}

// receive lets everybody receive, those in between first.
func (l *lane) receive() {
	for _, e := range slices.Backward(l.ends) {
		for m, ok := e.Receive(); ok; m, ok = e.Receive() {
			if m.Kind == transport.Datagram {
				l.got++
			}
		}
		l.net.Advance(0)
	}
	for m, ok := l.ends[1].Receive(); ok; m, ok = l.ends[1].Receive() {
		if m.Kind == transport.Datagram {
			l.got++
		}
	}
}

// run sends n datagrams, one at a time, and receives each.
func (l *lane) run(n int, b []byte) {
	for range n {
		l.ends[0].Send(1, b)
		l.net.Advance(0)
		l.receive()
	}
}

// lanes are the transport alone, the same with this one over it, and a detour.
func lanes(t require.TestingT) (plain, direct, through *lane) {
	over := func(e *loopback.Endpoint) transport.Transport {
		d, err := detour.New(e, config(e.Self()))
		require.NoError(t, err)
		return d
	}
	return newLane(t, 2, func(e *loopback.Endpoint) transport.Transport { return e }), newLane(t, 2, over), newLane(t, 3, over)
}

// BenchmarkDetour is what one datagram costs all who have to do with it, and how many bytes
// are sent for it: in one run over the transport alone, directly over this one, and through a third.
// The three take turns, and a round of each is long enough for the clock.
func BenchmarkDetour(b *testing.B) {
	for _, size := range []int{16, 64, 1100} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			const round = 100
			message := make([]byte, size)
			plain, direct, through := lanes(b)
			all := []*lane{plain, direct, through}
			var took [3][]float64
			var sent [3]uint64
			for i, l := range all {
				l.run(2*round, message) // warm
				l.got = 0
				sent[i] = l.bytes()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				for i, l := range all {
					start := time.Now()
					l.run(round, message)
					took[i] = append(took[i], float64(time.Since(start).Nanoseconds())/round)
				}
			}
			b.StopTimer()
			for i, name := range []string{"plain", "direct", "through"} {
				require.Equal(b, b.N*round, all[i].got)
				slices.Sort(took[i])
				b.ReportMetric(took[i][b.N/2], name+"-ns")
				b.ReportMetric(float64(all[i].bytes()-sent[i])/float64(b.N*round), name+"-B")
			}
			b.ReportMetric(took[2][b.N/2]/took[0][b.N/2], "×plain")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func TestADatagramAllocatesNothingOnAnyWay(t *testing.T) {
	plain, direct, through := lanes(t)
	message := make([]byte, 200)
	for name, l := range map[string]*lane{"the control: the transport below": plain, "directly": direct, "through a third": through} {
		l.run(1000, message)
		l.got = 0
		require.Zero(t, testing.AllocsPerRun(1000, func() { l.run(1, message) }), name)
		require.Equal(t, 1001, l.got, name)
	}
}

// BenchmarkSignature is what a signature on each datagram would cost, made and checked.
func BenchmarkSignature(b *testing.B) {
	id, message := people()[0], make([]byte, 64)
	key := id.Key()
	b.Run("made", func(b *testing.B) {
		for b.Loop() {
			id.Sign("bench", message)
		}
	})
	signature := id.Sign("bench", message)
	b.Run("checked", func(b *testing.B) {
		for b.Loop() {
			if !key.Verify("bench", message, signature) {
				b.Fatal("it is none")
			}
		}
	})
}
