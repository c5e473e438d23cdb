package mesh

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// played returns a match of n peers that have all confirmed ticks below t.
func played(tb testing.TB, n, t int, change func(c *Config)) *match {
	m := playing(tb, n, change)
	for range t {
		for _, s := range m.seats {
			s.publish(1)
		}
		m.turn()
	}
	m.turns(3)
	for _, s := range m.seats {
		require.EqualValues(tb, t, s.mesh.Confirmed())
		s.log = nil
	}
	return m
}

func TestAMatchIsFinishedWhenEverybodySaysSo(t *testing.T) {
	m := played(t, 3, 5, nil)
	for i, s := range m.seats {
		s.mesh.Finish(5, 0xf1, true)
		s.mesh.Finish(6, 0xf2, true) // the first word counts
		m.turns(3)
		if i < 2 {
			for _, s := range m.seats {
				require.Equal(t, Playing, s.mesh.Phase())
			}
		}
	}
	m.turns(2)
	for _, s := range m.seats {
		require.ErrorIs(t, s.mesh.Err(), ErrFinished)
	}
}

func TestAChannelThatNeverTakesTheLastWordIsNotWaitedForForEver(t *testing.T) {
	m := played(t, 2, 5, nil)
	a, b := m.seats[0], m.seats[1]
	a.refuses = transport.ErrFull
	for _, s := range m.seats {
		s.mesh.Finish(5, 0xf1, true)
	}
	timeout := int(a.config.PeerTimeout / frame)
	m.turns(timeout / 2)
	require.Equal(t, Playing, a.mesh.Phase(), "it may have room yet")
	m.turns(timeout)
	require.ErrorIs(t, a.mesh.Err(), ErrFinished, "it has heard all that it needs")
	m.turns(2 * timeout)
	require.ErrorIs(t, b.mesh.Err(), ErrFinished, "it has all inputs, and the other is gone")
}

func TestAlonePlayingTheMatchEndsAtOnce(t *testing.T) {
	m := newMatch(t, 1, nil)
	m.turn()
	a := m.seats[0]
	require.Equal(t, Playing, a.mesh.Phase())
	a.mesh.Finish(0, 0, false)
	require.ErrorIs(t, a.mesh.Err(), ErrFinished)
}

func TestAFinishThatDiffersEndsTheMatchByName(t *testing.T) {
	for name, c := range map[string]struct {
		finish wire.Finish
		check  func(t *testing.T, err error)
	}{
		"another last tick": {wire.Finish{At: 4, Sum: 0xf1, HasSum: true}, func(t *testing.T, err error) {
			require.Equal(t, &MismatchError{Peer: 1, Setting: "the last tick", Ours: "5", Theirs: "4"}, err)
		}},
		"another last state": {wire.Finish{At: 5, Sum: 0xf2, HasSum: true}, func(t *testing.T, err error) {
			require.Equal(t, &DesyncError{Tick: 5, Peer: 1, Ours: 0xf1, Theirs: 0xf2}, err)
		}},
		"a last state that is not known": {wire.Finish{At: 5}, func(t *testing.T, err error) {
			require.ErrorIs(t, err, ErrFinished)
		}},
	} {
		for _, gone := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				m := played(t, 2, 5, nil)
				a, b := m.seats[0], m.seats[1]
				b.closed = true
				a.give(b, c.finish)
				m.turn()
				require.Equal(t, []string{"finished"}, a.events())
				if gone && c.finish.At == 5 { // at another tick than ours, it is not done for us
					a.mesh.Last(5)
					m.turns(100) // for longer than PeerTimeout: it has said all there is to say
					require.Equal(t, Playing, a.mesh.Phase(), "%v", a.mesh.Err())
				}
				a.mesh.Finish(5, 0xf1, true)
				m.turns(int(maxDispute/frame) + 2) // it cannot say that it has seen the same
				require.Equal(t, Ended, a.mesh.Phase())
				c.check(t, a.mesh.Err())
			})
		}
	}
}

