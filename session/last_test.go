package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

func TestAfterTheLastTickItIsSaidWhoseInputsAreMissing(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.runUntil(10)
	last := m.peers[0].session.Stats().Tick + 4
	for _, p := range m.peers {
		require.NoError(t, p.session.Finish(last))
	}
	m.peers[1].asleep = true
	stalled := 0
	m.check = func(p *peer, r session.Result) {
		if r.Phase != session.Stalled {
			return
		}
		stalled++
		require.Equal(t, last, r.Tick)
		require.Equal(t, []driftback.Participant{1}, r.WaitingFor)
	}
	m.run(10)
	require.Positive(t, stalled)
	require.Zero(t, m.peers[0].session.Stats().Stalled, "no tick that was to run could not")
	m.check = func(p *peer, r session.Result) {
		require.False(t, r.Confirmed >= last && len(r.WaitingFor) > 0, "nobody's inputs are missing any more")
	}
	m.peers[1].asleep = false
	m.run(50)
	for _, p := range m.peers {
		require.ErrorIs(t, p.err, session.ErrFinished)
	}
}
