package mesh

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// gone returns a table of n at which the last was lost and cut.
func gone(t *testing.T, n int, change func(c *Config)) *table {
	t.Helper()
	tb := newTable(t, n, change)
	tb.turns(100)
	tb.crash(n - 1)
	tb.until("the last is cut", func() bool { return tb.players[0].mesh.View() == 1 && tb.players[1].mesh.View() == 1 })
	tb.turns(50)
	return tb
}

func TestAPeerThatWasCutComesBackAndPlays(t *testing.T) {
	for _, n := range []int{3, 4, 5} {
		tb := gone(t, n, nil)
		a, j := tb.players[0], tb.players[n-1]
		cut, ok := a.mesh.Cut(driftback.Participant(n - 1))
		require.True(t, ok)
		for _, p := range tb.players[:n-1] {
			p.waits = 0
		}
		tb.back(n - 1)
		tb.until("it is let in", func() bool { return j.mesh != nil })
		tb.turns(200)
		from := j.mesh.From()
		require.Greater(t, from, cut)
		for _, p := range tb.players {
			require.Equal(t, Playing, p.mesh.Phase(), "peer %d: %v", p.self, p.mesh.Err())
			require.Equal(t, 2, p.mesh.View())
			require.Greater(t, p.mesh.Confirmed(), from+50, "peer %d", p.self)
			back, ok := p.mesh.Joined(driftback.Participant(n - 1))
			require.True(t, ok)
			require.Equal(t, from, back)
			_, out := p.mesh.Cut(driftback.Participant(n - 1))
			require.False(t, out)
			require.Zero(t, p.waits, "peer %d", p.self)
			require.Greater(t, p.mesh.Agreed(), from)
		}
		tb.agree()
		for at, c := range a.log {
			want := driftback.Playing
			if at := driftback.Tick(at); cut <= at && at < from {
				want = driftback.Replaced
			}
			require.Equal(t, want, c.statuses[n-1], "tick %d, away from %d to %d", at, cut, from)
		}
	}
}

func TestWhoComesBackAcknowledgesNoFingerprintsOfBefore(t *testing.T) {
	tb := gone(t, 3, nil)
	tb.back(2)
	j := tb.players[2]
	tb.until("it is let in", func() bool { return j.mesh != nil })
	// It is ahead: one of its own goes before any of the other's has come.
	var p wire.Packet
	j.mesh.prints.next++
	j.mesh.putSums(&j.mesh.links[0], &p)
	require.Len(t, p.Sums.List, 1)
	require.False(t, p.SumAck.Set, "the other may not have come to what was before")
}

func TestWhoPlaysAgainMayBeGreetedTwice(t *testing.T) {
	tb := gone(t, 3, nil)
	tb.back(2)
	j := tb.players[2]
	tb.until("it is let in", func() bool { return j.mesh != nil })
	hello := tb.players[0].mesh.hello()
	j.give(tb.players[0].seat, hello) // as one who plays, and as one who feeds
	j.give(tb.players[0].seat, hello)
	j.give(tb.players[0].seat, tb.players[0].mesh.Hello())
	tb.turns(1)
	require.Zero(t, j.mesh.Refused()[Malformed])
}

func TestWhoPlaysAgainMayBeGreetedFirstByOneWhoFeeds(t *testing.T) {
	tb := gone(t, 3, nil)
	tb.back(2)
	j := tb.players[2]
	tb.until("it is let in", func() bool { return j.mesh != nil })
	tb.turns(10)
	tb.relink(j, tb.players[0])
	j.give(tb.players[0].seat, tb.players[0].mesh.Hello())
	tb.settled(2)
	require.True(t, j.mesh.linkTo(0).greeted)
	require.Zero(t, j.mesh.Refused()[Malformed])
}

func TestWhoComesBackMayGreetAMatchThatHasJustEnded(t *testing.T) {
	tb := gone(t, 3, nil)
	tb.back(2)
	j, a := tb.players[2], tb.players[0]
	tb.until("it is let in", func() bool { return j.mesh != nil })
	hello := *a.mesh.linkTo(2).hello
	require.True(t, comesBack(&hello))
	a.mesh.Leave()
	a.give(j.seat, hello)
	tb.turns(1)
	require.Equal(t, Ended, a.mesh.Phase())
	require.Zero(t, a.mesh.Refused()[Malformed])
}

// slowly makes every message take a while, and some of them much longer.
func (tb *table) slowly() {
	n := 0
	tb.latency = func() time.Duration {
		n++
		return time.Duration(20+n*37%60) * time.Millisecond
	}
}

// settled requires that all play in one view, and go on.
func (tb *table) settled(view int) {
	tb.t.Helper()
	tb.turns(20)
	before := tb.players[0].mesh.Confirmed()
	tb.turns(100)
	for _, p := range tb.players {
		require.Equal(tb.t, Playing, p.mesh.Phase(), "peer %d: %v", p.self, p.mesh.Err())
		require.Equal(tb.t, view, p.mesh.View(), "peer %d", p.self)
		require.Greater(tb.t, p.mesh.Confirmed(), before+60, "peer %d", p.self)
	}
	tb.agree()
}

