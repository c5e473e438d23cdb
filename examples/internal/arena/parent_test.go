package arena

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
)

func TestTwoWorldsThatPartAreNoticedByTheParent(t *testing.T) {
	var out bytes.Buffer
	players := []*player{
		{name: "first", gone: true, ended: &outcome{Tick: 10, Sum: 1}},
		{name: "second", gone: true, ended: &outcome{Tick: 10, Sum: 2}},
	}
	require.ErrorContains(t, judge(players, &out), "different worlds")
	players[1].ended.Sum = 1
	require.NoError(t, judge(players, &out))
	require.Contains(t, out.String(), "The two agree.")
	players[1].ended = nil
	require.EqualError(t, judge(players, &out), "not everybody finished: the second: its process ended without a word")
	players[0].ended = nil
	require.EqualError(t, judge(players, &out), "both players say: its process ended without a word")
	players[0].exit = errors.New("signal: killed")
	require.EqualError(t, judge(players, &out), "not everybody finished: the first: its process ended: signal: killed; the second: its process ended without a word")
}

func TestThoseWhoAreLeftAreComparedToo(t *testing.T) {
	var out bytes.Buffer
	players := []*player{
		{name: "first", gone: true, ended: &outcome{Tick: 10, Sum: 1}},
		{name: "second", gone: true, exit: errors.New("signal: killed")},
		{name: "third", gone: true, ended: &outcome{Tick: 10, Sum: 1}},
	}
	require.EqualError(t, judge(players, &out), "not everybody finished: the second: its process ended: signal: killed")
	require.Contains(t, out.String(), "The 2 that are left agree.")
	players[2].ended.Sum = 2
	require.ErrorContains(t, judge(players, &out), "different worlds")
}

func TestOneOfManyWorldsThatPartsIsNoticed(t *testing.T) {
	for odd := range 4 {
		var out bytes.Buffer
		var players []*player
		for range 4 {
			players = append(players, &player{gone: true, ended: &outcome{Tick: 10, Sum: 1}})
		}
		require.NoError(t, judge(players, &out))
		require.Contains(t, out.String(), "The 4 agree.")
		players[odd].ended.Sum = 2
		require.ErrorContains(t, judge(players, &out), "different worlds", "player %d", odd)
	}
}

func TestALineIsWrittenOnceAllWhoPlayHaveBeenHeard(t *testing.T) {
	var out bytes.Buffer
	players := []*player{{}, {}, {}}
	for i, p := range players {
		printFresh(&out, players)
		require.Empty(t, out.String(), "%d have not been heard", 3-i)
		p.hear(&word{note: note{Status: &status{Phase: "advanced", Tick: 10 + 5*driftback.Tick(i), RoundTrip: 20 * time.Millisecond, Score: "even"}}})
	}
	printFresh(&out, players)
	require.Equal(t, "tick 10–20 | confirmed 0 | round trip 20 ms | lost 0 % | rollbacks 0, 0 deep | stalled 0 | even\n", out.String())
	out.Reset()
	players[1].gone = true
	players[0].hear(&word{note: note{Status: &status{Phase: "joining"}}})
	printFresh(&out, players)
	require.Empty(t, out.String())
	players[2].hear(&word{note: note{Status: &status{Phase: "joining"}}})
	printFresh(&out, players)
	require.Equal(t, "the players are joining\n", out.String(), "nobody waits for one who has gone")
	out.Reset()
	players[0].hear(&word{note: note{Status: &status{Phase: "advanced", Paused: true, Silent: 1}}})
	players[2].hear(&word{note: note{Status: &status{Phase: "advanced", Paused: true}}})
	printFresh(&out, players)
	require.Contains(t, out.String(), "| paused | 1 not heard")
}
