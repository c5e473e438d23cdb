package session_test

import (
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// rematch takes a peer to the next match; the first one takes the oracle there too, so
// that all must have ended, or left, by then.
func (p *peer) rematch(change func(c *session.Config[state, input])) {
	p.match.t.Helper()
	c := p.config
	c.Match++
	c.Nonce += 1000
	if change != nil {
		change(&c)
	}
	next, err := p.session.Rematch(c)
	require.NoError(p.match.t, err)
	p.config, p.session, p.err = c, next, nil
	p.confirmed, p.checked, p.advanced, p.stalled = 0, 0, 0, 0
	p.effects, p.events, p.local = map[session.Report]int{}, nil, nil
}

// anew gives the next match an oracle that knows of no other, and a script.
func (m *match) anew(s script, delays []int) {
	m.script = s
	m.oracle = &oracle{inputs: func(p int, t driftback.Tick) input { return m.script(p, t) }, step: step, delays: delays}
}

func TestTenRematchesInARowShareNothingButTheLinks(t *testing.T) {
	const n = 3
	var seeds []uint64
	m := newMatch(t, n, func(c *session.Config[state, input]) {
		c.Start = captured(c.Self, &seeds)
		c.RejoinGrace = time.Minute
	})
	m.impair(loopback.Impairment{Latency: 60 * ms, Jitter: 25 * ms, Loss: 0.1, Reorder: 0.2, Duplicate: 0.05})
	talks := talking(m, 11)
	var gone []weak.Pointer[session.Lockstep[state, input]]
	var late, rollbacks uint64
	for round := range 11 {
		at := driftback.Tick(150 + 10*round)
		m.finish(at)
		m.runWhile(3000, "not finished", func() bool { return !m.ended() })
		for _, p := range m.peers {
			require.ErrorIs(t, p.err, session.ErrFinished, "round %d, peer %d", round, p.self)
			require.Equal(t, at, p.confirmed, "round %d", round)
			require.Equal(t, *m.oracle.at(at), *p.session.State())
			s := p.session.Stats()
			rollbacks += s.Loop.Rollbacks
			late += s.Refused[mesh.OtherMatch] + s.Refused[mesh.Early]
			s.Refused[mesh.OtherMatch], s.Refused[mesh.Early] = 0, 0
			require.Equal(t, [mesh.Refusals]uint64{}, s.Refused, "round %d, peer %d", round, p.self)
		}
		if round == 10 {
			break
		}
		// Everything that may differ does: who plays whom, delays, window, what is pressed.
		players := []driftback.Peer{0, 1, 2}
		slices.SortFunc(players, func(a, b driftback.Peer) int { return (int(a)+round)%n - (int(b)+round)%n })
		delays := make([]int, n)
		for q, owner := range players {
			delays[q] = int(owner) * (round % 3)
		}
		m.anew(play(int64(3+round)), delays)
		for i := range n {
			// They come one after the other, in another order each time.
			p := m.peers[(i+round)%n]
			gone = append(gone, weak.Make(p.session))
			p.rematch(func(c *session.Config[state, input]) {
				c.Players, c.InputDelay, c.PredictionWindow = players, int(p.self)*(round%3), 6+round
				c.FingerprintEvery = 4 + round
			})
			s := p.session.Stats()
			s.Peers, s.Refused = nil, [mesh.Refusals]uint64{}
			require.Equal(t, session.Stats{Spacing: 1, Loop: rewind.Counts{}, Status: make([]driftback.Status, len(players))}, s, "it begins with nothing")
			m.alive(p, 10*round)
		}
	}
	require.Len(t, seeds, 11)
	slices.Sort(seeds)
	require.Len(t, slices.Compact(seeds), 11, "every match has a seed of its own")
	require.Greater(t, rollbacks, uint64(200), "the control: guesses were wrong")
	require.Positive(t, late, "the control: what belonged to the match before came in the next")
	for _, p := range m.peers {
		for _, q := range talks[p.self].to {
			require.InDelta(t, talks[p.self].said[q], talks[q].heard[p.self], 5, "from peer %d to peer %d, in order across all matches", p.self, q)
			require.Greater(t, talks[p.self].said[q], uint32(150))
		}
	}
	runtime.GC()
	runtime.GC()
	for i, w := range gone {
		require.Nil(t, w.Value(), "session %d of those that are over is still held", i)
	}
	runtime.KeepAlive(m)
}

// captured is a Start that leaves the state alone and notes peer 0's seeds.
func captured(self driftback.Peer, seeds *[]uint64) func(uint64, *state) {
	return func(seed uint64, _ *state) {
		if self == 0 {
			*seeds = append(*seeds, seed)
		}
	}
}

// alive runs some frames in which the peers whose match is over keep polling it; p is the
// one that has just gone on.
func (m *match) alive(_ *peer, frames int) {
	for range frames {
		m.frames++
		m.net.Advance(frame)
		for _, p := range m.peers {
			if p.err == nil {
				p.turn()
				continue
			}
			r, _ := p.session.Poll(m.net.Now() + p.drift)
			m.check(p, r)
		}
	}
}

func TestARematchBeginsWhateverHappensToTheLinkInBetween(t *testing.T) {
	for name, when := range map[string]func(m *match, down, up func()){
		"down and up before either goes on": func(m *match, down, up func()) {
			down()
			m.alive(nil, 20)
			up()
			m.alive(nil, 20)
			m.peers[0].rematch(nil)
			m.peers[1].rematch(nil)
		},
		"down before and up after": func(m *match, down, up func()) {
			down()
			m.alive(nil, 20)
			m.peers[0].rematch(nil)
			m.alive(nil, 20)
			m.peers[1].rematch(nil)
			m.alive(nil, 20)
			up()
		},
		"while one has gone on": func(m *match, down, up func()) {
			m.peers[0].rematch(nil)
			m.alive(nil, 20)
			down()
			m.alive(nil, 20)
			up()
			m.alive(nil, 20)
			m.peers[1].rematch(nil)
		},
		"while both join": func(m *match, down, up func()) {
			m.peers[0].rematch(nil)
			m.peers[1].rematch(nil)
			m.run(1)
			down()
			m.run(20)
			up()
		},
		"unseen, because nobody polls a match that is over": func(m *match, down, up func()) {
			down()
			m.net.Advance(time.Second)
			up()
			m.net.Advance(time.Second)
			m.peers[0].rematch(nil)
			m.run(30)
			m.peers[1].rematch(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, nil)
			m.check = func(*peer, session.Result) {}
			m.impair(loopback.Impairment{Latency: 50 * ms, Jitter: 20 * ms, Loss: 0.1})
			m.finish(100)
			m.runWhile(2000, "not finished", func() bool { return !m.ended() })
			m.anew(play(5), []int{0, 0})
			when(m, func() { require.NoError(t, m.net.TakeDown(0, 1)) }, func() { require.NoError(t, m.net.BringUp(0, 1)) })
			m.finish(300)
			m.runWhile(4000, "not finished", func() bool { return !m.ended() })
			for _, p := range m.peers {
				require.ErrorIs(t, p.err, session.ErrFinished)
				require.Equal(t, *m.oracle.at(300), *p.session.State())
			}
			require.Positive(t, m.stats(0, 1).Downs, "the control: the link was down")
		})
	}
}

