package session_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

func TestASilenceOfSixtyTicksStallsAndRecovers(t *testing.T) {
	for name, c := range map[string]struct{ forth, back bool }{
		"in both directions":  {true, true},
		"from peer 0 only":    {forth: true},
		"from peer 1 only":    {back: true},
		"control: no silence": {},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, nil)
			link := loopback.Impairment{Latency: 20 * ms}
			m.impair(link)
			m.runUntil(100)
			before := [2]loopback.Stats{m.stats(0, 1), m.stats(1, 0)}
			for _, p := range m.peers {
				p.stalled, p.advanced = 0, 0
			}
			m.impairOne(0, 1, loopback.Impairment{Blocked: c.forth, Latency: link.Latency})
			m.impairOne(1, 0, loopback.Impairment{Blocked: c.back, Latency: link.Latency})
			m.run(60)
			m.requireLive()
			for i, blocked := range []bool{c.forth, c.back} {
				p, s := m.peers[i], m.stats(driftback.Peer(i), driftback.Peer(1-i))
				sent := s.Sent - before[i].Sent
				require.GreaterOrEqual(t, sent, uint64(30), "packets that peer %d kept sending", i)
				if blocked {
					require.Equal(t, sent, s.Blocked-before[i].Blocked, "packets lost on the way")
				}
				if c.forth || c.back {
					require.Less(t, p.advanced, 60-30)
					require.Greater(t, p.stalled, 30)
				} else {
					require.Zero(t, p.stalled)
				}
			}
			m.impair(link)
			from := m.frames
			m.requireProgress(100)
			require.Less(t, m.frames-from, 130, "it goes on at once and at full speed")
		})
	}
}

func TestAOneWayBlockForLongRecoversAlthoughEveryAcknowledgementWasLost(t *testing.T) {
	for _, from := range []driftback.Peer{0, 1} {
		m := newMatch(t, 2, func(c *session.Config[state, input]) { c.PeerTimeout, c.PredictionWindow = session.None, 60 })
		m.script = play(1)
		m.runUntil(100)
		m.impairOne(from, 1-from, loopback.Impairment{Blocked: true})
		at := m.peers[0].confirmed
		m.run(3000)
		m.requireLive()
		blocked := m.stats(from, 1-from).Blocked
		require.Greater(t, blocked, uint64(2000), "packets, and the acknowledgements in them, that were lost")
		require.Less(t, m.peers[1-from].confirmed, at+10, "nothing was confirmed meanwhile")
		require.Greater(t, m.peers[from].session.Stats().Peers[0].Unacknowledged, 100)
		m.impairOne(from, 1-from, loopback.Impairment{})
		m.requireProgress(200)
	}
}

func TestStalledPeersDoNotWaitForEachOther(t *testing.T) {
	// Each round blocks both directions until both have stalled, and heals them in one
	// order or the other.
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.RejoinGrace = time.Minute })
	m.runUntil(50)
	for round := range 6 {
		first := driftback.Peer(round % 2)
		m.impair(loopback.Impairment{Blocked: true})
		m.run([]int{30, 100, 400}[round/2])
		m.requireLive()
		for _, p := range m.peers {
			before := p.advanced
			p.turn()
			require.Equal(t, before, p.advanced, "peer %d is stalled", p.self)
		}
		m.impairOne(first, 1-first, loopback.Impairment{})
		m.run(20)
		m.impairOne(1-first, first, loopback.Impairment{})
		m.requireProgress(100)
	}
}

func kinds(events []session.Event) (list []mesh.EventKind) {
	for _, e := range events {
		list = append(list, e.Kind)
	}
	return list
}

func TestAGameThatPausesForLongerThanTheWindowGoesOn(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.impair(loopback.Impairment{Latency: 20 * ms, Loss: 0.05})
	m.runUntil(100)
	for _, pause := range []int{20, 100, 250} {
		p := m.peers[1]
		p.asleep = true
		stalled := m.peers[0].stalled
		m.run(pause)
		m.requireLive()
		require.Greater(t, m.peers[0].stalled-stalled, pause-session.DefaultWindow-5)
		p.asleep = false
		m.requireProgress(100)
	}
	require.NotContains(t, kinds(m.peers[0].events), session.PeerInterrupted)
}

func TestAGameThatPausesForLongerThanTheTimeOutGoesOnWithinTheGrace(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.PeerTimeout, c.RejoinGrace = time.Second, 10*time.Second })
	m.runUntil(100)
	m.peers[1].asleep = true
	waiting := map[driftback.Participant]bool{}
	m.check = func(p *peer, r session.Result) {
		if p.self == 0 && r.Phase == session.Stalled {
			for _, w := range r.WaitingFor {
				waiting[w] = true
			}
		}
	}
	m.run(300) // five seconds
	m.requireLive()
	require.Contains(t, kinds(m.peers[0].events), session.PeerInterrupted)
	require.NotContains(t, kinds(m.peers[0].events), session.PeerResumed)
	require.Equal(t, map[driftback.Participant]bool{1: true}, waiting)
	m.peers[1].asleep = false
	m.requireProgress(100)
	require.Contains(t, kinds(m.peers[0].events), session.PeerResumed)
	require.NotContains(t, kinds(m.peers[1].events), session.PeerInterrupted, "the one that paused blames nobody")
}

