package quic

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transport"
)

// BenchmarkPingPong sends 64 bytes there and back over the loopback interface,
// one at a time: over QUIC as a game would use it, and over bare UDP sockets, so
// that one run shows what the links cost. Each side waits by asking again, as a game's
// loop does, and sleeps in between: a loop that only yields would keep the
// runtime from looking at the sockets. The sleep is part of what is measured.
func BenchmarkPingPong(b *testing.B) {
	b.Run("quic", func(b *testing.B) {
		x, y := linked(b)
		message := make([]byte, 64)
		receive := func(tr *Transport) bool {
			for start := time.Now(); time.Since(start) < time.Second; time.Sleep(10 * time.Microsecond) {
				if m, ok := tr.Receive(); ok && m.Kind == transport.Datagram {
					return true
				}
			}
			return false
		}
		lost := 0
		b.ReportAllocs()
		for b.Loop() {
			x.Send(1, message)
			if !receive(y) {
				lost++
				continue
			}
			y.Send(0, message)
			if !receive(x) {
				lost++
			}
		}
		require.LessOrEqual(b, lost, b.N/100)
	})
	b.Run("udp", func(b *testing.B) {
		list := sockets(b, 2)
		x, y := list[0].(*net.UDPConn), list[1].(*net.UDPConn)
		defer func() { _, _ = x.Close(), y.Close() }()
		toX, toY := x.LocalAddr().(*net.UDPAddr).AddrPort(), y.LocalAddr().(*net.UDPAddr).AddrPort()
		echoed := make(chan struct{})
		go func() {
			defer close(echoed)
			buffer := make([]byte, 1500)
			for {
				n, _, err := y.ReadFromUDPAddrPort(buffer)
				if err != nil {
					return
				}
				if _, err := y.WriteToUDPAddrPort(buffer[:n], toX); err != nil {
					return
				}
			}
		}()
		message, buffer := make([]byte, 64), make([]byte, 1500)
		b.ReportAllocs()
		for b.Loop() {
			_, err := x.WriteToUDPAddrPort(message, toY)
			require.NoError(b, err)
			_, _, err = x.ReadFromUDPAddrPort(buffer)
			require.NoError(b, err)
		}
		require.NoError(b, y.Close())
		<-echoed
	})
}
