package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// frame is the time between two ticks of a match.
const frame = time.Second / 60

// links are what the network benchmarks play over.
var links = []struct {
	name string
	link loopback.Impairment
}{
	{"clean", loopback.Impairment{}},
	{"60ms", loopback.Impairment{Latency: 60 * time.Millisecond}},
	{"100ms-5%loss", loopback.Impairment{Latency: 100 * time.Millisecond, Loss: 0.05}},
}

// BenchmarkNetworkedTick measures one tick of one of two peers over the loopback:
// receiving, re-simulating, stepping, fingerprinting every eighth tick, sending,
// and its share of the network itself. loopback-ns/op is that share, measured by
// passing the same number of datagrams of the same size with no session, and
// bare-ns/op is what the step alone takes. rollbacks/op says how many
// rollbacks a tick has on average, sent-B/op how many bytes it sends.
func BenchmarkNetworkedTick(b *testing.B) {

	for _, c := range links {
		b.Run(c.name, func(b *testing.B) { networkedTick(b, c.link) })
	}
}

func networkedTick(b *testing.B, link loopback.Impairment) {
	m := newMatch(b, 2, link)
	m.play(3000) // until every buffer has its size
	sent := m.net.Stats(0, 1)
	pipe := newPipe(b, link, int(sent.Bytes/max(sent.Sent, 1)))
	alone := aloneWorld{}
	frames, rollbacks := m.frames, m.rollbacks()

	b.ReportAllocs()
	b.ResetTimer()
	// Two peers tick in each frame.
	took := takeTurns((b.N+1)/2, 64, m.play, pipe.play, alone.play)
	b.StopTimer()
	engine, network, bare := median(took[0])/2, median(took[1])/2, median(took[2])/2
	ticks := float64(2 * (m.frames - frames))
	b.ReportMetric(engine, "ns/op")
	b.ReportMetric(network, "loopback-ns/op")
	b.ReportMetric(bare, "bare-ns/op")
	b.ReportMetric(engine/(network+bare), "x-of-both")
	b.ReportMetric(float64(m.rollbacks()-rollbacks)/ticks, "rollbacks/op")
	b.ReportMetric(float64(m.net.Stats(0, 1).Bytes-sent.Bytes)/(ticks/2), "sent-B/op")
}

// match is sessions over one loopback, each linked to each.
type match struct {
	tb     testing.TB
	net    *loopback.Network
	frames int
	peers  []*session.Lockstep[[32]uint64, input]
}

func newMatch(tb testing.TB, peers int, link loopback.Impairment) *match {
	tb.Helper()
	return newMatchOf(tb, peers, link, func(*session.Config[[32]uint64, input]) {})
}

// newMatchOf is newMatch with another config.
func newMatchOf(tb testing.TB, peers int, link loopback.Impairment, change func(c *session.Config[[32]uint64, input])) *match {
	tb.Helper()
	m := &match{tb: tb, net: loopback.New(1)}
	players := make([]driftback.Peer, peers)
	for i := range players {
		players[i] = driftback.Peer(i)
	}
	for i := range players {
		c := session.Config[[32]uint64, input]{
			Step: step[[32]uint64], Transport: m.net.Open(driftback.Peer(i)),
			Self: driftback.Peer(i), Players: players, Nonce: uint64(i + 1),
		}
		change(&c)
		p, err := session.New(c)
		require.NoError(tb, err)
		m.peers = append(m.peers, p)
		for j := range players {
			if i != j {
				require.NoError(tb, m.net.Impair(driftback.Peer(i), driftback.Peer(j), link))
			}
		}
	}
	return m
}

// play runs n frames.
func (m *match) play(n int) {
	for range n {
		m.frames++
		m.net.Advance(frame)
		for i, p := range m.peers {
			t := p.Stats().Tick
			if _, err := p.Tick(m.net.Now(), input{Buttons: uint16(t) / 8 * uint16(i+1)}); err != nil {
				m.tb.Fatal(err)
			}
		}
	}
}

func (m *match) rollbacks() (n uint64) {
	for _, p := range m.peers {
		n += p.Stats().Loop.Rollbacks
	}
	return n
}

// pipe passes datagrams both ways over a loopback with nobody behind it.
type pipe struct {
	net  *loopback.Network
	ends [2]*loopback.Endpoint
	data []byte
}

func newPipe(tb testing.TB, link loopback.Impairment, size int) *pipe {
	tb.Helper()
	p := &pipe{net: loopback.New(1), data: make([]byte, size)}
	for i := range p.ends {
		p.ends[i] = p.net.Open(driftback.Peer(i))
		require.NoError(tb, p.net.Impair(driftback.Peer(i), driftback.Peer(1-i), link))
	}
	return p
}

func (p *pipe) play(n int) {
	for range n {
		p.net.Advance(frame)
		for i, end := range p.ends {
			for _, ok := end.Receive(); ok; {
				_, ok = end.Receive()
			}
			end.Send(driftback.Peer(1-i), p.data)
		}
	}
}

// aloneWorld is two steps a frame and nothing else.
type aloneWorld struct {
	states [2][32]uint64
	in     [2]input
	pass   driftback.Pass
}

func (a *aloneWorld) play(n int) {
	for range n {
		for i := range a.states {
			a.in[0].Buttons++
			step(&a.states[i], a.in[:], &a.pass)
		}
	}
}

func TestAWarmNetworkedTickDoesNotAllocate(t *testing.T) {
	for _, c := range links {
		t.Run(c.name, func(t *testing.T) {
			m := newMatch(t, 2, c.link)
			m.play(3000)
			before := m.rollbacks()
			require.Zero(t, testing.AllocsPerRun(600, func() { m.play(1) }))
			require.Positive(t, m.rollbacks()-before, "the measured frames held rollbacks")
		})
	}
}
