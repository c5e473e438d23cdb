package mesh

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// inTurns makes peer 0 send once in so many ticks.
func inTurns(k int) func(c *Config) {
	return func(c *Config) {
		c.Window, c.PeerTimeout = MaxWindow, None
		if c.Self == 0 {
			c.PublishEvery, c.TickLength = k, frame
		}
	}
}

// turned returns two peers, of which peer 0 sends in turns, that have confirmed n ticks and
// have nothing more to say to each other.
func turned(t *testing.T, k, n int, change func(c *Config)) *match {
	t.Helper()
	m := playing(t, 2, func(c *Config) {
		inTurns(k)(c)
		if change != nil {
			change(c)
		}
	})
	for _, s := range m.seats {
		s.publish(n)
	}
	m.turns(3 * k)
	for _, s := range m.seats {
		require.EqualValues(t, n, s.mesh.Confirmed())
		s.log = nil
	}
	return m
}

func TestPacketsAndTheirInputsInTurns(t *testing.T) {
	for _, k := range []int{1, 2, 3, 4, 8, 60} {
		t.Run(fmt.Sprint(k, " ticks"), func(t *testing.T) {
			m := playing(t, 2, inTurns(k))
			a, b := m.seats[0], m.seats[1]
			for a.packets() == nil {
				m.turn()
			}
			packets := 0
			for range 10 * k {
				a.publish(1)
				b.publish(1)
				m.turn()
				for _, p := range a.packets() {
					packets++
					require.Len(t, p.Runs, 1)
					require.Equal(t, k, p.Runs[0].Count)
					require.Equal(t, a.mesh.Held(0), p.Runs[0].First+driftback.Tick(k), "the newest is among them")
				}
			}
			require.Equal(t, 10, packets)
			require.EqualValues(t, 10*k, b.mesh.Held(0))
		})
	}
}

func TestInTurnsAPeerSpeaksAsSeldomWhateverItWaitsFor(t *testing.T) {
	unacknowledged := func(a, b *seat) {
		a.forge(b, wire.Packet{Runs: []wire.Run{of(1, 5, 3)}})
		a.turn()
		a.publish(1)
	}
	for name, c := range map[string]struct {
		k      int
		before func(a, b *seat)
		every  time.Duration
	}{
		"it waits for the other":      {4, func(a, b *seat) {}, 4 * frame},
		"something is unacknowledged": {4, unacknowledged, 4 * frame},
		"and the turns are long":      {20, unacknowledged, 20 * frame},
		"nothing is, and the turns are short": {4, func(a, b *seat) {
			a.forge(b, wire.Packet{Runs: []wire.Run{of(1, 5, 1)}})
		}, idleBeat},
		"nothing is, and the turns are long": {20, func(a, b *seat) {
			a.forge(b, wire.Packet{Runs: []wire.Run{of(1, 5, 1)}})
		}, 20 * frame},
		"a fingerprint is unacknowledged": {4, func(a, b *seat) {
			a.forge(b, wire.Packet{Runs: []wire.Run{of(1, 5, 1)}})
			a.turn()
			a.fingerprint()
		}, 4 * frame},
	} {
		t.Run(name, func(t *testing.T) {
			m := turned(t, c.k, 5, func(cfg *Config) { cfg.FingerprintEvery, cfg.History = 1, 2 })
			a, b := m.seats[0], m.seats[1]
			b.closed = true
			c.before(a, b)
			m.now += c.every
			a.turn()
			a.log = nil
			require.InDelta(t, float64(4*time.Second/c.every), float64(sending(m, 4000, ms)), 1)
		})
	}
}

func TestInputsOfAGameThatHasSlowedDownWaitNoLongerThanATurn(t *testing.T) {
	m := turned(t, 4, 8, nil)
	a, b := m.seats[0], m.seats[1]
	a.publish(1)
	m.turns(4)
	require.EqualValues(t, 9, b.mesh.Held(0))
}

func TestInputsOfAGameThatRunsFasterGoAfterAsManyTicks(t *testing.T) {
	m := turned(t, 4, 8, nil)
	a := m.seats[0]
	for range 40 {
		m.now += frame / 4
		a.publish(1)
		a.turn()
	}
	require.Len(t, a.packets(), 10)
}

func TestInputsThatGoBeforeTheirTurnAreNotAloneEither(t *testing.T) {
	m := turned(t, 4, 8, func(c *Config) { c.Redundancy = 3 })
	a := m.seats[0]
	a.publish(1)
	m.turns(4)
	list := a.packets()
	require.Len(t, list, 1)
	require.Equal(t, []wire.Run{of(0, 6, 3)}, list[0].Runs)
}

