package quic

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/quic-go/quic-go/testutils/simnet"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport/transporttest"
)

// mesh opens one transport over each connection, all of which have each other's
// address.
func mesh(t testing.TB, conns []net.PacketConn, c Config) []*Transport {
	t.Helper()
	ids := make([]*identity.Identity, len(conns))
	for i := range ids {
		ids[i] = newIdentity(t)
	}
	list := make([]*Transport, len(conns))
	for i, conn := range conns {
		c.Self, c.Identity, c.Conn, c.Peers = driftback.Peer(i), ids[i], conn, nil
		for j := range conns {
			if j != i {
				c.Peers = append(c.Peers, Remote{Peer: driftback.Peer(j), Pin: ids[j].Pin(), Addr: conns[j].LocalAddr().String()})
			}
		}
		tr, err := Listen(context.Background(), c)
		require.NoError(t, err)
		list[i] = tr
	}
	return list
}

func sockets(t testing.TB, n int) []net.PacketConn {
	t.Helper()
	list := make([]net.PacketConn, n)
	for i := range list {
		c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		require.NoError(t, err)
		list[i] = c
	}
	return list
}

func TestQUICKeepsWhatTransportPromises(t *testing.T) {
	transporttest.Run(t, func(t *testing.T, peers int) transporttest.Match {
		m := transporttest.Match{Step: func() { time.Sleep(time.Millisecond) }}
		for _, tr := range mesh(t, sockets(t, peers), Config{}) {
			m.Ends = append(m.Ends, tr)
		}
		return m
	})
}

// network is a simulated one on a synctest bubble's clock.
type network struct {
	simnet.Simnet
	router *dropRouter
	conns  []net.PacketConn
}

// dropRouter loses every packet that drop says is lost.
type dropRouter struct {
	simnet.PerfectRouter
	drop func(simnet.Packet) bool
}

func (r *dropRouter) SendPacket(p simnet.Packet) error {
	if r.drop != nil && r.drop(p) {
		return nil
	}
	return r.PerfectRouter.SendPacket(p)
}

// simulate opens n connections that are latency apart. It must be called inside a
// bubble, and its stop after every transport has closed.
func simulate(t testing.TB, n int, latency time.Duration, drop func(simnet.Packet) bool) (w *network, stop func()) {
	t.Helper()
	w = &network{router: &dropRouter{drop: drop}}
	w.Router = w.router
	for i := range n {
		addr := &net.UDPAddr{IP: net.IPv4(10, 0, 0, byte(i+1)).To4(), Port: 7777}
		w.conns = append(w.conns, w.NewEndpoint(addr, simnet.NodeBiDiLinkSettings{Latency: latency}))
	}
	require.NoError(t, w.Start())
	return w, func() { require.NoError(t, w.Close()) }
}