func TestOneThatIsThroughGoesOnWhileTheOtherStillFinishes(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.check = func(*peer, session.Result) {}
	// What 0 says comes late, so that 1 is through long after it.
	require.NoError(t, m.net.Impair(0, 1, loopback.Impairment{Latency: 400 * ms}))
	m.finish(100)
	m.runWhile(2000, "not finished", func() bool { return m.peers[0].err == nil && m.peers[1].err == nil })
	first, second := m.peers[0], m.peers[1]
	if first.err == nil {
		first, second = second, first
	}
	require.ErrorIs(t, first.err, session.ErrFinished)
	require.NoError(t, second.err, "the control: the other is not through")
	waits := m.oracle
	first.rematch(nil)
	for range 60 {
		m.frames++
		m.net.Advance(frame)
		m.oracle = waits
		if second.err == nil {
			second.turn()
		}
		_, err := first.session.Poll(m.net.Now() + first.drift)
		require.NoError(t, err)
	}
	require.ErrorIs(t, second.err, session.ErrFinished)
	require.Equal(t, *waits.at(100), *second.session.State())
	m.anew(play(5), []int{0, 0})
	second.rematch(nil)
	m.runUntil(300)
}

func TestARematchThatTheOtherPeersDoNotComeToEndsWithWhoIsMissing(t *testing.T) {
	m := newMatch(t, 3, func(c *session.Config[state, input]) { c.JoinTimeout = 3 * time.Second })
	m.check = func(*peer, session.Result) {}
	m.finish(50)
	m.runWhile(2000, "not finished", func() bool { return !m.ended() })
	m.anew(play(5), []int{0, 0, 0})
	m.peers[0].rematch(nil)
	m.peers[1].rematch(nil)
	asked := false
	for range 300 {
		m.frames++
		m.net.Advance(frame)
		for _, p := range m.peers {
			r, err := p.session.Poll(m.net.Now() + p.drift)
			p.err = err
			for _, e := range r.Events {
				asked = asked || p.self == 2 && e.Kind == session.PeerRematch
			}
		}
	}
	require.True(t, asked, "the third one is told that it is waited for")
	for _, p := range m.peers[:2] {
		require.ErrorIs(t, p.err, session.ErrNeverJoined)
		require.ErrorContains(t, p.err, "peer 2 is connected but has not come to this match after the one before")
	}

	// They try again, in the same match but as another attempt at it, and it comes too.
	for _, p := range m.peers {
		p.rematch(func(c *session.Config[state, input]) { c.Match, c.Nonce = 99, c.Nonce+7 })
	}
	m.runUntil(200)
}

