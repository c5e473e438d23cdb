package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// finish sets the last tick of every peer.
func (m *match) finish(at driftback.Tick) {
	m.t.Helper()
	for _, p := range m.peers {
		require.NoError(m.t, p.session.Finish(at))
	}
}

// ended reports whether every peer's match has.
func (m *match) ended() bool {
	for _, p := range m.peers {
		if p.err == nil {
			return false
		}
	}
	return true
}

func TestAllFinishAtTheSameTickOverABadLink(t *testing.T) {
	for name, c := range map[string]struct {
		peers, delay, every int
		at                  driftback.Tick
	}{
		"two peers":                        {peers: 2, at: 333},
		"two peers with delay":             {peers: 2, delay: 5, at: 333},
		"at a due tick":                    {peers: 2, at: 336},
		"at tick 1":                        {peers: 2, at: 1},
		"three peers":                      {peers: 3, delay: 1, at: 200},
		"without fingerprints":             {peers: 2, every: session.None, at: 333},
		"within the delay nobody pressed":  {peers: 2, delay: 60, at: 30},
		"with every tick compared as well": {peers: 2, every: 1, at: 333},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, c.peers, func(s *session.Config[state, input]) {
				s.InputDelay, s.FingerprintEvery = c.delay, c.every
			})
			m.impair(loopback.Impairment{Latency: 60 * ms, Jitter: 30 * ms, Loss: 0.3})
			m.finish(c.at)
			m.runWhile(5000, "not finished", func() bool { return !m.ended() })
			for _, p := range m.peers {
				require.ErrorIs(t, p.err, session.ErrFinished)
				require.Equal(t, c.at, p.confirmed)
				require.Equal(t, c.at, p.tick())
				require.Equal(t, *m.oracle.at(c.at), *p.session.State())
				_, again := p.session.Tick(0, input{})
				require.ErrorIs(t, again, session.ErrFinished)
			}
			if lost := m.stats(0, 1).Lost; c.at > 100 {
				require.Greater(t, lost, uint64(20), "packets lost meanwhile")
			}
		})
	}
}

func TestFinishAtDifferentTicksIsAMismatch(t *testing.T) {
	for name, at := range map[string][2]driftback.Tick{
		"by one tick":                      {100, 101},
		"by more than anybody can predict": {100, 900},
		"the other way round":              {900, 100},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, func(c *session.Config[state, input]) { c.InputDelay = 1 })
			m.impair(loopback.Impairment{Latency: 40 * ms, Loss: 0.1})
			for i, p := range m.peers {
				require.NoError(t, p.session.Finish(at[i]))
			}
			m.runWhile(500, "not ended", func() bool { return !m.ended() })
			var sides [2]*session.MismatchError
			for i, p := range m.peers {
				require.ErrorAs(t, p.err, &sides[i])
				require.Equal(t, "the last tick", sides[i].Setting)
			}
			require.Equal(t, sides[0].Ours, sides[1].Theirs)
			require.Equal(t, sides[0].Theirs, sides[1].Ours)
		})
	}
}

func TestALastTickThatIsSetLateIsComparedToo(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.runUntil(50)
	require.NoError(t, m.peers[0].session.Finish(100))
	m.runUntil(90)
	require.NoError(t, m.peers[1].session.Finish(150))
	m.run(30)
	for _, p := range m.peers {
		var mismatch *session.MismatchError
		require.ErrorAs(t, p.err, &mismatch)
		require.Equal(t, "the last tick", mismatch.Setting)
	}

	// The same tick, in time.
	m = newMatch(t, 2, nil)
	m.runUntil(50)
	require.NoError(t, m.peers[0].session.Finish(100))
	m.runUntil(90)
	require.NoError(t, m.peers[1].session.Finish(100))
	m.runWhile(100, "not finished", func() bool { return !m.ended() })
	for _, p := range m.peers {
		require.ErrorIs(t, p.err, session.ErrFinished)
	}
}