func TestNobodyWaitsForWhoComesBackOverASlowLink(t *testing.T) {
	tb := gone(t, 4, nil)
	tb.slowly()
	tb.turns(100)
	j := tb.players[3]
	for _, p := range tb.players[:3] {
		p.waits = 0
	}
	tb.back(3)
	j.lag = 12
	tb.until("it is let in", func() bool { return j.mesh != nil })
	tb.settled(2)
	for _, p := range tb.players[:3] {
		require.Less(t, p.waits, 12, "peer %d", p.self)
	}
}

func TestWhoComesBackMayBeLostAgain(t *testing.T) {
	tb := gone(t, 4, nil)
	for round := range 3 {
		tb.back(3)
		j := tb.players[3]
		tb.until("it is let in", func() bool { return j.mesh != nil })
		tb.settled(2 + 2*round)
		tb.crash(3)
		tb.until("it is cut again", func() bool { return tb.players[0].mesh.View() == 3+2*round })
		tb.turns(30)
	}
	tb.back(3)
	tb.until("it is let in", func() bool { return tb.players[3].mesh != nil })
	tb.settled(8)
}

func TestTwoComeBackTogether(t *testing.T) {
	tb := newTable(t, 5, nil)
	tb.turns(50)
	tb.crash(0)
	tb.crash(3)
	tb.until("both are cut", func() bool { return tb.players[1].mesh.members().Len() == 3 && tb.players[4].mesh.members().Len() == 3 })
	tb.back(0)
	tb.back(3)
	tb.until("both are let in", func() bool { return tb.players[0].mesh != nil && tb.players[3].mesh != nil })
	tb.settled(tb.players[1].mesh.View())
	// They count like everybody else: the first of them leads.
	tb.crash(4)
	tb.until("another is cut", func() bool { return tb.players[0].mesh.members().Len() == 4 })
	tb.back(4)
	tb.until("and let in", func() bool { return tb.players[4].mesh != nil })
	tb.settled(tb.players[0].mesh.View())
}

// members returns who is in the newest view.
func (m *Mesh) members() wire.Peers { return m.views.members }

func TestTheLinkOfWhoCameBackMayBreak(t *testing.T) {
	tb := gone(t, 3, nil)
	tb.slowly()
	tb.back(2)
	j := tb.players[2]
	tb.until("it is let in", func() bool { return j.mesh != nil })
	for _, p := range tb.players[:2] {
		tb.relink(j, p)
		tb.settled(2)
	}
	require.True(t, j.mesh.linkTo(0).greeted)
	require.NoError(t, j.mesh.Send(0, []byte("here I am")))
	require.NoError(t, tb.players[1].mesh.Send(2, []byte("well met")))
}

func TestTheLinkMayBreakAtAnyTurnOfAReturn(t *testing.T) {
	for at := range 40 {
		tb := gone(t, 3, nil)
		tb.slowly()
		tb.turns(30)
		tb.back(2)
		tb.turns(at)
		tb.relink(tb.players[2], tb.players[at%2])
		if at%3 > 0 {
			tb.relink(tb.players[2], tb.players[1-at%2])
		}
		tb.until("it is let in", func() bool { return tb.players[2].mesh != nil })
		tb.turns(30)
		tb.settled(tb.players[0].mesh.View())
	}
}

func TestAProcessThatDoesNotKnowOfTheMatchIsTold(t *testing.T) {
	tb := gone(t, 3, nil)
	j := tb.players[2]
	c := j.config
	c.Nonce = 99
	j.fresh(c)
	var err error
	j.mesh, err = New(j.config)
	require.NoError(t, err)
	for _, q := range tb.players[:2] {
		tb.relink(j, q)
	}
	tb.until("it is told", func() bool { return j.mesh.Phase() == Ended })
	require.ErrorIs(t, j.mesh.Err(), ErrUnderWay)
	require.ErrorContains(t, j.mesh.Err(), "peer 0")
	tb.back(2) // so it comes back
	tb.until("it is let in", func() bool { return j.mesh != nil })
	tb.settled(2)
}

func TestAProcessThatComesBackBeforeTheOldOneIsCut(t *testing.T) {
	for _, n := range []int{3, 4} {
		tb := newTable(t, n, func(c *Config) { c.PeerTimeout = time.Minute })
		tb.turns(50)
		tb.crash(n - 1)
		tb.turns(5)
		tb.back(n - 1)
		j := tb.players[n-1]
		tb.until("it is let in", func() bool { return j.mesh != nil })
		tb.settled(2)
	}
}

