package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// forcing gives peer 0 a path that is forced.
func forcing(sites *buggify.Sites, more func(c *session.Config[state, input])) func(c *session.Config[state, input]) {
	return func(c *session.Config[state, input]) {
		if c.Self == 0 {
			c.Buggify = sites
			if more != nil {
				more(c)
			}
		}
	}
}

func TestASpareStallUsesNoInputAndHaltsNothing(t *testing.T) {
	sites := buggify.Only(1, buggify.SpareStall)
	m := newMatch(t, 2, forcing(sites, func(c *session.Config[state, input]) { c.AtLimit = session.Halt }))
	stalls, fired := 0, uint64(0)
	m.check = func(p *peer, r session.Result) {
		if now := sites.Fired(buggify.SpareStall); p.self == 0 && r.Phase != session.Joining {
			if now > fired {
				stalls++
			}
			require.Equal(t, now > fired, r.Phase == session.Stalled, "tick %d", r.Tick)
			fired = now
		}
	}
	m.runUntil(300)
	require.InDelta(t, 100, stalls, 40, "a quarter of the turns")
	require.EqualValues(t, stalls, m.peers[0].session.Stats().Stalled)
}

func TestALateFinishEndsTheMatchLaterAndAtTheSameTick(t *testing.T) {
	frames := func(sites *buggify.Sites) int {
		m := newMatch(t, 3, forcing(sites, nil))
		for _, p := range m.peers {
			require.NoError(t, p.session.Finish(50))
		}
		m.run(300)
		for _, p := range m.peers {
			require.ErrorIs(t, p.err, session.ErrFinished)
			require.EqualValues(t, 50, p.confirmed)
		}
		return m.frames
	}
	soon, fired := frames(nil), uint64(0)
	for seed := range uint64(20) {
		sites := buggify.Only(seed, buggify.LateFinish)
		late := frames(sites)
		require.EqualValues(t, sites.Fired(buggify.LateFinish), late-soon)
		fired += sites.Fired(buggify.LateFinish)
	}
	require.Positive(t, fired)
}

func TestAWrongGuessIsRolledBack(t *testing.T) {
	rollbacks := func(sites *buggify.Sites, predict func(last input, age int) input) uint64 {
		m := newMatch(t, 2, forcing(sites, func(c *session.Config[state, input]) { c.Predict = predict }))
		m.script = func(int, driftback.Tick) input { return input{Buttons: 6} } // easily guessed
		m.align()
		m.impair(loopback.Impairment{Latency: 50 * ms})
		m.runUntil(300)
		return m.peers[0].session.Stats().Loop.Rollbacks
	}
	six := func(input, int) input { return input{Buttons: 6} }
	require.Less(t, rollbacks(nil, nil), uint64(10))
	require.Less(t, rollbacks(nil, six), uint64(10))
	for seed := range uint64(5) {
		sites := buggify.Only(seed, buggify.WrongGuess)
		require.Greater(t, rollbacks(sites, nil), uint64(60))
		require.Positive(t, sites.Fired(buggify.WrongGuess))
		require.Greater(t, rollbacks(buggify.Only(seed, buggify.WrongGuess), six), uint64(60), "whoever else guesses")
	}
}

// Every peer has sites of its own, and every confirmed state is compared with one
// simulation that had every input on time.
func TestAMatchWhoseRarePathsAreForcedHasTheSameHistory(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	var fired [buggify.Count]uint64
	for seed := range seeds {
		var all []*buggify.Sites
		m := newMatch(t, 3, func(c *session.Config[state, input]) {
			c.Buggify, c.RejoinGrace = buggify.New(3*seed+uint64(c.Self)), time.Second
			all = append(all, c.Buggify)
		})
		m.impair(loopback.Impairment{Latency: 40 * ms, Jitter: 20 * ms, Loss: 0.05, Duplicate: 0.02, Reorder: 0.05})
		for _, p := range m.peers {
			require.NoError(t, p.session.Finish(300))
		}
		m.run(6000)
		for _, p := range m.peers {
			require.ErrorIs(t, p.err, session.ErrFinished, "seed %d", seed)
			require.EqualValues(t, 300, p.confirmed)
		}
		for _, s := range all {
			for site := range fired {
				fired[site] += s.Fired(buggify.Site(site))
			}
		}
	}
	for site, n := range fired {
		require.True(t, n > 0 || testing.Short(), "%v never fired", buggify.Site(site))
	}
}

func TestAWarmFrameAllocatesNothingWhateverPathIsForced(t *testing.T) {
	for site := range buggify.Site(buggify.Count) {
		t.Run(site.String(), func(t *testing.T) {
			var sites [2]*buggify.Sites
			d := newDuo(t, 7, step, func(c *session.Config[state, input]) {
				sites[c.Self] = buggify.Only(uint64(c.Self), site)
				c.Buggify, c.RejoinGrace, c.FingerprintEvery = sites[c.Self], time.Second, 2
			})
			for range 9000 {
				d.frame()
			}
			before := sites[0].Fired(site)
			require.Zero(t, testing.AllocsPerRun(4, func() {
				for range 500 {
					d.frame()
				}
			}))
			switch site {
			case buggify.EarlyBeat, buggify.FullChannel, buggify.FewEvents, buggify.LateNumbers, buggify.LateFinish:
				// A warm match has no use for them.
			default:
				require.Greater(t, sites[0].Fired(site), before)
			}
		})
	}
}
