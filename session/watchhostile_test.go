package session_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// gone returns the events about watchers that have gone, which it takes out.
func (p *peer) gone() (list []session.Event) {
	for _, e := range p.events {
		if e.Kind == session.WatcherGone {
			list = append(list, e)
		}
	}
	p.events = nil
	return list
}

func TestASpectatorThatFloodsIsDroppedAndNobodyWaitsForIt(t *testing.T) {
	without := traceOf(t, nil)
	for name, send := range map[string]func(s *spectator, frame int){
		"with datagrams of nothing": func(s *spectator, _ int) {
			for range 900 {
				s.end.Send(0, []byte{1, 2, 3})
				s.end.Send(1, []byte{0x80, 2, 3, 4, 5, 6})
			}
		},
		"with messages of nothing": func(s *spectator, _ int) {
			for range 100 {
				_ = s.end.SendReliable(0, []byte{0xff, 1})
				_ = s.end.SendReliable(1, []byte{4, 1, 0, 0})
			}
		},
		"with hellos": func(s *spectator, frame int) {
			b, err := wire.AppendControl(nil, wire.Hello{Match: 77, Nonce: uint64(frame)})
			require.NoError(s.match.t, err)
			for range 100 {
				_ = s.end.SendReliable(0, b)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var gone []session.Event
			with := traceOf(t, func(m *match, frame int) {
				switch {
				case frame == 0:
					m.watch(9, nil)
				case frame == 300:
					require.Equal(m.t, 1, m.peers[0].session.Watchers(), "let in before it floods")
					m.watchers[0].asleep = true
				case frame == 1499:
					require.Zero(m.t, m.peers[0].session.Watchers())
					gone = m.peers[0].gone()
				case frame > 300:
					send(m.watchers[0], frame)
				}
			})
			require.Equal(t, without, with)
			require.Len(t, gone, 1)
			require.ErrorIs(t, gone[0].Err, session.ErrDropped)
		})
	}
	m := newMatch(t, 2, watched(3))
	m.run(1500)
	require.NotEqual(t, without[0].sent, m.stats(0, 1), "another match has another trace")
}

func TestInputsOfASpectatorAreRefusedAndCounted(t *testing.T) {
	m := newMatch(t, 2, watched(1))
	forged := 0
	s := m.watch(9, func(c *session.WatchConfig[state, input]) {
		c.Transport = &tap{Endpoint: c.Transport.(*loopback.Endpoint), datagram: func(_ driftback.Peer, b []byte, pass func([]byte)) {
			pass(b)
			var p wire.Packet
			if p.Parse(b, stride) != nil || len(p.Acks) == 0 || forged == 20 {
				return
			}
			p.Runs = append(p.Runs, wire.Run{Participant: 1, First: p.Acks[0].Next + 3, Count: 1, Inputs: []byte{7, 7}})
			lie, err := p.Append(nil, stride)
			require.NoError(t, err)
			pass(lie)
			forged++
		}}
	})
	m.runUntil(600)
	require.Equal(t, 20, forged)
	require.Equal(t, 20, m.peers[0].refused(mesh.NotOwner))
	require.NoError(t, s.err, "it is still fed")
	require.Greater(t, s.result.Tick, driftback.Tick(550))
}

func TestASpectatorOfAnotherGameIsTurnedAwayByName(t *testing.T) {
	m := newMatch(t, 2, watched(1))
	for setting, change := range map[string]func(c *session.WatchConfig[state, input]){
		"game":                 func(c *session.WatchConfig[state, input]) { c.Game = "chess" },
		"match":                func(c *session.WatchConfig[state, input]) { c.Match++ },
		"prediction window":    func(c *session.WatchConfig[state, input]) { c.PredictionWindow = 3 },
		"fingerprint interval": func(c *session.WatchConfig[state, input]) { c.FingerprintEvery = 16 },
		"players": func(c *session.WatchConfig[state, input]) {
			c.Players = []driftback.Peer{1, 0}
			c.Feeders = []driftback.Peer{0}
		},
	} {
		s := m.watch(9, change)
		m.run(100)
		require.ErrorIs(t, s.err, session.ErrRefused, setting)
		require.ErrorContains(t, s.err, setting)
		m.watchers = nil
	}
	m.requireLive()
}