func TestPlayingOnEndsAtTheTickThatAnotherGivesNoInputFor(t *testing.T) {
	m := played(t, 2, 5, nil)
	a, b := m.seats[0], m.seats[1]
	b.mesh.Finish(5, 0, false)
	a.turn()
	a.mesh.PlayOn(4)
	require.Equal(t, Playing, a.mesh.Phase())
	a.mesh.PlayOn(5)
	require.Equal(t, &MismatchError{Peer: 1, Setting: "the last tick", Ours: "none", Theirs: "5"}, a.mesh.Err())
}

func TestAFinishThatWaitsForAnothersHelloIsKept(t *testing.T) {
	// Peer 1 hears of everybody's start, plays and finishes while peer 0 still waits
	// for the start of peer 2.
	m := newMatch(t, 3, func(c *Config) { c.Delay = 2 })
	a, b, c := m.seats[0], m.seats[1], m.seats[2]
	b.closed, c.closed = true, true
	m.connect()
	a.give(b, b.mesh.hello())
	a.give(c, c.mesh.hello())
	a.turn()
	a.give(b, wire.Start{Digest: a.mesh.digest, Seed: a.mesh.seed})
	a.give(b, wire.Finish{At: 1})
	a.turn()
	require.Equal(t, Agreeing, a.mesh.Phase(), "%v", a.mesh.Err())
	a.give(c, wire.Start{Digest: a.mesh.digest, Seed: a.mesh.seed})
	a.give(c, wire.Finish{At: 1})
	a.turn()
	require.Equal(t, Playing, a.mesh.Phase())
	a.mesh.Finish(1, 0, false)
	require.ErrorIs(t, a.mesh.Err(), ErrFinished)
}

func TestAPeerThatFinishedAndDiedOwesItsInputs(t *testing.T) {
	// Peer 1 has everything and says so, but its last inputs were lost.
	m := played(t, 2, 5, nil)
	a, b := m.seats[0], m.seats[1]
	a.publish(3)
	b.publish(3)
	b.lose = everything
	m.turns(2)
	b.mesh.Finish(8, 0, false)
	m.turn()
	b.closed = true
	require.EqualValues(t, 5, a.mesh.Held(1))
	m.turns(int(time.Second/frame) + 2)
	require.ErrorIs(t, a.mesh.Err(), ErrPeerLost, "it must not wait for ever")
}

func TestAPeerThatFinishedAndDiedOwesNothingMore(t *testing.T) {
	m := played(t, 2, 8, nil)
	a, b := m.seats[0], m.seats[1]
	b.mesh.Finish(8, 0, false)
	m.turn()
	b.closed = true
	a.mesh.Last(8)
	m.turns(200) // this peer has not run all those ticks
	require.Equal(t, Playing, a.mesh.Phase())
	require.False(t, a.mesh.Blocked())
	a.mesh.Finish(8, 0, false)
	require.ErrorIs(t, a.mesh.Err(), ErrFinished)
}

func TestAPeerThatFinishedAndDiedIsLostToOneThatKnowsNoLastTick(t *testing.T) {
	m := played(t, 2, 8, nil)
	a, b := m.seats[0], m.seats[1]
	b.mesh.Finish(8, 0, false)
	m.turn()
	b.closed = true
	m.turns(int(a.config.PeerTimeout/frame) + 2)
	require.ErrorIs(t, a.mesh.Err(), ErrPeerLost)
}

func TestAPeerThatNeverFinishesIsNotWaitedForForEver(t *testing.T) {
	for _, grace := range []time.Duration{0, 2 * time.Second} {
		m := played(t, 2, 5, func(c *Config) { c.RejoinGrace = grace })
		a, b := m.seats[0], m.seats[1]
		b.closed = true
		a.mesh.Finish(5, 0, false)
		turns := int((a.config.PeerTimeout + grace) / frame)
		m.turns(turns - 10)
		require.Equal(t, Playing, a.mesh.Phase(), "it may come back, and need this peer's inputs")
		m.turns(20)
		require.ErrorIs(t, a.mesh.Err(), ErrFinished)
	}
}

