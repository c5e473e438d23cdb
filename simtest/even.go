package simtest

import (
	"errors"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// When peers that keep pace are to predict equally many ticks, and how equally. The session's own
// tests are stricter, of links that they choose; these are of any, and say that it happens at all.
const (
	evenAfter   = 15 // seconds without anything that disturbs
	evenFor     = 10 // seconds of which the means are taken
	evenSkew    = 30_000
	evenLoss    = 0.1
	evenJitter  = 60 * Millisecond
	evenLatency = 250 * Millisecond
	evenWindow  = 5
	evenTicks   = 1.5
	evenSkips   = 1 // more, where whole ticks are left out
)

// even is by how many ticks a peer was ahead of the others' inputs, by the second.
type even struct {
	sums  []int64
	calls []int64
}

// measure takes by how many ticks the peer's next one is beyond the first that lacks an
// input of somebody else.
func (p *peer[S, I]) measure(at time.Duration) {
	lead, others := driftback.Tick(0), false
	for q, t := range p.inputs {
		if p.m.owner[q] != p.self && p.view.status(q, p.next) == driftback.Playing {
			if ahead := p.next - t; !others || ahead > lead {
				lead, others = ahead, true
			}
		}
	}
	if !others || !p.playing || p.err != nil || p.next >= driftback.Tick(p.m.s.Ticks) {
		return
	}
	e := &p.gait.even
	for i := int(at / time.Second); len(e.sums) <= i; {
		e.sums, e.calls = append(e.sums, 0), append(e.calls, 0)
	}
	e.sums[len(e.sums)-1] += int64(lead)
	e.calls[len(e.calls)-1]++
}

// mean returns the mean of some seconds; ok is false if there is one of which none is known.
func (e *even) mean(from, to int) (mean float64, ok bool) {
	sum, calls := int64(0), int64(0)
	for i := from; i < to; i++ {
		if i >= len(e.calls) || e.calls[i] == 0 {
			return 0, false
		}
		sum, calls = sum+e.sums[i], calls+e.calls[i]
	}
	return float64(sum) / float64(calls), calls > 0
}

// evens reports whether a scenario is such that its peers come to predict equally many ticks.
func (s *Scenario) evens() bool {
	if len(s.Peers) < 2 || s.window() < evenWindow || s.Buggify || s.DelayEvery > 0 || s.PauseEvery > 0 ||
		s.HaltAtLimit || s.hasNature(ends) || s.hasNature(comes) || s.hasNature(hostile) {
		return false
	}
	slow, fast := MaxSkew, -MaxSkew
	for i := range s.Peers {
		p := &s.Peers[i]
		if p.Paces == "" || p.PublishEvery > 1 {
			return false
		}
		slow, fast = min(slow, p.Skew), max(fast, p.Skew)
	}
	for _, l := range s.Links {
		if l.Loss > evenLoss || l.Jitter > evenJitter || l.Latency > evenLatency || l.ReorderBy > evenJitter || l.BytesPerSecond > 0 {
			return false
		}
	}
	return fast-slow <= evenSkew
}

// checkEven checks, as a match has ended, that all peers predicted equally many ticks at
// last, unless something has disturbed them.
func (m *match[S, I]) checkEven() {
	if !m.s.evens() || m.newest().number > 0 {
		return
	}
	from, to := max(m.together, m.outlook.quiet, m.adaptedAt)/time.Second+1+evenAfter, m.ended/time.Second
	for _, p := range m.peers {
		to = min(to, time.Duration(len(p.gait.even.calls)-1)) // the last second is not whole
	}
	if from = max(from, to-evenFor); to-from < evenFor {
		return
	}
	m.evened = true
	var least, most float64
	var behind, ahead *peer[S, I]
	for _, p := range m.peers {
		mean, ok := p.gait.even.mean(int(from), int(to))
		if !ok {
			return
		}
		if behind == nil || mean < least {
			least, behind = mean, p
		}
		if ahead == nil || mean > most {
			most, ahead = mean, p
		}
	}
	allowed := evenTicks
	if m.s.skips() {
		allowed += evenSkips
	}
	if most-least > allowed {
		ahead.breaks(RulePace, ahead.next, "in the last %d s it predicted %.2f ticks on average, and peer %d %.2f, although nothing disturbed them and all keep pace",
			evenFor, most, behind.self, least)
	}
}

// checkSettled checks what has come of a match that ran to its end.
func (m *match[S, I]) checkSettled() {
	for _, p := range m.peers {
		if p.gone || !errors.Is(p.err, session.ErrFinished) || p.life > 0 {
			return
		}
	}
	for _, p := range m.peers {
		p.checkFollowed()
	}
	m.checkEven()
}
