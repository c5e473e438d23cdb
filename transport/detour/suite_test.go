package detour_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/transport/transporttest"
)

var badLink = loopback.Impairment{
	Latency: 20 * ms, Jitter: 10 * ms, Loss: 0.2, Reorder: 0.1, Duplicate: 0.1, BytesPerSecond: 2_000_000,
}

var links = map[string]loopback.Impairment{"over a perfect link": {}, "over a bad link": badLink}

func impairAll(t require.TestingT, net *loopback.Network, peers int, im loopback.Impairment) {
	for i := range driftback.Peer(peers) {
		for j := range driftback.Peer(peers) {
			if i != j {
				require.NoError(t, net.Impair(i, j, im))
			}
		}
	}
}

func TestDirectLinksKeepWhatTransportPromises(t *testing.T) {
	for name, im := range links {
		t.Run(name, func(t *testing.T) {
			transporttest.Run(t, func(t *testing.T, peers int) transporttest.Match {
				net := loopback.New(1)
				m := transporttest.Match{Step: func() { net.Advance(ms) }}
				impairAll(t, net, peers, im)
				for i := range driftback.Peer(peers) {
					m.Ends = append(m.Ends, over(t, net.Open(i), i))
				}
				return m
			})
		})
	}
}

// without is a transport whose owner is not told of a peer: the one in between.
type without struct {
	*detour.Transport
	peer driftback.Peer
}

func (w without) Receive() (transport.Message, bool) {
	for {
		m, ok := w.Transport.Receive()
		if !ok || m.From != w.peer {
			return m, ok
		}
	}
}

func TestDetoursKeepWhatTransportPromises(t *testing.T) {
	for name, im := range links {
		t.Run(name, func(t *testing.T) {
			forwarded := uint64(0)
			transporttest.Run(t, func(t *testing.T, peers int) transporttest.Match {
				net := loopback.New(1)
				impairAll(t, net, peers+1, im)
				between := over(t, net.Open(driftback.Peer(peers)), driftback.Peer(peers))
				m := transporttest.Match{Step: func() {
					net.Advance(ms)
					for _, ok := between.Receive(); ok; _, ok = between.Receive() { // it only sends on
					}
				}}
				for i := range driftback.Peer(peers) {
					for j := range i {
						require.NoError(t, net.TakeDown(i, j))
					}
					m.Ends = append(m.Ends, without{over(t, net.Open(i), i), driftback.Peer(peers)})
				}
				t.Cleanup(func() { forwarded += between.Stats().Forwarded })
				return m
			})
			require.Greater(t, forwarded, uint64(1000), "hardly anything went through the one in between")
		})
	}
}
