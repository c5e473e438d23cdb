package natpunch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/quic"
)

// BenchmarkRoundTrip is a datagram of 64 bytes there and back, over the loopback
// interface. Allocations are those of both sides, and so are for two datagrams.
func BenchmarkRoundTrip(b *testing.B) {
	there := func(b *testing.B, ends [2]transport.Transport) {
		b.Helper()
		data := make([]byte, 64)
		receive := func(from transport.Transport) {
			for {
				if m, ok := from.Receive(); ok && m.Kind == transport.Datagram {
					return
				}
				time.Sleep(10 * time.Microsecond) // only yielding would keep the runtime from the sockets
			}
		}
		b.ReportAllocs()
		for b.Loop() {
			ends[0].Send(1, data)
			receive(ends[1])
			ends[1].Send(0, data)
			receive(ends[0])
		}
	}
	b.Run("transport/quic alone", func(b *testing.B) {
		m := newMatch(b, 2)
		h, err := quic.Listen(b.Context(), quic.Config{Self: 0, Identity: m.ids[0], Addr: "127.0.0.1:0", Peers: []quic.Remote{{Peer: 1, Pin: m.ids[1].Pin()}}})
		require.NoError(b, err)
		defer func() { _ = h.Close() }()
		g, err := quic.Listen(b.Context(), quic.Config{Self: 1, Identity: m.ids[1], Addr: "127.0.0.1:0", Peers: []quic.Remote{{Peer: 0, Pin: m.ids[0].Pin(), Addr: h.LocalAddr().String()}}})
		require.NoError(b, err)
		defer func() { _ = g.Close() }()
		for _, end := range []transport.Transport{h, g} {
			for m, ok := end.Receive(); !ok || m.Kind != transport.Up; m, ok = end.Receive() {
				pause()
			}
		}
		there(b, [2]transport.Transport{h, g})
	})
	b.Run("direct", func(b *testing.B) {
		m := newMatch(b, 2)
		m.meet()
		there(b, [2]transport.Transport{m.ends[0], m.ends[1]})
	})
	b.Run("relayed", func(b *testing.B) {
		_, servers, stop := serveHere(b)
		defer stop()
		m := newMatch(b, 2)
		for i := range 2 {
			c := m.config(i)
			c.Servers, c.relayOnly = servers[1:], true
			m.open(c)
		}
		m.meet()
		require.True(b, m.path(0, 1).Relayed)
		there(b, [2]transport.Transport{m.ends[0], m.ends[1]})
		for _, end := range m.ends {
			require.NoError(b, end.Close())
		}
	})
}
