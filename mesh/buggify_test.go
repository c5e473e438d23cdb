package mesh

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/wire"
)

// forced is a moment at which a site is asked once. act brings it about and reports
// whether the rare path was taken: a is the peer that has the site. heals, if given, says
// what must be so in the end, whichever path was taken.
type forced struct {
	change func(c *Config)
	act    func(t *testing.T, m *match, a, b *seat) bool
	heals  func(a, b *seat) bool
}

func compared(c *Config) { c.FingerprintEvery, c.History = 1, 128 }

var forcedPaths = map[buggify.Site]forced{
	buggify.EarlyBeat: {act: func(_ *testing.T, m *match, a, _ *seat) bool {
		m.now += time.Millisecond
		a.turn()
		return len(a.log) > 0
	}},
	buggify.EarlySums: {change: compared, act: func(t *testing.T, m *match, a, _ *seat) bool {
		require.NoError(t, a.mesh.Fingerprint(1, 5))
		for range 2 {
			m.now += frame
			a.turn()
		}
		list := a.packets()
		require.Len(t, list, 2)
		require.Len(t, list[0].Sums.List, 1)
		return len(list[1].Sums.List) > 0
	}, heals: agreed},
	buggify.EarlyInterruption: {
		change: func(c *Config) { c.RejoinGrace = time.Second },
		act: func(t *testing.T, m *match, a, _ *seat) bool {
			m.now += frame
			a.turn()
			interrupted := slices.Contains(a.events(), "interrupted")
			require.Equal(t, interrupted, a.mesh.Blocked())
			return interrupted
		},
		heals: func(a, _ *seat) bool { return !a.mesh.Blocked() },
	},
	buggify.OneMessage: {act: func(t *testing.T, _ *match, a, b *seat) bool {
		a.inbox = nil
		for range 3 {
			a.forge(b, wire.Packet{Acks: []wire.Ack{{Participant: 0}}})
		}
		a.turn()
		require.Contains(t, []int{0, 2}, len(a.inbox))
		return len(a.inbox) > 0
	}, heals: func(a, _ *seat) bool { return len(a.inbox) <= 1 }},
	buggify.OnePacket: {
		change: func(c *Config) { c.Stride, c.Window = 256, MaxWindow },
		act: func(t *testing.T, _ *match, a, _ *seat) bool {
			a.publish(100)
			a.turn()
			n := len(a.packets())
			require.True(t, n == 2 || n > 5, "%d packets", n)
			return n == 2
		}, heals: held,
	},
	buggify.FullChannel: {act: func(t *testing.T, _ *match, a, _ *seat) bool {
		a.mesh.Finish(9, 0, false)
		owes := a.mesh.links[0].owed&owesFinish != 0
		require.Equal(t, owes, len(a.controls()) == 0)
		return owes
	}, heals: func(a, b *seat) bool { return a.mesh.links[0].owed == 0 && b.mesh.links[0].finished }},
	buggify.FewUncompared: {change: compared, act: func(t *testing.T, _ *match, a, b *seat) bool {
		a.turn()
		require.False(t, a.mesh.Blocked(), "none waits")
		require.NoError(t, a.mesh.Fingerprint(1, 5))
		_, due := a.mesh.Due()
		require.NotEqual(t, due, a.mesh.Blocked(), "where none may be taken, none may be run past")
		require.NoError(t, b.mesh.Fingerprint(1, 5))
		return !due
	}, heals: agreed},
	buggify.OneSum: {change: compared, act: func(t *testing.T, m *match, a, b *seat) bool {
		m.now += frame
		for tick := range driftback.Tick(5) {
			require.NoError(t, a.mesh.Fingerprint(1+tick, 5))
			require.NoError(t, b.mesh.Fingerprint(1+tick, 5))
		}
		a.turn()
		n := len(a.packets()[0].Sums.List)
		require.Contains(t, []int{1, 5}, n)
		return n == 1
	}, heals: agreed},
	buggify.FewEvents: {act: func(t *testing.T, _ *match, a, b *seat) bool {
		a.inbox = nil
		a.down(b, "for a test")
		a.turn()
		require.Equal(t, 1, len(a.events())+a.mesh.EventsDropped())
		a.up(b)
		b.up(a)
		return a.mesh.EventsDropped() == 1
	}, heals: func(a, _ *seat) bool { return a.mesh.links[0].up }},
	buggify.NoAcks: {act: func(t *testing.T, m *match, a, b *seat) bool {
		m.now += frame
		b.publish(1)
		b.turn()
		a.turn()
		require.False(t, a.mesh.links[0].owesAck, "as if the packet had been lost")
		return len(a.packets()[0].Acks) == 0
	}, heals: func(_, b *seat) bool { return b.mesh.links[0].acked[0] == b.mesh.Held(1) }},
	buggify.NoSumAck: {change: compared, act: func(t *testing.T, m *match, a, b *seat) bool {
		m.now += frame
		require.NoError(t, b.mesh.Fingerprint(1, 5))
		b.turn()
		a.turn()
		require.False(t, a.mesh.links[0].prints.owesAck, "as if the packet had been lost")
		return !a.packets()[0].SumAck.Set
	}, heals: func(_, b *seat) bool { return b.mesh.links[0].prints.acked == 1 }},
	buggify.NoEcho: {act: func(t *testing.T, m *match, a, b *seat) bool {
		m.now += 2 * echoEvery
		b.turn()
		a.turn()
		return !a.packets()[0].Echo.Set
	}, heals: func(_, b *seat) bool { return b.mesh.links[0].meter.measured }},
	buggify.SmallDatagram: {
		change: func(c *Config) { c.Stride, c.Window = 64, 60 },
		act: func(t *testing.T, _ *match, a, _ *seat) bool {
			a.publish(60)
			a.turn()
			largest := 0
			for _, s := range a.log {
				largest = max(largest, s.size)
			}
			small := largest <= a.mesh.cfg.leastDatagram()
			require.Equal(t, small, len(a.log) > 5, "%d packets", len(a.log))
			return small
		}, heals: held,
	},
	buggify.InputsAgain: {act: func(t *testing.T, _ *match, a, _ *seat) bool {
		acked := &a.mesh.links[0].acked[0]
		a.publish(20)
		*acked = 18
		a.turn()
		first := a.packets()[0].Runs[0].First
		require.Contains(t, []driftback.Tick{18, 18 - sentAgain}, first)
		*acked = 0
		return first < 18
	}, heals: held},
	buggify.SkippedFlush: {act: func(_ *testing.T, _ *match, a, _ *seat) bool {
		a.publish(1)
		a.turn()
		return len(a.log) == 0
	}, heals: held},
}

