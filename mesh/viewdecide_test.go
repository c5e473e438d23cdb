package mesh

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// voting returns a match of n in which everybody hears everybody and has published three
// inputs, of which all have confirmed two: the third of those that are mute has not come.
func voting(t *testing.T, n int, mute ...int) *match {
	t.Helper()
	m := playing(t, n, func(c *Config) { c.PlayOn = true })
	for range 3 {
		for _, i := range mute {
			if m.seats[0].mesh.Confirmed() == 2 {
				m.seats[i].lose = everything
			}
		}
		for _, s := range m.seats {
			s.publish(1)
		}
		m.turns(2)
	}
	require.EqualValues(t, 2, m.seats[0].mesh.Confirmed())
	for _, s := range m.seats {
		s.log = nil
	}
	return m
}

// says gives a seat messages of another, and returns what it sends to that one.
func (s *seat) says(from *seat, list ...wire.Control) (answers []wire.Control) {
	for _, c := range list {
		s.give(from, c)
	}
	s.log = nil
	s.match.now += frame
	s.mesh.Poll(s.match.now)
	s.mesh.Flush()
	for _, m := range s.log {
		if m.control != nil && m.to == from.self {
			answers = append(answers, m.control)
		}
	}
	return answers
}

func TestNothingOvertakesAPromise(t *testing.T) {
	m := voting(t, 4, 3)
	a, b, d := m.seats[1], m.seats[0], m.seats[3]
	third := wire.Packet{Runs: []wire.Run{of(3, 2, 1)}}
	cut := wire.Value{Cuts: []wire.Cut{{Participant: 3, Tick: 2}}}
	held := []wire.Cut{{Participant: 3, Tick: 2}}

	answers := a.says(b, wire.Prepare{View: 1, Ballot: 0x100, Lost: 8, Bound: true})
	require.Equal(t, []wire.Control{wire.Promise{View: 1, Ballot: 0x100, Held: held}}, answers)
	a.forge(d, third)
	a.turn()
	require.EqualValues(t, 2, a.mesh.Held(3), "what comes after the promise does not count")
	require.EqualValues(t, 2, a.mesh.Confirmed())

	require.Equal(t, []wire.Control{wire.Accepted{View: 1, Ballot: 0x100}}, a.says(b, wire.Propose{View: 1, Ballot: 0x100, Value: cut}))
	require.Equal(t, []wire.Control{wire.Accepted{View: 1, Ballot: 0x100}}, a.says(b, wire.Propose{View: 1, Ballot: 0x100, Value: cut}), "and once more")
	a.forge(d, third)
	a.turn()
	require.EqualValues(t, 2, a.mesh.Confirmed())

	a.says(b, wire.Decide{View: 1, Value: wire.Value{}})
	require.Equal(t, 1, a.mesh.View())
	require.EqualValues(t, 3, a.mesh.Held(3), "nobody was cut in the end, and it counts at once")
	require.EqualValues(t, 3, a.mesh.Confirmed())
}

func TestAPromiseIsTakenBackWithItsReasons(t *testing.T) {
	m := voting(t, 4, 3)
	a, b, c, d := m.seats[1], m.seats[0], m.seats[2], m.seats[3]
	third := wire.Packet{Runs: []wire.Run{of(3, 2, 1)}}
	cut := wire.Value{Cuts: []wire.Cut{{Participant: 3, Tick: 2}}}
	ask := wire.Prepare{View: 1, Ballot: 0x100, Lost: 8}
	require.Empty(t, a.says(b, ask), "who hears the lost gives no promise")
	a.give(c, wire.Accuse{Silent: 8})
	require.Equal(t, []wire.Control{wire.Promise{View: 1, Ballot: 0x100, Held: []wire.Cut{{Participant: 3, Tick: 2}}}}, a.says(b, ask),
		"the link between the third and the lost is dead, of which the higher goes")
	a.forge(d, third)
	a.turn()
	require.EqualValues(t, 2, a.mesh.Held(3))
	a.says(c, wire.Accuse{})
	require.EqualValues(t, 3, a.mesh.Held(3), "the third hears it again")
	require.EqualValues(t, 3, a.mesh.Confirmed())

	answers := a.says(b, wire.Propose{View: 1, Ballot: 0x100, Value: cut})
	require.Equal(t, []wire.Control{wire.Promise{View: 1, Ballot: 0x200}}, answers, "what was promised before does not hold")
	answers = a.says(b, wire.Prepare{View: 1, Ballot: 0x300, Lost: 8, Bound: true}, wire.Propose{View: 1, Ballot: 0x300, Value: cut})
	require.Equal(t, wire.Promise{View: 1, Ballot: 0x300, Held: []wire.Cut{{Participant: 3, Tick: 3}}}, answers[0])
	require.Equal(t, wire.Promise{View: 1, Ballot: 0x400}, answers[1], "nor does it cut what it has confirmed")
}

