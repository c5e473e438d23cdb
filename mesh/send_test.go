package mesh

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// players returns the roster of a match in which peer 0 plays n participants and
// peer 1 the last one.
func players(n int) []driftback.Peer {
	list := make([]driftback.Peer, n, n+1)
	return append(list, 1)
}

func TestRunsOfEverySizeArriveWhole(t *testing.T) {
	for _, c := range []struct{ stride, own int }{{1, 1}, {2, 1}, {3, 2}, {16, 4}, {255, 1}, {256, 1}, {256, 2}, {1, 15}, {2, 15}, {256, 15}} {
		for _, smallest := range []bool{false, true} {
			t.Run(fmt.Sprintf("inputs of %d bytes, %d participants, smallest datagrams %v", c.stride, c.own, smallest), func(t *testing.T) {
				for _, ticks := range []int{1, 2, 127, 128, 255, 256, 257, 511, 512, 513, 633} {
					if c.stride*c.own*ticks > 1<<17 && ticks != 257 {
						continue // one size that is split in every way is enough
					}
					m := newMatch(t, 2, func(cfg *Config) {
						cfg.Players, cfg.Stride, cfg.Window = players(c.own), c.stride, MaxWindow
						cfg.FingerprintEvery, cfg.History, cfg.PeerTimeout = 1, 4, None
					})
					if smallest {
						for _, s := range m.seats {
							s.room = smallestRoom(t, s.config)
						}
					}
					m.begin()
					a, b := m.seats[0], m.seats[1]
					a.publish(ticks)
					require.NoError(t, a.mesh.Fingerprint(1, 5)) // a packet has it to carry too
					a.log = nil
					next := make([]driftback.Tick, c.own)
					for more := true; more; more = a.mesh.links[0].midway {
						m.now += frame
						a.turn()
						list := a.packets()
						require.LessOrEqual(t, len(list), maxRound+c.own)
						for _, p := range list {
							for _, r := range p.Runs {
								require.LessOrEqual(t, r.First, next[r.Participant], "packets leave nothing out")
								next[r.Participant] = max(next[r.Participant], r.First+driftback.Tick(r.Count))
							}
						}
					}
					for p := range next {
						require.EqualValues(t, ticks, next[p], "all that is unacknowledged rides along")
					}
					for len(b.inbox) > 0 {
						b.turn() // which compares what arrived with what was published
					}
					require.EqualValues(t, ticks, b.mesh.Held(0))
					require.EqualValues(t, ticks, b.mesh.Held(driftback.Participant(c.own-1)))
				}
			})
		}
	}
}

// TestATransportThatHolds64DatagramsIsEnough keeps the newest of a call, as package
// quic does when the network does not take them fast enough.
func TestATransportThatHolds64DatagramsIsEnough(t *testing.T) {
	for _, own := range []int{1, 3, 15} {
		m := newMatch(t, 2, func(c *Config) {
			c.Players, c.Stride, c.Window, c.PeerTimeout = players(own), 256, MaxWindow, None
		})
		m.begin()
		a, b := m.seats[0], m.seats[1]
		turn := func() {
			m.now += frame
			a.turn()
			b.inbox = b.inbox[max(len(b.inbox)-64, 0):]
			b.turn()
		}
		a.lose = everything
		for range 200 { // peer 0 is ahead by much
			a.publish(1)
			turn()
		}
		require.Zero(t, b.mesh.Held(0))
		a.lose = nil
		rounds := 200 * own / 3 / maxRound
		for range rounds + rounds/2 {
			turn()
		}
		require.EqualValues(t, 200, b.mesh.Held(0), "%d participants", own)
		require.EqualValues(t, 200, b.mesh.Held(driftback.Participant(own-1)), "%d participants", own)
	}
}

