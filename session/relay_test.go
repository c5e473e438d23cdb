package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

func TestThroughARelayEveryPlayerConfirmsItsSet(t *testing.T) {
	for _, n := range []int{2, 3, 5, 8} {
		m := newRelayed(t, n, 0, nil)
		for p := range n {
			m.link(p, loopback.Impairment{Latency: time.Duration(10+7*p) * time.Millisecond, Jitter: 8 * time.Millisecond, Loss: 0.05})
		}
		m.runUntil(600)
		rollbacks := uint64(0)
		for _, p := range m.players {
			s := p.session.Stats()
			rollbacks += s.Loop.Rollbacks
			require.Greater(t, p.checked, 200)
			require.Len(t, s.Peers, 1)
			require.Positive(t, s.Peers[0].RoundTrip)
			require.Positive(t, s.Agreed)
			t.Logf("n=%d peer %d: %d ticks, stalled %d, rollbacks %d, late %v, lead %.2f", n, p.self, s.Tick, s.Stalled, s.Loop.Rollbacks, s.Late, s.Pace.Lead)
		}
		require.Positive(t, rollbacks)
	}
}

func TestWhoFollowsItsPaceIsNotLateAtTheRelay(t *testing.T) {
	const n = 5
	var late [2]uint64
	for i, follows := range []bool{false, true} {
		m := newRelayed(t, n, 0, func(c *session.Config[state, input]) { c.PredictionWindow = 16 })
		for p := range n {
			m.link(p, loopback.Impairment{Latency: time.Duration(10+25*p) * time.Millisecond})
			m.players[p].follows = follows
		}
		m.runUntil(600)
		before := sum(m.lates)
		m.runUntil(1800)
		late[i] = sum(m.lates) - before
		for _, p := range m.players {
			s := p.session.Stats()
			t.Logf("peer %d: lead %.2f of %d, late %v", p.self, s.Pace.Lead, s.Tick, s.Late)
		}
	}
	t.Logf("late inputs: %d without, %d with", late[0], late[1])
	require.Greater(t, late[0], uint64(500), "without pacing nobody was late, so there is nothing to show")
	require.Less(t, late[1], late[0]/50)
}

func sum(list []uint64) (n uint64) {
	for _, v := range list {
		n += v
	}
	return n
}

func TestALinkBeyondTheDeadlineIsReplacedAlikeForEverybody(t *testing.T) {
	m := newRelayed(t, 2, 30*time.Millisecond, nil)
	m.link(0, loopback.Impairment{Latency: 15 * time.Millisecond})
	m.link(1, loopback.Impairment{Latency: 150 * time.Millisecond, Loss: 0.02})
	m.runUntil(400)
	require.Zero(t, m.lates[0])
	require.Greater(t, m.lates[1], uint64(300), "its inputs came in time")
	for _, p := range m.players {
		s := p.session.Stats()
		// What a player counts is what the set said of the ticks that it has confirmed.
		want := uint64(0)
		for at := driftback.Tick(0); at < s.Confirmed; at++ {
			if _, e, ok := m.relay.Set(1, at); ok && e == wire.EntryLate {
				want++
			}
		}
		require.Equal(t, []uint64{0, want}, s.Late, "peer %d", p.self)
		require.Positive(t, p.saw(session.InputLate))
		require.Positive(t, p.checked)
		require.Positive(t, s.Agreed)
	}
	// The owner itself had guessed that its inputs would count.
	require.Greater(t, m.players[1].session.Stats().Loop.Rollbacks, uint64(100))
}

func TestARelayGoesOnWithoutWhoIsSilentOrLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		goes func(m *relayed)
		kind mesh.EventKind
	}{
		"silent": {func(m *relayed) { m.link(2, loopback.Impairment{Blocked: true}) }, session.PeerCut},
		"leaves": {func(m *relayed) { m.players[2].session.Leave(); m.players[2].err = session.ErrLeft }, session.PeerCut},
	} {
		t.Run(name, func(t *testing.T) {
			m := newRelayed(t, 3, 0, nil)
			m.runUntil(100)
			c.goes(m)
			m.run(600)
			require.NoError(t, m.err)
			require.Error(t, m.relay.Lost(2))
			cut, ok := m.players[0].session.Cut(2)
			require.True(t, ok)
			for _, p := range m.players[:2] {
				require.NoError(t, p.err)
				require.Greater(t, p.confirmed, driftback.Tick(350))
				require.Equal(t, 1, p.saw(c.kind))
				at, _ := p.session.Cut(2)
				require.Equal(t, cut, at)
				require.Equal(t, driftback.Replaced, p.session.Stats().Status[2])
			}
			require.Error(t, m.players[2].err)
			require.Greater(t, m.gones[2], uint64(200))
		})
	}
}

