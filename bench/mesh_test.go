package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport/loopback"
)

// BenchmarkMesh measures one tick of one peer as there are more of them, each linked to each
// by 60 ms each way. ns/op is the time of a whole frame over the number of peers, what the
// network takes included; sent-B/s is what one peer sends to all others together at 60 ticks
// a second.
func BenchmarkMesh(b *testing.B) {
	for _, peers := range []int{2, 4, 8, 16} {
		b.Run(fmt.Sprintf("%dpeers", peers), func(b *testing.B) { meshTick(b, peers) })
	}
}

func meshTick(b *testing.B, peers int) {
	m := newMatch(b, peers, loopback.Impairment{Latency: 60 * time.Millisecond})
	m.play(3000) // until every buffer has its size
	frames, sent, rollbacks := m.frames, m.sent(), m.rollbacks()
	b.ReportAllocs()
	b.ResetTimer()
	// All peers tick in each frame.
	took := takeTurns((b.N+peers-1)/peers, 16, m.play)
	b.StopTimer()
	ticks := float64(peers * (m.frames - frames))
	b.ReportMetric(median(took[0])/float64(peers), "ns/op")
	b.ReportMetric(float64(m.sent()-sent)/ticks*float64(time.Second/frame), "sent-B/s")
	b.ReportMetric(float64(m.rollbacks()-rollbacks)/ticks, "rollbacks/op")
}

// sent returns how many bytes all peers have sent.
func (m *match) sent() (n uint64) {
	for from := range m.peers {
		for to := range m.peers {
			n += m.net.Stats(driftback.Peer(from), driftback.Peer(to)).Bytes
		}
	}
	return n
}

func TestAWarmTickOfManyPeersDoesNotAllocate(t *testing.T) {
	for _, peers := range []int{8, 16} {
		for _, c := range links {
			t.Run(fmt.Sprintf("%d peers, %s", peers, c.name), func(t *testing.T) {
				m := newMatch(t, peers, c.link)
				m.play(1500)
				before := m.rollbacks()
				require.Zero(t, testing.AllocsPerRun(200, func() { m.play(1) }))
				require.Positive(t, m.rollbacks()-before, "the measured frames held rollbacks")
				for _, p := range m.peers {
					require.Greater(t, p.Stats().Tick, driftback.Tick(1000), "it plays")
				}
			})
		}
	}
}