func TestWhatIsNewDoesNotWaitForARoundOfWhatIsOld(t *testing.T) {
	m := newMatch(t, 2, func(c *Config) { c.Stride, c.Window, c.PeerTimeout = 256, MaxWindow, None })
	m.begin()
	a := m.seats[0]
	a.lose = everything // so that nothing is acknowledged
	a.log = nil
	l := &a.mesh.links[0]
	midway := 0
	for tick := range driftback.Tick(600) {
		m.now += frame
		a.publish(1)
		a.turn()
		list := a.packets()
		last := list[len(list)-1].Runs[0]
		require.Equal(t, tick+1, last.First+driftback.Tick(last.Count), "the newest input goes at once")
		require.LessOrEqual(t, len(list), maxRound+1)
		if l.midway {
			midway++
		}
	}
	require.Greater(t, midway, 50, "the control: rounds that took more than one call")
	for !l.midway {
		a.turn()
		m.now += frame
	}
	a.log = nil
	a.forge(m.seats[1], wire.Packet{Acks: []wire.Ack{{Participant: 0, Next: 590}}})
	m.now += frame
	a.turn()
	require.EqualValues(t, 590, a.packets()[0].Runs[0].First, "a round leaves out what has been acknowledged meanwhile")
}

func TestAPeerThatAcknowledgesNothingIsSentWhatIsKept(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	b.closed = true
	kept := driftback.Tick(a.mesh.Kept())
	for tick := range 2 * kept {
		a.publish(1)
		a.forge(b, wire.Packet{Runs: []wire.Run{of(1, tick, 1)}})
		a.log = nil
		m.turn()
	}
	runs := 0
	for _, p := range a.packets() {
		for _, r := range p.Runs {
			require.GreaterOrEqual(t, r.First, kept)
			require.Equal(t, of(0, r.First, r.Count), r)
			runs++
		}
	}
	require.Positive(t, runs)
}

// smallestRoom returns the smallest datagrams that a config can live with.
func smallestRoom(t rapid.TB, c Config) int {
	for room := 1; ; room++ {
		c.Transport = &seat{room: room}
		if _, err := New(c); err == nil {
			return room
		}
		require.Less(t, room, 1200)
	}
}

// TestNothingIsLostForGood plays over a link that loses, repeats and reorders
// datagrams as it likes, then behaves.
func TestNothingIsLostForGood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stride := rapid.SampledFrom([]int{1, 2, 7, 64, 256}).Draw(t, "stride")
		own := rapid.IntRange(1, 4).Draw(t, "own participants")
		window := rapid.SampledFrom([]int{0, 1, 8, 64}).Draw(t, "window")
		every := rapid.IntRange(1, 4).Draw(t, "interval")
		m := newMatch(t, 2, func(c *Config) {
			c.Players, c.Stride, c.Window = players(own), stride, window
			c.Delay = rapid.IntRange(0, 5).Draw(t, "delay")
			c.Redundancy = rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "redundancy")
			c.FingerprintEvery, c.History = every, 400
			c.PeerTimeout = None
		})
		for _, s := range m.seats {
			s.room = max(smallestRoom(t, s.config), rapid.SampledFrom([]int{0, 300, 1200}).Draw(t, "room"))
		}
		m.begin()
		for _, s := range m.seats {
			s.lose = func(*seat, *wire.Packet) bool { return rapid.IntRange(0, 2).Draw(t, "lost") == 0 }
		}
		turn := func() {
			for _, s := range m.seats {
				for range rapid.IntRange(0, 3).Draw(t, "publish") {
					if s.mesh.Held(s.mesh.own[0]) < s.mesh.Confirmed()+s.mesh.span/2 && !s.mesh.Blocked() {
						s.publish(1)
					}
				}
				s.fingerprint()
				if len(s.inbox) > 1 && rapid.Bool().Draw(t, "shuffled") {
					slices.Reverse(s.inbox)
				}
				if len(s.inbox) > 0 && rapid.Bool().Draw(t, "repeated") {
					s.inbox = append(s.inbox, s.inbox[0])
				}
			}
			m.turn()
		}
		for range 15 {
			turn()
		}
		for _, s := range m.seats {
			s.lose = nil
		}
		for range 40 {
			for _, s := range m.seats {
				s.fingerprint()
			}
			m.turn()
		}
		for _, s := range m.seats {
			require.NoError(t, s.mesh.Err())
			for p, peer := range s.config.Players {
				p := driftback.Participant(p)
				require.Equal(t, m.seats[peer].mesh.Held(p), s.mesh.Held(p), "peer %d, participant %d", s.self, p)
			}
			due, ok := s.mesh.Due()
			require.True(t, ok)
			require.Equal(t, due-driftback.Tick(s.config.FingerprintEvery), s.mesh.Agreed())
		}
	})
}

