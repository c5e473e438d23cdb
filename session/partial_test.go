package session_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/snapshot"
	"github.com/driftback/driftback/transport/loopback"
)

// moving saves what the step changes, and leaves the level alone.
var moving = snapshot.Join(
	snapshot.Part(func(s *state) *int64 { return &s.Ticks }, snapshot.Assign[int64]),
	snapshot.Part(func(s *state) *uint64 { return &s.Digest }, snapshot.Assign[uint64]),
	snapshot.Part(func(s *state) *[4]int32 { return &s.Pos }, snapshot.Assign[[4]int32]),
	snapshot.Part(func(s *state) *[4]int16 { return &s.Held }, snapshot.Assign[[4]int16]),
)

// newLevelMatch returns a match of two on a level that Initial and Start make, of which
// each peer saves what its policy says.
func newLevelMatch(t testingT, policies [2]snapshot.Policy[state], change func(c *session.Config[state, input])) *match {
	m := newEmptyMatch(t)
	for i := range policies {
		m.add(m.config(i, 2, func(c *session.Config[state, input]) {
			c.Save = policies[i]
			c.Initial = &state{Level: [4]int32{3}}
			c.Start = func(seed uint64, s *state) {
				s.Level[1] = 1 + int32(seed%7)
				if m.start == (state{}) {
					m.start, m.oracle.state = *s, *s
				}
			}
			if change != nil {
				change(c)
			}
		}))
	}
	return m
}

var levelPolicies = map[string][2]snapshot.Policy[state]{
	"both save what moves":                         {moving, moving},
	"one saves what moves, and the other all":      {moving, snapshot.Assign[state]},
	"one saves what moves, and the other has none": {nil, moving},
}

func TestWhatASavingPolicyLeavesOutIsFingerprintedAsItIs(t *testing.T) {
	for name, policies := range levelPolicies {
		for _, every := range []int{1, 8} {
			t.Run(name, func(t *testing.T) {
				m := newLevelMatch(t, policies, func(c *session.Config[state, input]) { c.FingerprintEvery = every })
				r := checkRoots(m, every)
				live, earlier := 0, 0
				m.check = func(p *peer, res session.Result) {
					next := res.Tick
					if res.Phase == session.Advanced {
						next--
					}
					before := r.next[p.self]
					r.compare(m, p)
					for due := before + r.every; due <= r.next[p.self]; due += r.every {
						if due == next {
							live++
						} else {
							earlier++
						}
					}
				}
				m.impair(loopback.Impairment{Latency: 30 * ms, Jitter: 40 * ms, Loss: 0.2, Reorder: 0.1})
				m.runUntil(1000)
				m.finish(max(m.peers[0].tick(), m.peers[1].tick()) + 20)
				m.runWhile(2000, "not finished", func() bool { return !m.ended() })
				for _, p := range m.peers {
					require.ErrorIs(t, p.err, session.ErrFinished)
					require.Greater(t, p.session.Stats().Loop.Rollbacks, uint64(100), "guesses were wrong meanwhile")
					require.Equal(t, m.start.Level, p.session.State().Level)
				}
				require.NotEqual(t, [4]int32{3}, m.start.Level, "Start has had its part in the level")
				require.Greater(t, live, 10, "due ticks at whose beginning the world stood")
				require.Greater(t, earlier, 10, "due ticks that the world had left behind")
			})
		}
	}
}

func TestADesyncUnderAPolicyThatLeavesSomethingOutShowsTheWholeState(t *testing.T) {
	for name, policies := range levelPolicies {
		t.Run(name, func(t *testing.T) {
			m := newLevelMatch(t, policies, plant(100, nil))
			m.peers[1].maybeDiffers = true
			m.impair(loopback.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.1})
			m.runWhile(2000, "not halted", func() bool { return m.peers[0].err == nil || m.peers[1].err == nil })
			requireDesync(t, m, m.peers[0], m.peers[1], 101, 104)
		})
	}
}

// deaf is a store from which nothing can be loaded any more.
type deaf struct {
	snapshot.Store[state]
	left int // loads that succeed
}

var errGone = errors.New("the disk is gone")

func (d *deaf) Load(i int, into *state) error {
	if d.left--; d.left < 0 {
		return errGone
	}
	return d.Store.Load(i, into)
}

// Each earlier due tick is loaded, and after it the present: either may fail.
func TestAWorldThatCannotBeTakenBackToBeFingerprintedEndsTheMatch(t *testing.T) {
	for left := range 4 {
		var store *deaf
		m := newEmptyMatch(t)
		m.script = func(int, driftback.Tick) input { return input{} } // guessed rightly, so that nothing else is loaded
		for i := range 2 {
			m.add(m.config(i, 2, func(c *session.Config[state, input]) {
				if i == 1 { // which begins first, and so runs ahead
					c.Save = func(places int) (snapshot.Store[state], error) {
						s, err := moving(places)
						if store == nil {
							store = &deaf{Store: s, left: left}
							s = store
						}
						return s, err
					}
				}
			}))
		}
		m.impair(loopback.Impairment{Latency: 60 * ms})
		for range 400 {
			m.net.Advance(frame)
			for i, p := range m.peers {
				if p.err == nil {
					_, p.err = p.session.Tick(m.net.Now(), m.script(i, 0))
				}
			}
		}
		require.Negative(t, store.left)
		require.ErrorIs(t, m.peers[1].err, session.ErrState)
		require.ErrorIs(t, m.peers[1].err, errGone)
		require.ErrorContains(t, m.peers[1].err, "cannot be taken back")
		require.ErrorIs(t, m.peers[0].err, session.ErrHalted)
		require.Zero(t, m.peers[1].session.Stats().Loop.Rollbacks)
	}
}