func held(_, b *seat) bool { return b.mesh.Held(0) == b.match.seats[0].mesh.Held(0) }

// agreed lets the other peer come to the same fingerprints.
func agreed(a, b *seat) bool {
	for b.mesh.prints.next < a.mesh.prints.next {
		if t, ok := b.mesh.Due(); !ok || b.mesh.Fingerprint(t, 5) != nil {
			return false
		}
	}
	return a.mesh.Agreed() == a.mesh.prints.tick(a.mesh.prints.next-1)
}

func TestAForcedPathIsTakenWhenItsSiteFiresAndOnlyThenAndHeals(t *testing.T) {
	for site, c := range forcedPaths {
		t.Run(site.String(), func(t *testing.T) {
			taken, left := 0, 0
			for seed := range uint64(60) {
				m := playing(t, 2, c.change)
				a, b := m.seats[0], m.seats[1]
				sites := buggify.Only(seed, site)
				a.mesh.cfg.Buggify = sites
				took := c.act(t, m, a, b)
				require.Equal(t, took, sites.Fired(site) > 0, "seed %d", seed)
				if took {
					taken++
				} else {
					left++
				}
				healed := func() bool { return c.heals == nil || c.heals(a, b) }
				for n := 0; n < 60 && !healed(); n++ {
					m.turn()
				}
				require.True(t, healed(), "seed %d", seed)
				for _, s := range m.seats {
					require.NoError(t, s.mesh.Err())
					require.Equal(t, [Refusals]uint64{}, s.mesh.Refused())
				}
			}
			require.Greater(t, taken, 5)
			require.Greater(t, left, 5, "the control: where it does not fire the path is not taken")
		})
	}
}

func TestPacketNumbersThatBeginLateWrapUnnoticed(t *testing.T) {
	fired := 0
	for seed := range uint64(20) {
		sites := buggify.Only(seed, buggify.LateNumbers)
		m := newMatch(t, 2, func(c *Config) {
			if c.Self == 0 {
				c.Buggify = sites
			}
		})
		a, b := m.seats[0], m.seats[1]
		late := a.mesh.links[0].meter.next > 60_000
		require.Equal(t, sites.Fired(buggify.LateNumbers) == 1, late)
		m.begin()
		for range 300 {
			a.publish(1)
			b.publish(1)
			m.turn()
		}
		if late {
			fired++
			require.Less(t, a.mesh.links[0].meter.next, uint16(60_000), "the control: they wrapped")
		}
		require.GreaterOrEqual(t, a.mesh.Confirmed(), driftback.Tick(299))
		stats, _ := b.mesh.Link(0)
		require.Zero(t, stats.Lost)
		stats, _ = a.mesh.Link(1)
		require.Positive(t, stats.RoundTrip)
	}
	require.Greater(t, fired, 1)
}

func TestNobodyIsInterruptedEarlyWhereThatWouldEndTheMatch(t *testing.T) {
	sites := buggify.Only(1, buggify.EarlyInterruption)
	m := playing(t, 2, func(c *Config) {
		if c.Self == 0 {
			c.Buggify = sites
		}
	})
	m.turns(200)
	require.Zero(t, sites.Fired(buggify.EarlyInterruption))
	require.NoError(t, m.seats[0].mesh.Err())
}

func TestAHelloThatIsHeldBackDelaysTheMatchAndNoMore(t *testing.T) {
	held := 0
	for seed := range uint64(20) {
		sites := buggify.Only(seed, buggify.FullChannel)
		m := newMatch(t, 3, func(c *Config) {
			if c.Self == 0 {
				c.Buggify = sites
			}
		})
		m.connect()
		m.turn()
		if m.seats[0].mesh.links[0].owed&owesHello != 0 {
			held++
		}
		m.turns(30)
		for _, s := range m.seats {
			require.Equal(t, Playing, s.mesh.Phase())
		}
	}
	require.Greater(t, held, 1)
}

// What a match's end says is said once, so it is not held back.
func TestTheLastWordIsNeverHeldBack(t *testing.T) {
	for seed := range uint64(40) {
		m := playing(t, 2, nil)
		a := m.seats[0]
		a.mesh.links[0].owed |= owesFinish
		a.mesh.cfg.Buggify = buggify.Only(seed, buggify.FullChannel)
		a.mesh.Leave()
		list := a.controls()
		require.Len(t, list, 2)
		require.IsType(t, wire.Leave{}, list[1])
	}
}
