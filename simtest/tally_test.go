package simtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/simtest"
)

func TestAPeersFiguresAddUpToTheMatchs(t *testing.T) {
	rollbacks := uint64(0)
	for seed := range uint64(30) {
		r, err := simtest.Play(simtest.Witness(), simtest.Generate(seed))
		require.NoError(t, err)
		require.Nil(t, r.Violation)
		var sum simtest.Report
		for i, p := range r.Peers {
			var counted, ticks uint64
			for depth, n := range p.Depths {
				counted += n
				ticks += uint64(depth) * n
			}
			require.Equal(t, p.Rollbacks, counted, "seed %d, peer %d", seed, i)
			require.Equal(t, p.Resimulated, ticks, "seed %d, peer %d", seed, i)
			require.LessOrEqual(t, p.Pauses, p.Stalls)
			require.Equal(t, p.Stalls == 0, p.Pauses == 0)
			require.Zero(t, p.To[i], "nobody sends to itself")
			var sent simtest.Sent
			for _, to := range p.To {
				sent.Datagrams += to.Datagrams
				sent.Bytes += to.Bytes
			}
			require.Equal(t, p.Sent, sent)
			sum.Rollbacks += p.Rollbacks
			sum.Resimulated += p.Resimulated
			sum.Stalls += p.Stalls
			sum.Datagrams += p.Sent.Datagrams
			sum.Deepest = max(sum.Deepest, p.Depth(100))
		}
		require.Equal(t, r.Rollbacks, sum.Rollbacks)
		require.Equal(t, r.Resimulated, sum.Resimulated)
		require.Equal(t, r.Stalls, sum.Stalls)
		require.Equal(t, r.Deepest, sum.Deepest)
		require.LessOrEqual(t, sum.Datagrams, r.Datagrams)
		rollbacks += r.Rollbacks
	}
	require.Greater(t, rollbacks, uint64(1000))
}

// Over a perfect link every frame runs a tick and sends a datagram, and neither a peer
// that comes five seconds late nor the end of the match is in the figures.
func TestAPeersRatesAreThoseOfItsPlayingTime(t *testing.T) {
	s := two()
	s.Links, s.Ticks = nil, 601
	s.Peers[1].Phase = 5*simtest.Second + 8*simtest.Millisecond
	var sent [2]simtest.Sent // what peer 0 had sent when it had run its first and its last tick
	ran := 0
	g := simtest.Witness()
	transport := meddler{datagram: func(b []byte) []byte {
		if ran > 0 && ran < s.Ticks {
			sent[0].Datagrams++
			sent[0].Bytes += uint64(len(b))
		}
		return b
	}}
	play := func(g game) simtest.Report {
		r, err := simtest.Play(g, s)
		require.NoError(t, err)
		require.Nil(t, r.Violation)
		return r
	}
	r := play(g.Plant(func(self driftback.Peer, c *config) {
		from(transport)(self, c)
		if self == 0 {
			step := c.Step
			c.Step = func(w *state, in []input, pass *driftback.Pass) {
				step(w, in, pass)
				ran = max(ran, int(w.Ticks))
			}
		}
	}))
	for _, p := range r.Peers {
		require.EqualValues(t, 601, p.Ticks)
		require.EqualValues(t, 601, p.Confirmed)
		require.EqualValues(t, 600, p.Frames)
		require.Equal(t, 600*s.Frame.Duration(), p.Playing)
		require.EqualValues(t, 600, p.Sent.Datagrams)
		require.Zero(t, p.Pauses)
	}
	require.Equal(t, sent[0], r.Peers[0].Sent)
	require.Equal(t, sent[0], r.Peers[0].To[1])
	require.Greater(t, r.Datagrams, uint64(1200), "the end is not in the figures")
	require.Equal(t, r, play(g), "the same match, however its figures were counted")

	// Control: a worse link shows.
	calm := r.Peers
	s.Links = two().Links
	s.Faults = []simtest.Fault{{Kind: simtest.Block, At: 8 * simtest.Second, For: simtest.Second}}
	for i, p := range play(g).Peers {
		require.Greater(t, p.Playing, calm[i].Playing+600*time.Millisecond)
		require.Greater(t, p.Stalls, uint64(40))
		require.Positive(t, p.Pauses)
		require.Less(t, p.Pauses, p.Stalls/4)
		require.Greater(t, p.Carried, calm[i].Carried)
		require.Equal(t, uint64(p.Ticks-1)+p.Stalls, p.Frames)
	}
}

func TestADepthIsTheLeastThatASharePasses(t *testing.T) {
	r := simtest.PeerReport{Rollbacks: 200, Depths: []uint64{0, 100, 97, 1, 0, 2}}
	for percent, want := range map[int]int{0: 1, 50: 1, 51: 2, 98: 2, 99: 3, 100: 5} {
		require.Equal(t, want, r.Depth(percent), "%d %%", percent)
	}
	r = simtest.PeerReport{Depths: make([]uint64, 9)}
	require.Zero(t, r.Depth(99))
}
