package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

func TestNothingIsRewoundWhenTheLinkFitsInTheInputDelay(t *testing.T) {
	rollbacks := func(delay int) (n, stalls int) {
		m := newMatch(t, 2, func(c *session.Config[state, input]) { c.InputDelay = delay })
		m.align()
		m.impair(loopback.Impairment{Latency: frame * 5 / 2})
		m.runUntil(1000)
		for _, p := range m.peers {
			n += int(p.session.Stats().Loop.Rollbacks)
			stalls += p.stalled
		}
		return n, stalls
	}
	n, stalls := rollbacks(3)
	require.Zero(t, n, "rollbacks at 3 ticks of delay over a link of 2.5 ticks")
	require.Less(t, stalls, 10)
	n, _ = rollbacks(2)
	require.Greater(t, n, 100, "rollbacks at one tick less")
}

func TestAKeyHeldFromTickZeroCountsFromEachParticipantsOwnDelay(t *testing.T) {
	held := func(int, driftback.Tick) input { return input{Buttons: 1} }
	for name, delays := range map[string][2]int{
		"with equal delays":            {3, 3},
		"with a delay on one side":     {0, 4},
		"with the longest delay":       {mesh.MaxDelay, 2},
		"with no delay on either side": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, func(c *session.Config[state, input]) { c.InputDelay = delays[c.Self] })
			m.script = held
			m.impair(loopback.Impairment{Latency: 50 * ms, Jitter: 10 * ms})
			m.runUntil(200)
			for _, p := range m.peers {
				var s state
				at, err := p.session.ConfirmedState(&s)
				require.NoError(t, err)
				for q, delay := range delays {
					require.Equal(t, int64(at)-int64(delay), int64(s.Held[q]), "ticks for which participant %d has held the key", q)
				}
			}
			// Had the key counted from tick 0, the oracle would have noticed.
			naive := &oracle{inputs: held, delays: []int{0, 0}, step: step}
			if delays != [2]int{} {
				require.NotEqual(t, *m.oracle.at(100), *naive.at(100))
			}
		})
	}
}

func TestRedundancyMayReachFurtherBackThanTheWindow(t *testing.T) {
	longest := func(redundancy, window int) (run int, reach driftback.Tick) {
		m, taps := newTappedMatch(t, 2, func(c *session.Config[state, input]) {
			c.Redundancy, c.PredictionWindow = redundancy, window
		})
		m.script = play(2)
		m.impair(loopback.Impairment{Latency: 40 * ms, Jitter: 30 * ms, Loss: 0.1, Duplicate: 0.3, Reorder: 0.2})
		taps[1].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
			for _, r := range parse(t, b).Runs {
				run = max(run, r.Count)
				reach = max(reach, m.peers[0].confirmed-r.First)
			}
			pass(b)
		}
		m.runUntil(2000)
		for _, p := range m.peers {
			require.Zero(t, p.session.Stats().Refused, "old copies are no offence")
		}
		return run, reach
	}
	run, reach := longest(40, 8)
	require.GreaterOrEqual(t, run, 40)
	require.Greater(t, reach, driftback.Tick(2*8), "ticks below the confirmed one that were sent again")
	run, reach = longest(mesh.MaxRedundancy, 2)
	require.GreaterOrEqual(t, run, mesh.MaxRedundancy)
	require.Greater(t, reach, driftback.Tick(100))
	run, _ = longest(1, 8)
	require.Less(t, run, 40, "without redundancy")
}

func TestARollbackGoesAcrossTheWholeWindow(t *testing.T) {
	for _, window := range []int{1, 2, 8, 15, 64, mesh.MaxWindow} {
		t.Run(fmt.Sprint(window, " ticks"), func(t *testing.T) {
			m := newMatch(t, 2, func(c *session.Config[state, input]) {
				c.PredictionWindow, c.PeerTimeout = window, session.None
			})
			m.script = play(1)
			m.impair(loopback.Impairment{Latency: frame * time.Duration(window+2)})
			m.runUntil(driftback.Tick(4*window + 300))
			for _, p := range m.peers {
				require.Equal(t, window, p.session.Stats().Loop.Deepest)
				require.Positive(t, p.stalled, "the window was used up")
			}
		})
	}
}