func TestAGameThatPausesForLongerThanAllThatIsLost(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.PeerTimeout, c.RejoinGrace = time.Second, 2*time.Second })
	m.runUntil(100)
	m.peers[1].asleep = true
	m.run(170)
	m.requireLive()
	m.run(20)
	require.ErrorIs(t, m.peers[0].err, session.ErrPeerLost)
	require.ErrorContains(t, m.peers[0].err, "nothing from peer 1 for 3")
	var lost *session.LostError
	require.ErrorAs(t, m.peers[0].err, &lost)
	require.EqualValues(t, 1, lost.Peer)
	require.ErrorContains(t, m.peers[0].err, "its inputs end at tick 10")
	m.peers[1].asleep = false
	m.run(10)
	require.ErrorIs(t, m.peers[1].err, session.ErrPeerLeft)
	require.ErrorContains(t, m.peers[1].err, "it lost peer 1")
	var told *session.ToldError
	require.ErrorAs(t, m.peers[1].err, &told)
	require.EqualValues(t, 0, told.Peer)
	require.Equal(t, "it lost peer 1", told.Words)
}

func TestAPausedGameWhoseClockJumpedDoesNotBlameTheOther(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.PeerTimeout = time.Second })
	m.impair(loopback.Impairment{Latency: 100 * ms})
	m.runUntil(100)
	for range 10 {
		// The network stood still too, as it does for a computer that was asleep: when
		// this one wakes up nothing has come.
		m.peers[1].drift += time.Hour
		m.run(5)
		m.requireLive()
	}
	m.requireProgress(100)
	require.Empty(t, filter(kinds(m.peers[1].events), session.PeerInterrupted))

	// A clock that runs as fast as that for long is another matter.
	m.impair(loopback.Impairment{Blocked: true})
	for range 10 {
		m.peers[1].drift += time.Hour
		m.run(1)
	}
	require.ErrorIs(t, m.peers[1].err, session.ErrPeerLost)
	require.NoError(t, m.peers[0].err)
}

func filter(list []mesh.EventKind, want mesh.EventKind) (found []mesh.EventKind) {
	for _, k := range list {
		if k == want {
			found = append(found, k)
		}
	}
	return found
}

func TestAClockThatGoesBackwardsOrJumpsToExtremesHarmsNothing(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.impair(loopback.Impairment{Latency: 40 * ms, Jitter: 15 * ms, Loss: 0.05})
	m.runUntil(50)
	jumps := []time.Duration{
		-time.Millisecond, -time.Hour, time.Hour, math.MinInt64, math.MaxInt64, 0, -1, 1, math.MinInt64 + 1, math.MaxInt64 - 1,
	}
	backwards, last := 0, [2]time.Duration{}
	m.check = func(p *peer, _ session.Result) {
		for _, l := range p.session.Stats().Peers {
			require.GreaterOrEqual(t, l.RoundTrip, time.Duration(0))
			require.Less(t, l.RoundTrip, 25*time.Hour)
			require.GreaterOrEqual(t, l.Jitter, time.Duration(0))
			require.GreaterOrEqual(t, l.Silence, time.Duration(0))
		}
		now := m.net.Now() + p.drift
		if now < last[p.self] {
			backwards++
		}
		last[p.self] = now
	}
	for i := range 400 {
		p := m.peers[i%2]
		p.drift = jumps[i%len(jumps)] - m.net.Now()*time.Duration(i%3)
		m.run(3)
		m.requireLive()
	}
	require.Greater(t, backwards, 100, "times that went back")
	require.Greater(t, m.peers[0].confirmed, driftback.Tick(500))
	m.requireProgress(200)
}

func TestAPeerThatEndedBeforeItsLastInputsCameIsLost(t *testing.T) {
	// Peer 0 gives up waiting and is gone; peer 1 waits longer, hears that peer 0 has
	// finished, and will never have its inputs.
	m := newMatch(t, 2, func(c *session.Config[state, input]) {
		c.PeerTimeout = time.Second
		if c.Self == 1 {
			c.RejoinGrace = 4 * time.Second
		} else {
			c.InputDelay = 1
		}
	})
	m.runUntil(50)
	m.align()
	m.finish(m.peers[0].tick() + 2)
	m.impairOne(0, 1, loopback.Impairment{Blocked: true})
	m.run(20)
	m.requireLive()
	m.impairOne(1, 0, loopback.Impairment{Blocked: true})
	m.run(100)
	require.ErrorIs(t, m.peers[0].err, session.ErrFinished)
	m.impair(loopback.Impairment{})
	m.run(10)
	require.NoError(t, m.peers[1].err)
	require.Contains(t, kinds(m.peers[1].events), session.PeerFinished)
	m.run(400)
	require.ErrorIs(t, m.peers[1].err, session.ErrPeerLost)
}