// fingerprint takes every fingerprint that is due, of a state that is the number
// of its tick, and from the tick that went wrong on its complement.
func (s *seat) fingerprint() {
	for {
		t, ok := s.mesh.Due()
		if !ok || t > s.mesh.Confirmed() || s.mesh.Phase() != Playing {
			return
		}
		sum := uint64(t)
		if s.wrong > 0 && t >= s.wrong {
			sum = ^sum
		}
		require.NoError(s.match.t, s.mesh.Fingerprint(t, sum))
	}
}

func TestPublishTakesTheNextInputOfItsOwnParticipants(t *testing.T) {
	m := played(t, 2, 5, nil)
	a := m.seats[0]
	span := driftback.Tick(2*(8+MaxDelay) + 1)
	for name, c := range map[string]struct {
		p    driftback.Participant
		tick driftback.Tick
		in   []byte
		want string
	}{
		"another's":     {1, 5, []byte{1, 2}, "mesh: participant 1 is not this peer's to publish for"},
		"nobody's":      {200, 5, []byte{1, 2}, "mesh: participant 200 is not this peer's to publish for"},
		"one again":     {0, 4, []byte{1, 2}, "mesh: an input of participant 0 for tick 4, but its next is for tick 5"},
		"one left out":  {0, 6, []byte{1, 2}, "mesh: an input of participant 0 for tick 6, but its next is for tick 5"},
		"before time":   {0, -1, []byte{1, 2}, "mesh: an input of participant 0 for tick -1, but its next is for tick 5"},
		"a short input": {0, 5, []byte{1}, "mesh: an input of 1 bytes, and this match's have 2"},
		"a long input":  {0, 5, []byte{1, 2, 3}, "mesh: an input of 3 bytes, and this match's have 2"},
		"no input":      {0, 5, nil, "mesh: an input of 0 bytes, and this match's have 2"},
	} {
		require.EqualError(t, a.mesh.Publish(c.p, c.tick, c.in), c.want, name)
		require.EqualValues(t, 5, a.mesh.Held(0), name)
	}
	a.publish(int(span))
	require.EqualError(t, a.mesh.Publish(0, 5+span, []byte{1, 2}), "mesh: an input of participant 0 for tick 142, too far beyond the confirmed tick 5")
	require.ErrorContains(t, newMatch(t, 2, nil).seats[0].mesh.Publish(0, 0, []byte{1, 2}), "the match is not being played")
}

func TestAnInputIsCopied(t *testing.T) {
	m := playing(t, 2, nil)
	in := []byte{1, 2}
	require.NoError(t, m.seats[0].mesh.Publish(0, 0, in))
	in[0] = 9
	require.Equal(t, []byte{1, 2}, m.seats[0].mesh.Input(0, 0))
}

func TestTheNewestInputsAreCarriedAgain(t *testing.T) {
	for _, redundancy := range []int{0, 1, 5, MaxRedundancy} {
		m := played(t, 2, 20, func(c *Config) { c.Redundancy = redundancy })
		a := m.seats[0]
		require.EqualValues(t, 20, a.mesh.links[0].acked[0])
		a.publish(1)
		a.turn()
		require.Equal(t, []wire.Run{of(0, driftback.Tick(20-min(max(redundancy, 1)-1, 20)), min(max(redundancy, 1), 21))}, a.packets()[0].Runs)
	}
}

// sending counts what a sends to b in each of n turns of d, while b is silent.
func sending(m *match, n int, d time.Duration) (packets int) {
	a := m.seats[0]
	for range n {
		m.now += d
		a.turn()
		packets += len(a.packets())
	}
	return packets
}

func TestHowOftenAPeerSpeaks(t *testing.T) {
	for name, c := range map[string]struct {
		before func(a, b *seat)
		every  time.Duration
	}{
		"everything is acknowledged, the other is ahead": {func(a, b *seat) {
			a.forge(b, wire.Packet{Runs: []wire.Run{of(1, 5, 1)}})
		}, idleBeat},
		"it waits for the other": {func(a, b *seat) {}, heartbeat},
		"something is not acknowledged": {func(a, b *seat) {
			a.forge(b, wire.Packet{Runs: []wire.Run{of(1, 5, 3)}})
			a.turn()
			a.publish(1)
		}, heartbeat},
		"a fingerprint is not acknowledged": {func(a, b *seat) {
			a.forge(b, wire.Packet{Runs: []wire.Run{of(1, 5, 1)}})
			a.turn()
			a.fingerprint()
		}, heartbeat},
	} {
		t.Run(name, func(t *testing.T) {
			m := played(t, 2, 5, func(cfg *Config) {
				cfg.FingerprintEvery, cfg.History, cfg.PeerTimeout = 1, 2, None
			})
			a, b := m.seats[0], m.seats[1]
			b.closed = true
			c.before(a, b)
			a.turn()
			a.log = nil
			require.InDelta(t, float64(2*time.Second/c.every), float64(sending(m, 2000, ms)), 2)
		})
	}
}