func TestAFinishIsTiedToItsLinkUntilThePeerIsGone(t *testing.T) {
	m := played(t, 2, 5, nil)
	a, b := m.seats[0], m.seats[1]
	b.mesh.Finish(5, 0, false)
	m.turn()
	a.down(b, "a cable")
	b.down(a, "a cable")
	m.turn()
	a.mesh.Finish(5, 0, false)
	a.refuses = errors.New("no link")
	m.turns(10)
	require.Equal(t, Playing, a.mesh.Phase(), "the other side does not know yet")
	a.refuses = nil
	m.connect()
	m.turns(3)
	require.ErrorIs(t, a.mesh.Err(), ErrFinished)
	require.ErrorIs(t, b.mesh.Err(), ErrFinished)
}

func TestAPeerThatIsGoneAlreadyIsNotWaitedForAgain(t *testing.T) {
	m := played(t, 2, 5, nil)
	a, b := m.seats[0], m.seats[1]
	b.mesh.Finish(5, 0, false)
	a.mesh.Last(5)
	m.turn()
	b.closed = true
	a.refuses = transport.ErrFull
	m.turns(int(a.config.PeerTimeout/frame) + 2)
	require.Equal(t, Playing, a.mesh.Phase())
	a.mesh.Finish(5, 0, false)
	require.ErrorIs(t, a.mesh.Err(), ErrFinished)
}

func TestAPeerThatIsThroughNeedsNotBeTold(t *testing.T) {
	m := played(t, 2, 5, func(c *Config) { c.PeerTimeout = None })
	a, b := m.seats[0], m.seats[1]
	b.closed = true
	a.give(b, wire.Finish{At: 5})
	a.give(b, wire.Leave{Reason: LeaveFinished, Tick: 5})
	a.down(b, "it closed")
	m.turn()
	require.Equal(t, Playing, a.mesh.Phase())
	a.mesh.Finish(5, 0, false)
	require.ErrorIs(t, a.mesh.Err(), ErrFinished)
}

func TestAFinishIsTakenOnce(t *testing.T) {
	m := played(t, 2, 5, nil)
	a, b := m.seats[0], m.seats[1]
	a.give(b, wire.Finish{At: 5})
	a.give(b, wire.Finish{At: 9})
	m.turn()
	require.Equal(t, []string{"finished"}, a.events())
	require.EqualValues(t, 5, a.mesh.links[0].finish.At)
	require.EqualValues(t, 1, a.mesh.Refused()[Early])
}

func TestEachWayToGoIsToldToTheOthers(t *testing.T) {
	for name, c := range map[string]struct {
		end          func(m *Mesh)
		ours, theirs error
		text         string
	}{
		"leaving": {(*Mesh).Leave, ErrLeft, ErrPeerLeft, "mesh: a peer has left the match: peer 0 at tick 5: it left"},
		"halting": {func(m *Mesh) { m.Halt(errors.New("no more"), "out\nof \x00coffee") }, nil, ErrHalted, "mesh: the match has been halted by peer 0 at tick 5: out of  coffee"},
		"halting for no reason": {
			func(m *Mesh) { m.Halt(nil, "") }, ErrHalted, ErrHalted, "mesh: the match has been halted by peer 0 at tick 5: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := played(t, 3, 5, nil)
			a := m.seats[0]
			c.end(a.mesh)
			require.Equal(t, Ended, a.mesh.Phase())
			if c.ours != nil {
				require.ErrorIs(t, a.mesh.Err(), c.ours)
			}
			err := a.mesh.Err()
			a.mesh.Leave()
			a.mesh.Halt(errors.New("again"), "again")
			a.mesh.Finish(5, 0, false)
			require.Equal(t, err, a.mesh.Err(), "a match ends once")
			require.Len(t, a.controls(), 2, "and tells each other peer once")
			m.turn()
			for _, s := range m.seats[1:] {
				require.ErrorIs(t, s.mesh.Err(), c.theirs)
				require.EqualError(t, s.mesh.Err(), c.text)
				var told *ToldError
				require.ErrorAs(t, s.mesh.Err(), &told)
				require.EqualValues(t, 0, told.Peer)
				require.EqualValues(t, 5, told.Tick)
				require.True(t, strings.HasSuffix(c.text, ": "+told.Words))
			}
			m.turns(3)
			require.Empty(t, a.packets(), "after that it is silent")
			require.Error(t, a.mesh.Publish(0, 5, []byte{1, 2}))
		})
	}
}

