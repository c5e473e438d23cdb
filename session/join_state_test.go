package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// bigState takes seconds to be handed over at the least rate.
type bigState struct {
	Ticks int64
	Land  [160 << 10]byte
}

func bigStep(s *bigState, in []input, pass *driftback.Pass) {
	for p, i := range in {
		at := (int(s.Ticks)*7919 + p*104729) % len(s.Land)
		s.Land[at] += byte(i.Buttons) + byte(pass.Status(driftback.Participant(p)))<<6 + 1
	}
	s.Ticks++
}

// bigMatch is a match of big states.
type bigMatch struct {
	t       *testing.T
	net     *loopback.Network
	players []*session.Lockstep[bigState, input]
	ends    []*loopback.Endpoint
	script  script
	away    map[driftback.Participant]driftback.Tick // from when on those that came back did not play
}

func newBigMatch(t *testing.T, n int) *bigMatch {
	m := &bigMatch{t: t, net: loopback.New(5), script: play(7), away: map[driftback.Participant]driftback.Tick{}}
	for i := range n {
		end := m.net.Open(driftback.Peer(i))
		s, err := session.New(m.config(i, n, end))
		require.NoError(t, err)
		m.players, m.ends = append(m.players, s), append(m.ends, end)
	}
	return m
}

func (m *bigMatch) config(i, n int, end *loopback.Endpoint) session.Config[bigState, input] {
	c := session.Config[bigState, input]{
		Step: bigStep, Transport: end, Self: driftback.Peer(i), Nonce: uint64(i + 1), FingerprintEvery: 60,
		WhenLost: session.PlayOn, Rejoin: true, PeerTimeout: time.Second, WatchRate: 64 << 10,
	}
	for q := range n {
		c.Players = append(c.Players, driftback.Peer(q))
	}
	return c
}

func (m *bigMatch) turn(n int) {
	for range n {
		m.net.Advance(frame)
		for i, s := range m.players {
			if s == nil {
				continue
			}
			if _, err := s.Tick(m.net.Now(), m.script(i, s.Stats().Tick)); err != nil {
				require.ErrorIs(m.t, err, session.ErrFinished, "peer %d", i)
			}
		}
	}
}

// crash ends a peer's process, and with it what the match knows of it.
func (m *bigMatch) crash(i int) {
	m.players[i] = nil
	m.ends[i].Crash()
}

// comeBack brings a peer back: each frame is called until it is in.
func (m *bigMatch) comeBack(i int, each func(frames int, j *session.Joiner[bigState, input])) {
	m.t.Helper()
	m.ends[i] = m.net.Open(driftback.Peer(i))
	c := m.config(i, len(m.players), m.ends[i])
	c.Nonce = 1000
	j, err := session.Join(session.JoinConfig[bigState, input]{Config: c})
	require.NoError(m.t, err)
	for frames := 0; j.Session() == nil; frames++ {
		require.Less(m.t, frames, 2500, "not let in")
		each(frames, j)
		m.turn(1)
		_, err := j.Tick(m.net.Now())
		require.NoError(m.t, err)
	}
	m.players[i] = j.Session()
}

func (m *bigMatch) finishAndCompare() {
	m.t.Helper()
	at := driftback.Tick(0)
	for _, s := range m.players {
		if s != nil {
			at = max(at, s.Stats().Tick+150)
		}
	}
	oracle := &bigState{}
	in, status := make([]input, len(m.players)), make([]driftback.Status, len(m.players))
	var pass driftback.Pass
	var first *session.Lockstep[bigState, input]
	for _, s := range m.players {
		if s != nil {
			require.NoError(m.t, s.Finish(at))
			if first == nil {
				first = s
			}
		}
	}
	m.turn(400)
	for t := range at {
		for p := range in {
			p := driftback.Participant(p)
			in[p], status[p] = m.script(int(p), t), driftback.Playing
			cut, isCut := first.Cut(p)
			back, isBack := first.Joined(p)
			if isCut && t >= cut || isBack && t >= m.away[p] && t < back {
				in[p], status[p] = input{}, driftback.Replaced
			}
		}
		pass.Begin(t, status)
		bigStep(oracle, in, &pass)
	}
	for i, s := range m.players {
		if s != nil {
			require.Equal(m.t, at, s.Stats().Tick, "peer %d", i)
			require.True(m.t, *oracle == *s.State(), "peer %d has another world than the oracle", i)
		}
	}
}

func TestATransferThatIsInterruptedGoesOnFromAnother(t *testing.T) {
	for name, interrupt := range map[string]func(m *bigMatch, feeder driftback.Peer){
		"the sponsor crashes":          func(m *bigMatch, feeder driftback.Peer) { m.crash(int(feeder)) },
		"the sponsor's link goes down": func(m *bigMatch, feeder driftback.Peer) { require.NoError(m.t, m.net.TakeDown(4, feeder)) },
		"and comes up again": func(m *bigMatch, feeder driftback.Peer) {
			require.NoError(m.t, m.net.TakeDown(4, feeder))
			m.turn(3)
			require.NoError(m.t, m.net.BringUp(4, feeder))
		},
		"nothing": func(*bigMatch, driftback.Peer) {},
	} {
		t.Run(name, func(t *testing.T) {
			m := newBigMatch(t, 5)
			m.turn(700)
			m.crash(4)
			m.turn(100)
			cut, ok := m.players[0].Cut(4)
			require.True(t, ok)
			m.away[4] = cut
			was, interrupted := driftback.Peer(0), 0
			var before [4]uint64
			m.comeBack(4, func(frames int, j *session.Joiner[bigState, input]) {
				feeder, feeds := j.Feeder()
				switch {
				case frames == 0:
					for i := range before {
						before[i] = m.net.Stats(driftback.Peer(i), 4).Bytes
					}
				case frames == 90:
					require.False(t, feeds, "the control: the state is on its way")
					require.Greater(t, m.net.Stats(feeder, 4).Bytes-before[feeder], uint64(40<<10), "the control: part of it has come")
					was = feeder
					interrupt(m, feeder)
				case feeds && interrupted == 0:
					interrupted = frames
				case frames > 600 && name == "the sponsor's link goes down":
					require.NoError(t, m.net.BringUp(4, was), "each member must have a link to it")
				}
			})
			t.Logf("it was fed from frame %d on", interrupted)
			require.Greater(t, interrupted, 120)
			m.turn(150)
			m.finishAndCompare()
		})
	}
}
