package natpunch

import (
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// far is a socket on a bad line: what is sent takes its time, and some of it or all is lost.
type far struct {
	net.PacketConn
	takes time.Duration
	loss  atomic.Int32 // of a hundred
	n     atomic.Int64 // packets lost
}

func (c *far) WriteTo(b []byte, to net.Addr) (int, error) {
	if rand.Int32N(100) < c.loss.Load() {
		c.n.Add(1)
		return len(b), nil
	}
	copied := slices.Clone(b)
	time.AfterFunc(c.takes, func() { _, _ = c.PacketConn.WriteTo(copied, to) })
	return len(b), nil
}

// wide is an input of which five, as many as go in a packet, are 1,100 bytes.
type wide [220]byte

type bulk struct{ Sum uint64 }

func addUp(s *bulk, in []wide, _ *driftback.Pass) {
	for p := range in {
		s.Sum = s.Sum*31 + uint64(in[p][0])
	}
}

// sized is a transport that counts the bytes of datagrams.
type sized struct {
	*Transport
	datagrams, bytes int
}

func (s *sized) Send(to driftback.Peer, b []byte) {
	s.datagrams++
	s.bytes += len(b)
	s.Transport.Send(to, b)
}

// longestTick plays a match over a line of 50 ms each way that loses so many of a hundred packets
// from a sixth of its ticks to five sixths, and returns the longest time that a call of Tick took in
// between, and the mean size of a datagram meanwhile.
func longestTick(b *testing.B, ticks int, loss int32) (longest time.Duration, size float64) {
	b.Helper()
	m := newMatch(b, 2)
	var conns [2]*far
	for i := range conns {
		conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
		require.NoError(b, err)
		conns[i] = &far{PacketConn: conn, takes: 50 * time.Millisecond}
		c := m.config(i)
		c.conn = conns[i]
		m.open(c)
	}
	var peers [2]*session.Lockstep[bulk, wide]
	var lines [2]*sized
	for i := range peers {
		lines[i] = &sized{Transport: m.ends[i]}
		var err error
		peers[i], err = session.New(session.Config[bulk, wide]{
			Step: addUp, Transport: lines[i], Self: driftback.Peer(i), Players: []driftback.Peer{0, 1},
			Nonce: uint64(i + 1), InputDelay: 2, Redundancy: 4,
		})
		require.NoError(b, err)
	}
	var in wide
	start := time.Now()
	turn := func() (took time.Duration) {
		for _, peer := range peers {
			for i := range in {
				in[i] = byte(rand.Uint32())
			}
			began := time.Now()
			_, err := peer.Tick(began.Sub(start), in)
			took = max(took, time.Since(began))
			require.NoError(b, err)
		}
		return took
	}
	tick := time.NewTicker(time.Second / 60)
	defer tick.Stop()
	for peers[0].Stats().Tick < 30 || peers[1].Stats().Tick < 30 {
		<-tick.C
		turn()
	}
	for n := range ticks {
		<-tick.C
		faulty := n >= ticks/6 && n < ticks*5/6
		for _, c := range conns {
			if c.loss.Store(0); faulty {
				c.loss.Store(loss)
			}
		}
		if n == ticks/6 {
			lines[0].bytes, lines[0].datagrams = 0, 0
		}
		if took := turn(); faulty {
			longest = max(longest, took)
		}
	}
	for _, c := range conns {
		require.Equal(b, loss > 0 && ticks > 60, c.n.Load() > 0 && ticks > 60, "what is to be lost is lost")
	}
	for i, end := range m.ends {
		require.NoError(b, end.Close(), "peer %d", i)
	}
	return longest, float64(lines[0].bytes) / float64(lines[0].datagrams)
}

// BenchmarkLongestTick is how long the longest call of Tick takes while the line loses
// everything, and while it loses one packet in ten: the median of nine runs of each, in turn with runs in which it loses nothing,
// and how much that is above theirs. One operation is one tick of each run, and two thirds of them
// are those of the fault: with -benchtime 180x it lasts two seconds.
func BenchmarkLongestTick(b *testing.B) {
	const runs = 9
	faults := []struct {
		name string
		loss int32
	}{{"no-fault", 0}, {"black-hole", 100}, {"loss", 10}}
	var took [3][]float64
	var sizes []float64
	for range runs {
		for i, fault := range faults {
			longest, size := longestTick(b, b.N, fault.loss)
			took[i] = append(took[i], float64(longest.Microseconds()))
			if fault.loss == 10 {
				sizes = append(sizes, size)
			}
		}
	}
	without := middle(took[0])
	b.ReportMetric(without, "no-fault-µs")
	for i, fault := range faults[1:] {
		b.ReportMetric(middle(took[1+i]), fault.name+"-µs")
		b.ReportMetric(middle(took[1+i])-without, fault.name+"-above-µs")
	}
	b.ReportMetric(middle(sizes), "B/datagram")
	b.ReportMetric(0, "ns/op")
	if b.N > 1 {
		b.Logf("all runs, sorted, in µs: %v", took)
	}
}

// middle returns the median. It sorts what it is given.
func middle(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}
