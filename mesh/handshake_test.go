package mesh

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

func TestAMismatchIsNamedOnBothSides(t *testing.T) {
	long := strings.Repeat("v", wire.MaxValue)
	for name, c := range map[string]struct {
		first, second func(c *Config)
		setting       string
		values        [2]string
	}{
		"another match": {nil, func(c *Config) { c.Match = 8 }, "match", [2]string{"0000000000000007", "0000000000000008"}},
		"a setting":     {set("game", "pong"), set("game", "chess"), "game", [2]string{"pong", "chess"}},
		"the first of two settings": {
			set("game", "pong", "map", "a"), set("game", "chess", "map", "b"), "game", [2]string{"pong", "chess"},
		},
		"a setting after one that only the other has": {
			set("map", "a"), set("build", "x", "map", "b"), "map", [2]string{"a", "b"},
		},
		"the longest values": {set("game", long), set("game", long[1:]+"w"), "game", [2]string{long, long[1:] + "w"}},
		"who plays whom": {
			func(c *Config) { c.Players = []driftback.Peer{0, 1, 1} },
			func(c *Config) { c.Players = []driftback.Peer{0, 1, 0} }, "players", [2]string{"0 1 1", "0 1 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, func(cfg *Config) {
				if change := [2]func(*Config){c.first, c.second}[cfg.Self]; change != nil {
					change(cfg)
				}
			})
			m.connect()
			m.turns(3)
			named := 0
			for i, s := range m.seats {
				require.Equal(t, Ended, s.mesh.Phase())
				require.ErrorIs(t, s.mesh.Err(), ErrRefused)
				var mismatch *MismatchError
				require.ErrorAs(t, s.mesh.Err(), &mismatch, "each side has the other's hello before it hears that it was refused")
				require.Equal(t, MismatchError{Peer: driftback.Peer(1 - i), Setting: c.setting, Ours: c.values[i], Theirs: c.values[1-i]}, *mismatch)
				require.ErrorContains(t, mismatch, c.setting+" is ")
				named++
			}
			require.Equal(t, 2, named)
		})
	}
}

// set returns a change that gives settings, as names and values in turn.
func set(pairs ...string) func(c *Config) {
	return func(c *Config) {
		for i := 0; i < len(pairs); i += 2 {
			c.Settings = append(c.Settings, wire.Setting{Name: pairs[i], Value: pairs[i+1]})
		}
	}
}

func TestAnUnknownSettingIsNotCompared(t *testing.T) {
	for name, c := range map[string][3]func(*Config){
		"unknown to the second":   {set("build", "x"), set("build", ""), set("build", "x")},
		"not given by the second": {set("build", "x"), set(), set("build", "x")},
		"unknown to all but one":  {set("build", ""), set("build", "x"), set()},
		"unknown to all":          {set("build", ""), set(), set("build", "")},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 3, func(cfg *Config) { c[cfg.Self](cfg) })
			m.begin()
			for _, s := range m.seats {
				require.Equal(t, m.seats[0].mesh.digest, s.mesh.digest)
			}
		})
	}
}

func TestADifferentStartIsNamed(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.seats[1].state = 5
	m.connect()
	m.turns(4)
	for i, s := range m.seats {
		var mismatch *MismatchError
		require.ErrorAs(t, s.mesh.Err(), &mismatch)
		require.Equal(t, "the start state (Initial, Start)", mismatch.Setting)
		require.Equal(t, hex([2]uint64{0, 5}[i]), mismatch.Ours)
		require.Equal(t, hex([2]uint64{5, 0}[i]), mismatch.Theirs)
	}
}

func TestOfSeveralStartsThatDifferTheFirstIsNamed(t *testing.T) {
	m := newMatch(t, 3, nil)
	a := m.seats[0]
	for _, s := range m.seats[1:] {
		a.up(s)
		a.give(s, s.mesh.hello())
	}
	a.mesh.Poll(0)
	require.Equal(t, Agreeing, a.mesh.Phase())
	for _, s := range m.seats[1:] {
		a.give(s, wire.Start{Digest: a.mesh.digest, Seed: a.mesh.seed, State: 0xbad, HasState: true})
	}
	a.mesh.Poll(1)
	require.NoError(t, a.mesh.Begin(0xf00d, true))
	var mismatch *MismatchError
	require.ErrorAs(t, a.mesh.Err(), &mismatch)
	require.EqualValues(t, 1, mismatch.Peer)
	leaves := slices.DeleteFunc(a.controls(), func(c wire.Control) bool { _, ok := c.(wire.Leave); return !ok })
	require.Len(t, leaves, 2, "and each is told once")
}

func TestAStartOfSomethingElseIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(s *wire.Start)
		setting string
	}{
		"another seed":          {func(s *wire.Start) { s.Seed++ }, "the seed"},
		"another state":         {func(s *wire.Start) { s.State++ }, "the start state (Initial, Start)"},
		"another digest":        {func(s *wire.Start) { s.Digest++ }, "the digest of all that was agreed"},
		"a state nobody knows":  {func(s *wire.Start) { s.State, s.HasState = 0, false }, ""},
		"the same in all there": {func(s *wire.Start) {}, ""},
	} {
		for _, early := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, early %v", name, early), func(t *testing.T) {
				m := newMatch(t, 2, nil)
				a, b := m.seats[0], m.seats[1]
				m.connect()
				a.mesh.Poll(0)
				a.mesh.Flush()
				b.mesh.Poll(0)
				b.mesh.Flush()
				a.mesh.Poll(0)
				require.Equal(t, Agreeing, a.mesh.Phase())
				start := wire.Start{Digest: a.mesh.digest, Seed: a.mesh.seed, State: 3, HasState: true}
				c.change(&start)
				if early {
					a.give(b, start)
					a.mesh.Poll(0)
					require.Equal(t, Agreeing, a.mesh.Phase(), "it waits until this peer knows its own")
				}
				require.NoError(t, a.mesh.Begin(3, true))
				if !early {
					a.give(b, start)
					a.mesh.Poll(0)
				}
				if c.setting == "" {
					require.Equal(t, Playing, a.mesh.Phase())
					return
				}
				var mismatch *MismatchError
				require.ErrorAs(t, a.mesh.Err(), &mismatch)
				require.Equal(t, c.setting, mismatch.Setting)
			})
		}
	}
}

func TestTheDigestIsOfEveryDelay(t *testing.T) {
	// Each peer is told the others' delays by themselves, so one that told two of them
	// different things is found by the digest alone.
	digests := map[uint64]bool{}
	for delay := range 3 {
		m := newMatch(t, 2, func(c *Config) {
			if c.Self == 1 {
				c.Delay = delay
			}
		})
		m.connect()
		m.turns(3)
		digests[m.seats[0].mesh.digest] = true
		require.Equal(t, m.seats[0].mesh.digest, m.seats[1].mesh.digest)
	}
	require.Len(t, digests, 3)
}

func TestTheSeedIsAHandOfEveryPeer(t *testing.T) {
	seeds := map[uint64]bool{}
	for nonce := range uint64(3) {
		m := playing(t, 3, func(c *Config) {
			if c.Self == 2 {
				c.Nonce = 1000 + nonce
			}
		})
		for _, s := range m.seats {
			require.Equal(t, m.seats[0].mesh.Seed(), s.mesh.Seed())
		}
		seeds[m.seats[0].mesh.Seed()] = true
	}
	require.Len(t, seeds, 3, "one peer's nonce changes the seed")
}

func TestEveryPeerKnowsEveryDelayAndItsNeutralTicks(t *testing.T) {
	m := playing(t, 3, func(c *Config) { c.Delay = 3 * int(c.Self) })
	for _, s := range m.seats {
		for p := range driftback.Participant(3) {
			require.Equal(t, 3*int(p), s.mesh.Delay(p))
			require.EqualValues(t, 3*p, s.mesh.Held(p))
		}
		require.Equal(t, s.mesh.Held(s.mesh.own[0]), s.mesh.links[0].acked[0], "what needs no sending counts as acknowledged")
	}
}

