package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// starter is a session of whatever game.
type starter interface {
	Poll(now time.Duration) (session.Result, error)
}

// meet lets two sessions of whatever games meet and returns why each ended; nil if
// it did not.
func meet(t *testing.T, open func(self driftback.Peer, tr transport.Transport) starter) [2]error {
	t.Helper()
	net := loopback.New(1)
	var errs [2]error
	var both [2]starter
	for i := range both {
		both[i] = open(driftback.Peer(i), net.Open(driftback.Peer(i)))
	}
	for range 60 {
		net.Advance(frame)
		for i, s := range both {
			_, errs[i] = s.Poll(net.Now())
		}
	}
	return errs
}

// started returns a session of a game of its own.
func started[S any, I comparable](t *testing.T, self driftback.Peer, tr transport.Transport, change func(c *session.Config[S, I])) starter {
	t.Helper()
	c := session.Config[S, I]{
		Step: func(*S, []I, *driftback.Pass) {}, Transport: tr, Self: self, Players: []driftback.Peer{0, 1},
		Game: "test", Build: "1", Nonce: 1 + uint64(self), Match: 5,
	}
	if change != nil {
		change(&c)
	}
	s, err := session.New(c)
	require.NoError(t, err)
	return s
}

func TestEverySettingThatDiffersIsNamedWithBothValuesOnBothSides(t *testing.T) {
	type config = session.Config[state, input]
	type otherState struct{ Ticks, Digest uint64 }
	type otherInput struct{ Keys uint16 }
	changed := func(t *testing.T, change func(c *config)) func(driftback.Peer, transport.Transport) starter {
		return func(self driftback.Peer, tr transport.Transport) starter {
			if self == 0 {
				return started[state, input](t, self, tr, nil)
			}
			return started(t, self, tr, change)
		}
	}
	for setting, c := range map[string]struct {
		change func(c *config)
		open   func(t *testing.T) func(driftback.Peer, transport.Transport) starter
		values [2]string // peer 0's and peer 1's; empty: any two different ones
	}{
		"match":                {change: func(c *config) { c.Match = 6 }, values: [2]string{"0000000000000005", "0000000000000006"}},
		"game":                 {change: func(c *config) { c.Game = "chess" }, values: [2]string{"test", "chess"}},
		"build":                {change: func(c *config) { c.Build = "2" }, values: [2]string{"1", "2"}},
		"tick rate":            {change: func(c *config) { c.TickRate = 50 }, values: [2]string{"60", "50"}},
		"prediction window":    {change: func(c *config) { c.PredictionWindow = 9 }, values: [2]string{"8", "9"}},
		"may pause":            {change: func(c *config) { c.MayPause = 0b10 }, values: [2]string{"everybody", "participants 1"}},
		"fingerprint interval": {change: func(c *config) { c.FingerprintEvery = session.None }, values: [2]string{"8", "none"}},
		"players":              {change: func(c *config) { c.Players = []driftback.Peer{1, 0} }, values: [2]string{"0 1", "1 0"}},
		"the start state (Initial, Start)": {change: func(c *config) {
			c.Start = func(seed uint64, s *state) { s.Digest = seed }
		}},
		"state layout": {open: func(t *testing.T) func(driftback.Peer, transport.Transport) starter {
			return func(self driftback.Peer, tr transport.Transport) starter {
				if self == 0 {
					return started[state, input](t, self, tr, nil)
				}
				return started[otherState, input](t, self, tr, nil)
			}
		}},
		"input layout": {open: func(t *testing.T) func(driftback.Peer, transport.Transport) starter {
			return func(self driftback.Peer, tr transport.Transport) starter {
				if self == 0 {
					return started[state, input](t, self, tr, nil)
				}
				return started[state, otherInput](t, self, tr, nil)
			}
		}},
	} {
		t.Run(setting, func(t *testing.T) {
			open := c.open
			if open == nil {
				open = func(t *testing.T) func(driftback.Peer, transport.Transport) starter { return changed(t, c.change) }
			}
			errs := meet(t, open(t))
			var sides [2]*session.MismatchError
			for i, err := range errs {
				require.ErrorAs(t, err, &sides[i], "peer %d", i)
				require.ErrorIs(t, err, session.ErrRefused)
				require.Equal(t, setting, sides[i].Setting)
				require.Equal(t, driftback.Peer(1-i), sides[i].Peer)
				require.ErrorContains(t, err, setting)
				require.ErrorContains(t, err, sides[i].Ours)
				require.ErrorContains(t, err, sides[i].Theirs)
			}
			require.NotEqual(t, sides[0].Ours, sides[0].Theirs)
			require.Equal(t, sides[0].Ours, sides[1].Theirs)
			require.Equal(t, sides[0].Theirs, sides[1].Ours)
			if c.values[0] != "" {
				require.Equal(t, c.values, [2]string{sides[0].Ours, sides[0].Theirs})
			}
		})
	}
	t.Run("and nothing else keeps two peers apart", func(t *testing.T) {
		errs := meet(t, changed(t, func(c *config) {
			c.InputDelay, c.Redundancy, c.History, c.Build = 3, 9, 100, "1"
			c.PeerTimeout, c.RejoinGrace, c.AtLimit, c.EffectTolerance = time.Second, time.Second, session.Halt, 4
		}))
		require.Equal(t, [2]error{}, errs)
		errs = meet(t, changed(t, func(c *config) { c.Build = "" }))
		require.Equal(t, [2]error{}, errs, "an unknown build is not compared")
	})
}