func TestALateInputForTickZeroBeforeTickOneRan(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.script = func(p int, t driftback.Tick) input { return input{Buttons: uint16(t) + uint16(p) + 1} }
	m.impair(loopback.Impairment{Latency: 30 * ms})
	m.runWhile(100, "not begun", func() bool { return m.peers[0].tick() == 0 && m.peers[1].tick() == 0 })
	ahead, behind := m.peers[0], m.peers[1]
	if ahead.tick() == 0 {
		ahead, behind = behind, ahead
	}
	require.Equal(t, driftback.Tick(1), ahead.tick())
	ahead.asleep = true
	m.run(20)
	require.Positive(t, behind.tick(), "the other peer has played meanwhile")
	ahead.asleep = false
	var first []rewind.Span
	m.check = func(p *peer, r session.Result) {
		if p == ahead && r.Rerun.Len() > 0 {
			first = append(first, r.Rerun)
		}
	}
	m.runUntil(50)
	require.NotEmpty(t, first)
	require.Equal(t, rewind.Span{From: 0, To: 1}, first[0], "the first rollback")
}

func TestAnInputForTickZeroBeforeTickZeroRanIsNoRollback(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.script = func(int, driftback.Tick) input { return input{Buttons: 3} }
	m.impair(loopback.Impairment{Latency: 30 * ms})
	m.runWhile(100, "not begun", func() bool { return m.peers[0].tick() == 0 && m.peers[1].tick() == 0 })
	ahead, behind := m.peers[0], m.peers[1]
	if ahead.tick() == 0 {
		ahead, behind = behind, ahead
	}
	require.Zero(t, behind.tick())
	behind.asleep = true
	m.run(5)
	_, err := behind.session.Poll(m.net.Now() + behind.drift)
	require.NoError(t, err)
	in, confirmed, ok := behind.session.Input(driftback.Participant(ahead.self), 0)
	require.True(t, ok && confirmed, "it is there in time")
	require.Equal(t, input{Buttons: 3}, in)
	require.Zero(t, behind.tick(), "Poll runs no tick")
	behind.asleep = false
	m.runUntil(50)
	require.Zero(t, behind.session.Stats().Loop.Rollbacks)
	require.Positive(t, ahead.session.Stats().Loop.Rollbacks, "the one ahead had to guess")
}

func TestBurstsOfSixtyLostPacketsLoseNoInput(t *testing.T) {
	// bursts plays over a link that loses 60 ticks' packets in a row, again and again,
	// now in one direction and now in the other.
	bursts := func(t *testing.T, m *match, n int) {
		for i := range n {
			from := driftback.Peer(i % 2)
			m.run(40)
			m.impairOne(from, 1-from, loopback.Impairment{Latency: 20 * ms, Loss: 1})
			before := m.stats(from, 1-from).Lost
			m.run(60)
			require.GreaterOrEqual(t, m.stats(from, 1-from).Lost-before, uint64(55), "packets lost in a row")
			m.impairOne(from, 1-from, loopback.Impairment{Latency: 20 * ms})
		}
		m.run(40)
	}
	t.Run("everything unacknowledged is carried", func(t *testing.T) {
		m := newMatch(t, 2, nil)
		m.runUntil(10)
		bursts(t, m, 10)
		m.requireLive()
		require.Greater(t, m.peers[0].confirmed, driftback.Tick(10*50))
		m.requireProgress(100)
	})
	t.Run("a sender that carries only the last four would be noticed", func(t *testing.T) {
		m, taps := newTappedMatch(t, 2, nil)
		m.runUntil(10)
		taps[0].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
			pass(rewrite(t, b, func(p *wire.Packet) {
				for i := range p.Runs {
					if r := &p.Runs[i]; r.Count > 4 {
						r.First += driftback.Tick(r.Count - 4)
						r.Inputs = r.Inputs[(r.Count-4)*stride:]
						r.Count = 4
					}
				}
			}))
		}
		bursts(t, m, 2)
		before := m.peers[1].confirmed
		m.run(300)
		require.Equal(t, before, m.peers[1].confirmed, "the match is stuck for good")
	})
}

func TestUnacknowledgedRunsOfEveryAwkwardLength(t *testing.T) {
	for _, n := range []int{255, 256, 257, 511, 512, 513, 600, 632} {
		t.Run(fmt.Sprint(n, " ticks"), func(t *testing.T) {
			m := newMatch(t, 2, func(c *session.Config[state, input]) {
				c.PredictionWindow, c.InputDelay, c.PeerTimeout = mesh.MaxWindow, mesh.MaxDelay, session.None
			})
			m.script = play(1)
			m.runUntil(5)
			unacknowledged := func() int { return m.peers[0].session.Stats().Peers[0].Unacknowledged }
			m.impairOne(0, 1, loopback.Impairment{Blocked: true})
			m.runWhile(2000, "not unacknowledged", func() bool { return unacknowledged() < n })
			require.Equal(t, n, unacknowledged())
			m.impairOne(0, 1, loopback.Impairment{})
			m.requireProgress(500)
			require.Less(t, unacknowledged(), 100)
			require.Zero(t, m.peers[1].session.Stats().Refused)
		})
	}
}