func TestARematchWithSettingsThatDifferIsRefusedByName(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.finish(50)
	m.runWhile(2000, "not finished", func() bool { return !m.ended() })
	m.anew(play(5), []int{0, 0})
	m.peers[0].rematch(nil)
	m.peers[1].rematch(func(c *session.Config[state, input]) { c.PredictionWindow = 5 })
	m.runWhile(100, "not ended", func() bool { return !m.ended() })
	for _, p := range m.peers {
		require.ErrorIs(t, p.err, session.ErrRefused)
		require.ErrorContains(t, p.err, "prediction window")
	}
}

func TestARematchThatCannotBeLeavesTheMatchAsItWas(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.runUntil(50)
	for want, change := range map[string]func(c *session.Config[state, input]){
		"session: Step is nil":              func(c *session.Config[state, input]) { c.Step = nil },
		"mesh: Nonce is":                    func(c *session.Config[state, input]) { c.Nonce = m.peers[0].config.Nonce },
		"mesh: peer 9 was not in the match": func(c *session.Config[state, input]) { c.Players = []driftback.Peer{0, 9} },
	} {
		c := m.peers[0].config
		c.Nonce = 99
		change(&c)
		_, err := m.peers[0].session.Rematch(c)
		require.ErrorContains(t, err, want)
	}
	m.runUntil(100)

	// Begun before the end, it ends the match for the other as well.
	old := m.peers[0].session
	m.peers[0].rematch(nil)
	_, err := old.Tick(0, input{})
	require.ErrorIs(t, err, session.ErrLeft)
	m.peers[0].asleep = true
	m.runWhile(100, "not left", func() bool { return m.peers[1].err == nil })
	require.ErrorIs(t, m.peers[1].err, session.ErrPeerLeft)
	require.ErrorContains(t, m.peers[1].err, "it began another match")
}

func TestARematchOfATrainingMatch(t *testing.T) {
	c := session.Config[state, input]{Step: step, Players: []driftback.Peer{0, 0}}
	s, err := session.New(c)
	require.NoError(t, err)
	for range 3 {
		for range 10 {
			_, err = s.Tick(0, input{}, input{})
			require.NoError(t, err)
		}
		require.Equal(t, driftback.Tick(10), s.Stats().Tick)
		s, err = s.Rematch(c)
		require.NoError(t, err)
	}
}
