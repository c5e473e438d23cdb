package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

const ms = time.Millisecond

func TestTwoPeersPlayWhatOneSimulationPlaysWithEveryInputOnTime(t *testing.T) {
	for name, c := range map[string]struct {
		link        loopback.Impairment
		ticks       int
		shortTicks  int
		delay       int
		window      int
		rollbacks   int // at least, per thousand ticks and peer
		losses      bool
		reorderings bool
		repeats     bool
	}{
		"over a clean link": {ticks: 5_000, rollbacks: 0},
		"at 40±10 ms":       {link: loopback.Impairment{Latency: 40 * ms, Jitter: 10 * ms}, ticks: 20_000, rollbacks: 50},
		"at 120±30 ms":      {link: loopback.Impairment{Latency: 120 * ms, Jitter: 30 * ms}, ticks: 20_000, rollbacks: 50},
		"at 60±25 ms, lossy, reordered, doubled": {link: loopback.Impairment{Latency: 60 * ms, Jitter: 25 * ms, Loss: 0.15, Reorder: 0.25, Duplicate: 0.05}, ticks: 20_000, rollbacks: 50, losses: true, reorderings: true, repeats: true},
		"at 100 ms and 5 % loss, for long":       {link: loopback.Impairment{Latency: 100 * ms, Loss: 0.05}, ticks: 1_000_000, shortTicks: 100_000, rollbacks: 50, losses: true},
		"at 30 % loss":                           {link: loopback.Impairment{Latency: 30 * ms, Loss: 0.30}, ticks: 20_000, rollbacks: 50, losses: true},
		"with input delay":                       {link: loopback.Impairment{Latency: 80 * ms, Jitter: 20 * ms, Loss: 0.05}, ticks: 20_000, delay: 3, rollbacks: 20, losses: true},
		"without predictions":                    {link: loopback.Impairment{Latency: 40 * ms, Loss: 0.05}, ticks: 5_000, delay: 3, window: session.None, losses: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ticks := c.ticks
			if testing.Short() && c.shortTicks > 0 {
				ticks = c.shortTicks
			}
			m := newMatch(t, 2, func(s *session.Config[state, input]) {
				s.InputDelay, s.PredictionWindow = c.delay, c.window
			})
			m.impair(c.link)
			m.runUntil(driftback.Tick(ticks))
			for _, p := range m.peers {
				s := p.session.Stats()
				require.GreaterOrEqual(t, p.checked, ticks/10, "ticks compared with the oracle")
				require.GreaterOrEqual(t, int(s.Loop.Rollbacks), c.rollbacks*ticks/1000, "rollbacks")
				if c.window == session.None || c.link == (loopback.Impairment{}) {
					continue
				}
				var depths uint64
				for _, n := range s.Loop.Depths {
					depths += n
				}
				require.Equal(t, s.Loop.Rollbacks, depths, "every rollback is in the histogram")
				link := m.stats(p.self, 1-p.self)
				require.InDelta(t, c.link.Loss, float64(link.Lost)/float64(link.Sent), 0.02, "packets lost")
				require.Equal(t, c.losses, link.Lost > 0)
				require.True(t, !c.reorderings || link.Reordered > link.Sent/5, "packets reordered")
				require.Equal(t, c.repeats, link.Duplicated > 0)
				require.InDelta(t, 2*c.link.Latency.Seconds()+frame.Seconds(), s.Peers[0].RoundTrip.Seconds(), 0.06, "round trip measured")
				require.InDelta(t, c.link.Loss, s.Peers[0].Loss, 0.12, "loss measured")
				require.Zero(t, s.Refused, "two honest peers refuse nothing of each other's")
				require.GreaterOrEqual(t, s.Agreed, driftback.Tick(ticks-200), "states compared with the peer")
			}
			t.Logf("%d frames for %d ticks; peer 0: %d rollbacks, deepest %d, %d stalls", m.frames, ticks,
				m.peers[0].session.Stats().Loop.Rollbacks, m.peers[0].session.Stats().Loop.Deepest, m.peers[0].stalled)
		})
	}
}
