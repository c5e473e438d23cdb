package natpunch

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/signalling"
)

type state struct{ Sum [2]uint64 } // whose order of inputs matters

func step(s *state, in []uint32, _ *driftback.Pass) {
	for p := range in {
		s.Sum[p] = s.Sum[p]*31 + uint64(in[p]) + s.Sum[1-p]>>7
	}
}

// restarted is a signal whose server can be started anew: until then nothing goes
// through it.
type restarted struct {
	mu     sync.Mutex
	member *signalling.Member
}

func (s *restarted) now() *signalling.Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.member
}

func (s *restarted) Send(ctx context.Context, to driftback.Peer, b []byte) error {
	return s.now().Send(ctx, to, b)
}

func (s *restarted) Receive(ctx context.Context) (driftback.Peer, []byte, error) {
	return s.now().Receive(ctx)
}

// A match between two homes loses its signal for a second, and later its path. It
// ends as a plain loop over the same inputs does.
func TestAWholeMatchThatLosesItsSignalAndThenItsPath(t *testing.T) {
	if testing.Short() {
		t.Skip("plays for five seconds")
	}
	w := newInternet(t, nats[2].kind, nats[2].kind, 10*time.Millisecond, nil)
	m := newMatch(t, 2)
	var signals [2]restarted
	for i := range 2 {
		c := w.config(m, i)
		signals[i].member = m.room.Join(c.Self)
		c.Signal = &signals[i]
		m.open(c)
	}

	const ticks = 300
	at := map[driftback.Tick]func(){
		60: func() { signals[0].now().Leave(); signals[1].now().Leave() },
		120: func() {
			room := signalling.NewRoom()
			for i := range signals {
				signals[i].mu.Lock()
				signals[i].member = room.Join(driftback.Peer(i))
				signals[i].mu.Unlock()
			}
		},
		180: func() { w.blocked.Store(true) },
	}
	var inputs [2][ticks]uint32
	var matches [2]*session.Lockstep[state, uint32]
	for i := range matches {
		var err error
		matches[i], err = session.New(session.Config[state, uint32]{
			Step: step, Transport: m.ends[i], Self: driftback.Peer(i), Players: []driftback.Peer{0, 1},
			Nonce: uint64(i + 1), InputDelay: 2,
		})
		require.NoError(t, err)
		require.NoError(t, matches[i].Finish(ticks))
	}
	start := time.Now()
	ended := [2]bool{}
	var waited, longest int // ticks for which peer 0 has not advanced
	for tick := time.NewTicker(time.Second / 60); !ended[0] || !ended[1]; <-tick.C {
		now := time.Since(start)
		require.Less(t, now, patience)
		for i, match := range matches {
			if ended[i] {
				continue
			}
			in := uint32(now) ^ uint32(i)
			r, err := match.Tick(now, in)
			if r.Phase == session.Ended {
				require.ErrorIs(t, err, session.ErrFinished)
				ended[i] = true
				continue
			}
			require.NoError(t, err)
			if i == 0 && r.Phase == session.Stalled {
				waited++
			}
			if r.Phase != session.Advanced {
				continue
			}
			if f := r.InputFor[0]; f >= 0 && f < ticks {
				inputs[i][f] = in
			}
			if i == 0 {
				longest, waited = max(longest, waited), 0
				if do := at[r.Tick]; do != nil {
					do()
				}
			}
		}
	}
	var want state
	for tick := range ticks {
		step(&want, []uint32{inputs[0][tick], inputs[1][tick]}, nil)
	}
	for i, match := range matches {
		var got state
		to, err := match.ConfirmedState(&got)
		require.NoError(t, err)
		require.EqualValues(t, ticks, to)
		require.Equal(t, want, got)
		require.True(t, m.path(i, 1-i).Relayed)
		s, _ := m.ends[i].Stats(driftback.Peer(1 - i))
		require.Equal(t, 1, s.Ups, "QUIC noticed nothing")
	}
	t.Log("the longest time without one, in ticks:", longest)
	require.Less(t, longest, most)
}
