package natpunch

import (
	"encoding/binary"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/quic"
)

// line is what two players of a game send to each other through: a link, or bare UDP.
type line interface {
	Send(to driftback.Peer, b []byte)
	Receive() (transport.Message, bool)
}

// bareUDP is a socket that a game reads as it reads links: something waits for packets
// and keeps them until it is asked.
type bareUDP struct {
	conn  *net.UDPConn
	peers []netip.AddrPort
	heard chan []byte
}

func newBareUDP(b *testing.B, players int) []line {
	b.Helper()
	all := make([]*bareUDP, players)
	addrs := make([]netip.AddrPort, players)
	for i := range all {
		all[i] = &bareUDP{conn: listenHere(b), peers: addrs, heard: make(chan []byte, 256)}
		addrs[i] = all[i].conn.LocalAddr().(*net.UDPAddr).AddrPort()
	}
	lines := make([]line, players)
	for i, u := range all {
		go u.read()
		lines[i] = u
	}
	return lines
}

func (u *bareUDP) read() {
	var b [maxPacket]byte
	for {
		n, _, err := u.conn.ReadFromUDPAddrPort(b[:])
		if err != nil {
			return
		}
		select {
		case u.heard <- slices.Clone(b[:n]):
		default:
		}
	}
}

func (u *bareUDP) Send(to driftback.Peer, b []byte) {
	_, _ = u.conn.WriteToUDPAddrPort(b, u.peers[to])
}

func (u *bareUDP) Receive() (transport.Message, bool) {
	select {
	case b := <-u.heard:
		return transport.Message{Kind: transport.Datagram, Data: b}, true
	default:
		return transport.Message{}, false
	}
}

// lines are the ways that are compared, each for a number of players.
var lines = []struct {
	name    string
	players int
	open    func(b *testing.B, players int) []line
}{
	{"raw UDP", 2, newBareUDP},
	{"transport-quic alone", 2, quicAlone},
	{"direct", 2, direct},
	{"relayed", 2, throughRelays},
	{"mesh of eight", 8, direct},
}

func quicAlone(b *testing.B, _ int) []line {
	m := newMatch(b, 2)
	h, err := quic.Listen(b.Context(), quic.Config{Self: 0, Identity: m.ids[0], Addr: "127.0.0.1:0", Peers: []quic.Remote{{Peer: 1, Pin: m.ids[1].Pin()}}})
	require.NoError(b, err)
	b.Cleanup(func() { _ = h.Close() })
	g, err := quic.Listen(b.Context(), quic.Config{Self: 1, Identity: m.ids[1], Addr: "127.0.0.1:0", Peers: []quic.Remote{{Peer: 0, Pin: m.ids[0].Pin(), Addr: h.LocalAddr().String()}}})
	require.NoError(b, err)
	b.Cleanup(func() { _ = g.Close() })
	for _, end := range []line{h, g} {
		for got, ok := end.Receive(); !ok || got.Kind != transport.Up; got, ok = end.Receive() {
			pause()
		}
	}
	return []line{h, g}
}

func direct(b *testing.B, players int) []line {
	m := newMatch(b, players)
	m.meet()
	return m.lines()
}

func throughRelays(b *testing.B, players int) []line {
	servers, stop := serveApart(b)
	b.Cleanup(stop) // after the players have closed
	m := newMatch(b, players)
	for i := range players {
		c := m.config(i)
		c.Servers, c.relayOnly = servers[1:], true
		m.open(c)
	}
	m.meet()
	require.True(b, m.path(0, 1).Relayed)
	return m.lines()
}

func (m *match) lines() (all []line) {
	for _, end := range m.ends {
		all = append(all, end)
	}
	return all
}

const costSize = 64 // bytes of a datagram

