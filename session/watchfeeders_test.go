package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

func TestASpectatorThatLosesItsFeederAsksTheNextAndGoesOn(t *testing.T) {
	for name, lose := range map[string]func(m *match, s *spectator){
		"because its link goes down": func(m *match, s *spectator) { require.NoError(m.t, m.net.TakeDown(0, s.self)) },
		"because it falls silent": func(m *match, s *spectator) {
			require.NoError(m.t, m.net.Impair(0, s.self, loopback.Impairment{Blocked: true}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, func(c *session.Config[state, input]) { c.MaxWatchers, c.PeerTimeout = 2, 2*time.Second })
			s := m.watch(9, nil)
			m.impairWatching(s, loopback.Impairment{Latency: 40 * ms, Loss: 0.1})
			m.runUntil(500)
			peer, ok := s.session.Feeder()
			require.True(t, ok)
			require.Zero(t, peer)
			began := s.result.Tick
			lose(m, s)
			m.runUntil(1200)
			require.NoError(t, s.err)
			peer, ok = s.session.Feeder()
			require.True(t, ok)
			require.EqualValues(t, 1, peer)
			require.Greater(t, s.result.Tick, driftback.Tick(1100))
			require.Greater(t, s.session.Agreed(), driftback.Tick(1100))
			var feeds []session.Event
			for _, e := range s.events {
				if e.Kind == session.FeedBegan {
					feeds = append(feeds, e)
				}
			}
			require.Len(t, feeds, 2)
			require.GreaterOrEqual(t, feeds[1].Tick, began, "it goes on where it was")
			require.EqualValues(t, 1, feeds[1].Peer)
			at := m.peers[0].session.Stats().Tick + 10
			m.finish(at)
			m.run(200)
			s.requireFinishedAt(at)
		})
	}
}

func TestASpectatorThatWasAwayForLongGoesOnFromANewerState(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.MaxWatchers, c.History = 1, 256 })
	s := m.watch(9, func(c *session.WatchConfig[state, input]) { c.PeerTimeout = session.None })
	m.runUntil(200)
	require.NoError(t, m.net.TakeDown(0, 9))
	require.NoError(t, m.net.TakeDown(1, 9))
	m.runUntil(2000)
	require.NoError(t, s.err)
	was := s.result.Tick
	require.Less(t, was, driftback.Tick(220))
	require.NoError(t, m.net.BringUp(1, 9))
	m.run(100)
	require.NoError(t, s.err)
	require.Greater(t, s.result.Tick, driftback.Tick(2000), "the ticks between are not to be had")
	at := m.peers[0].session.Stats().Tick + 10
	m.finish(at)
	m.run(100)
	s.requireFinishedAt(at)
}

func TestASpectatorWithoutFeedersEndsByNameWhenItHasRunAllItHas(t *testing.T) {
	t.Run("the only one leaves", func(t *testing.T) {
		m := newMatch(t, 2, watched(1))
		s := m.watch(9, func(c *session.WatchConfig[state, input]) { c.Feeders, c.Delay = []driftback.Peer{1}, 100 })
		m.runUntil(300)
		confirmed := s.result.Confirmed
		m.peers[1].session.Leave()
		m.run(1000)
		require.ErrorIs(t, s.err, session.ErrNoFeeder)
		require.ErrorIs(t, s.err, session.ErrPeerLeft)
		require.ErrorContains(t, s.err, "peer 1")
		require.GreaterOrEqual(t, s.result.Tick, confirmed)
		require.Equal(t, s.result.Confirmed, s.result.Tick)
	})
	t.Run("all halt", func(t *testing.T) {
		m := newMatch(t, 2, watched(1))
		s := m.watch(9, nil)
		m.runUntil(300)
		m.peers[0].session.Halt("the referee is tired")
		m.check = nil
		for range 30 {
			m.run(1)
			_, _ = m.peers[1].session.Poll(m.net.Now()) // says so to who asks afterwards
		}
		require.ErrorIs(t, s.err, session.ErrNoFeeder)
		require.ErrorIs(t, s.err, session.ErrHalted)
		require.ErrorContains(t, s.err, "the referee is tired")
	})
	t.Run("all vanish", func(t *testing.T) {
		m := newMatch(t, 2, watched(1))
		s := m.watch(9, nil)
		m.runUntil(300)
		m.peers[0].end.Crash()
		m.peers[1].end.Crash()
		m.peers[0].asleep, m.peers[1].asleep = true, true
		m.run(1000)
		require.ErrorIs(t, s.err, session.ErrNoFeeder)
		require.ErrorIs(t, s.err, session.ErrPeerLost)
	})
	t.Run("nobody ever comes", func(t *testing.T) {
		m := newMatch(t, 2, watched(1))
		s := m.watch(9, func(c *session.WatchConfig[state, input]) {
			c.Feeders, c.JoinTimeout = []driftback.Peer{20, 21}, time.Second
		})
		m.run(100)
		require.ErrorIs(t, s.err, session.ErrNoFeeder)
		require.ErrorIs(t, s.err, session.ErrNeverJoined)
		require.ErrorContains(t, s.err, "peer 20 is not connected; peer 21 is not connected")
		require.False(t, s.begun)
	})
}

