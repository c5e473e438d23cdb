package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

func TestEveryOrderOfComingBeginsTheMatch(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}, {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {3, 1, 0, 2}} {
		for _, gap := range []int{0, 1, 37} {
			for name, link := range map[string]loopback.Impairment{
				"a clean link": {}, "a bad link": {Latency: 80 * ms, Jitter: 40 * ms, Loss: 0.25},
			} {
				t.Run(fmt.Sprint(order, " ", gap, " frames apart over ", name), func(t *testing.T) {
					m := newEmptyMatch(t)
					for from := range order {
						for to := range order {
							if from != to {
								m.impairOne(driftback.Peer(from), driftback.Peer(to), link)
							}
						}
					}
					for i, peer := range order {
						m.add(m.config(peer, len(order), nil))
						m.run(gap)
						for _, p := range m.peers {
							require.True(t, i == len(order)-1 || p.tick() == 0, "nobody begins before all have come")
						}
					}
					m.runUntil(100)
				})
			}
		}
	}
}

func TestAPeerThatNeverComesIsNamedByEveryOther(t *testing.T) {
	for name, apart := range map[string]int{"who came together": 0, "who came a second apart": 60} {
		t.Run(name, func(t *testing.T) {
			m := newEmptyMatch(t)
			for i := range 2 {
				m.add(m.config(i, 3, func(c *session.Config[state, input]) { c.JoinTimeout = 3 * time.Second }))
				m.run(apart)
			}
			m.run(170 - 2*apart)
			m.requireLive()
			m.run(20 + apart)
			for _, p := range m.peers {
				require.ErrorIs(t, p.err, session.ErrNeverJoined, "peer %d", p.self)
				require.ErrorContains(t, p.err, "within 3s: peer 2 is not connected")
				require.Zero(t, p.tick())
			}
		})
	}
}

// speaker is a peer that a test plays by hand.
type speaker struct {
	t   *testing.T
	end *loopback.Endpoint
	got []wire.Control // what it has been sent
}

func (s *speaker) say(b []byte) { require.NoError(s.t, s.end.SendReliable(0, b)) }

func (s *speaker) sayControl(c wire.Control) {
	b, err := wire.AppendControl(nil, c)
	require.NoError(s.t, err)
	s.say(b)
}

// listen takes everything that has arrived.
func (s *speaker) listen() {
	for {
		m, ok := s.end.Receive()
		if !ok {
			return
		}
		if m.Kind == transport.Reliable {
			c, err := wire.ParseControl(m.Data)
			require.NoError(s.t, err)
			s.got = append(s.got, c)
		}
	}
}

// newSpeaker returns a match of one real peer, 0, and one played by hand, 1, to
// which the real one has said hello.
func newSpeaker(t *testing.T, change func(c *session.Config[state, input])) (*match, *speaker, wire.Hello) {
	t.Helper()
	m := newEmptyMatch(t)
	m.add(m.config(0, 2, change))
	s := &speaker{t: t, end: m.net.Open(1)}
	m.run(5)
	s.listen()
	require.Len(t, s.got, 1)
	hello := s.got[0].(wire.Hello)
	hello.Nonce = 2
	hello.Delays = []wire.Delay{{Participant: 1}}
	return m, s, hello
}

func TestWhoHasComeHalfWayIsNamedWithHowFar(t *testing.T) {
	short := func(c *session.Config[state, input]) { c.JoinTimeout = 3 * time.Second }
	m, _, _ := newSpeaker(t, short)
	m.run(200)
	require.ErrorIs(t, m.peers[0].err, session.ErrNeverJoined)
	require.ErrorContains(t, m.peers[0].err, "peer 1 is connected but said nothing")

	m, s, hello := newSpeaker(t, short)
	s.sayControl(hello)
	m.run(200)
	require.ErrorIs(t, m.peers[0].err, session.ErrNeverJoined)
	require.ErrorContains(t, m.peers[0].err, "peer 1 said hello but has not begun")

	m, s, _ = newSpeaker(t, short)
	require.NoError(t, s.end.Close())
	m.run(200)
	require.ErrorIs(t, m.peers[0].err, session.ErrNeverJoined)
	require.ErrorContains(t, m.peers[0].err, "peer 1 is not connected (loopback: the peer closed its endpoint)")
}

func TestEveryPeerHasAHandInTheSeed(t *testing.T) {
	seeds := func(nonces ...uint64) (seen [3]uint64) {
		m := newMatch(t, 3, func(c *session.Config[state, input]) {
			c.Nonce = nonces[c.Self]
			self := c.Self
			c.Start = func(seed uint64, s *state) {
				seen[self] = seed
				s.Digest = seed
			}
		})
		for range 30 {
			m.net.Advance(frame)
			for _, p := range m.peers {
				_, err := p.session.Poll(m.net.Now())
				require.NoError(t, err)
			}
		}
		m.oracle.state.Digest = seen[0]
		m.runUntil(50)
		require.NotZero(t, seen[0])
		require.Equal(t, seen[0], seen[1])
		require.Equal(t, seen[0], seen[2])
		return seen
	}
	all := map[uint64]bool{}
	for _, nonces := range [][]uint64{{1, 2, 3}, {4, 2, 3}, {1, 4, 3}, {1, 2, 4}, {2, 1, 3}} {
		all[seeds(nonces...)[0]] = true
	}
	require.Len(t, all, 5, "the seed changes with each peer's nonce")
}

func TestARepeatedHandshakeCountsOnce(t *testing.T) {
	m, taps := newTappedMatch(t, 3, nil)
	repeats := 0
	for _, p := range taps {
		p.reliable = func(_ driftback.Peer, b []byte, pass func([]byte)) {
			pass(b)
			pass(b)
			repeats++
		}
	}
	m.runUntil(100)
	require.GreaterOrEqual(t, repeats, 3*2*2, "a hello and a start for each other peer")
	total := 0
	for _, p := range m.peers {
		for _, n := range p.session.Stats().Refused {
			total += int(n)
		}
	}
	require.Positive(t, total, "repeated hellos are refused and counted")

	// A peer of three that says everything twice does not stand in for another.
	m = newEmptyMatch(t)
	m.wrap = func(e *loopback.Endpoint) transport.Transport {
		tr := &tap{Endpoint: e}
		tr.reliable = func(_ driftback.Peer, b []byte, pass func([]byte)) { pass(b); pass(b) }
		return tr
	}
	for i := range 2 {
		m.add(m.config(i, 3, nil))
	}
	m.run(200)
	m.requireLive()
	for _, p := range m.peers {
		require.Zero(t, p.tick())
	}
}
