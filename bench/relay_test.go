package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/relay"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

const relayPeer driftback.Peer = driftback.MaxPeers - 1

// relayed is a match through a relay, which looks 16 times in a frame at what has come.
type relayed struct {
	*match
	relay *relay.Relay
}

// newRelayed returns a match whose links with the relay take half of what link does, so that
// an input is as long under way as over a link of the mesh.
func newRelayed(tb testing.TB, peers int, link loopback.Impairment) *relayed {
	tb.Helper()
	link.Latency, link.Jitter = link.Latency/2, link.Jitter/2
	m := &relayed{match: newMatchOf(tb, peers, loopback.Impairment{}, func(c *session.Config[[32]uint64, input]) {
		c.Relay, c.PredictionWindow = relayPeer, 16
	})}
	var players []driftback.Peer
	for i := range peers {
		players = append(players, driftback.Peer(i))
		require.NoError(tb, m.net.Impair(driftback.Peer(i), relayPeer, link))
		require.NoError(tb, m.net.Impair(relayPeer, driftback.Peer(i), link))
	}
	var err error
	m.relay, err = relay.New(relay.Config{Transport: m.net.Open(relayPeer), Self: relayPeer, Players: players, Nonce: 1000})
	require.NoError(tb, err)
	return m
}

// play runs n frames.
func (m *relayed) play(n int) {
	const looks = 16
	for range n {
		for range looks {
			m.net.Advance(frame / looks)
			if err := m.relay.Poll(m.net.Now()); err != nil {
				m.tb.Fatal(err)
			}
		}
		m.frames++
		for i, p := range m.peers {
			t := p.Stats().Tick
			if _, err := p.Tick(m.net.Now(), input{Buttons: uint16(t) / 8 * uint16(i+1)}); err != nil {
				m.tb.Fatal(err)
			}
		}
	}
}

// BenchmarkRelay has what one player sends and is sent in a second, in a mesh and through a
// relay. An input is 60 ms under way to the others in both.
func BenchmarkRelay(b *testing.B) {
	link := loopback.Impairment{Latency: 60 * time.Millisecond}
	for _, peers := range []int{2, 4, 8, 16} {
		b.Run(fmt.Sprintf("%dpeers/mesh", peers), func(b *testing.B) {
			m := newMatch(b, peers, link)
			report(b, m, m.play)
		})
		b.Run(fmt.Sprintf("%dpeers/relay", peers), func(b *testing.B) {
			m := newRelayed(b, peers, link)
			report(b, m.match, m.play)
		})
	}
}

func report(b *testing.B, m *match, play func(n int)) {
	play(1200)
	b.ReportAllocs()
	sent, heard, frames := m.flow(true), m.flow(false), m.frames
	b.ResetTimer()
	play(max(b.N, 1200))
	b.StopTimer()
	ticks := float64(m.frames - frames)
	each := float64(time.Second/frame) / ticks
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/ticks/float64(len(m.peers)), "ns/op")
	up, down := m.flow(true).less(sent), m.flow(false).less(heard)
	b.ReportMetric(float64(up.bytes)*each, "up-B/s")
	b.ReportMetric(float64(up.packets)*each, "up-packets/s")
	b.ReportMetric(float64(down.bytes)*each, "down-B/s")
	b.ReportMetric(float64(down.packets)*each, "down-packets/s")
}

// flow is what has gone to a player or come from it.
type flow struct{ packets, bytes uint64 }

func (f flow) less(g flow) flow { return flow{f.packets - g.packets, f.bytes - g.bytes} }

// flow returns what player 1 has sent, or has been sent.
func (m *match) flow(up bool) (f flow) {
	const player driftback.Peer = 1
	for other := range driftback.Peer(driftback.MaxPeers) {
		if other == player || int(other) >= len(m.peers) && other != relayPeer {
			continue
		}
		from, to := player, other
		if !up {
			from, to = other, player
		}
		s := m.net.Stats(from, to)
		f.packets += s.Sent
		f.bytes += s.Bytes
	}
	return f
}

func TestAWarmTickThroughARelayDoesNotAllocate(t *testing.T) {
	for _, peers := range []int{2, 8} {
		for _, c := range links {
			t.Run(fmt.Sprintf("%d peers, %s", peers, c.name), func(t *testing.T) {
				m := newRelayed(t, peers, c.link)
				m.play(1500)
				before, closed := m.rollbacks(), m.relay.Closed()
				require.Zero(t, testing.AllocsPerRun(200, func() { m.play(1) }))
				require.Positive(t, m.rollbacks()-before, "the measured frames held rollbacks")
				require.Greater(t, m.relay.Closed()-closed, driftback.Tick(150))
			})
		}
	}
}
