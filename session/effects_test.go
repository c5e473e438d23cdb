package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// cast is what really happened: every effect of every tick below a tick, from one
// run with every input on time.
type cast struct{ raised, confirmed []session.Report }

func (m *match) cast(end driftback.Tick) (c cast) {
	var s state
	var pass driftback.Pass
	in := make([]input, len(m.oracle.delays))
	for t := range end {
		for p, delay := range m.oracle.delays {
			in[p] = input{}
			if t >= driftback.Tick(delay) {
				in[p] = m.oracle.inputs(p, t)
			}
		}
		pass.Begin(t, nil)
		m.oracle.step(&s, in, &pass)
		for _, e := range pass.Raised() {
			c.raised = append(c.raised, session.Report{Kind: session.Happened, Tick: t, Effect: e})
		}
		for _, e := range pass.RaisedConfirmed() {
			c.confirmed = append(c.confirmed, session.Report{Kind: session.Confirmed, Tick: t, Effect: e})
		}
	}
	return c
}

// checkReports says how what a peer was told departs from what happened before
// end: each effect told of once net, never undone before it was told of, and what
// was raised for when it is confirmed told once, in order.
func checkReports(told []session.Report, truth cast, end driftback.Tick) error {
	type key struct {
		tick   driftback.Tick
		effect driftback.Effect
	}
	net := map[key]int{}
	var confirmed []session.Report
	for _, r := range told {
		k := key{r.Tick, r.Effect}
		switch r.Kind {
		case session.Happened:
			net[k]++
		case session.Undone:
			net[k]--
		case session.Confirmed:
			confirmed = append(confirmed, r)
		}
		if net[k] < 0 || net[k] > 1 {
			return fmt.Errorf("%v: told %d times more than taken back", r, net[k])
		}
	}
	for _, r := range truth.raised {
		k := key{r.Tick, r.Effect}
		if net[k] != 1 {
			return fmt.Errorf("%v: told %d times net", r, net[k])
		}
		delete(net, k)
	}
	for k, n := range net {
		if n != 0 && k.tick < end {
			return fmt.Errorf("%v: told and never taken back, and did not happen", k)
		}
	}
	for i, r := range truth.confirmed {
		if i >= len(confirmed) || confirmed[i] != r {
			return fmt.Errorf("the confirmed effect %d is not %v", i, r)
		}
	}
	if len(confirmed) > len(truth.confirmed) && confirmed[len(truth.confirmed)].Tick < end {
		return fmt.Errorf("%v did not happen", confirmed[len(truth.confirmed)])
	}
	return nil
}

// noisy is the step with effects that a wrong guess raises and the truth does not.
func noisy(s *state, in []input, pass *driftback.Pass) {
	step(s, in, pass)
	if s.Digest%4 == 0 {
		pass.Raise(driftback.Effect{Kind: 8, Args: [3]int32{int32(s.Digest)}})
		pass.RaiseConfirmed(driftback.Effect{Kind: 8, Args: [3]int32{int32(s.Digest)}})
	}
}

func TestEveryEffectIsToldOnceNetAndConfirmedOnceInOrder(t *testing.T) {
	for name, c := range map[string]struct {
		link          loopback.Impairment
		peers, window int
		delay         int
	}{
		"over a link that needs guesses":   {link: loopback.Impairment{Latency: 70 * ms, Jitter: 20 * ms, Loss: 0.1}, peers: 2},
		"with a delay that spares some":    {link: loopback.Impairment{Latency: 70 * ms, Jitter: 20 * ms, Loss: 0.1}, peers: 2, delay: 3},
		"with a window of one tick":        {link: loopback.Impairment{Latency: 20 * ms}, peers: 2, window: 1},
		"without guesses":                  {link: loopback.Impairment{Latency: 20 * ms}, peers: 2, window: session.None, delay: 2},
		"among three peers":                {link: loopback.Impairment{Latency: 70 * ms, Jitter: 20 * ms, Loss: 0.1}, peers: 3},
		"over a link that needs no guess":  {peers: 2, delay: 2},
		"with a window of a hundred ticks": {link: loopback.Impairment{Latency: 700 * ms, Jitter: 20 * ms}, peers: 2, window: 100},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, c.peers, func(s *session.Config[state, input]) {
				s.Step, s.PredictionWindow, s.InputDelay = noisy, c.window, c.delay
			})
			m.oracle.step = noisy
			told := make([][]session.Report, c.peers)
			undone := 0
			m.check = func(p *peer, r session.Result) {
				for _, e := range r.Effects {
					told[p.self] = append(told[p.self], e)
					if e.Kind == session.Undone {
						undone++
					}
				}
			}
			m.script = play(3)
			m.impair(c.link)
			const end = 1000
			m.finish(end)
			m.runWhile(20_000, "not finished", func() bool { return !m.ended() })
			truth := m.cast(end)
			require.Greater(t, len(truth.raised), 100)
			require.Greater(t, len(truth.confirmed), end/5)
			for i := range m.peers {
				require.NoError(t, checkReports(told[i], truth, end))
			}
			require.Equal(t, c.link.Latency > 0 && c.window != session.None, undone > 20, "%d effects were guessed and taken back", undone)

			// The checker would notice one report lost, doubled or out of order.
			for i, r := range told[0] {
				without := append(append([]session.Report(nil), told[0][:i]...), told[0][i+1:]...)
				require.Error(t, checkReports(without, truth, end), "without %v", r)
				twice := append(append([]session.Report(nil), told[0][:i+1]...), told[0][i:]...)
				require.Error(t, checkReports(twice, truth, end), "%v twice", r)
				if i == 30 {
					break
				}
			}
		})
	}
}

