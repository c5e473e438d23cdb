package session_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/snapshot"
	"github.com/driftback/driftback/transport/loopback"
)

func TestMoreThanTwoPeersAndSeveralParticipantsEach(t *testing.T) {
	for name, c := range map[string]struct {
		players []driftback.Peer
		delays  []int
	}{
		"three peers":                               {players: []driftback.Peer{0, 1, 2}},
		"four peers":                                {players: []driftback.Peer{0, 1, 2, 3}},
		"three peers with delays of their own":      {players: []driftback.Peer{0, 1, 2}, delays: []int{0, 3, 6}},
		"two peers with two participants each":      {players: []driftback.Peer{0, 0, 1, 1}},
		"two participants that do not lie together": {players: []driftback.Peer{0, 1, 0, 1}, delays: []int{2, 1}},
		"one with three and one with one":           {players: []driftback.Peer{1, 0, 0, 0}, delays: []int{4, 0}},
		"peers whose numbers are far apart":         {players: []driftback.Peer{63, 0, 17}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newEmptyMatch(t)
			m.script = play(3)
			var selves []driftback.Peer
			for _, p := range c.players {
				if !slices.Contains(selves, p) {
					selves = append(selves, p)
				}
			}
			for i, self := range selves {
				m.add(m.config(0, 0, func(s *session.Config[state, input]) {
					s.Self, s.Players, s.Nonce = self, c.players, uint64(self)+1
					if c.delays != nil {
						s.InputDelay = c.delays[i]
					}
				}))
			}
			m.impair(loopback.Impairment{Latency: 50 * ms, Jitter: 20 * ms, Loss: 0.15, Reorder: 0.1, Duplicate: 0.1})
			m.runUntil(1000)
			rollbacks := 0
			for _, p := range m.peers {
				s := p.session.Stats()
				rollbacks += int(s.Loop.Rollbacks)
				require.Zero(t, s.Refused)
				require.Len(t, s.Peers, len(selves)-1)
				require.Greater(t, s.Agreed, driftback.Tick(800))
				require.Greater(t, p.checked, 200)
			}
			require.Greater(t, rollbacks, 200)
			m.finish(max(m.peers[0].tick(), m.peers[1].tick(), m.peers[len(m.peers)-1].tick()) + 20)
			m.runWhile(2000, "not finished", func() bool { return !m.ended() })
			for _, p := range m.peers {
				require.ErrorIs(t, p.err, session.ErrFinished)
			}
		})
	}
}

func TestThePeersOfABadLinkWaitForItAndTheOthersDoToo(t *testing.T) {
	m := newMatch(t, 3, nil)
	m.runUntil(100)
	m.impairOne(1, 2, loopback.Impairment{Blocked: true})
	m.run(100)
	m.requireLive()
	for _, p := range m.peers {
		require.Less(t, p.tick(), driftback.Tick(100+2*session.DefaultWindow+20), "peer %d", p.self)
	}
	m.impairOne(1, 2, loopback.Impairment{})
	m.requireProgress(100)
}

// failing is a store whose saves fail after a while.
type failing struct {
	snapshot.Store[world]
	left int
}

func (f *failing) Save(i int, s *world) error {
	if f.left--; f.left < 0 {
		return errors.New("the disk is full")
	}
	return f.Store.Save(i, s)
}