func TestWhatIsHeldBeyondAnAcceptedCutDoesNotCount(t *testing.T) {
	m := voting(t, 4, 2, 3) // a will hold more of d than it has confirmed, because it lacks c's
	a, b, d := m.seats[1], m.seats[0], m.seats[3]
	a.forge(d, wire.Packet{Runs: []wire.Run{of(3, 2, 1)}})
	a.turn()
	require.EqualValues(t, 3, a.mesh.Held(3))
	cut := wire.Value{Cuts: []wire.Cut{{Participant: 3, Tick: 2}}}
	answers := a.says(b, wire.Prepare{View: 1, Ballot: 0x100, Lost: 8, Bound: true}, wire.Propose{View: 1, Ballot: 0x100, Value: cut})
	require.Equal(t, wire.Accepted{View: 1, Ballot: 0x100}, answers[1])
	require.EqualValues(t, 2, a.mesh.Held(3))
	require.EqualValues(t, 2, a.mesh.Confirmed(), "although it lacks nothing else now")
	a.says(b, wire.Decide{View: 1, Value: cut})
	require.Equal(t, make([]byte, 2), a.mesh.Input(3, 2), "its input is neutral, and not what had come")
}

// leading returns a match of n in which the last has left, and seat 0 leads.
func leading(t *testing.T, n int) (m *match, ballot uint64) {
	t.Helper()
	m = voting(t, n, n-1)
	a := m.seats[0]
	a.says(m.seats[n-1], wire.Leave{Reason: LeaveLeft})
	require.NotZero(t, a.mesh.views.round.ballot)
	return m, a.mesh.views.round.ballot
}

func TestWhatMayHaveBeenDecidedIsProposedAgain(t *testing.T) {
	old := wire.Value{Cuts: []wire.Cut{{Participant: 4, Tick: 2}}}
	other := wire.Value{Cuts: []wire.Cut{{Participant: 3, Tick: 2}, {Participant: 4, Tick: 2}}}
	fresh := wire.Value{Cuts: []wire.Cut{{Participant: 4, Tick: 3}}}
	for name, c := range map[string]struct {
		said [3]wire.Promise // by peers 1 to 3
		want wire.Value
	}{
		"nobody has accepted anything": {want: fresh},
		"all others have": {[3]wire.Promise{
			{Accepted: &old, AcceptedBallot: 0x83}, {Accepted: &old, AcceptedBallot: 0x83}, {Accepted: &old, AcceptedBallot: 0x83},
		}, old},
		"two have, and the lost may have": {[3]wire.Promise{
			{Accepted: &old, AcceptedBallot: 0x83}, {Accepted: &old, AcceptedBallot: 0x83},
		}, old},
		"one has, and it cannot be a majority": {[3]wire.Promise{{Accepted: &old, AcceptedBallot: 0x83}}, fresh},
		"the highest ballot counts": {[3]wire.Promise{
			{Accepted: &other, AcceptedBallot: 0x82}, {Accepted: &old, AcceptedBallot: 0x83}, {Accepted: &old, AcceptedBallot: 0x83},
		}, old},
		"one in the highest and others below it": {[3]wire.Promise{
			{Accepted: &other, AcceptedBallot: 0x83}, {Accepted: &old, AcceptedBallot: 0x82}, {Accepted: &old, AcceptedBallot: 0x82},
		}, old},
	} {
		t.Run(name, func(t *testing.T) {
			m, ballot := leading(t, 5)
			a := m.seats[0]
			for i, p := range c.said {
				p.View, p.Ballot, p.Held = 1, ballot, []wire.Cut{{Participant: 4, Tick: 3}}
				a.give(m.seats[1+i], p)
			}
			a.turn()
			r := &a.mesh.views.round
			require.True(t, r.proposing)
			require.Equal(t, c.want, r.value)
		})
	}
}

func TestOnlyAMajorityDecides(t *testing.T) {
	m, ballot := leading(t, 5)
	a := m.seats[0]
	for _, s := range m.seats[1:4] {
		a.give(s, wire.Promise{View: 1, Ballot: ballot})
	}
	a.says(m.seats[1], wire.Accepted{View: 1, Ballot: ballot})
	require.Zero(t, a.mesh.View(), "two of five")
	a.says(m.seats[1], wire.Accepted{View: 1, Ballot: ballot})
	require.Zero(t, a.mesh.View(), "the same one twice")
	a.says(m.seats[2], wire.Accepted{View: 1, Ballot: ballot + 0x100})
	require.Zero(t, a.mesh.View(), "in another ballot")
	a.says(m.seats[2], wire.Accepted{View: 1, Ballot: ballot})
	require.Equal(t, 1, a.mesh.View())
	require.Equal(t, driftback.Tick(2), a.mesh.views.cuts[4])
}

