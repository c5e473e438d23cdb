package natpunch

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
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

// stuffed is a transport on which every datagram has 1,100 bytes: how many of them are
// meant, these, and nothing.
type stuffed struct {
	*Transport
	sending [1100]byte
	sent    int
}

func (s *stuffed) Send(to driftback.Peer, b []byte) {
	binary.BigEndian.PutUint16(s.sending[:], uint16(len(b)))
	copy(s.sending[2:], b)
	s.sent++
	s.Transport.Send(to, s.sending[:])
}

func (s *stuffed) Receive() (transport.Message, bool) {
	m, ok := s.Transport.Receive()
	if ok && m.Kind == transport.Datagram {
		m.Data = m.Data[2 : 2+binary.BigEndian.Uint16(m.Data)]
	}
	return m, ok
}

func (s *stuffed) MaxDatagram() int { return len(s.sending) - 2 }

// longestTick plays a match over a line of 50 ms each way that loses so many of a hundred packets
// from a sixth of its ticks to five sixths, and returns the longest time that a call of Tick took in
// between; and the longest of those during which the system gave the processor to nobody else, which
// says nothing about us. Whoever waits gives it away itself.
func longestTick(b *testing.B, ticks int, loss int32) (longest, undisturbed time.Duration) {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
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
	lines := [2]*stuffed{{Transport: m.ends[0]}, {Transport: m.ends[1]}}
	g := begin(b, lines[0], lines[1])
	start := time.Now()
	turn := func() (took, whole time.Duration) {
		for i := range g.peers {
			lost := processorsLost(b)
			began := time.Now()
			g.tick(i, began.Sub(start))
			t := time.Since(began)
			took = max(took, t)
			if processorsLost(b) == lost {
				whole = max(whole, t)
			}
		}
		return took, whole
	}
	tick := time.NewTicker(time.Second / 60)
	defer tick.Stop()
	for g.check() < 30 {
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
		if took, whole := turn(); faulty {
			longest, undisturbed = max(longest, took), max(undisturbed, whole)
		}
	}
	for _, c := range conns {
		require.Equal(b, loss > 0 && ticks > 60, c.n.Load() > 0 && ticks > 60, "what is to be lost is lost")
	}
	for i, end := range m.ends {
		require.NoError(b, end.Close(), "peer %d", i)
	}
	require.Greater(b, lines[0].sent, ticks)
	g.check()
	return longest, undisturbed
}

// processorsLost returns how often the system has taken the processor from this thread
// that still had something to do.
func processorsLost(b *testing.B) int64 {
	b.Helper()
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_THREAD, &u))
	return int64(u.Nivcsw) //nolint:unconvert // it has 32 bits on some machines
}

// BenchmarkLongestTick is how long the longest call of Tick takes while the line loses
// everything, and while it loses one packet in ten, with messages of 1,100 bytes: the
// median of nine runs of each, in turn with runs in which it loses nothing, and how much
// that is above theirs. One operation is one tick of each run, and two thirds of them are
// those of the fault: with -benchtime 180x it lasts two seconds. Calls that the system interrupted are
// counted only where it says "all".
func BenchmarkLongestTick(b *testing.B) {
	runs := 9
	if b.N < 60 {
		runs = 1 // it only has to run
	}
	faults := []struct {
		name string
		loss int32
	}{{"no-fault", 0}, {"black-hole", 100}, {"loss", 10}}
	var all, own [3][]float64
	for range runs {
		for i, fault := range faults {
			longest, undisturbed := longestTick(b, b.N, fault.loss)
			all[i] = append(all[i], float64(longest.Microseconds()))
			own[i] = append(own[i], float64(undisturbed.Microseconds()))
		}
	}
	for i, fault := range faults {
		b.ReportMetric(middle(all[i]), fault.name+"-all-µs")
		b.ReportMetric(middle(own[i]), fault.name+"-µs")
		if i > 0 {
			b.ReportMetric(middle(own[i])-middle(own[0]), fault.name+"-above-µs")
		}
	}
	b.ReportMetric(0, "ns/op")
	if b.N > 1 {
		b.Logf("all runs, sorted, in µs: %v; undisturbed: %v", all, own)
	}
}

// middle returns the median. It sorts what it is given.
func middle(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}