func TestAnotherVersionOfTheFormatIsRefusedByName(t *testing.T) {
	m, s, hello := newSpeaker(t, nil)
	b, err := wire.AppendControl(nil, hello)
	require.NoError(t, err)
	const version = 6 // behind the kind and the magic, for ever
	require.Equal(t, byte(wire.Version), b[version])
	b[version] = 9
	s.say(b[:version+2]) // and whatever that version says next
	m.run(5)
	var mismatch *session.MismatchError
	require.ErrorAs(t, m.peers[0].err, &mismatch)
	require.Equal(t, session.MismatchError{Peer: 1, Setting: "protocol version", Ours: "1", Theirs: "9"}, *mismatch)
	s.listen()
	leave, ok := s.got[len(s.got)-1].(wire.Leave)
	require.True(t, ok)
	require.Contains(t, leave.Text, "versions differ")
}

func TestWhatAPeerSaysThatCannotBeAgreedToIsRefusedByName(t *testing.T) {
	t.Run("a delay beyond the limit", func(t *testing.T) {
		m, s, hello := newSpeaker(t, nil)
		hello.Delays[0].Ticks = 61
		s.sayControl(hello)
		m.run(5)
		require.ErrorIs(t, m.peers[0].err, session.ErrRefused)
		require.ErrorContains(t, m.peers[0].err, `the input delay of participant 1 is "61" at peer 1 and "at most 60" here`)
	})
	t.Run("participants that are not its own", func(t *testing.T) {
		m, s, hello := newSpeaker(t, nil)
		hello.Delays[0].Participant = 0
		s.sayControl(hello)
		m.run(5)
		require.ErrorIs(t, m.peers[0].err, session.ErrRefused)
		require.ErrorContains(t, m.peers[0].err, "who plays whom (Players, Self)")
	})
	t.Run("another seed", func(t *testing.T) {
		m, taps := newTappedMatch(t, 2, nil)
		taps[1].reliable = func(_ driftback.Peer, b []byte, pass func([]byte)) {
			pass(rewriteControl(t, b, func(c wire.Control) wire.Control {
				if s, ok := c.(wire.Start); ok {
					s.Seed++
					return s
				}
				return c
			}))
		}
		m.run(30)
		require.ErrorIs(t, m.peers[0].err, session.ErrRefused)
		require.ErrorContains(t, m.peers[0].err, "the seed")
		require.Error(t, m.peers[1].err)
	})
	t.Run("bytes that are no message", func(t *testing.T) {
		m, s, _ := newSpeaker(t, nil)
		s.say([]byte("GET / HTTP/1.1"))
		m.run(5)
		require.ErrorIs(t, m.peers[0].err, session.ErrRefused)
		require.ErrorContains(t, m.peers[0].err, "peer 1 sent what is not a message")
	})
}