func TestASpectatorFeedsOthers(t *testing.T) {
	m := newMatch(t, 2, watched(1))
	m.runUntil(700)
	first := m.watch(9, func(c *session.WatchConfig[state, input]) { c.MaxWatchers, c.Feeders = 2, []driftback.Peer{0} })
	second := m.watch(10, func(c *session.WatchConfig[state, input]) { c.MaxWatchers, c.Feeders = 1, []driftback.Peer{9} })
	m.impairWatching(first, loopback.Impairment{Latency: 50 * ms, Loss: 0.1})
	m.runUntil(1500)
	third := m.watch(11, func(c *session.WatchConfig[state, input]) { c.Feeders = []driftback.Peer{10, 9} })
	m.runUntil(2500)
	for _, s := range m.watchers {
		require.NoError(t, s.err)
		require.Greater(t, s.result.Tick, driftback.Tick(2400))
		require.Greater(t, s.session.Agreed(), driftback.Tick(2300), "the players' fingerprints come through")
	}
	require.Equal(t, 1, m.peers[0].session.Watchers())
	second.asleep = true // and third is left without a feeder, until it asks the next
	m.runUntil(3500)
	feeder, ok := third.session.Feeder()
	require.True(t, ok)
	require.EqualValues(t, 9, feeder)
	require.Greater(t, third.result.Tick, driftback.Tick(3300))
	at := m.peers[0].session.Stats().Tick + 10
	m.finish(at)
	m.run(100)
	first.requireFinishedAt(at)
	third.requireFinishedAt(at)
}

func TestASpectatorSeesPausesAndSpeedsAtThePlayersTicks(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) {
		c.MaxWatchers = 2
		c.Step = func(s *state, in []input, pass *driftback.Pass) {
			step(s, in, pass)
			s.Level[0] = int32(pass.Tick()) // the oracle of these tests knows of no pauses: the players are it
		}
	})
	for _, p := range m.peers {
		p.maybeDiffers = true
	}
	early := m.watch(9, nil)
	early.maybeDiffers = true
	m.impair(loopback.Impairment{Latency: 40 * ms, Loss: 0.1})
	m.runUntil(300)
	require.NoError(t, m.peers[0].session.Pause())
	require.NoError(t, m.peers[1].session.SetSpeed(4))
	m.runUntil(800)
	late := m.watch(10, nil) // comes while it is paused
	late.maybeDiffers = true
	m.run(100)
	require.Equal(t, session.Control{Paused: true, Speed: 4}, late.session.Control())
	require.NoError(t, m.peers[1].session.Resume())
	m.runUntil(1500)
	at := m.peers[0].session.Stats().Tick + 10
	m.finish(at)
	m.run(200)
	for _, s := range m.watchers {
		require.ErrorIs(t, s.err, session.ErrFinished)
		require.Equal(t, at, s.result.Tick)
		require.Equal(t, *m.peers[0].session.State(), *s.session.State())
		require.Equal(t, session.Control{Speed: 4}, s.session.Control())
	}
	kinds := func(events []session.Event) (list []session.Event) {
		for _, e := range events {
			switch e.Kind {
			case session.Paused, session.Resumed, session.SpeedChanged:
				list = append(list, e)
			}
		}
		return list
	}
	require.Len(t, kinds(m.peers[0].events), 3)
	require.Equal(t, kinds(m.peers[0].events), kinds(early.events), "the same at the same ticks")
	require.Equal(t, kinds(m.peers[0].events)[2:], kinds(late.events))
}

func TestAWarmFrameWithSpectatorsAllocatesNothing(t *testing.T) {
	d := newDuo(t, 7, noisy, func(c *session.Config[state, input]) { c.MaxWatchers = 2 })
	w, err := session.Watch(session.WatchConfig[state, input]{Config: session.Config[state, input]{
		Step: noisy, Transport: d.net.Open(9), Self: 9, Players: []driftback.Peer{0, 1}, Nonce: 99,
	}})
	require.NoError(t, err)
	require.NoError(t, d.net.Impair(0, 9, loopback.Impairment{Latency: 50 * ms, Jitter: 10 * ms, Loss: 0.1}))
	var r session.Result
	all := func() {
		d.frame()
		if r, err = w.Tick(d.net.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for range 3000 {
		all()
	}
	was := r.Tick
	const frames = 500
	require.Zero(t, testing.AllocsPerRun(4, func() {
		for range frames {
			all()
		}
	}), "allocations in %d frames", frames)
	require.Greater(t, r.Tick, was+4*frames)
}

// Somebody who waits for ever for a peer that is silent has a clock all the same: it feeds
// several times a second.
func TestOneWhoWaitsForEverFeedsAsSoonAsAnybody(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.MaxWatchers, c.PeerTimeout = 1, session.None })
	s := m.watch(9, nil)
	for m.peers[0].session.Stats().Tick < 400 {
		m.run(1)
		if at := m.peers[0].session.Stats().Tick; at > 100 {
			require.Greater(t, s.result.Tick, at-40)
		}
	}
}