func TestAMatchThroughARelayFinishes(t *testing.T) {
	m := newRelayed(t, 3, 0, func(c *session.Config[state, input]) { c.InputDelay = int(c.Self) })
	for i, p := range m.players {
		m.link(i, loopback.Impairment{Latency: 20 * time.Millisecond, Loss: 0.1})
		require.NoError(t, p.session.Finish(203))
	}
	m.run(600)
	for _, p := range m.players {
		require.ErrorIs(t, p.err, session.ErrFinished)
		require.Equal(t, driftback.Tick(203), p.confirmed)
	}
	require.ErrorIs(t, m.err, mesh.ErrFinished)
	require.GreaterOrEqual(t, m.relay.Closed(), driftback.Tick(203))
}

func TestThroughARelayWhoDiffersFromTheMajorityIsCut(t *testing.T) {
	for _, n := range []int{2, 3, 4} {
		m := newRelayed(t, n, 0, func(c *session.Config[state, input]) {
			if c.Self != 1 {
				return
			}
			c.Step = func(s *state, in []input, pass *driftback.Pass) {
				if step(s, in, pass); pass.Tick() == 90 {
					s.Level[3]++ // which the test does not look at before it is found
				}
			}
		})
		m.players[1].differs = 91
		m.run(300)
		var desync *session.DesyncError
		require.ErrorAs(t, m.players[1].err, &desync)
		require.Equal(t, driftback.Tick(96), desync.Tick)
		if n == 2 {
			var theirs *mesh.DesyncError
			require.ErrorAs(t, m.err, &theirs)
			require.Equal(t, driftback.Tick(96), theirs.Tick)
			require.ErrorAs(t, m.players[0].err, &desync)
			continue
		}
		require.NoError(t, m.err)
		require.NoError(t, m.players[0].err)
		require.Greater(t, m.players[0].confirmed, driftback.Tick(200))
		require.Positive(t, m.gones[1])
	}
}

func TestSettingsAreComparedThroughARelay(t *testing.T) {
	m := newRelayed(t, 3, 0, func(c *session.Config[state, input]) {
		if c.Self == 2 {
			c.Game = "another"
		}
	})
	m.run(60)
	require.ErrorIs(t, m.err, mesh.ErrRefused)
	require.ErrorContains(t, m.err, `game is "another" at peer 2`)
	for _, p := range m.players {
		require.ErrorIs(t, p.err, session.ErrRefused)
	}
	require.ErrorContains(t, m.players[0].err, `game is "another" at peer 2`)
}

func TestPausesAndSpeedsGoThroughARelay(t *testing.T) {
	m := newRelayed(t, 2, 0, func(c *session.Config[state, input]) { c.FingerprintEvery = 4 })
	m.link(0, loopback.Impairment{Latency: 30 * time.Millisecond})
	for _, p := range m.players {
		p.follows = true
	}
	m.runUntil(5)
	require.NoError(t, m.players[0].session.Pause())
	m.runUntil(300)
	require.Greater(t, m.lates[0], uint64(5), "the input that the pause rode with was in time")
	for _, p := range m.players {
		paused, _ := p.session.Paused()
		require.True(t, paused)
		require.Equal(t, 1, p.saw(session.Paused))
		require.Equal(t, m.plain[250], m.plain[300], "nothing moves")
	}
	require.NoError(t, m.players[1].session.Resume())
	m.runUntil(450)
	for _, p := range m.players {
		paused, _ := p.session.Paused()
		require.False(t, paused)
		require.Greater(t, p.session.Stats().Agreed, driftback.Tick(200))
	}
}

func TestAnOwnInputIsGuessedAsItWasMeant(t *testing.T) {
	m := newRelayed(t, 2, 0, nil)
	moving := m.script
	m.script = func(p int, at driftback.Tick) input {
		if p == 1 {
			return input{} // which repeating guesses rightly
		}
		return moving(p, at)
	}
	for p := range m.players {
		m.link(p, loopback.Impairment{Latency: 20 * time.Millisecond})
	}
	m.runUntil(300)
	require.Zero(t, sum(m.lates))
	require.Zero(t, m.players[0].session.Stats().Loop.Rollbacks, "its own inputs were guessed wrong")
	require.Greater(t, m.players[1].session.Stats().Loop.Rollbacks, uint64(40))
	require.Positive(t, m.players[0].session.Stats().Pace.Lead, "it predicted nothing")
}

// Who has its clock run at twice the speed gives inputs as far ahead as its window lets it, and
// would have every tick start as soon as it may.
func TestWhoRunsAheadMakesNobodyElseLateAtTheRelay(t *testing.T) {
	for _, window := range []int{8, 24} {
		for _, n := range []int{2, 4} {
			m := newRelayed(t, n, 0, func(c *session.Config[state, input]) { c.PredictionWindow = window })
			m.players[0].times = 2
			for p := range n {
				m.link(p, loopback.Impairment{Latency: time.Duration(10+10*p) * time.Millisecond})
				m.players[p].follows = p > 0
			}
			m.runUntil(900)
			before, frames := m.lates[n-1], m.frames
			m.runUntil(2400)
			late := m.lates[n-1] - before
			t.Logf("window %d, %d players: %d ticks in %d frames, of which the last player is late in %d", window, n, 1500, m.frames-frames, late)
			require.Less(t, late, uint64(30))
			require.Positive(t, m.players[0].session.Stats().Stalled, "the control: it has run ahead")
		}
	}
}