func TestAPeerThatPlaysOnBeyondTheOthersLastTickEndsTheMatch(t *testing.T) {
	for name, c := range map[string]struct{ delay, window int }{
		"on guesses":             {0, 8},
		"on the delay's inputs":  {5, 8},
		"waiting for all inputs": {1, session.None},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, func(s *session.Config[state, input]) {
				s.InputDelay, s.PredictionWindow = c.delay, c.window
			})
			m.impair(loopback.Impairment{Latency: 40 * ms, Loss: 0.1})
			m.runUntil(50)
			require.NoError(t, m.peers[0].session.Finish(100))
			m.runWhile(500, "not ended", func() bool { return !m.ended() })
			require.Contains(t, m.peers[1].events, session.Event{Kind: session.PeerFinished, Peer: 0, Tick: 100}, "peer 1 is told")
			var mismatch *session.MismatchError
			require.ErrorAs(t, m.peers[1].err, &mismatch)
			require.Equal(t, session.MismatchError{Peer: 0, Setting: "the last tick", Ours: "none", Theirs: "100"}, *mismatch)
			require.ErrorIs(t, m.peers[0].err, session.ErrHalted)
			require.ErrorContains(t, m.peers[0].err, "peer 0 has finished at tick 100 and this peer plays on")
		})
	}
}

func TestFinishRefusesATickThatHasRunAndAChangeOfMind(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.runUntil(50)
	unplayed, err := session.New(m.config(0, 2, func(c *session.Config[state, input]) { c.Transport = m.peers[0].end }))
	require.NoError(t, err)
	require.ErrorContains(t, unplayed.Finish(0), "Finish at tick 0", "a match has a tick")
	s := m.peers[0].session
	require.ErrorContains(t, s.Finish(49), "Finish at tick 49, but the next tick to run is")
	require.ErrorContains(t, s.Finish(-1), "Finish at tick -1")
	require.NoError(t, s.Finish(90))
	require.NoError(t, s.Finish(100), "until it is confirmed it can be moved")
	require.NoError(t, m.peers[1].session.Finish(1<<40))
	m.run(5)
	require.NoError(t, m.peers[1].session.Finish(100))
	m.runWhile(500, "not finished", func() bool { return !m.ended() })
	require.ErrorIs(t, m.peers[0].err, session.ErrFinished)
	require.ErrorIs(t, m.peers[1].err, session.ErrFinished)
}

func TestAPeerLostBeforeTheEndIsReportedAndOneLostAfterItIsNot(t *testing.T) {
	t.Run("before the last tick is confirmed", func(t *testing.T) {
		m := newMatch(t, 2, func(c *session.Config[state, input]) { c.PeerTimeout = time.Second })
		m.runUntil(50)
		m.finish(100)
		m.peers[1].asleep = true
		m.run(100)
		require.ErrorIs(t, m.peers[0].err, session.ErrPeerLost)
		require.ErrorContains(t, m.peers[0].err, "nothing from peer 1 for 1")
	})
	t.Run("when only its word is missing", func(t *testing.T) {
		m := newMatch(t, 2, func(c *session.Config[state, input]) { c.PeerTimeout, c.InputDelay = time.Second, 8 })
		m.runUntil(50)
		at := m.peers[1].tick() + 8 // as far as peer 1 has published
		m.finish(at)
		m.peers[1].asleep = true
		m.runWhile(200, "not ended", func() bool { return m.peers[0].err == nil })
		require.ErrorIs(t, m.peers[0].err, session.ErrFinished)
		require.Equal(t, at, m.peers[0].confirmed)
		m.peers[1].asleep = false
		m.run(50)
		require.ErrorIs(t, m.peers[1].err, session.ErrFinished, "it has everything, and ends as well")
	})
}

func TestLeaveEndsTheMatchForAllWithWords(t *testing.T) {
	m := newMatch(t, 3, nil)
	m.runUntil(50)
	m.peers[1].session.Leave()
	m.peers[1].session.Leave()
	_, err := m.peers[1].session.Tick(m.net.Now(), input{})
	require.ErrorIs(t, err, session.ErrLeft)
	m.run(10)
	for _, i := range []int{0, 2} {
		require.ErrorIs(t, m.peers[i].err, session.ErrPeerLeft)
		require.NotErrorIs(t, m.peers[i].err, session.ErrLeft)
		require.ErrorContains(t, m.peers[i].err, "peer 1 at tick 5")
		require.ErrorContains(t, m.peers[i].err, "it left")
	}
}