// everybody has each player send to each other one, and take what has come.
func everybody(all []line, data []byte) (heard int) {
	for i, from := range all {
		for j := range all {
			if i != j {
				from.Send(driftback.Peer(j), data)
			}
		}
		for m, ok := from.Receive(); ok; m, ok = from.Receive() {
			if m.Kind == transport.Datagram {
				heard++
			}
		}
	}
	return heard
}

// BenchmarkPlayerAt60Hz is what a player costs who sends 64 bytes to each other one 60
// times a second: the share of one core, and the allocations for a datagram, of both its ends together.
// One operation is one tick of all. What relays is a process of its own, and not in it.
func BenchmarkPlayerAt60Hz(b *testing.B) {
	for _, way := range lines {
		b.Run(way.name, func(b *testing.B) {
			all := way.open(b, way.players)
			data := make([]byte, costSize)
			tick := time.NewTicker(time.Second / 60)
			defer tick.Stop()
			for range 60 { // until it is warm
				<-tick.C
				everybody(all, data)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start, spent := time.Now(), cpuTime(b)
			ticks, heard := 0, 0
			for b.Loop() {
				<-tick.C
				heard += everybody(all, data)
				ticks++
			}
			took, cpu := time.Since(start), cpuTime(b)-spent
			runtime.ReadMemStats(&after)
			sent := ticks * way.players * (way.players - 1)
			b.ReportMetric(100*cpu.Seconds()/took.Seconds()/float64(way.players), "%core/player")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(sent), "allocs/datagram")
			b.ReportMetric(100*float64(heard)/float64(sent), "%heard")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRoundTripAt60Hz is the time from the call of Send until the answer is there, 60 times a
// second, beside that of bare UDP in the same ticks: medians, and the median of what is added in a
// tick. Both sides look for what has come every few microseconds. In the mesh all others
// play meanwhile, and two of them answer each other between their ticks.
func BenchmarkRoundTripAt60Hz(b *testing.B) {
	for _, way := range lines {
		b.Run(way.name, func(b *testing.B) {
			bare, all := newBareUDP(b, 2), way.open(b, way.players)
			data := make([]byte, costSize)
			var took, added, floor []float64
			tick := time.NewTicker(time.Second / 60)
			defer tick.Stop()
			number := uint64(1)
			for b.Loop() {
				<-tick.C
				if way.players > 2 {
					everybody(all, data)
					time.Sleep(time.Second / 120) // on one machine they would only wait for each other
				}
				var one, two float64
				if number%2 == 0 { // who comes second finds the machine awake
					one, two = roundTrip(bare, number), roundTrip(all[:2], number)
				} else {
					two, one = roundTrip(all[:2], number), roundTrip(bare, number)
				}
				number++
				if one > 0 && two > 0 {
					floor, took, added = append(floor, one), append(took, two), append(added, two-one)
				}
			}
			require.NotEmpty(b, took)
			b.ReportMetric(middle(floor), "raw-µs")
			b.ReportMetric(middle(took), "µs")
			b.ReportMetric(middle(added), "added-µs")
			b.ReportMetric(took[len(took)*99/100], "p99-µs") // sorted by now
			b.ReportMetric(0, "ns/op")
		})
	}
}

// roundTrip returns how many microseconds a datagram is under way there and back, or 0
// if it was lost.
func roundTrip(ends []line, number uint64) float64 {
	data := binary.BigEndian.AppendUint64(make([]byte, 0, costSize), number)[:costSize]
	start := time.Now()
	for way := range 2 {
		from, to := ends[way], ends[1-way]
		from.Send(driftback.Peer(1-way), data)
		for {
			m, ok := to.Receive()
			if ok && m.Kind == transport.Datagram && binary.BigEndian.Uint64(m.Data) == number {
				break
			}
			if time.Since(start) > time.Second/10 {
				return 0
			}
			if !ok {
				time.Sleep(10 * time.Microsecond) // only yielding would keep the runtime from the sockets
			}
		}
	}
	return float64(time.Since(start).Microseconds())
}