func TestNewsGoOutAtOnce(t *testing.T) {
	m := played(t, 2, 5, nil)
	a := m.seats[0]
	for range 5 {
		m.now += ms
		a.publish(1)
		a.turn()
		require.Len(t, a.packets(), 1)
		a.mesh.Flush()
		require.Empty(t, a.packets(), "once")
	}
}

func TestTwoThatWaitForEachOtherGoOnWhenTheLinkHeals(t *testing.T) {
	m := played(t, 2, 5, func(c *Config) { c.PeerTimeout = None })
	for _, s := range m.seats {
		s.lose = everything
		s.publish(8)
	}
	m.turns(500)
	for _, s := range m.seats {
		require.EqualValues(t, 5, s.mesh.Confirmed(), "they stall")
		require.Greater(t, len(s.packets()), 400, "and keep sending")
		s.lose = nil
	}
	m.turns(2)
	for _, s := range m.seats {
		require.EqualValues(t, 13, s.mesh.Confirmed())
	}
}

func TestWhatIsNewIsAcknowledgedAtTheNextBeat(t *testing.T) {
	m := played(t, 2, 5, nil)
	a, b := m.seats[0], m.seats[1]
	for next := driftback.Tick(6); next < 9; next++ {
		b.publish(1)
		m.turn()
		a.log = nil
		m.turn()
		list := a.packets()
		require.Len(t, list, 1, "although it has nothing else to say")
		require.Equal(t, []wire.Ack{{Participant: 1, Next: next}}, list[0].Acks)
		m.turn()
		b.log = nil
		m.turn()
		for _, p := range b.packets() {
			require.Empty(t, p.Runs, "so that it is not sent again and again")
		}
	}
}

func TestWhatIsNewIsAcknowledgedThoughMoreCameThatIsNot(t *testing.T) {
	m := played(t, 2, 5, nil)
	a, b := m.seats[0], m.seats[1]
	b.closed = true
	a.forge(b, wire.Packet{Runs: []wire.Run{of(1, 9, 1)}})
	m.turns(2)
	a.log = nil
	a.forge(b, wire.Packet{Runs: []wire.Run{of(1, 5, 1)}})
	a.forge(b, wire.Packet{Runs: []wire.Run{of(1, 9, 1)}})
	m.turn()
	list := a.packets()
	require.Len(t, list, 1)
	require.Equal(t, []wire.Ack{{Participant: 1, Next: 6}}, list[0].Acks)
}

func TestAFingerprintIsAcknowledgedAtTheNextBeat(t *testing.T) {
	m := comparing(t, 1, 2)
	a, b := m.seats[0], m.seats[1]
	a.publish(1)
	b.publish(2) // this peer lacks nothing, so only the fingerprint makes it speak
	m.turns(10)
	b.closed = true
	a.log = nil
	a.forge(b, wire.Packet{Sums: wire.Sums{List: []uint64{1}}})
	m.turn()
	list := a.packets()
	require.Len(t, list, 1)
	require.Equal(t, wire.SumAck{Set: true, Next: 1}, list[0].SumAck)
}

func TestUnacknowledgedIsTheLongestRunOfAnyParticipant(t *testing.T) {
	m := playing(t, 2, func(c *Config) { c.Players = []driftback.Peer{0, 0, 1} })
	a := m.seats[0]
	a.lose = everything
	for p, n := range []driftback.Tick{3, 1} {
		for tick := range n {
			p := driftback.Participant(p)
			require.NoError(t, a.mesh.Publish(p, tick, scripted(p, tick, 2)))
		}
	}
	m.turns(2)
	s, ok := a.mesh.Link(1)
	require.True(t, ok)
	require.Equal(t, 3, s.Unacknowledged)
}
