package simtest

import (
	"errors"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// published is which of its inputs a participant publishes for which tick, while its input
// delay changes. Where a scenario changes it, at a tick, it follows from that alone. Where the
// session adapts it, it is noted before each tick with which delay that is to run.
type published struct {
	s *Scenario
	q driftback.Participant
	// By tick that runs: the delay, and the first tick that has no input before it runs, of
	// which one more is known.
	delays []int
	next   []driftback.Tick
	said   []said // by tick
	// over is what is to be merged into the next one, and kept what it was before the newest tick.
	over, kept []driftback.Tick
}

// said is what is published for a tick.
type said struct {
	// from is the tick for which it was pressed, or the last one before a gap was; −1: nothing was.
	from   driftback.Tick
	filled bool
	// over are those for which was pressed what is merged into it, the oldest first.
	over []driftback.Tick
}

func (s *Scenario) published(q int) *published {
	delay := s.begins(int(s.players()[q]))
	u := &published{s: s, q: driftback.Participant(q), next: []driftback.Tick{driftback.Tick(delay)}}
	for range delay {
		u.said = append(u.said, said{from: -1})
	}
	return u
}

// begins returns the input delay that a peer begins with.
func (s *Scenario) begins(peer int) int {
	delay := s.Peers[peer].InputDelay
	if s.Adapt.on() {
		delay = s.Adapt.nearest(delay)
	}
	return delay
}

// step goes on by the next tick, which runs with an input delay.
func (u *published) step(delay int) {
	now := driftback.Tick(len(u.delays))
	u.kept = u.over
	target, last := now+driftback.Tick(delay), driftback.Tick(-1)
	if n := len(u.said); n > 0 {
		last = u.said[n-1].from
	}
	switch {
	case target >= u.next[now]:
		for driftback.Tick(len(u.said)) < target {
			u.say(said{from: last, filled: true})
		}
		u.say(said{from: target})
	case u.s.Merge:
		u.over = append(u.over, target)
	}
	u.delays = append(u.delays, delay)
	u.next = append(u.next, driftback.Tick(len(u.said)))
}

func (u *published) say(one said) {
	one.over, u.over = u.over, nil
	u.said = append(u.said, one)
}

// note takes the delay with which tick t is about to run. What was noted of it before is
// forgotten, since it has not run then.
func (u *published) note(t driftback.Tick, delay int) {
	if t < driftback.Tick(len(u.delays)) {
		u.over, u.delays, u.next, u.said = u.kept, u.delays[:t], u.next[:t+1], u.said[:u.next[t]]
	}
	if t == driftback.Tick(len(u.delays)) {
		u.step(delay)
	}
}

// run goes on until it is known what is published as tick t runs.
func (u *published) run(t driftback.Tick) {
	for now := driftback.Tick(len(u.delays)); now <= t && !u.s.Adapt.on(); now++ {
		delay := u.s.Peers[u.s.players()[u.q]].InputDelay
		if now > 0 {
			delay = u.delays[now-1]
		}
		if to, changes := u.s.changed(int(u.q), now); changes {
			delay = to
		}
		u.step(delay)
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
	return u.next[min(t, driftback.Tick(len(u.next))-1)]
}

// at returns what is published for tick t, as far as that is known.
func (u *published) at(t driftback.Tick) said {
	u.run(t) // it is published before t runs, or as it does
	if t >= driftback.Tick(len(u.said)) {
		return said{from: -1}
	}
	return u.said[t]
}

// taken returns for which tick that is published which is read before tick t runs.
func (u *published) taken(t driftback.Tick) driftback.Tick {
	target := t + driftback.Tick(u.delay(t))
	switch {
	case target >= u.next[t]:
		return target
	case u.s.Merge:
		return u.next[t]
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
	switch {
	case s.Adapt.on():
		return s.Adapt.Max
	case s.DelayEvery > 0:
		return max(p.InputDelay, maxChanged)
	}
	return p.InputDelay
}

func (s *Scenario) shortest(p *Peer) int {
	switch {
	case s.Adapt.on():
		return s.Adapt.Min
	case s.DelayEvery > 0:
		return 0
	}
	return p.InputDelay
}

// delaysChange reports whether input delays may.
func (s *Scenario) delaysChange() bool { return s.DelayEvery > 0 || s.Adapt.on() }

// generateDelays has the input delays of some scenarios change.
func (g *generator) generateDelays() {
	g.everySoOften(&g.s.DelayEvery, streamDelays, g.s.validateDelays, 5, 20, 100)
}

// validateDelays refuses what would have to know for which tick something is published, and what
// means nothing.
func (s *Scenario) validateDelays() error {
	switch {
	case s.DelayEvery > 0 && (s.PauseEvery > 0 || s.hasNature(hostile)):
		return errors.New("simtest: delayEvery is set, and pauseEvery, or a fault that is hostile: one of them is allowed")
	case s.Adapt.on() && (s.DelayEvery > 0 || s.PauseEvery > 0 || s.Rejoin || s.hasNature(hostile)):
		return errors.New("simtest: adaptDelay is set, and delayEvery, pauseEvery, rejoin, or a fault that is hostile: one of them is allowed")
	case (s.Fill || s.Merge) && !s.delaysChange():
		return errors.New("simtest: fill or merge is set, and neither delayEvery nor adaptDelay: no input delay changes")
	}
	return nil
}

// presses returns what participant q presses before the peer's next tick, and sees to it that
// its input delay is then what it should be.
func (p *peer[S, I]) presses(q int) I {
	u := p.m.published[q]
	if p.m.s.Adapt.on() {
		p.m.note(q, p.next, p.session.InputDelay(u.q))
	}
	delay := u.delay(p.next)
	if to, changes := p.m.s.changed(q, p.next); changes {
		if err := p.session.SetInputDelay(u.q, to); err != nil {
			p.breaks(RuleState, p.next, "the input delay of participant %d cannot change: %v", q, err)
		}
	}
	return p.m.press(u.q, p.next+driftback.Tick(delay))
}

// note notes the delay with which participant q's next tick is to run.
func (m *match[S, I]) note(q int, t driftback.Tick, delay int) {
	m.published[q].note(t, delay)
	m.values[q] = m.values[q][:min(len(m.values[q]), int(m.published[q].before(t)))]
}

// says returns what participant q publishes for tick t, as far as that is known.
func (m *match[S, I]) says(q int, t driftback.Tick) (in I) {
	u := m.published[q]
	for n := driftback.Tick(len(m.values[q])); n <= t; n++ {
		one := u.at(n)
		var in, last I
		if n > 0 {
			last = m.values[q][n-1]
		}
		switch {
		case n >= driftback.Tick(len(u.said)):
			return in
		case one.filled && m.s.Fill:
			in = m.game.fill(last)
		case one.filled:
			in = last
		case one.from >= 0:
			in = m.press(u.q, one.from)
		}
		for i, from := range one.over {
			if i == 0 {
				last = m.press(u.q, from)
			} else {
				last = m.game.merge(m.press(u.q, from), last)
			}
		}
		if len(one.over) > 0 {
			in = m.game.merge(in, last)
		}
		m.values[q] = append(m.values[q], in)
	}
	return m.values[q][t]
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
