package simtest

import (
	"errors"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// published is which of its inputs a participant publishes for which tick, while its input
// delay changes. It follows from the scenario alone, since a delay changes at a tick, and
// not at a time.
type published struct {
	s *Scenario
	q driftback.Participant
	// By tick that runs: the delay, and the first tick that has no input before it runs.
	delays []int
	next   []driftback.Tick
	// from is, by tick, the one for which its input was pressed; −1: nothing was.
	from []driftback.Tick
}

func (s *Scenario) published(q int) *published {
	delay := s.Peers[s.players()[q]].InputDelay
	u := &published{s: s, q: driftback.Participant(q), delays: []int{delay}, next: []driftback.Tick{0}}
	u.fill(driftback.Tick(delay), -1)
	u.next[0] = driftback.Tick(delay)
	if to, changes := u.s.changed(q, 0); changes {
		u.delays[0] = to
	}
	return u
}

// fill has what was pressed for tick from published up to tick to.
func (u *published) fill(to, from driftback.Tick) {
	for driftback.Tick(len(u.from)) < to {
		u.from = append(u.from, from)
	}
}

// run goes on until it is known what is before tick t runs.
func (u *published) run(t driftback.Tick) {
	for now := driftback.Tick(len(u.delays)) - 1; now < t; now++ {
		delay := u.delays[now]
		if target := now + driftback.Tick(delay); target >= u.next[now] {
			last := driftback.Tick(-1)
			if n := len(u.from); n > 0 {
				last = u.from[n-1]
			}
			u.fill(target, last)
			u.fill(target+1, target)
		}
		u.next = append(u.next, driftback.Tick(len(u.from)))
		if to, changes := u.s.changed(int(u.q), now+1); changes {
			delay = to
		}
		u.delays = append(u.delays, delay)
	}
}

// delay returns the input delay as tick t runs.
func (u *published) delay(t driftback.Tick) int {
	u.run(t)
	return u.delays[t]
}

// before returns the first tick that has no input before tick t runs.
func (u *published) before(t driftback.Tick) driftback.Tick {
	u.run(t)
	return u.next[t]
}

// at returns for which tick that was pressed which is published for tick t; −1: nothing.
func (u *published) at(t driftback.Tick) driftback.Tick {
	u.run(t + 1) // it is published before t runs
	return u.from[t]
}

// taken returns for which tick that is published which is read before tick t runs.
func (u *published) taken(t driftback.Tick) driftback.Tick {
	if target := t + driftback.Tick(u.delay(t)); target >= u.next[t] {
		return target
	}
	return session.None
}

// changed returns the input delay to which participant q's changes as tick t runs, if it
// does.
func (s *Scenario) changed(q int, t driftback.Tick) (delay int, changes bool) {
	if s.DelayEvery == 0 {
		return 0, false
	}
	d := draw{random(s.Seed, streamDelays, uint64(q+1)<<24|uint64(t))}
	if d.IntN(s.DelayEvery) > 0 {
		return 0, false
	}
	delay = pick(&d, 0, 1, 1, 2, 2, 3, 3, 4, 6, 9, 30)
	if s.Window == None {
		delay = max(delay, 1)
	}
	return delay, true
}

// maxChanged is the longest delay that changed returns.
const maxChanged = 30

// longest and shortest return what a peer's input delay is at the most, and at the least.
func (s *Scenario) longest(p *Peer) int {
	if s.DelayEvery > 0 {
		return max(p.InputDelay, maxChanged)
	}
	return p.InputDelay
}

func (s *Scenario) shortest(p *Peer) int {
	if s.DelayEvery > 0 {
		return 0
	}
	return p.InputDelay
}

// generateDelays has the input delays of some scenarios change.
func (g *generator) generateDelays() {
	g.everySoOften(&g.s.DelayEvery, streamDelays, g.s.validateDelays, 5, 20, 100)
}

// validateDelays refuses what would have to know for which tick something is published.
func (s *Scenario) validateDelays() error {
	if s.DelayEvery > 0 && (s.PauseEvery > 0 || s.hasNature(hostile)) {
		return errors.New("simtest: delayEvery is set, and pauseEvery, or a fault that is hostile: one of them is allowed")
	}
	return nil
}

// presses returns what participant q presses before the peer's next tick, and sees to it that
// its input delay is then what it should be.
func (p *peer[S, I]) presses(q int) I {
	u := p.m.published[q]
	delay := u.delay(p.next)
	if to, changes := p.m.s.changed(q, p.next); changes {
		if err := p.session.SetInputDelay(u.q, to); err != nil {
			p.breaks(RuleState, p.next, "the input delay of participant %d cannot change: %v", q, err)
		}
	}
	return p.m.press(u.q, p.next+driftback.Tick(delay))
}

// published returns the first tick for which participant q has pressed nothing.
func (p *peer[S, I]) published(q int) driftback.Tick {
	if from := p.m.newest().joined[q]; from > p.from {
		return from // its place is another process's, which has not begun
	}
	return max(p.m.published[q].before(p.next), p.from)
}

// checkTaken checks for which ticks the inputs were published that were read before the tick
// that has run.
func (p *peer[S, I]) checkTaken(r *session.Result) {
	for i, q := range p.is.Plays {
		want := p.m.published[q].taken(p.next)
		switch {
		case i >= len(r.InputFor):
			p.breaks(RuleMonotonic, p.next, "it does not say for which tick the input of participant %d was taken", q)
		case r.InputFor[i] != want:
			p.breaks(RuleMonotonic, p.next, "its input was taken for tick %d and not for %d, as participant %d", r.InputFor[i], want, q)
		}
	}
}

// publishes returns how many ticks' inputs the peer publishes at most as its next tick runs.
func (p *peer[S, I]) publishes() (ticks int) {
	for _, q := range p.is.Plays {
		u := p.m.published[q]
		ticks = max(ticks, int(u.before(p.next+1)-u.before(p.next)))
	}
	return ticks
}
