package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
)

func TestTrainingPlaysWhatTheOraclePlaysWithoutANetwork(t *testing.T) {
	for _, participants := range []int{1, 4} {
		for _, delay := range []int{0, 3} {
			t.Run(fmt.Sprint(participants, " participants, delay ", delay), func(t *testing.T) {
				m := newEmptyMatch(t)
				var none transport.Transport
				m.wrap = func(*loopback.Endpoint) transport.Transport { return none }
				p := m.add(m.config(0, participants, func(c *session.Config[state, input]) {
					c.Nonce, c.InputDelay = 0, delay
					c.Players = make([]driftback.Peer, participants)
					c.Start = func(seed uint64, s *state) { s.Digest = seed }
				}))
				_, err := p.session.Poll(0)
				require.NoError(t, err)
				m.oracle.state = *p.session.State()
				require.NotZero(t, m.oracle.state.Digest, "Start has been called")
				r := checkRoots(m, session.DefaultFingerprintEvery)
				require.NoError(t, p.session.Finish(500))
				m.run(500)
				require.Equal(t, 499, p.advanced, "every call runs a tick, and the last one ends the match")
				require.Zero(t, p.stalled)
				require.Equal(t, driftback.Tick(500), p.confirmed)
				require.Equal(t, driftback.Tick(496), r.next[0], "the last tick that was fingerprinted")
				require.Zero(t, p.session.Stats().Loop.Rollbacks)
				require.ErrorIs(t, p.err, session.ErrFinished)
				require.Empty(t, p.session.Stats().Peers)
			})
		}
	}
}

func TestTheLastTickHasItsFingerprintWhenItIsDue(t *testing.T) {
	s, err := session.New(session.Config[state, input]{Step: step, Players: []driftback.Peer{0}})
	require.NoError(t, err)
	const last = 2 * session.DefaultFingerprintEvery
	require.NoError(t, s.Finish(last))
	for err == nil {
		_, err = s.Tick(0, input{})
	}
	require.ErrorIs(t, err, session.ErrFinished)
	h, err := fingerprint.New[state]()
	require.NoError(t, err)
	root, ok := s.Root(last)
	require.True(t, ok)
	require.Equal(t, h.Sum(s.State()), root)
	require.ErrorContains(t, s.Finish(last+1), "but tick 16 has been confirmed as the last")
}

func TestTrainingCanBeHaltedAndLeft(t *testing.T) {
	open := func() *session.Lockstep[state, input] {
		s, err := session.New(session.Config[state, input]{Step: step, Players: []driftback.Peer{0}})
		require.NoError(t, err)
		r, err := s.Tick(0, input{})
		require.NoError(t, err)
		require.Equal(t, session.Advanced, r.Phase)
		require.Equal(t, driftback.Tick(1), r.Tick)
		return s
	}
	s := open()
	s.Leave()
	_, err := s.Tick(frame, input{})
	require.ErrorIs(t, err, session.ErrLeft)
	s = open()
	s.Halt("enough")
	r, err := s.Tick(frame, input{})
	require.ErrorIs(t, err, session.ErrHalted)
	require.Equal(t, session.Ended, r.Phase)
	require.Equal(t, driftback.Tick(1), r.Tick)
}
