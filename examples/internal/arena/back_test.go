package arena

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
)

// hall is players over a network without time of its own, whose processes die.
type hall struct {
	t     *testing.T
	game  *Game[tally, pressed]
	o     options
	net   *loopback.Network
	peers []*peer[tally, pressed] // nil: it has died
	ends  []error
	last  []session.Result
	// held is in how many frames a player has one turn, where its machine is busy; 0: in each.
	held   []int
	frames int
	tries  int // the most that a player has begun anew in a row
}

func newHall(t *testing.T, g *Game[tally, pressed], o options) *hall {
	t.Helper()
	o.rate, o.delay, o.window, o.headless, o.back = 60, 2, session.DefaultWindow, o.ticks > 0, true
	o.wait, o.grace = time.Minute, 10*time.Second
	h := &hall{t: t, game: g, o: o, net: loopback.New(5), peers: make([]*peer[tally, pressed], o.players), ends: make([]error, o.players), last: make([]session.Result, o.players), held: make([]int, o.players)}
	for i := range h.peers {
		for j := range h.peers {
			if i != j {
				require.NoError(t, h.net.Impair(driftback.Peer(i), driftback.Peer(j), loopback.Impairment{Latency: 20 * time.Millisecond, Jitter: 5 * time.Millisecond}))
			}
		}
		h.start(i)
	}
	return h
}

// start starts a player's process.
func (h *hall) start(seat int) {
	h.t.Helper()
	self, end := driftback.Peer(seat), h.net.Open(driftback.Peer(seat))
	p, err := newPeer(h.game, self, &h.o, end, nil)
	require.NoError(h.t, err)
	p.back.reopen = func() (transport.Transport, error) {
		_ = end.Close()
		end = h.net.Open(self)
		return end, nil
	}
	h.peers[seat] = p
}

func (h *hall) kill(seat int) {
	h.net.Open(driftback.Peer(seat)).Crash() // what it had is gone
	h.peers[seat] = nil
}

// run runs frames.
func (h *hall) run(frames int) {
	for range frames {
		h.net.Advance(time.Second / 60)
		h.frames++
		for i, p := range h.peers {
			if p == nil || h.ends[i] != nil || h.frames%max(h.held[i], 1) != 0 {
				continue
			}
			r, ready, err := p.turn(h.net.Now())
			h.last[i], h.ends[i] = r, p.over(err, ready)
			h.tries = max(h.tries, p.back.tries)
		}
	}
}

// until runs frames until all players are where they should be.
func (h *hall) until(what string, ok func(p *peer[tally, pressed]) bool) {
	h.t.Helper()
	for range 3600 {
		h.run(1)
		all := true
		for i, p := range h.peers {
			require.NoError(h.t, h.ends[i], "seat %d: %s", i, what)
			all = all && p != nil && ok(p)
		}
		if all {
			return
		}
	}
	require.FailNow(h.t, "it did not happen", "%s", what)
}

func plays(p *peer[tally, pressed]) bool {
	return p.choosing == nil && p.coming == nil && p.back.played && p.match.Stats().Agreed > 0
}

// requireOneEnd requires that all come to the last tick, and to the same world.
func (h *hall) requireOneEnd() {
	h.t.Helper()
	for range 3600 {
		if h.run(1); h.ended() {
			break
		}
	}
	for i, p := range h.peers {
		require.ErrorIs(h.t, h.ends[i], session.ErrFinished, "seat %d", i)
		require.EqualValues(h.t, h.o.ticks, h.last[i].Tick)
		require.Equal(h.t, *h.peers[0].state(), *p.state(), "seat %d", i)
	}
}

func (h *hall) ended() bool {
	for _, err := range h.ends {
		if err == nil {
			return false
		}
	}
	return true
}

func TestAProcessMayDieWheneverAndThePlayersMeetAllTheSame(t *testing.T) {
	for frame := 0; frame < 60; frame += 2 {
		for _, away := range []int{1, 30, 200} {
			for _, seat := range []int{0, 1} {
				t.Run(fmt.Sprintf("seat %d at frame %d for %d", seat, frame, away), func(t *testing.T) {
					h := newHall(t, picking(), options{players: 2, ticks: 500})
					h.run(frame)
					h.kill(seat)
					h.run(away)
					h.start(seat)
					h.until("they play", plays)
					h.requireOneEnd()
				})
			}
		}
	}
}