func TestADecisionThatComesTooLateCutsOff(t *testing.T) {
	m := voting(t, 4, 3)
	a, b, d := m.seats[0], m.seats[1], m.seats[3]
	a.forge(d, wire.Packet{Runs: []wire.Run{of(3, 2, 1)}})
	a.turn()
	require.EqualValues(t, 3, a.mesh.Confirmed())
	a.says(b, wire.Decide{View: 1, Value: wire.Value{Cuts: []wire.Cut{{Participant: 3, Tick: 2}}}})
	var cut *CutOffError
	require.ErrorAs(t, a.mesh.Err(), &cut)
	require.ErrorIs(t, a.mesh.Err(), ErrCutOff)
	require.Equal(t, CutOffError{View: 1, By: 1, Participant: 3, Tick: 2, Confirmed: 3}, *cut)
	require.ErrorContains(t, a.mesh.Err(), "this peer has confirmed every tick below 3 with it")
}

func TestInputsThatNobodySendsEndTheMatchInTheEnd(t *testing.T) {
	m := voting(t, 4, 3)
	a, b := m.seats[0], m.seats[1]
	// b says that somebody holds ten inputs of d's, and nobody does.
	a.says(b, wire.Decide{View: 1, Value: wire.Value{Cuts: []wire.Cut{{Participant: 3, Tick: 10}}}})
	require.Equal(t, 1, a.mesh.View())
	m.seats[3].closed = true
	m.turns(200)
	require.ErrorIs(t, a.mesh.Err(), ErrPeerLost)
}

func TestAPromiseOfWhichNothingComesEndsTheMatchByName(t *testing.T) {
	m := voting(t, 4, 3)
	a, b := m.seats[1], m.seats[0]
	m.seats[3].lose = nil
	require.Len(t, a.says(b, wire.Prepare{View: 1, Ballot: 0x100, Lost: 8, Bound: true}), 1)
	m.turns(140)
	var lost *LostError
	require.ErrorAs(t, a.mesh.Err(), &lost)
	require.Equal(t, b.self, lost.Peer)
	require.Less(t, lost.Silence, 5*frame)
	require.GreaterOrEqual(t, lost.Undecided, 2*time.Second)
	require.ErrorContains(t, a.mesh.Err(), "nothing has come of what was begun to decide about who plays on")
}

func TestAMajorityThatComesToNoDecisionSaysSo(t *testing.T) {
	m := lost(t, 4, 3)
	for _, s := range m.seats[1:3] {
		s.refuses = transport.ErrFull // nobody agrees to anything, and their inputs come
	}
	m.turns(200)
	var lost *LostError
	require.ErrorAs(t, m.seats[0].mesh.Err(), &lost)
	require.EqualValues(t, 3, lost.Peer)
	require.Positive(t, lost.Undecided)
	require.NotContains(t, lost.Error(), "no majority")
}

func TestADecisionIsReachedOverLinksThatAreSlowerThanARound(t *testing.T) {
	tb := newTable(t, 3, func(c *Config) { c.PeerTimeout = 8 * time.Second })
	tb.turns(50)
	tb.latency = func() time.Duration { return patience * repeatEvery }
	tb.crash(2)
	tb.until("it is cut", func() bool { return tb.players[0].mesh.View() == 1 && tb.players[1].mesh.View() == 1 })
}

func TestWhatCameAfterAPromiseWasTakenBackIsNotCut(t *testing.T) {
	m := voting(t, 4, 2, 3) // c's third is missing, so that nothing of d's third is confirmed
	a, b, c, d := m.seats[1], m.seats[0], m.seats[2], m.seats[3]
	a.give(c, wire.Accuse{Silent: 8})
	require.Len(t, a.says(b, wire.Prepare{View: 1, Ballot: 0x100, Lost: 8}), 1)
	a.says(c, wire.Accuse{})
	a.forge(d, wire.Packet{Runs: []wire.Run{of(3, 2, 1)}})
	a.turn()
	require.EqualValues(t, 3, a.mesh.Held(3))
	require.EqualValues(t, 2, a.mesh.Confirmed())
	cut := wire.Value{Cuts: []wire.Cut{{Participant: 3, Tick: 2}}}
	require.Equal(t, []wire.Control{wire.Promise{View: 1, Ballot: 0x200}}, a.says(b, wire.Propose{View: 1, Ballot: 0x100, Value: cut}))
	require.EqualValues(t, 3, a.mesh.Held(3))
}

// One of two plays more than half. If it decided alone to let a third in, told that one, and died, the
// other, which goes on alone then, would decide anew.
func TestOfTwoMembersBothHaveToAcceptWhateverTheyPlay(t *testing.T) {
	for members, want := range map[wire.Peers]int{
		wire.Peers(0b011): 0,
		wire.Peers(0b111): 1, // nobody goes on alone there
	} {
		m := playing(t, 3, func(c *Config) {
			c.PlayOn, c.Players = true, []driftback.Peer{0, 0, 0, 0, 1, 2}
		}).seats[0].mesh
		m.views.members = members
		m.views.round = round{ballot: 256, proposing: true}
		m.vote(0)
		require.Equal(t, want, m.View())
		if want == 0 {
			m.vote(1)
			require.Equal(t, 1, m.View(), "the control")
		}
	}
}
