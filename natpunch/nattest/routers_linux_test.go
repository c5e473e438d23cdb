package nattest

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
)

// The lengths of matches, and the tick at which something happens in them.
const (
	short, long driftback.Tick = 360, 540
	event       driftback.Tick = 90
)

// Gaps in ticks: the longest that a lost path may make, and that of a path that is never
// lost. Where packets are lost besides, so are signals and questions, and a lost path may
// make a longer one.
const most, kept, bad = 60, 20, 180

// needRouters skips a test where there can be no routers, which is a failure where they
// are asked for.
func needRouters(t *testing.T) {
	t.Helper()
	err := unable()
	switch {
	case err == nil:
		t.Parallel()
	case os.Getenv("DRIFTBACK_NAMESPACES") != "":
		require.NoError(t, err, "DRIFTBACK_NAMESPACES asks for these tests")
	default:
		t.Skip("no routers of our own: ", err)
	}
}

// tell prints how the gaps were, and returns the longest.
func tell(t *testing.T, last [2]status) int {
	t.Helper()
	for i, s := range last {
		t.Logf("player %d: longest gap %d ticks, %d paths in %d rounds, the last %v, relayed: %v", i, s.Gap, s.Path.Changes, s.Path.Rounds, s.Path.Remote, s.Path.Relayed)
	}
	return max(last[0].Gap, last[1].Gap)
}

func relayed(s [2]status) []bool { return []bool{s[0].Path.Relayed, s[1].Path.Relayed} }

func TestMatchesThroughEachPairOfRouters(t *testing.T) {
	for _, c := range []struct {
		kinds   [2]router
		relayed bool
	}{
		{[2]router{cone, cone}, false},
		{[2]router{cone, symmetric}, true},
		{[2]router{symmetric, symmetric}, true},
		{[2]router{fullCone, symmetric}, false},
	} {
		t.Run(c.kinds[0].name+" and "+c.kinds[1].name, func(t *testing.T) {
			needRouters(t)
			m := newMatch(newWorld(t, c.kinds), short)
			last := m.end()
			require.Equal(t, []bool{c.relayed, c.relayed}, relayed(last))
			require.LessOrEqual(t, tell(t, last), kept)
			if straight := m.internet.straight.Load(); c.relayed {
				require.Zero(t, straight)
			} else {
				require.Greater(t, straight, int64(short), "each tick has a packet each way")
			}
		})
	}
}

func TestAMatchGoesOnWhenItsRouterForgetsIt(t *testing.T) {
	for name, forget := range map[string]func(*world, int){"other ports": (*world).forget, "another address": (*world).readdress} {
		t.Run(name, func(t *testing.T) {
			needRouters(t)
			m := newMatch(newWorld(t, [2]router{cone, cone}), long)
			before := m.direct()
			forget(m.world, 0)
			last := m.end()
			require.Equal(t, []bool{false, false}, relayed(last))
			require.NotEqual(t, before[1].Path.Remote, last[1].Path.Remote)
			require.LessOrEqual(t, tell(t, last), most)
		})
	}
}

func TestAMatchGoesOnWhenItsRelayDiesAndThereIsADirectPath(t *testing.T) {
	for name, die := range map[string]func(*match){
		"it is gone":                          func(m *match) { m.turn.kill() },
		"it answers and carries nothing":      func(m *match) { m.silence() },
		"it gives addresses and does no more": func(m *match) { m.deafen() },
	} {
		t.Run(name, func(t *testing.T) {
			needRouters(t)
			outlivesRelay(t, newWorld(t, [2]router{cone, cone}), die)
		})
	}
}

// outlivesRelay plays a match whose relay dies as routers let through what they did not.
func outlivesRelay(t *testing.T, w *world, die func(*match)) {
	t.Helper()
	w.block()
	m := newMatch(w, long)
	require.Equal(t, []bool{true, true}, relayed(m.at(event)))
	die(m)
	w.unblock()
	last := m.end()
	require.Equal(t, []bool{false, false}, relayed(last))
	require.LessOrEqual(t, tell(t, last), most)
}

