package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/relay"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// down takes a player's link with the relay down, and up again if it is to be.
func (m *relayed) down(p int, up bool) {
	do := m.net.TakeDown
	if up {
		do = m.net.BringUp
	}
	require.NoError(m.t, do(driftback.Peer(p), relayPeer))
}

func TestALinkWithTheRelayMayGoDownAndComeUp(t *testing.T) {
	for name, c := range map[string]struct {
		who   []int
		after driftback.Tick // 0: before the match has begun
		again int
		away  int // frames
	}{
		"one player's, before the match":  {[]int{1}, 0, 1, 40},
		"everybody's, before the match":   {[]int{0, 1, 2}, 0, 1, 40},
		"one player's":                    {[]int{1}, 100, 1, 120},
		"one player's, again and again":   {[]int{1}, 100, 10, 15},
		"two players'":                    {[]int{0, 2}, 100, 3, 30},
		"everybody's":                     {[]int{0, 1, 2}, 100, 2, 60},
		"one player's, when it is for ms": {[]int{2}, 100, 10, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newRelayed(t, 3, 0, nil)
			for i, p := range m.players {
				m.link(i, loopback.Impairment{Latency: 20 * ms, Jitter: 10 * ms, Loss: 0.05})
				require.NoError(t, p.session.Finish(700))
			}
			if c.after > 0 {
				m.runUntil(c.after)
			} else {
				m.run(4)
				require.NotEqual(t, mesh.Playing, m.relay.Phase())
			}
			for range c.again {
				for _, p := range c.who {
					m.down(p, false)
				}
				m.run(c.away)
				for _, p := range c.who {
					m.down(p, true)
				}
				m.run(15)
			}
			for range 3000 {
				m.run(1)
			}
			require.ErrorIs(t, m.err, mesh.ErrFinished)
			for i, p := range m.players {
				require.ErrorIs(t, p.err, session.ErrFinished)
				require.Equal(t, driftback.Tick(700), p.confirmed)
				require.Positive(t, p.checked)
				m.compareEffects(p)
				downs := m.net.Stats(driftback.Peer(i), relayPeer).Downs
				for _, w := range c.who {
					require.True(t, w != i || downs == uint64(c.again), "its link was down %d times", downs)
				}
			}
			require.Zero(t, sum(m.gones))
		})
	}
}

func TestWhoNeedsMoreThanTheRelayKeepsIsCutByName(t *testing.T) {
	m := newRelayedOf(t, relaying{
		players: 3, relay: relay.Config{History: 64, PeerTimeout: relay.None},
		session: func(c *session.Config[state, input]) { c.PeerTimeout = session.None },
	})
	m.runUntil(100)
	m.players[1].asleep = true
	for m.relay.Lost(1) == nil {
		m.run(1)
		require.Less(t, m.frames, 2000)
	}
	var behind *relay.BehindError
	require.ErrorAs(t, m.relay.Lost(1), &behind)
	require.ErrorIs(t, behind, mesh.ErrPeerLost)
	require.Equal(t, driftback.Peer(1), behind.Peer)
	require.Less(t, behind.Acked, behind.Oldest)
	require.ErrorContains(t, behind, "peer 1 has not acknowledged tick 1")
	m.players[1].asleep = false
	from := m.players[0].confirmed
	m.run(100)
	require.ErrorIs(t, m.players[1].err, session.ErrCutOff)
	require.ErrorContains(t, m.players[1].err, "it has not acknowledged tick 1")
	for _, i := range []int{0, 2} {
		require.NoError(t, m.players[i].err)
		require.Greater(t, m.players[i].confirmed, from+80)
	}
	require.Positive(t, m.gones[1])
}