func TestLeavingBeforeTheHelloIsHeard(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.connect()
	m.seats[0].mesh.Leave()
	require.Empty(t, m.seats[0].log, "there is no link yet")
	m.seats[1].mesh.Poll(0)
	m.seats[1].mesh.Leave() // tells who it is, then goes
	require.Len(t, m.seats[1].controls(), 2)

	m = newMatch(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	a.up(b)
	a.give(b, wire.Leave{Reason: LeaveLeft, Text: "sorry"})
	a.turn()
	require.EqualError(t, a.mesh.Err(), "mesh: a peer has left the match: peer 1 at tick 0: sorry")
	require.Equal(t, []wire.Control{a.mesh.hello(), wire.Leave{Text: "another peer left"}}, a.controls())
}

func TestEveryReasonToLeaveIsUnderstood(t *testing.T) {
	for reason, want := range map[uint8]error{
		LeaveLeft: ErrPeerLeft, LeaveHalted: ErrHalted, LeaveRefused: ErrRefused, LeaveLost: ErrPeerLeft,
		LeaveMissing: ErrNeverJoined, LeaveFinished: nil, LeaveUnfed: nil, 200: ErrPeerLeft,
	} {
		m := playing(t, 2, nil)
		a := m.seats[0]
		a.give(m.seats[1], wire.Leave{Reason: reason, Tick: 3, Text: "so it is"})
		a.turn()
		if want == nil {
			require.NoError(t, a.mesh.Err())
			continue
		}
		require.Equal(t, &ToldError{Peer: 1, Tick: 3, Words: "so it is", Err: want}, a.mesh.Err())
		require.ErrorIs(t, a.mesh.Err(), want)
		require.ErrorContains(t, a.mesh.Err(), "so it is")
		require.ErrorContains(t, a.mesh.Err(), "peer 1")
	}
}

func TestAHaltIsOneForEveryPeerWhoeverTellsOfIt(t *testing.T) {
	m := playing(t, 3, nil)
	a, b, c := m.seats[0], m.seats[1], m.seats[2]
	a.give(b, wire.Leave{Reason: LeaveHalted, Tick: 3, Text: "so it is"})
	a.turn()
	require.ErrorIs(t, a.mesh.Err(), ErrHalted)
	c.turn() // a's word is faster than b's
	require.ErrorIs(t, c.mesh.Err(), ErrHalted)
	require.EqualError(t, c.mesh.Err(), "mesh: the match has been halted by peer 0 at tick 0: peer 1 halted the match: so it is")
}

func TestTextsAreCutAndCleaned(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a plain one":                     {"so it is", "so it is"},
		"control characters":              {"a\tb\x00c\x7fd\u0085e\u009ff\u00a0g", "a b c d e f\u00a0g"},
		"bytes that are no text":          {"a\xff\xfeb\xc3", "a?b?"},
		"a long one":                      {strings.Repeat("x", 1000), strings.Repeat("x", wire.MaxText)},
		"a long one, cut inside a letter": {strings.Repeat("x", wire.MaxText-1) + "äää", strings.Repeat("x", wire.MaxText-1)},
		"nothing":                         {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Sendable(c.text)
			require.Equal(t, c.want, got)
			require.True(t, utf8.ValidString(got))
			_, err := wire.AppendControl(nil, wire.Leave{Text: got})
			require.NoError(t, err)
		})
	}
}