func TestHaltEndsTheMatchForAllWithItsReason(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.runUntil(50)
	m.peers[0].session.Halt("the\nreferee stopped it" + strings.Repeat(".", 300))
	m.peers[0].session.Halt("and again")
	_, err := m.peers[0].session.Tick(m.net.Now(), input{})
	require.ErrorIs(t, err, session.ErrHalted)
	require.ErrorContains(t, err, "here, at tick 5")
	require.ErrorContains(t, err, "the\nreferee stopped it")
	require.NotContains(t, err.Error(), "and again")
	m.run(10)
	require.ErrorIs(t, m.peers[1].err, session.ErrHalted)
	require.ErrorContains(t, m.peers[1].err, "by peer 0 at tick 5")
	require.ErrorContains(t, m.peers[1].err, "the referee stopped it")
}

func TestAMatchThatIsHaltedOrLeftInTheLobbyEndsForAll(t *testing.T) {
	for name, end := range map[string]func(s *session.Lockstep[state, input]){
		"left":   func(s *session.Lockstep[state, input]) { s.Leave() },
		"halted": func(s *session.Lockstep[state, input]) { s.Halt("no time") },
	} {
		for after := range 5 {
			m := newMatch(t, 2, func(c *session.Config[state, input]) { c.JoinTimeout = 3 * time.Second })
			m.impair(loopback.Impairment{Latency: 30 * ms})
			m.run(after * 2)
			end(m.peers[0].session)
			m.run(300) // without a link nobody can be told, and the other gives up waiting
			require.Error(t, m.peers[0].err, name)
			require.Error(t, m.peers[1].err, "%s after %d frames", name, after*2)
		}
	}
}

func TestEveryPhaseIsSeenInItsOrder(t *testing.T) {
	m := newMatch(t, 2, nil)
	var phases []session.Phase
	m.check = func(p *peer, r session.Result) {
		if p.self == 0 && (len(phases) == 0 || phases[len(phases)-1] != r.Phase) {
			phases = append(phases, r.Phase)
		}
	}
	m.impair(loopback.Impairment{Latency: 20 * ms})
	m.runUntil(20)
	require.Equal(t, []session.Phase{session.Joining, session.Advanced}, phases)
	m.impairOne(1, 0, loopback.Impairment{Blocked: true})
	m.run(20)
	m.impairOne(1, 0, loopback.Impairment{})
	m.finish(max(m.peers[0].tick(), m.peers[1].tick()) + 50)
	m.runWhile(500, "not ended", func() bool { return !m.ended() })
	require.Equal(t, session.Stalled, phases[2])
	require.Equal(t, session.Ended, phases[len(phases)-1])
	require.Equal(t, "joining advanced stalled ended unknown phase",
		strings.Join([]string{phases[0].String(), phases[1].String(), phases[2].String(), session.Ended.String(), session.Phase(9).String()}, " "))
}

func TestTickRefusesAWrongNumberOfInputsAndOnesTheGameDoesNotKnow(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) {
		c.Valid = func(in input) bool { return in.Buttons != 0xbad }
	})
	m.runUntil(20)
	s := m.peers[0].session
	at := m.peers[0].tick()
	r, err := s.Tick(m.net.Now())
	require.ErrorContains(t, err, "Tick was given 0 inputs, and this peer plays 1: give one")
	require.Equal(t, session.Stalled, r.Phase)
	_, err = s.Tick(m.net.Now(), input{}, input{})
	require.ErrorContains(t, err, "given 2 inputs")
	_, err = s.Tick(m.net.Now(), input{0xbad})
	require.ErrorContains(t, err, "Config.Valid refuses participant 0's own input {Buttons:2989}")
	require.Equal(t, at, m.peers[0].tick(), "none of them ran a tick")
	m.requireProgress(50)
}