func TestWithoutPlayOnTheLossOfOneEndsTheMatchForAll(t *testing.T) {
	for name, c := range map[string]struct {
		goes func(m *relayed)
		want error
		says string
	}{
		"silent":             {func(m *relayed) { m.link(2, loopback.Impairment{Blocked: true}) }, session.ErrPeerLost, "peer 2: nothing came from it for 5"},
		"leaves":             {func(m *relayed) { m.players[2].session.Leave(); m.players[2].err = session.ErrLeft }, session.ErrPeerLeft, "peer 2: it left"},
		"halts":              {func(m *relayed) { m.players[2].session.Halt("enough"); m.players[2].err = session.ErrHalted }, session.ErrHalted, "enough"},
		"control: all there": {func(*relayed) {}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newRelayed(t, 3, 0, func(c *session.Config[state, input]) { c.WhenLost = session.End })
			m.runUntil(100)
			c.goes(m)
			m.run(400)
			if c.want == nil {
				require.NoError(t, m.err)
				require.Greater(t, m.players[0].confirmed, driftback.Tick(450))
				return
			}
			require.Error(t, m.err)
			for _, p := range m.players[:2] {
				require.ErrorIs(t, p.err, c.want)
				require.ErrorContains(t, p.err, c.says)
				require.Positive(t, p.checked)
			}
			require.Error(t, m.players[2].err)
			require.Zero(t, sum(m.gones))
		})
	}
}

func TestWhoDiffersInTheEndIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		players int
		lost    session.Loss
		odd     []int
	}{
		"of two":                     {2, session.PlayOn, []int{1}},
		"of three":                   {3, session.PlayOn, []int{1}},
		"of three, who do not go on": {3, session.End, []int{1}},
		"each of three":              {3, session.PlayOn, []int{1, 2}},
		"two of five":                {5, session.PlayOn, []int{0, 3}},
		"control: nobody":            {3, session.PlayOn, nil},
	} {
		t.Run(name, func(t *testing.T) {
			odd := map[driftback.Peer]bool{}
			for _, p := range c.odd {
				odd[driftback.Peer(p)] = true
			}
			m := newRelayed(t, c.players, 0, func(s *session.Config[state, input]) {
				s.WhenLost = c.lost
				if self := s.Self; odd[self] {
					s.Step = func(s *state, in []input, pass *driftback.Pass) {
						if step(s, in, pass); pass.Tick() == 300 { // no fingerprint is due after that
							s.Level[3] += int32(self) + 1
						}
					}
				}
			})
			for i, p := range m.players {
				m.link(i, loopback.Impairment{Latency: 20 * ms, Loss: 0.05})
				require.NoError(t, p.session.Finish(303))
				if odd[p.self] {
					p.differs = 301
				}
			}
			m.run(700)
			majority := 2*(c.players-len(c.odd)) > c.players
			if majority && c.lost == session.PlayOn {
				require.ErrorIs(t, m.err, mesh.ErrFinished)
			} else {
				var desync *mesh.DesyncError
				require.ErrorAs(t, m.err, &desync)
				require.Equal(t, driftback.Tick(303), desync.Tick)
			}
			for _, p := range m.players {
				if majority && c.lost == session.PlayOn && !odd[p.self] {
					require.ErrorIs(t, p.err, session.ErrFinished)
					continue
				}
				var desync *session.DesyncError
				require.ErrorAs(t, p.err, &desync, "peer %d", p.self)
				require.Equal(t, driftback.Tick(303), desync.Tick)
				require.NotEqual(t, desync.Ours, desync.Theirs)
				var s state
				at, ok := p.session.DesyncState(&s)
				require.True(t, ok)
				require.Equal(t, driftback.Tick(303), at)
			}
			for _, p := range c.odd {
				if majority && c.lost == session.PlayOn {
					require.Error(t, m.relay.Lost(driftback.Peer(p)))
				}
			}
		})
	}
}

func TestWithoutPlayOnWhoDiffersEndsTheMatchForAll(t *testing.T) {
	m := newRelayed(t, 3, 0, func(c *session.Config[state, input]) {
		if c.WhenLost = session.End; c.Self == 1 {
			c.Step = func(s *state, in []input, pass *driftback.Pass) {
				if step(s, in, pass); pass.Tick() == 90 {
					s.Level[3]++
				}
			}
		}
	})
	m.players[1].differs = 91
	m.run(300)
	for _, p := range m.players {
		var desync *session.DesyncError
		require.ErrorAs(t, p.err, &desync, "peer %d", p.self)
		require.Equal(t, driftback.Tick(96), desync.Tick)
	}
}