func TestADelayOfTwoSecondsOneWayStallsAndIsNoError(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.runUntil(100)
	m.impairOne(0, 1, loopback.Impairment{Latency: 2 * time.Second})
	for _, p := range m.peers {
		p.stalled, p.advanced = 0, 0
	}
	m.run(1200)
	m.requireLive()
	for _, p := range m.peers {
		require.Greater(t, p.stalled, 900, "calls that could not run a tick")
		require.Greater(t, p.advanced, 50, "calls that could")
	}
	m.impairOne(0, 1, loopback.Impairment{})
	m.run(200)
	m.requireProgress(200)
}

func TestHaltAtTheLimitEndsTheMatchByName(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.AtLimit = session.Halt })
	m.runUntil(100)
	m.impairOne(0, 1, loopback.Impairment{Latency: 2 * time.Second})
	m.runWhile(1000, "not ended", func() bool { return m.peers[0].err == nil || m.peers[1].err == nil })
	limited, told := m.peers[1], m.peers[0]
	require.ErrorIs(t, limited.err, session.ErrPredictionLimit)
	at := limited.tick()
	confirmed := limited.session.Stats().Confirmed
	require.Equal(t, driftback.Tick(session.DefaultWindow), at-confirmed)
	require.ErrorContains(t, limited.err, fmt.Sprintf("tick %d is 8 ticks beyond the confirmed tick %d, waiting for participants [0]", at, confirmed))
	require.ErrorIs(t, told.err, session.ErrHalted)
	require.ErrorContains(t, told.err, fmt.Sprintf("peer 1 at tick %d: its prediction window is used up: tick %d", confirmed, at))
	_, again := limited.session.Tick(0, input{})
	require.Equal(t, limited.err, again, "every later call says the same")

	control := newMatch(t, 2, func(c *session.Config[state, input]) { c.AtLimit = session.Halt })
	control.runUntil(100)
	control.impairOne(0, 1, loopback.Impairment{Latency: 50 * ms})
	control.run(500)
	control.requireLive()
}

func TestAnInputGivenToACallThatDidNotAdvanceIsNotUsed(t *testing.T) {
	// Every call gives an input that no other call gives. The oracle knows only the
	// last one given for each tick, which is the one whose call advanced.
	var given [2]map[driftback.Tick]input
	given[0], given[1] = map[driftback.Tick]input{}, map[driftback.Tick]input{}
	calls, replaced := uint16(0), 0
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.InputDelay, c.PredictionWindow = 1, 3 })
	m.script = func(p int, t driftback.Tick) input {
		calls++
		if _, again := given[p][t]; again {
			replaced++
		}
		given[p][t] = input{Buttons: calls}
		return given[p][t]
	}
	m.oracle.inputs = func(p int, t driftback.Tick) input { return given[p][t] }
	m.impair(loopback.Impairment{Latency: 90 * ms, Jitter: 30 * ms, Loss: 0.1})
	m.runUntil(1000)
	require.Greater(t, replaced, 1000, "inputs given to calls that did not advance")
}

func TestThePacketCountersWrapUnnoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("65,536 packets take a second")
	}
	t.Parallel()
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.InputDelay = 2 })
	m.impair(loopback.Impairment{Latency: 30 * ms, Loss: 0.02})
	m.runUntil(70_000)
	for _, p := range m.peers {
		s := p.session.Stats().Peers[0]
		require.Greater(t, s.PacketsSent, uint64(1<<16))
		require.InDelta(t, 0.02, float64(s.Lost)/float64(s.PacketsSent), 0.01, "no packet is taken for lost because of its number")
		require.InDelta(t, (60 * ms).Seconds(), s.RoundTrip.Seconds(), 0.04)
	}
}

func TestTheTextOfAStallNamesWhoIsWaitedFor(t *testing.T) {
	m := newMatch(t, 3, nil)
	m.runUntil(50)
	m.impairOne(2, 0, loopback.Impairment{Blocked: true})
	seen := map[string]bool{}
	m.check = func(p *peer, r session.Result) {
		if p.self == 0 && r.Phase == session.Stalled {
			seen[fmt.Sprintf("%d", r.WaitingFor)] = true
		}
	}
	m.run(60)
	m.requireLive()
	require.Contains(t, seen, "[2]", "all: %v", strings.Join(keys(seen), " "))
	require.NotContains(t, seen, "[0]")
}

func keys(m map[string]bool) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	return list
}
