package natpunch

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/signalling"
)

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
	longest := m.play(300, map[driftback.Tick]func(){
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
	})
	for i := range 2 {
		require.True(t, m.path(i, 1-i).Relayed)
		s, _ := m.ends[i].Stats(driftback.Peer(1 - i))
		require.Equal(t, 1, s.Ups, "QUIC noticed nothing")
	}
	t.Log("the longest time without one, in ticks:", longest)
	require.Less(t, longest, most)
}
