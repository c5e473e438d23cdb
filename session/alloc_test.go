package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

func TestAWarmFrameOfTwoSessionsAllocatesNothing(t *testing.T) {
	for name, change := range map[string]func(c *session.Config[state, input]){
		"as it comes": nil,
		"with every tick compared, redundancy, a clock and checks of inputs": func(c *session.Config[state, input]) {
			c.FingerprintEvery, c.Redundancy, c.InputDelay, c.EffectTolerance = 1, 30, 1, 5
			now := time.Duration(0)
			c.Clock = func() time.Duration { now++; return now }
			c.Valid = func(input) bool { return true }
			c.Predict = func(last input, _ int) input { return last }
		},
		"with every tick compared and a policy of its own": func(c *session.Config[state, input]) {
			c.FingerprintEvery, c.Save = 1, moving
		},
		"with its world guarded": func(c *session.Config[state, input]) { c.Guard = true },
		"in turns":               func(c *session.Config[state, input]) { c.PublishEvery = 4 + int(c.Self) },
		"with delays that change all the time": func(c *session.Config[state, input]) {
			c.AdaptDelay = session.AdaptDelay{Max: 3}
			c.Fill = func(last input) input { return last }
			if c.Self == 0 {
				c.Merge = func(into, _ input) input { return into }
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDuo(t, 7, noisy, change)
			plain := d.frame
			frames := 0
			frame := func() {
				plain()
				if frames++; name == "with delays that change all the time" && frames%5 == 0 {
					for i, s := range d.peer {
						require.NoError(t, s.SetInputDelay(driftback.Participant(i), frames/5%4))
					}
				}
			}
			stats := func() (resimulated, lost uint64) {
				for i, s := range d.peer {
					resimulated += s.Stats().Loop.Resimulated
					lost += d.net.Stats(driftback.Peer(i), driftback.Peer(1-i)).Lost
				}
				return resimulated, lost
			}
			for range 3000 {
				frame()
			}
			resimulated, lost := stats()
			const many = 500
			perRun := testing.AllocsPerRun(4, func() {
				for range many {
					frame()
				}
			})
			require.Zero(t, perRun, "allocations in %d frames", many)
			after, lostAfter := stats()
			require.Greater(t, after-resimulated, uint64(1000), "ticks run again meanwhile")
			require.Greater(t, lostAfter-lost, uint64(100), "packets lost meanwhile")
		})
	}
	t.Run("a step that allocates would be noticed", func(t *testing.T) {
		var sink *state
		d := newDuo(t, 7, func(s *state, in []input, pass *driftback.Pass) {
			step(s, in, pass)
			if s.Ticks%100 == 0 {
				sink = &state{Ticks: s.Ticks}
			}
		}, nil)
		for range 1000 {
			d.frame()
		}
		require.Positive(t, testing.AllocsPerRun(2, func() {
			for range 500 {
				d.frame()
			}
		}))
		require.NotNil(t, sink)
	})
}
