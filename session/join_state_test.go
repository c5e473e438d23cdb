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

// bigMatch is a match of states that take long to be handed over.
type bigMatch[S comparable] struct {
	t       *testing.T
	net     *loopback.Network
	players []*session.Lockstep[S, input]
	ends    []*loopback.Endpoint
	script  script
	away    map[driftback.Participant]driftback.Tick // from when on those that came back did not play
	change  func(c *session.Config[S, input])
	// ticks is called before each call of Tick of a player. It may be nil.
	ticks func(i int)
}

func newBigMatch[S comparable](t *testing.T, n int, change func(c *session.Config[S, input])) *bigMatch[S] {
	m := &bigMatch[S]{t: t, net: loopback.New(5), script: play(7), away: map[driftback.Participant]driftback.Tick{}, change: change}
	for i := range n {
		end := m.net.Open(driftback.Peer(i))
		s, err := session.New(m.config(i, n, end))
		require.NoError(t, err)
		m.players, m.ends = append(m.players, s), append(m.ends, end)
	}
	return m
}

func (m *bigMatch[S]) config(i, n int, end *loopback.Endpoint) session.Config[S, input] {
	c := session.Config[S, input]{
		Transport: end, Self: driftback.Peer(i), Nonce: uint64(i + 1),
		WhenLost: session.PlayOn, Rejoin: true, PeerTimeout: time.Second,
	}
	for q := range n {
		c.Players = append(c.Players, driftback.Peer(q))
	}
	m.change(&c)
	return c
}

// impair sets the impairment of every direction of every link.
func (m *bigMatch[S]) impair(im loopback.Impairment) {
	for a := range m.players {
		for b := range m.players {
			if a != b {
				require.NoError(m.t, m.net.Impair(driftback.Peer(a), driftback.Peer(b), im))
			}
		}
	}
}

func (m *bigMatch[S]) turn(n int) {
	for range n {
		m.net.Advance(frame)
		for i, s := range m.players {
			if s == nil {
				continue
			}
			if m.ticks != nil {
				m.ticks(i)
			}
			if _, err := s.Tick(m.net.Now(), m.script(i, s.Stats().Tick)); err != nil {
				require.ErrorIs(m.t, err, session.ErrFinished, "peer %d", i)
			}
		}
	}
}

// crash ends a peer's process, and with it what the match knows of it.
func (m *bigMatch[S]) crash(i int) {
	m.players[i] = nil
	m.ends[i].Crash()
}

// comeBack brings a peer back: each frame is called until it is in.
func (m *bigMatch[S]) comeBack(i int, change func(c *session.Config[S, input]), each func(frames int, j *session.Joiner[S, input])) {
	m.t.Helper()
	m.ends[i] = m.net.Open(driftback.Peer(i))
	c := m.config(i, len(m.players), m.ends[i])
	c.Nonce = 1000
	if change != nil {
		change(&c)
	}
	j, err := session.Join(session.JoinConfig[S, input]{Config: c})
	require.NoError(m.t, err)
	for frames := 0; j.Session() == nil; frames++ {
		require.Less(m.t, frames, 4000, "not let in")
		each(frames, j)
		m.turn(1)
		_, err := j.Tick(m.net.Now())
		require.NoError(m.t, err)
	}
	m.players[i] = j.Session()
}

// finishAndCompare has the match finish, and holds every peer's last state to that of a
// plain loop over the step which is given every input.
func (m *bigMatch[S]) finishAndCompare() {
	m.t.Helper()
	at := driftback.Tick(0)
	var first *session.Lockstep[S, input]
	for _, s := range m.players {
		if s != nil {
			at = max(at, s.Stats().Tick+150)
			if first == nil {
				first = s
			}
		}
	}
	for _, s := range m.players {
		if s != nil {
			require.NoError(m.t, s.Finish(at))
		}
	}
	m.turn(400)
	oracle, c := new(S), m.config(0, len(m.players), m.ends[0])
	if c.Initial != nil {
		*oracle = *c.Initial
	}
	if c.Start != nil {
		c.Start(0, oracle)
	}
	in, status := make([]input, len(m.players)), make([]driftback.Status, len(m.players))
	var pass driftback.Pass
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
		c.Step(oracle, in, &pass)
	}
	for i, s := range m.players {
		if s != nil {
			require.Equal(m.t, at, s.Stats().Tick, "peer %d", i)
			require.True(m.t, *oracle == *s.State(), "peer %d has another world than the oracle", i)
		}
	}
}

func TestATransferThatIsInterruptedGoesOnFromAnother(t *testing.T) {
	for name, interrupt := range map[string]func(m *bigMatch[bigState], feeder driftback.Peer){
		"the sponsor crashes":          func(m *bigMatch[bigState], feeder driftback.Peer) { m.crash(int(feeder)) },
		"the sponsor's link goes down": func(m *bigMatch[bigState], feeder driftback.Peer) { require.NoError(m.t, m.net.TakeDown(4, feeder)) },
		"and comes up again": func(m *bigMatch[bigState], feeder driftback.Peer) {
			require.NoError(m.t, m.net.TakeDown(4, feeder))
			m.turn(3)
			require.NoError(m.t, m.net.BringUp(4, feeder))
		},
		"nothing": func(*bigMatch[bigState], driftback.Peer) {},
	} {
		t.Run(name, func(t *testing.T) {
			m := newBigMatch(t, 5, func(c *session.Config[bigState, input]) {
				c.Step, c.FingerprintEvery, c.WatchRate = bigStep, 60, 64<<10
			})
			m.turn(700)
			m.crash(4)
			m.turn(100)
			cut, ok := m.players[0].Cut(4)
			require.True(t, ok)
			m.away[4] = cut
			was, interrupted := driftback.Peer(0), 0
			var before [4]uint64
			m.comeBack(4, nil, func(frames int, j *session.Joiner[bigState, input]) {
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
