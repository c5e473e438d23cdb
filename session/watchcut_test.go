package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

func TestASpectatorSeesAPlayerCutAtTheTickAtWhichThePlayersDid(t *testing.T) {
	m := newViewMatch(t, 3, watched(1))
	early := m.watch(9, nil)
	m.impair(loopback.Impairment{Latency: 40 * ms, Jitter: 20 * ms, Loss: 0.1})
	m.impairWatching(early, loopback.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.1})
	m.runUntil(200)
	m.peers[2].crash()
	m.requireSurvivors(200, 2)
	m.run(60)
	cut, ok := m.peers[0].session.Cut(2)
	require.True(t, ok)

	// The world of this match depends on who is behind each input, and is held to the
	// oracle's at every tick.
	require.NoError(t, early.err)
	require.Greater(t, early.result.Tick, cut+100)
	require.Greater(t, early.checked, 200)
	require.Greater(t, early.session.Agreed(), cut+50, "its states were compared with the players'")
	require.Equal(t, driftback.Replaced, m.peers[0].session.Stats().Status[2])
}

func TestASpectatorThatComesAfterACutIsToldOfIt(t *testing.T) {
	m := newViewMatch(t, 3, func(c *session.Config[state, input]) { c.MaxWatchers, c.History = 1, 64 })
	m.impair(loopback.Impairment{Latency: 40 * ms, Loss: 0.05})
	m.runUntil(200)
	m.peers[2].crash()
	m.requireSurvivors(300, 2)
	late := m.watch(9, nil)
	m.impairWatching(late, loopback.Impairment{Latency: 60 * ms, Loss: 0.1})
	m.run(400)
	require.NoError(t, late.err)
	cut, _ := m.peers[0].session.Cut(2)
	require.Greater(t, late.first, cut, "it was given a state from after the cut")
	require.Greater(t, late.checked, 100)
	require.Greater(t, late.session.Agreed(), late.first, "its states were compared with the players'")
}