func TestEveryOrderOfStartingEndsInPlaying(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		m := newMatch(t, 3, nil)
		for i, n := range order {
			for _, k := range order[:i] {
				m.seats[k].up(m.seats[n])
				m.seats[n].up(m.seats[k])
			}
			for _, k := range order[:i+1] {
				m.seats[k].turn()
			}
		}
		m.turns(4)
		for _, s := range m.seats {
			require.Equal(t, Playing, s.mesh.Phase(), "%v: %v", order, s.mesh.Err())
		}
	}
}

func TestRepeatedHandshakeMessagesCountOnce(t *testing.T) {
	m := newMatch(t, 3, nil)
	a, b := m.seats[0], m.seats[1]
	m.connect()
	a.turn()
	a.give(b, b.mesh.hello())
	a.give(b, b.mesh.hello())
	a.turn()
	require.Equal(t, Joining, a.mesh.Phase(), "two hellos of one peer are not one of each")
	require.EqualValues(t, 1, a.mesh.Refused()[Malformed])
	m.turns(4)
	require.Equal(t, Playing, a.mesh.Phase())
	a.give(b, b.mesh.start.msg)
	a.give(b, b.mesh.start.msg)
	a.turn()
	require.Equal(t, Playing, a.mesh.Phase())

	m = newMatch(t, 3, nil)
	a, c := m.seats[0], m.seats[2]
	m.connect()
	m.turn()
	a.turn()
	require.Equal(t, Agreeing, a.mesh.Phase())
	for range 3 {
		a.give(c, c.mesh.start.msg)
	}
	a.turn()
	require.Equal(t, Agreeing, a.mesh.Phase(), "three starts of one peer are not one of each")
}