func TestNoMoreWatchThanMay(t *testing.T) {
	m := newMatch(t, 2, watched(1))
	feeder := func(c *session.WatchConfig[state, input]) { c.Feeders = []driftback.Peer{0} }
	first := m.watch(9, feeder)
	m.run(30)
	second := m.watch(10, feeder)
	m.run(100)
	require.NoError(t, first.err)
	require.ErrorIs(t, second.err, session.ErrNoFeeder)
	require.ErrorContains(t, second.err, "1 watch already")
	first.session.Leave()
	m.run(10)
	m.watchers = nil
	third := m.watch(11, feeder)
	m.run(200)
	require.NoError(t, third.err)
	require.Greater(t, third.result.Tick, driftback.Tick(250))

	m = newMatch(t, 2, nil)
	uninvited := m.watch(9, func(c *session.WatchConfig[state, input]) { c.JoinTimeout, c.PeerTimeout = time.Second, time.Second })
	m.run(1000)
	require.ErrorIs(t, uninvited.err, session.ErrNoFeeder)
	require.Positive(t, m.peers[0].refused(mesh.Stranger))
}

func TestASpectatorWhoseStepDiffersEndsByNameAndAlone(t *testing.T) {
	m := newMatch(t, 2, watched(1))
	s := m.watch(9, func(c *session.WatchConfig[state, input]) {
		c.Step = func(s *state, in []input, pass *driftback.Pass) {
			step(s, in, pass)
			if pass.Tick() == 100 {
				s.Digest++
			}
		}
	})
	s.maybeDiffers = true
	m.runUntil(300)
	var desync *session.DesyncError
	require.ErrorAs(t, s.err, &desync)
	require.EqualValues(t, 104, desync.Tick)
	require.EqualValues(t, 101, s.wrong)
	ours, ok := s.session.Root(104)
	require.True(t, ok)
	require.Equal(t, ours, desync.Ours)
	m.requireLive()
	require.Len(t, m.peers[0].gone(), 1)
}

func TestAStateThatIsNotWhatThePlayersAgreedOnIsRefused(t *testing.T) {
	m := newMatch(t, 2, watched(1))
	m.runUntil(1000)
	s := m.watch(9, func(c *session.WatchConfig[state, input]) {
		c.Transport = &spoiling{c.Transport, func(b []byte) {
			if c, err := wire.ParseControl(b); err == nil {
				if chunk, ok := c.(wire.TransferChunk); ok {
					chunk.Bytes[8] ^= 1
				}
			}
		}}
	})
	m.run(100)
	require.ErrorIs(t, s.err, session.ErrNoFeeder)
	require.ErrorContains(t, s.err, "checksum")
	m.requireLive()
	m.watchers = nil

	// A feeder whose state is another one, with the right checksum.
	m = newMatch(t, 2, watched(1))
	m.runUntil(1000)
	s = m.watch(9, func(c *session.WatchConfig[state, input]) {
		c.Transport = &spoiling{c.Transport, func(b []byte) {
			if c, err := wire.ParseControl(b); err == nil {
				if offer, ok := c.(wire.TransferOffer); ok {
					offer.Sum++
					again, err := wire.AppendControl(b[:0], offer)
					require.NoError(t, err)
					require.Equal(t, len(b), len(again))
				}
			}
		}}
	})
	s.maybeDiffers = true
	m.run(100)
	var desync *session.DesyncError
	require.ErrorAs(t, s.err, &desync)
	require.Equal(t, desync.Ours+1, desync.Theirs)
}

// spoiling changes what arrives on the reliable channel.
type spoiling struct {
	transport.Transport
	spoil func(b []byte)
}

func (s *spoiling) Receive() (transport.Message, bool) {
	m, ok := s.Transport.Receive()
	if ok && m.Kind == transport.Reliable {
		m.Data = slices.Clone(m.Data)
		s.spoil(m.Data)
	}
	return m, ok
}