// What the game refuses the relay cannot know: it is in the set, and everybody alike, its owner too,
// has the zero input in its place.
func TestAnInputThatTheGameRefusesIsZeroForAll(t *testing.T) {
	const bad = 0x8000
	refused := func(at driftback.Tick) bool { return at > 120 && at%7 == 0 }
	said := func(p int, at driftback.Tick) input {
		in := play(5)(p, at)
		if in.Buttons &^= bad; p == 1 && refused(at) {
			in.Buttons |= bad
		}
		return in
	}
	valid := func(in input) bool { return in.Buttons&bad == 0 }
	m := newRelayedOf(t, relaying{
		players: 3, session: func(c *session.Config[state, input]) { c.Valid = valid },
		wrap: func(p driftback.Peer, e *loopback.Endpoint) transport.Transport {
			if p != 1 {
				return e
			}
			return &tap{Endpoint: e, datagram: func(_ driftback.Peer, b []byte, pass func([]byte)) {
				pass(rewrite(t, b, func(p *wire.Packet) {
					for _, r := range p.Runs {
						for i := range r.Count {
							in := said(1, r.First+driftback.Tick(i))
							r.Inputs[2*i+1] = byte(in.Buttons >> 8)
						}
					}
				}))
			}}
		},
	})
	m.valid = valid
	m.script, m.sent = func(p int, at driftback.Tick) input { in := said(p, at); in.Buttons &^= bad; return in }, said
	for i := range m.players {
		m.link(i, loopback.Impairment{Latency: 30 * ms})
	}
	m.runUntil(600)
	require.Zero(t, sum(m.lates))
	for _, p := range m.players {
		require.Greater(t, p.session.Stats().Refused[mesh.BadInput], uint64(50))
		require.Greater(t, p.checked, 200)
	}
}

func TestWithoutTheRelayAllEndWithinTheTimeOut(t *testing.T) {
	const timeout = 2 * time.Second
	for name, c := range map[string]struct {
		goes func(m *relayed)
		most time.Duration
	}{
		"it is still":                {func(m *relayed) { m.still = true }, timeout + 100*ms},
		"its links are down":         {func(m *relayed) { m.down(0, false); m.down(1, false); m.down(2, false) }, timeout + 100*ms},
		"it is another process":      {func(m *relayed) { m.restart() }, 200 * ms},
		"it is stopped by its owner": {func(m *relayed) { m.relay.Halt("closing time") }, 200 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			m := newRelayed(t, 3, 0, func(c *session.Config[state, input]) { c.PeerTimeout = timeout })
			m.runUntil(100)
			from := m.net.Now()
			c.goes(m)
			for m.players[0].err == nil || m.players[1].err == nil || m.players[2].err == nil {
				m.run(1)
				require.Less(t, m.net.Now()-from, c.most)
			}
			for _, p := range m.players {
				if name == "it is stopped by its owner" {
					require.ErrorIs(t, p.err, session.ErrHalted)
					require.ErrorContains(t, p.err, "closing time")
					continue
				}
				var lost *session.LostError
				require.ErrorAs(t, p.err, &lost)
				require.Equal(t, relayPeer, lost.Peer)
				require.ErrorIs(t, p.err, session.ErrPeerLost)
				require.GreaterOrEqual(t, lost.Tick, driftback.Tick(100))
			}
		})
	}
}

// A relay that nobody calls for less than the time-out is no matter.
func TestARelayMayBeHeldUp(t *testing.T) {
	m := newRelayed(t, 3, 0, nil)
	m.runUntil(100)
	for range 5 {
		m.still = true
		m.run(60)
		m.still = false
		m.run(30)
	}
	m.runUntil(600)
	require.Zero(t, sum(m.gones))
}