func TestWhoeverCannotGoOnSendsWhatItHasOnceInATurn(t *testing.T) {
	m := turned(t, 10, 8, nil)
	a, b := m.seats[0], m.seats[1]
	m.turns(20)
	a.log = nil
	held := func() int { return int(b.mesh.Held(0)) }
	a.publish(1)
	m.turn()
	require.Equal(t, 8, held(), "the control: it waits for its turn")
	a.mesh.Hurry()
	m.turn()
	require.Equal(t, 9, held())
	a.publish(1)
	for range 9 {
		a.mesh.Hurry()
		m.turn()
	}
	require.Equal(t, 9, held())
	require.Len(t, a.packets(), 1)
	a.mesh.Hurry()
	m.turn()
	require.Equal(t, 10, held())

	// A word of which nothing came is not kept for later.
	m.turns(20)
	a.mesh.Hurry()
	m.turn()
	a.publish(1)
	m.turn()
	require.Equal(t, 10, held())
	a.mesh.Hurry()
	m.turn()
	require.Equal(t, 11, held())
}

func TestTheLastTicksInputsDoNotWaitForTheirTurn(t *testing.T) {
	for last := 17; last < 25; last++ {
		m := turned(t, 8, 16, nil)
		a, b := m.seats[0], m.seats[1]
		a.mesh.Last(driftback.Tick(last))
		for a.mesh.Held(0) < driftback.Tick(last) {
			a.publish(1)
			m.turn()
		}
		require.EqualValues(t, last, b.mesh.Held(0))
		a.publish(1) // nobody needs it
		a.log = nil
		m.turn()
		require.Empty(t, a.packets())
	}
}

func TestWhatAPacketCannotHoldDoesNotWaitForATurn(t *testing.T) {
	t.Run("inputs", func(t *testing.T) {
		m := newMatch(t, 2, func(c *Config) {
			inTurns(60)(c)
			c.Stride = 256
		})
		for _, s := range m.seats {
			s.room = smallestRoom(t, s.config)
		}
		m.begin()
		a, b := m.seats[0], m.seats[1]
		a.publish(120) // a packet each, of which a round has 32
		m.turns(5)
		require.EqualValues(t, 120, b.mesh.Held(0))
	})
	t.Run("fingerprints", func(t *testing.T) {
		m := playing(t, 2, func(c *Config) {
			inTurns(60)(c)
			c.FingerprintEvery, c.History = 1, 1000
		})
		for range 200 {
			for _, s := range m.seats {
				s.publish(1)
			}
			m.turn()
			for _, s := range m.seats {
				for due, ok := s.mesh.Due(); ok && due <= s.mesh.Confirmed(); due, ok = s.mesh.Due() {
					require.NoError(t, s.mesh.Fingerprint(due, uint64(due)))
				}
				require.False(t, s.mesh.Blocked(), "peer %d at tick %d", s.self, s.mesh.Confirmed())
			}
		}
	})
}

func TestTurnsThatCannotWorkAreRefusedByName(t *testing.T) {
	for name, c := range map[string]struct {
		every         int
		tick, timeout time.Duration
		want          string
	}{
		"of less than no ticks":                           {-1, frame, None, "PublishEvery is -1 ticks: from 1 to 60 are allowed, or 0 for 1"},
		"of many ticks":                                   {61, frame, None, "PublishEvery is 61 ticks"},
		"of ticks without length":                         {2, 0, None, "TickLength is 0s and PublishEvery 2 ticks"},
		"of negative ticks":                               {2, -1, None, "TickLength is -1ns"},
		"of ticks without end":                            {60, 1 << 62, None, "TickLength is "},
		"that last long":                                  {4, 251 * ms, None, "PublishEvery is 4 ticks, which last 1.004s: at most 1s are allowed"},
		"that look like silence":                          {4, 100 * ms, 1599 * ms, "PublishEvery is 4 ticks, which last 400ms, and PeerTimeout 1.599s: a peer speaks no more often than that, so it must be at least 1.6s"},
		"that last as long as may be, and look like life": {4, 250 * ms, 4 * time.Second, ""},
		"of one tick, which may have no length":           {1, 0, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			config := newMatch(t, 2, nil).seats[0].config
			config.PublishEvery, config.TickLength, config.PeerTimeout = c.every, c.tick, c.timeout
			_, err := New(config)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "mesh: "+c.want)
		})
	}
}
