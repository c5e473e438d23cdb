package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// adapting is a match whose delays follow its links, and a record of how.
type adapting struct {
	*match
	changes []change
}

type change struct {
	at    time.Duration
	peer  driftback.Peer
	delay int
}

func adapt(t *testing.T, n, begin int, bounds session.AdaptDelay, more func(c *session.Config[state, input])) *adapting {
	a := &adapting{match: newMatch(t, n, func(c *session.Config[state, input]) {
		c.InputDelay, c.AdaptDelay = begin, bounds
		if more != nil {
			more(c)
		}
	})}
	followDelays(a.match, false)
	a.check = func(p *peer, r session.Result) {
		for _, e := range r.Events {
			if e.Kind == session.DelayChanged {
				a.changes = append(a.changes, change{a.net.Now(), p.self, e.Delay})
			}
		}
	}
	return a
}

// seconds plays for so long.
func (a *adapting) seconds(n int) {
	a.run(n * int(time.Second/frame))
	a.requireLive()
}

func (a *adapting) delays() (delays []int) {
	for _, p := range a.peers {
		for q, owner := range p.config.Players {
			if owner == p.self {
				delays = append(delays, p.session.InputDelay(driftback.Participant(q)))
			}
		}
	}
	return delays
}

// requireCalm holds the changes against what is promised of them.
func (a *adapting) requireCalm(bounds session.AdaptDelay) {
	last := map[driftback.Peer]change{}
	for _, c := range a.changes {
		require.GreaterOrEqual(a.t, c.delay, bounds.Min)
		require.LessOrEqual(a.t, c.delay, bounds.Max)
		if before, ok := last[c.peer]; ok {
			require.GreaterOrEqual(a.t, c.at-before.at, time.Second-frame)
			require.LessOrEqual(a.t, c.delay-before.delay, 3)
			require.GreaterOrEqual(a.t, c.delay-before.delay, -1)
		}
		last[c.peer] = c
	}
}

// rolledBack returns the ticks run again, of all peers.
func (a *adapting) rolledBack() (ticks uint64) {
	for _, p := range a.peers {
		ticks += p.session.Stats().Loop.Resimulated
	}
	return ticks
}

func (a *adapting) slow(latency, jitter time.Duration) {
	a.impair(loopback.Impairment{Latency: latency, Jitter: jitter})
}

func TestADelayThatAdaptsFollowsItsLinkUpSoonAndDownSlowly(t *testing.T) {
	bounds := session.AdaptDelay{Min: 0, Max: 12}
	a := adapt(t, 2, 4, bounds, nil)
	a.slow(10*ms, 2*ms)
	a.seconds(20)
	require.Equal(t, []int{0, 0}, a.delays(), "a fast link needs none")

	a.slow(150*ms, 5*ms)
	a.seconds(5)
	for _, d := range a.delays() {
		require.InDelta(t, 7, d, 1, "9 ticks of latency and about half a one until they are seen, less 3 that may be rolled back")
	}
	high := len(a.changes)
	a.seconds(30)
	require.LessOrEqual(t, len(a.changes)-high, 2, "and there they stay")

	a.slow(10*ms, 2*ms)
	a.seconds(5)
	require.Greater(t, min(a.delays()[0], a.delays()[1]), 5, "it may only be a moment")
	a.seconds(25)
	require.Equal(t, []int{0, 0}, a.delays())
	low := len(a.changes)
	a.seconds(60)
	require.Len(t, a.changes, low)
	a.requireCalm(bounds)
	t.Log(a.changes)
}

func TestADelayThatAdaptsSparesRollbacks(t *testing.T) {
	play := func(bounds session.AdaptDelay) (uint64, *adapting) {
		a := adapt(t, 2, 0, bounds, nil)
		a.slow(110*ms, 10*ms)
		a.seconds(5)
		before := a.rolledBack()
		a.seconds(60)
		return a.rolledBack() - before, a
	}
	bounds := session.AdaptDelay{Min: 0, Max: 10}
	with, a := play(bounds)
	without, control := play(session.AdaptDelay{})
	require.Empty(t, control.changes)
	require.Greater(t, without, uint64(3000), "ticks run again when nothing adapts")
	require.Less(t, with*2, without)
	none, _ := play(session.AdaptDelay{Max: 20, Depth: session.None})
	require.Less(t, none*20, without)
	a.requireCalm(bounds)
	t.Logf("ticks run again in a minute: %d with, %d without, %d with a depth of none; %v", with, without, none, a.delays())
}

