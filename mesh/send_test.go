package mesh

import (
	"fmt"
	"slices"
	"testing"

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
						cfg.FingerprintEvery, cfg.History = 1, 4
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
					a.mesh.Flush()
					next := make([]driftback.Tick, c.own)
					for _, p := range a.packets() {
						for _, r := range p.Runs {
							require.Equal(t, next[r.Participant], r.First, "packets go oldest first and leave nothing out")
							next[r.Participant] += driftback.Tick(r.Count)
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