func TestWhoComesBackAgainAndAgainDoesNotWaitLongerEachTime(t *testing.T) {
	tb := gone(t, 4, nil)
	a := tb.players[0].mesh
	for range 12 {
		tb.back(3)
		tb.until("it is let in", func() bool { return tb.players[3].mesh != nil })
		tb.crash(3) // before it has played
	}
	require.LessOrEqual(t, a.joined(3), a.newest()+joinMargin+12)
	tb.back(3)
	tb.until("it is let in", func() bool { return tb.players[3].mesh != nil })
	tb.turns(joinMargin + 30)
	tb.settled(a.View())
	for _, p := range tb.players {
		require.Zero(t, p.mesh.Refused()[BadVote], "peer %d", p.self)
	}
}

func TestWhoWasLetInIsCutBeforeAnybodyIsNearWhereItPlays(t *testing.T) {
	tb := gone(t, 4, nil)
	tb.back(3)
	tb.until("it is let in", func() bool { return tb.players[3].mesh != nil })
	m := tb.players[0].mesh
	m.span = 8 // as with a short window
	cut := wire.Value{Cuts: []wire.Cut{{Participant: 3, Tick: m.joined(3)}}}
	require.Greater(t, m.joined(3), m.histories[0].held+m.span)
	require.Empty(t, m.ill(&cut))
	cut.Cuts[0].Tick++
	require.NotEmpty(t, m.ill(&cut))
}

func TestTheOtherOfTwoComesBack(t *testing.T) {
	for _, lost := range []string{"", "its link is down", "nobody is told"} {
		tb := newTable(t, 2, func(c *Config) { c.RejoinGrace = 5 * time.Second })
		tb.turns(50)
		tb.crash(1)
		tb.turns(100)
		a, j := tb.players[0], tb.players[1]
		require.Equal(t, Playing, a.mesh.Phase())
		require.Zero(t, a.mesh.View(), "it does not go on alone")
		stopped := a.mesh.Confirmed()
		tb.turns(30)
		require.Equal(t, stopped, a.mesh.Confirmed())
		tb.back(1)
		j.mute = true
		tb.turns(50)
		require.Equal(t, 1, a.mesh.View())
		require.Greater(t, a.mesh.Confirmed(), stopped+30, "it plays on while the other watches")
		if lost != "" {
			tb.crash(1)
			if lost == "its link is down" {
				a.inbox = append(a.inbox, transport.Message{Kind: transport.Down, From: 1})
			}
			tb.turns(40)
			stopped = a.mesh.Confirmed()
			tb.turns(50)
			require.LessOrEqual(t, a.mesh.Confirmed(), stopped+playWindow)
			require.True(t, a.mesh.Blocked())
			tb.back(1)
		}
		j.mute = false
		a.waits = 0
		tb.until("it is let in", func() bool { return j.mesh != nil })
		tb.settled(2)
		require.Less(t, a.waits, 10)
	}
}

func TestTheLastOfTwoDoesNotWaitForEver(t *testing.T) {
	tb := newTable(t, 2, func(c *Config) { c.RejoinGrace = 2 * time.Second })
	tb.turns(50)
	tb.crash(1)
	tb.turns(20)
	tb.back(1)
	tb.turns(20)
	tb.crash(1)
	a := tb.players[0]
	a.inbox = append(a.inbox, transport.Message{Kind: transport.Down, From: 1})
	tb.until("it gives up", func() bool { return a.mesh.Phase() == Ended })
	require.ErrorIs(t, a.mesh.Err(), ErrPeerLost)
}

func TestAMatchWithOneWhoCameBackEndsForAll(t *testing.T) {
	tb := gone(t, 3, nil)
	tb.back(2)
	tb.until("it is let in", func() bool { return tb.players[2].mesh != nil })
	tb.settled(2)
	for _, p := range tb.players {
		at := tb.players[0].mesh.Confirmed()
		p.mesh.Finish(at, 5, true)
		p.quiet = true
	}
	tb.turns(20)
	for _, p := range tb.players {
		require.ErrorIs(t, p.mesh.Err(), ErrFinished, "peer %d", p.self)
	}
	var again []*Mesh
	for i, p := range tb.players {
		c := p.config
		c.Match, c.Nonce = 8, uint64(500+i)
		m, err := New(c)
		require.NoError(t, err)
		require.NoError(t, m.Follow(p.mesh))
		again = append(again, m)
	}
	for i, p := range tb.players {
		p.config.Match, p.mesh = 8, again[i]
	}
	for _, p := range tb.players {
		p.next, p.done, p.start, p.hash, p.log, p.quiet = 0, 0, 0, 0, nil, false
	}
	tb.turns(100)
	for _, p := range tb.players {
		require.Equal(t, Playing, p.mesh.Phase(), "peer %d: %v", p.self, p.mesh.Err())
		require.EqualValues(t, 0, p.mesh.From())
		require.Greater(t, p.mesh.Confirmed(), driftback.Tick(50))
	}
}