func TestADelayThatAdaptsDoesNotFollowJitter(t *testing.T) {
	for name, c := range map[string]struct {
		link  loopback.Impairment
		peers int
	}{
		"a little":                 {loopback.Impairment{Latency: 60 * ms, Jitter: 15 * ms}, 2},
		"much":                     {loopback.Impairment{Latency: 90 * ms, Jitter: 60 * ms}, 2},
		"much, with loss":          {loopback.Impairment{Latency: 80 * ms, Jitter: 50 * ms, Loss: 0.15, Reorder: 0.2}, 2},
		"between several":          {loopback.Impairment{Latency: 80 * ms, Jitter: 40 * ms, Loss: 0.05}, 4},
		"and a link that is dread": {loopback.Impairment{Latency: 200 * ms, Jitter: 100 * ms, Loss: 0.3}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bounds := session.AdaptDelay{Min: 1, Max: 12}
			a := adapt(t, c.peers, 1, bounds, nil)
			a.impair(c.link)
			a.seconds(20)
			found := len(a.changes)
			require.Positive(t, found)
			const minutes = 3
			a.seconds(60 * minutes)
			t.Logf("%d changes of %d peers in %d minutes; %v", len(a.changes)-found, c.peers, minutes, a.delays())
			require.LessOrEqual(t, len(a.changes)-found, 4*minutes*c.peers, "four a minute and peer")
			a.requireCalm(bounds)
		})
	}
}

func TestADelayThatAdaptsStaysInItsBoundsAndOutOfTheHandsOfAPlayer(t *testing.T) {
	bounds := session.AdaptDelay{Min: 2, Max: 5}
	a := adapt(t, 2, 0, bounds, nil)
	require.Equal(t, []int{2, 2}, a.delays(), "what it begins with is within them")
	a.slow(200*ms, 0)
	a.seconds(10)
	require.Equal(t, []int{5, 5}, a.delays())
	s := a.peers[0].session
	require.NoError(t, s.SetInputDelay(0, 9), "by hand anything goes")
	a.slow(5*ms, 0)
	a.seconds(30)
	require.Equal(t, []int{9, 2}, a.delays())
	require.NoError(t, s.SetInputDelay(0, session.None))
	require.Equal(t, 5, s.InputDelay(0), "handed back, and within them again")
	a.seconds(10)
	require.Equal(t, []int{2, 2}, a.delays())
}

func TestADelayThatAdaptsKeepsALockstepMatchGoing(t *testing.T) {
	bounds := session.AdaptDelay{Min: 1, Max: 30}
	rate := func(bounds session.AdaptDelay) int {
		a := adapt(t, 2, 1, bounds, func(c *session.Config[state, input]) { c.PredictionWindow = session.None })
		a.slow(100*ms, 10*ms)
		a.seconds(20)
		before := a.peers[0].advanced
		a.seconds(20)
		a.requireCalm(bounds)
		return a.peers[0].advanced - before
	}
	frames := 20 * int(time.Second/frame)
	require.Greater(t, rate(bounds), frames*95/100)
	require.Less(t, rate(session.AdaptDelay{}), frames/2, "the control: with a delay of one tick it waits most of the time")
}

func TestASilenceRaisesNoDelay(t *testing.T) {
	a := adapt(t, 2, 1, session.AdaptDelay{Min: 1, Max: 12}, func(c *session.Config[state, input]) { c.PeerTimeout = session.None })
	a.slow(20*ms, 0)
	a.seconds(15)
	before := len(a.changes)
	for range 5 {
		a.impair(loopback.Impairment{Blocked: true})
		a.seconds(3)
		a.slow(20*ms, 0)
		a.seconds(3)
	}
	require.Greater(t, a.peers[0].stalled, 300)
	require.Len(t, a.changes, before)
}

func TestEveryParticipantOfAPeerAdaptsFromItsOwnDelay(t *testing.T) {
	a := adapt(t, 2, 0, session.AdaptDelay{Min: 0, Max: 12}, func(c *session.Config[state, input]) {
		c.Players, c.InputDelays = []driftback.Peer{0, 0, 1}, []int{6}
		if c.Self == 0 {
			c.InputDelays = []int{1, 3}
		}
	})
	require.Equal(t, []int{1, 3, 6}, a.delays())
	a.slow(120*ms, 0)
	a.seconds(6)
	d := a.delays()
	require.Equal(t, d[0], d[1])
	require.InDelta(t, 5, d[0], 1)
}

func TestAnAloneOneAdaptsToNothing(t *testing.T) {
	s, err := session.New(session.Config[state, input]{
		Step: step, Players: []driftback.Peer{0}, InputDelay: 2, AdaptDelay: session.AdaptDelay{Max: 4},
	})
	require.NoError(t, err)
	for i := range 20 * 60 {
		_, err := s.Tick(time.Duration(i)*frame, input{})
		require.NoError(t, err)
	}
	require.Zero(t, s.InputDelay(0))
}

func TestADelaySparesAPeerThatHasNoTimeForMoreRollbacks(t *testing.T) {
	for _, step := range []time.Duration{0, 8 * ms} {
		a := adapt(t, 2, 0, session.AdaptDelay{Max: 12}, func(c *session.Config[state, input]) {
			if spent := time.Duration(0); c.Self == 1 && step > 0 {
				c.Clock = func() time.Duration { spent += step; return spent }
			}
		})
		a.slow(30*ms, 0)
		a.seconds(20)
		require.Equal(t, step > 0, a.delays()[0] > 0, "with %v", step)
		require.LessOrEqual(t, a.delays()[0], 2, "whatever it says of itself")
		require.Zero(t, a.delays()[1], "the other has time")
	}
}