func TestMessagesBeforeTheHelloAreRefused(t *testing.T) {
	m := newMatch(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	a.up(b)
	for _, c := range []wire.Control{wire.Start{}, wire.Finish{}, wire.Disagree{}} {
		a.give(b, c)
	}
	a.turn()
	require.Equal(t, Joining, a.mesh.Phase())
	require.EqualValues(t, 3, a.mesh.Refused()[Early])
}

func TestAnEndBeforeEveryHelloIsRefused(t *testing.T) {
	m := newMatch(t, 3, nil)
	a, b := m.seats[0], m.seats[1]
	a.up(b)
	a.give(b, b.mesh.hello())
	a.give(b, wire.Finish{At: 5})
	a.give(b, wire.Disagree{Tick: 5})
	a.turn()
	require.Equal(t, Joining, a.mesh.Phase())
	require.EqualValues(t, 2, a.mesh.Refused()[Early])
	require.False(t, a.mesh.links[0].finished)
	require.False(t, a.mesh.links[0].disagreed)
}

func TestPacketsBeforeTheHandshakeAreRefused(t *testing.T) {
	m := newMatch(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	m.connect()
	a.forge(b, wire.Packet{Runs: []wire.Run{{Participant: 1, Count: 1, Inputs: []byte{1, 2}}}})
	a.mesh.Poll(0)
	a.mesh.Flush()
	b.turn()
	a.mesh.Poll(0)
	require.Equal(t, Agreeing, a.mesh.Phase())
	a.forge(b, wire.Packet{Runs: []wire.Run{{Participant: 1, Count: 1, Inputs: []byte{1, 2}}}})
	a.mesh.Poll(0)
	require.EqualValues(t, 2, a.mesh.Refused()[Early], "not before this peer has begun either")
	require.Zero(t, a.mesh.Held(1))
}

func TestAnInputCountsAsItsSendersStart(t *testing.T) {
	m := newMatch(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	m.connect()
	a.mesh.Poll(m.now)
	a.mesh.Flush()
	b.mesh.Poll(m.now)
	b.mesh.Flush()
	a.mesh.Poll(m.now)
	require.NoError(t, a.mesh.Begin(0, true))
	run := []wire.Run{{Participant: 1, Count: 1, Inputs: scripted(1, 0, 2)}}
	a.forge(b, wire.Packet{})
	a.mesh.Poll(m.now)
	require.Equal(t, Agreeing, a.mesh.Phase(), "a packet without inputs does not")
	a.inbox = nil
	a.forge(b, wire.Packet{Runs: run})
	a.mesh.Poll(m.now)
	require.Equal(t, Playing, a.mesh.Phase())
	require.EqualValues(t, 1, a.mesh.Held(1), "and is taken")
}

func TestBeginIsCalledOnce(t *testing.T) {
	m := newMatch(t, 2, nil)
	require.ErrorContains(t, m.seats[0].mesh.Begin(0, true), "mesh: Begin is called once")
	m.begin()
	require.Error(t, m.seats[0].mesh.Begin(0, true))
}

func TestAPeerThatIsStartedAgainBeforeAnythingWasAgreedIsWelcome(t *testing.T) {
	m := newMatch(t, 3, nil)
	a, b, c := m.seats[0], m.seats[1], m.seats[2]
	link := func(x, y *seat) { x.up(y); y.up(x) }
	link(a, b)
	a.turn()
	b.turn()
	a.turn()
	require.NotNil(t, a.mesh.links[0].hello)
	// Peer 1 and peer 2 agree before peer 0 has heard of peer 2, then both die.
	a.give(b, wire.Start{Digest: 1, Seed: 2})
	a.turn()
	again := b.config
	again.Nonce = 99
	b.open(again)
	a.down(b, "it died")
	link(a, b)
	link(a, c)
	link(b, c)
	m.turns(6)
	for _, s := range m.seats {
		require.Equal(t, Playing, s.mesh.Phase(), "peer %d: %v", s.self, s.mesh.Err())
	}
}

func TestAPeerThatIsStartedAgainAfterwardsHasLostTheMatch(t *testing.T) {
	for _, begun := range []bool{false, true} {
		m := newMatch(t, 3, nil)
		a, b, c := m.seats[0], m.seats[1], m.seats[2]
		if begun {
			m.begin()
		} else {
			m.connect()
			m.turns(2)
			require.Equal(t, Agreeing, a.mesh.Phase())
		}
		again := b.config
		again.Nonce = 99
		b.open(again)
		a.inbox = nil
		a.down(b, "it died")
		a.up(b)
		b.up(a)
		b.turn()
		a.turn()
		require.ErrorIs(t, a.mesh.Err(), ErrPeerLost)
		require.ErrorContains(t, a.mesh.Err(), "peer 1 has come back without the match")
		require.Equal(t, &LostError{Peer: 1}, a.mesh.Err())
		b.turn()
		require.ErrorIs(t, b.mesh.Err(), ErrPeerLeft)
		require.ErrorContains(t, b.mesh.Err(), "peer 1 came back without the match")
		c.turn()
		require.ErrorIs(t, c.mesh.Err(), ErrPeerLeft)
		require.ErrorContains(t, c.mesh.Err(), "peer 1 came back without the match")
	}
}

func TestALinkMayGoDownAndComeBackAtAnyPoint(t *testing.T) {
	for at := range 8 {
		m := newMatch(t, 2, func(c *Config) { c.FingerprintEvery, c.History = 1, 2 })
		a, b := m.seats[0], m.seats[1]
		m.connect()
		for i := range 8 {
			if i == at {
				// What was on its way is gone.
				a.inbox, b.inbox = nil, nil
				a.down(b, "a cable")
				b.down(a, "a cable")
				m.turns(2)
				for _, s := range m.seats {
					s.log = nil
				}
				m.turn()
				require.Empty(t, a.log, "nothing is sent over a link that is down")
				m.connect()
			}
			m.turn()
		}
		m.turns(4)
		require.Equal(t, Playing, a.mesh.Phase(), "down at turn %d", at)
		require.Equal(t, Playing, b.mesh.Phase(), "down at turn %d", at)
		m.goOn(10)
		require.Greater(t, a.mesh.Confirmed(), driftback.Tick(5))
		require.Greater(t, a.mesh.Agreed(), driftback.Tick(1))
	}
}

func TestAFullChannelIsTriedAgain(t *testing.T) {
	for _, refusal := range []error{transport.ErrFull, transport.ErrNoLink} {
		m := newMatch(t, 2, nil)
		a, b := m.seats[0], m.seats[1]
		m.connect()
		a.refuses = refusal
		m.turns(3)
		require.Equal(t, Joining, b.mesh.Phase(), "it waits for a hello")
		a.refuses = nil
		m.turns(3)
		require.Equal(t, Playing, a.mesh.Phase())
		require.Equal(t, Playing, b.mesh.Phase())
		b.mesh.Finish(0, 0, false)
		a.refuses = refusal
		a.mesh.Finish(0, 0, false)
		m.turns(3)
		require.Equal(t, Playing, a.mesh.Phase(), "it has not told that it finished")
		a.refuses = nil
		m.turns(2)
		require.ErrorIs(t, a.mesh.Err(), ErrFinished)
		require.ErrorIs(t, b.mesh.Err(), ErrFinished)
	}
}

func TestAMatchThatDoesNotComeAboutSaysWhoIsMissing(t *testing.T) {
	m := newMatch(t, 5, nil)
	a := m.seats[0]
	for _, other := range m.seats[1:4] {
		a.up(other)
	}
	a.give(m.seats[1], m.seats[1].mesh.hello())
	a.down(m.seats[3], "its cable was cut")
	a.mesh.Poll(0)
	for now := frame; a.mesh.Phase() == Joining && now < time.Minute; now += frame {
		a.mesh.Poll(now)
		a.mesh.Flush()
	}
	require.EqualError(t, a.mesh.Err(), "mesh: a peer has not joined within 10s: "+
		"peer 2 is connected but said nothing; peer 3 is not connected (its cable was cut); peer 4 is not connected")
	require.ErrorIs(t, a.mesh.Err(), ErrNeverJoined)
}

func TestBytesThatAreNoMessageEndOnlyAHandshake(t *testing.T) {
	other := append([]byte{1}, "drift\x02\x00what a later version says"...)
	for name, c := range map[string]struct {
		bytes []byte
		want  string
	}{
		"no message":      {[]byte{250, 1, 2}, "mesh: the match has been refused: peer 1 sent what is not a message: wire: malformed: byte 1: a control message of kind 250, which does not exist"},
		"nothing":         {nil, "mesh: the match has been refused: peer 1 sent what is not a message"},
		"another version": {other, `mesh: protocol version is "2" at peer 1 and "1" here, and must be the same at every peer`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, nil)
			a := m.seats[0]
			m.connect()
			a.inbox = append(a.inbox, transport.Message{Kind: transport.Reliable, From: 1, Data: c.bytes})
			a.turn()
			require.ErrorIs(t, a.mesh.Err(), ErrRefused)
			require.ErrorContains(t, a.mesh.Err(), c.want)

			m = playing(t, 2, nil)
			a = m.seats[0]
			a.inbox = append(a.inbox, transport.Message{Kind: transport.Reliable, From: 1, Data: c.bytes})
			a.turn()
			require.Equal(t, Playing, a.mesh.Phase())
			require.EqualValues(t, 1, a.mesh.Refused()[Malformed])
		})
	}
}

func TestWhatTheTransportKnowsOfAPeerThatDoesNotComeIsSaid(t *testing.T) {
	m := newMatch(t, 2, nil)
	a := m.seats[0]
	a.why = errors.New("nobody answers")
	a.mesh.Poll(0)
	for now := frame; a.mesh.Phase() == Joining && now < time.Minute; now += frame {
		a.mesh.Poll(now)
	}
	require.ErrorIs(t, a.mesh.Err(), ErrNeverJoined)
	require.ErrorContains(t, a.mesh.Err(), "within 10s: peer 1 is not connected (nobody answers)")
}

func TestAPeerThatCannotComeIsNotWaitedFor(t *testing.T) {
	m := newMatch(t, 3, nil)
	a, c := m.seats[0], m.seats[1]
	a.up(c)
	c.up(a)
	a.give(c, c.mesh.hello())
	a.turn()
	require.Equal(t, Joining, a.mesh.Phase())
	// Whatever the transport says of a link that is up, it works.
	a.why, a.hopeless = errors.New("it refuses our code"), true
	a.turn()
	require.ErrorIs(t, a.mesh.Err(), ErrNeverJoined)
	require.ErrorIs(t, a.mesh.Err(), a.why)
	require.EqualError(t, a.mesh.Err(), "mesh: a peer has not joined, and cannot: it refuses our code")
	c.turn()
	require.ErrorIs(t, c.mesh.Err(), ErrNeverJoined, "the others are told")
	require.ErrorContains(t, c.mesh.Err(), "peer 2 cannot join")
}