// passing is a step whose effects have numbers: one for each 50 units that the
// participants have gone together, at whatever tick they get there. A wrong guess
// moves them by a tick or more.
func passing(s *state, in []input, pass *driftback.Pass) {
	before := s.Digest / 50
	for _, i := range in {
		s.Digest += uint64(i.Buttons % 16)
	}
	s.Ticks++
	for n := before; n < s.Digest/50; n++ {
		pass.Raise(driftback.Effect{Kind: 9, Args: [3]int32{int32(n)}})
	}
}

func TestAnEffectThatMovesWithinTheToleranceIsNotToldAgain(t *testing.T) {
	reports := func(tolerance int) (happened, undone, passed int) {
		m := newMatch(t, 2, func(c *session.Config[state, input]) {
			c.Step, c.EffectTolerance, c.PredictionWindow = passing, tolerance, 20
		})
		m.oracle.step = passing
		net := map[driftback.Effect]int{}
		m.check = func(p *peer, r session.Result) {
			if p.self == 0 {
				return // it began later, so the other one guesses more
			}
			for _, e := range r.Effects {
				switch e.Kind {
				case session.Happened:
					happened++
					net[e.Effect]++
				case session.Undone:
					undone++
					net[e.Effect]--
				}
			}
		}
		m.script = play(4)
		m.impair(loopback.Impairment{Latency: 80 * ms, Jitter: 20 * ms})
		m.finish(1500)
		m.runWhile(20_000, "not finished", func() bool { return !m.ended() })
		truth := m.cast(1500).raised
		for _, r := range truth {
			require.Equal(t, 1, net[r.Effect], "%v at tolerance %d", r, tolerance)
			delete(net, r.Effect)
		}
		for e, n := range net {
			require.Zero(t, n, "%v at tolerance %d", e, tolerance)
		}
		return happened, undone, len(truth)
	}
	happened, exactly, passed := reports(0)
	require.Greater(t, exactly, passed/4, "taken back at no tolerance, of %d effects", passed)
	require.Equal(t, happened-exactly, passed)
	happened, within, passed := reports(4)
	require.Equal(t, happened-within, passed)
	t.Logf("of %d effects %d are taken back at no tolerance and %d at 4 ticks", passed, exactly, within)
	// What moves to a tick that has not run yet cannot be known to have moved.
	require.Less(t, within, exactly/2)
}

func TestEffectsBeyondTheBoundOfATickAreCountedAndDropped(t *testing.T) {
	m := newMatch(t, 1, func(c *session.Config[state, input]) {
		c.Step = func(s *state, in []input, pass *driftback.Pass) {
			step(s, in, pass)
			for i := range int32(driftback.MaxEffects + 5) {
				pass.RaiseConfirmed(driftback.Effect{Kind: 7, Args: [3]int32{i}})
			}
		}
	})
	told := 0
	m.check = func(_ *peer, r session.Result) {
		for _, e := range r.Effects {
			if e.Effect.Kind == 7 {
				told++
			}
		}
	}
	m.run(99)
	require.Equal(t, 99*driftback.MaxEffects, told)
	require.Equal(t, uint64(99*5), m.peers[0].session.Stats().EffectsDropped)
}