// As over UDP. What the relay says no more does not look as if a line were broken: the connections stay.
func TestAMatchGoesOnWhenItsRelayOverAStreamDies(t *testing.T) {
	for _, over := range []string{"TCP", "TLS"} {
		for name, die := range map[string]func(*match){
			"it is gone":                          func(m *match) { m.turn.kill() },
			"it answers and carries nothing":      func(m *match) { m.silence() },
			"it gives addresses and does no more": func(m *match) { m.silence(); m.turn.tell("be deaf") },
		} {
			t.Run(over+", "+name, func(t *testing.T) {
				needRouters(t)
				w := newWorld(t, [2]router{cone, cone})
				w.over, w.certificate = over, certify(t)
				outlivesRelay(t, w, die)
			})
		}
	}
}

// The passwords are those that the signalling server makes, and end several times. Their allocations would be gone
// two seconds later.
func TestARelayedMatchOutlivesThePasswordsOfItsRelay(t *testing.T) {
	needRouters(t)
	w := newWorld(t, [2]router{symmetric, symmetric})
	w.relay = "strict"
	last := newMatch(w, driftback.Tick(3*restLife/time.Second)*sim.TicksPerSecond).end()
	require.Equal(t, []bool{true, true}, relayed(last))
	require.LessOrEqual(t, tell(t, last), kept)
	require.GreaterOrEqual(t, last[0].Path.Changes, 3, "a relay for each password")
}

// The relay knows its peers by their addresses outside, and takes what comes from another
// one for a stranger's.
func TestAMatchThroughARelayGoesOnWhenItsRouterForgetsIt(t *testing.T) {
	needRouters(t)
	m := newMatch(newWorld(t, [2]router{symmetric, symmetric}), long)
	before := m.at(event)
	require.Equal(t, []bool{true, true}, relayed(before))
	m.forget(0)
	last := m.end()
	require.Equal(t, []bool{true, true}, relayed(last))
	gap := tell(t, last)
	require.Greater(t, gap, kept, "the path was lost")
	require.LessOrEqual(t, gap, most)
}

// Signals are lost as well, and come when TCP has sent them again.
func TestAMatchOverABadLineGoesOnWhenItsRouterForgetsIt(t *testing.T) {
	needRouters(t)
	w := newWorld(t, [2]router{cone, cone})
	w.internet.loss.Store(5)
	m := newMatch(w, long)
	before := m.direct()
	m.forget(0)
	last := m.end()
	require.NotEqual(t, before[1].Path.Remote, last[1].Path.Remote)
	require.Positive(t, w.internet.lost.Load())
	require.LessOrEqual(t, tell(t, last), bad)
}

// The new server knows nobody: the players have connected anew when a router forgets
// them later, or there would be no other path.
func TestAMatchGoesOnWhenTheSignallingServerIsStartedAnew(t *testing.T) {
	needRouters(t)
	m := newMatch(newWorld(t, [2]router{cone, cone}), long)
	m.direct()
	m.signal.kill()
	m.signal = m.start(m.public, "signal")
	m.signal.ready()
	now := m.at(m.at(0)[0].Confirmed + event)
	gap := max(now[0].Gap, now[1].Gap)
	t.Log("longest gap while it was not there, in ticks:", gap)
	require.LessOrEqual(t, gap, kept, "nobody needs it meanwhile")
	m.forget(0)
	last := m.end()
	require.NotEqual(t, now[1].Path.Remote, last[1].Path.Remote)
	require.LessOrEqual(t, tell(t, last), most)
}

// What the others rely on: a gap is measured as such, and another input makes another
// end.
func TestAGapAndAnotherInputAreNoticed(t *testing.T) {
	needRouters(t)
	m := newMatch(newWorld(t, [2]router{cone, cone}), short)
	m.at(event)
	m.internet.dark.Store(true)
	for _, p := range m.players {
		p.until("it has waited for longer than is allowed", func(s *status) bool { return s.Gap > most })
	}
	m.internet.dark.Store(false)
	last := m.end()
	require.Greater(t, tell(t, last), most)
	other := slices.Clone(last[0].Inputs)
	clear(other[event:])
	sum, _ := loop(t, other, last[1].Inputs)
	require.NotEqual(t, last[0].Sum, sum)
}