// On a busy machine all that a player says, that it has hung up, and that it has come again, may
// be heard in one turn.
func TestAProcessMayDieWheneverOnABusyMachine(t *testing.T) {
	again, step := 0, 3
	if testing.Short() {
		step = 12
	}
	for frame := 0; frame < 60; frame += step {
		for _, seat := range []int{0, 1} {
			for _, held := range [][]int{{1, 12}, {2, 6}, {12, 6}, {12, 12}} {
				t.Run(fmt.Sprintf("seat %d at frame %d, a turn in %d frames", seat, frame, held), func(t *testing.T) {
					h := newHall(t, picking(), options{players: 2, ticks: 500})
					h.held = []int{held[seat], held[1-seat]}
					h.run(frame)
					h.kill(seat)
					h.run(7)
					h.start(seat)
					h.run(300)
					h.held = []int{1, 1}
					h.until("they play", plays)
					h.requireOneEnd()
					require.LessOrEqual(t, h.tries, maxTries/2, "it is not a matter of luck")
					if h.tries > 1 {
						again++
					}
				})
			}
		}
	}
	require.Positive(t, again, "the control: some have missed each other")
}

// Of a match for more there is nothing to choose, and a majority of those that are left goes on.
func TestOfFourOneMayDieWhenever(t *testing.T) {
	returned := 0
	for frame := 0; frame < 120; frame += 3 {
		for _, away := range []int{1, 30, 400} {
			seat := frame % 4
			t.Run(fmt.Sprintf("seat %d at frame %d for %d", seat, frame, away), func(t *testing.T) {
				h := newHall(t, tallying(), options{players: 4, ticks: 900})
				h.run(frame)
				h.kill(seat)
				h.run(away)
				h.start(seat)
				h.until("they play", plays)
				if _, ok := h.peers[(seat+1)%4].match.Joined(driftback.Participant(seat)); ok {
					returned++
				}
				h.requireOneEnd()
			})
		}
	}
	require.Greater(t, returned, 90, "the control: in most cases the match had begun, and went on")
}

// The process that comes back may die at any frame of that, and so may the one it comes back to.
func TestWhoComesBackMayDieWhenever(t *testing.T) {
	for frame := 0; frame < 120; frame += 3 {
		for _, second := range []int{0, 1} {
			t.Run(fmt.Sprintf("seat %d dies at frame %d", second, frame), func(t *testing.T) {
				h := newHall(t, picking(), options{players: 2, ticks: 900})
				h.until("they play", plays)
				h.kill(1)
				h.run(5)
				h.start(1)
				h.run(frame)
				h.kill(second)
				h.run(5)
				h.start(second)
				h.until("they play", plays)
				h.requireOneEnd()
			})
		}
	}
}

// A match that is won has its end agreed on: who comes back then ends it with the other, or
// finds it ended, and both choose for the next.
func TestWhoComesBackAsTheMatchIsWonChoosesWithTheOther(t *testing.T) {
	won, late := 0, 0 // the control: it came when the match was won already, and when it was over
	for frame := 40; frame < 320; frame += 4 {
		t.Run(fmt.Sprint(frame), func(t *testing.T) {
			h := newHall(t, picking(), options{players: 2})
			h.run(frame)
			h.kill(1)
			h.run(5)
			h.start(1)
			came := false
			h.until("they play the next match", func(p *peer[tally, pressed]) bool {
				q := h.peers[1]
				if _, joined := q.match.Joined(1); joined && q.coming == nil && !came {
					came = true
					if q.match.State().Ticks >= wonAfter {
						won++
					}
				}
				return plays(p) && h.peers[0].bout > 0
			})
			if !came {
				late++
			}
			h.run(60)
			for i, err := range h.ends {
				require.NoError(t, err, "seat %d", i)
			}
		})
	}
	require.Positive(t, won)
	require.Positive(t, late)
}