func TestAnythingASpectatorIsFedIsTakenOrEndsItByName(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(60) {
		m := newMatch(t, 2, watched(1))
		m.runUntil(driftback.Tick(seed % 2 * 600))
		random := rand.New(rand.NewPCG(seed, 5))
		s := m.watch(9, func(c *session.WatchConfig[state, input]) {
			c.Feeders = []driftback.Peer{0}
			c.Transport = &spoiling{c.Transport, func(b []byte) {
				if random.IntN(40) == 0 {
					b[random.IntN(len(b))] ^= 1 << random.IntN(8)
				}
			}}
		})
		s.maybeDiffers = true
		m.run(300)
		m.requireLive()
		var desync *session.DesyncError
		switch {
		case s.err == nil:
			outcomes["goes on"]++
		case errors.As(s.err, &desync):
			outcomes["desync"]++
		case errors.Is(s.err, session.ErrNoFeeder):
			outcomes["let go of"]++
		case errors.Is(s.err, session.ErrRefused):
			outcomes["refused"]++
		default:
			t.Fatalf("ended with %v", s.err)
		}
	}
	t.Log(outcomes)
	require.Greater(t, outcomes["let go of"], 5)
	require.Greater(t, outcomes["desync"], 2, "inputs that are valid and wrong")
}

func TestEveryConfigErrorOfASpectatorNamesTheFieldAndTheValue(t *testing.T) {
	type config = session.WatchConfig[state, input]
	for name, c := range map[string]struct {
		change func(c *config)
		says   []string
	}{
		"a self who plays":               {func(c *config) { c.Self = 1 }, []string{"Self", "1", "Players"}},
		"a self beyond the last":         {func(c *config) { c.Self = 64 }, []string{"Self", "64"}},
		"a self who feeds itself":        {func(c *config) { c.Feeders = []driftback.Peer{0, 9} }, []string{"Feeders", "9"}},
		"no transport":                   {func(c *config) { c.Transport = nil }, []string{"Transport is nil"}},
		"nobody":                         {func(c *config) { c.Players = nil }, []string{"Players", "0"}},
		"a delay below 0":                {func(c *config) { c.Delay = -1 }, []string{"Delay", "-1", "54000"}},
		"a delay longer than allowed":    {func(c *config) { c.Delay = 54_001 }, []string{"Delay", "54001"}},
		"more ticks a call than allowed": {func(c *config) { c.CatchUp = 257 }, []string{"CatchUp", "257", "256"}},
		"a state below 0":                {func(c *config) { c.MaxState = -1 }, []string{"MaxState", "-1"}},
		"no step":                        {func(c *config) { c.Step = nil }, []string{"Step is nil"}},
		"no nonce":                       {func(c *config) { c.Nonce = 0 }, []string{"Nonce is 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newEmptyMatch(t)
			sound := config{Config: m.config(0, 2, nil)}
			sound.Self, sound.Transport = 9, m.net.Open(9)
			_, err := session.Watch(sound)
			require.NoError(t, err, "sound before the change")
			c.change(&sound)
			_, err = session.Watch(sound)
			require.Error(t, err)
			for _, part := range c.says {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

func TestWithoutFingerprintsASpectatorSeesTheBeginningOrIsTurnedAwayByName(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) {
		c.MaxWatchers, c.FingerprintEvery, c.History = 3, session.None, 1024
	})
	m.runUntil(700)
	s := m.watch(9, nil)
	m.run(200)
	require.NoError(t, s.err)
	require.Greater(t, s.result.Tick, driftback.Tick(850))
	_, ok := s.session.Root(8)
	require.False(t, ok)
	m.runUntil(2000)
	late := m.watch(10, nil)
	m.run(100)
	require.ErrorIs(t, late.err, session.ErrNoFeeder)
	require.ErrorContains(t, late.err, "its states cannot be handed over")
	at := m.peers[0].session.Stats().Tick + 10
	m.finish(at)
	m.run(100)
	s.requireFinishedAt(at)
}
