package transporttest_test

import (
	"testing"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/transport/transporttest"
	"github.com/stretchr/testify/require"
)

func open(im loopback.Impairment) transporttest.Opener {
	return func(t *testing.T, peers int) transporttest.Match {
		net := loopback.New(1)
		m := transporttest.Match{Step: func() { net.Advance(time.Millisecond) }}
		for i := range peers {
			for j := range peers {
				if i != j {
					require.NoError(t, net.Impair(driftback.Peer(i), driftback.Peer(j), im))
				}
			}
		}
		for i := range peers {
			m.Ends = append(m.Ends, net.Open(driftback.Peer(i)))
		}
		return m
	}
}

func TestLoopbackKeepsWhatTransportPromises(t *testing.T) {
	transporttest.Run(t, open(loopback.Impairment{}))
}

func TestLoopbackKeepsItOverABadLink(t *testing.T) {
	transporttest.Run(t, open(loopback.Impairment{
		Latency: 20 * time.Millisecond, Jitter: 10 * time.Millisecond,
		Loss: 0.2, Reorder: 0.1, Duplicate: 0.1, BytesPerSecond: 2_000_000,
	}))
}
