package natpunch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
)

type state struct{ Sum [2]uint64 } // whose order of inputs matters

func step(s *state, in []uint32, _ *driftback.Pass) {
	for p := range in {
		s.Sum[p] = s.Sum[p]*31 + uint64(in[p]) + s.Sum[1-p]>>7
	}
}

// game is a match of two peers, held to a plain loop over the same inputs.
type game struct {
	t      testing.TB
	peers  [2]*session.Lockstep[state, uint32]
	inputs [2][]uint32 // by tick
	want   []state     // by the tick that it begins
}

// begin begins one between the first two peers.
func (m *match) begin() *game {
	m.t.Helper()
	return begin(m.t, m.ends[0], m.ends[1])
}

// begin begins one over the links of two peers. What these have to tell must not have been
// asked for yet.
func begin(t testing.TB, ends ...transport.Transport) *game {
	t.Helper()
	const delay = 2
	g := &game{t: t, want: []state{{}}}
	for i := range g.peers {
		var err error
		g.peers[i], err = session.New(session.Config[state, uint32]{
			Step: step, Transport: ends[i], Self: driftback.Peer(i), Players: []driftback.Peer{0, 1},
			Nonce: uint64(i + 1), InputDelay: delay,
		})
		require.NoError(t, err)
		g.inputs[i] = make([]uint32, delay)
	}
	return g
}

// tick runs a tick of one peer, unless its match has ended.
func (g *game) tick(i int, now time.Duration) session.Phase {
	g.t.Helper()
	in := uint32(now) ^ uint32(i)
	r, err := g.peers[i].Tick(now, in)
	if r.Phase == session.Ended {
		require.ErrorIs(g.t, err, session.ErrFinished)
		return r.Phase
	}
	require.NoError(g.t, err)
	if r.Phase == session.Advanced {
		require.Len(g.t, g.inputs[i], int(r.InputFor[0]))
		g.inputs[i] = append(g.inputs[i], in)
	}
	return r.Phase
}

// check compares what each peer knows for certain with the plain loop, and returns how
// many ticks both know.
func (g *game) check() (ticks driftback.Tick) {
	g.t.Helper()
	for i, peer := range g.peers {
		var got state
		to, err := peer.ConfirmedState(&got)
		require.NoError(g.t, err)
		for n := len(g.want) - 1; n < int(to); n++ {
			next := g.want[n]
			step(&next, []uint32{g.inputs[0][n], g.inputs[1][n]}, nil)
			g.want = append(g.want, next)
		}
		require.Equal(g.t, g.want[to], got, "peer %d at tick %d", i, to)
		if i == 0 || to < ticks {
			ticks = to
		}
	}
	return ticks
}

// play plays a match of so many ticks, 60 a second, and does what is to be done at some
// of the first peer's. It returns for how many ticks that one did not advance, at most.
func (m *match) play(ticks driftback.Tick, at map[driftback.Tick]func()) (longest int) {
	m.t.Helper()
	g := m.begin()
	for _, peer := range g.peers {
		require.NoError(m.t, peer.Finish(ticks))
	}
	start := time.Now()
	ended := [2]bool{}
	waited := 0
	for tick := time.NewTicker(time.Second / 60); !ended[0] || !ended[1]; <-tick.C {
		now := time.Since(start)
		require.Less(m.t, now, patience)
		for i := range g.peers {
			if ended[i] {
				continue
			}
			switch phase := g.tick(i, now); {
			case phase == session.Ended:
				ended[i] = true
			case i == 0 && phase == session.Stalled:
				waited++
			case i == 0 && phase == session.Advanced:
				longest, waited = max(longest, waited), 0
				if do := at[g.peers[0].Stats().Tick]; do != nil {
					do()
				}
			}
		}
	}
	require.Equal(m.t, ticks, g.check())
	return longest
}
