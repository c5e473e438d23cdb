package simtest

import (
	"errors"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// deed is what a participant does to the match itself on a tick.
type deed struct {
	kind  deedKind
	speed session.Speed
}

type deedKind uint8

const (
	doesNothing deedKind = iota
	pauses
	resumes
	setsSpeed
)

// deed returns what participant q does for tick t. Of a peer's participants the first alone
// does something, since that is whose inputs a session has it ride with.
func (s *Scenario) deed(q int, t driftback.Tick) (d deed) {
	if s.PauseEvery == 0 {
		return d
	}
	r := draw{random(s.Seed, streamPauses, uint64(q+1)<<24|uint64(t))}
	if r.IntN(s.PauseEvery) > 0 {
		return d
	}
	d.kind = pick(&r, pauses, pauses, resumes, resumes, resumes, setsSpeed)
	if d.kind == setsSpeed {
		d.speed = session.Speed(r.between(1, int(session.MaxSpeed)))
	}
	return d
}

// generatePauses has the peers of some scenarios pause, resume and change the speed.
func (g *generator) generatePauses() {
	g.everySoOften(&g.s.PauseEvery, streamPauses, g.s.validatePauses, 4, 30, 100)
}

// validatePauses refuses what other rules do not know: they take a tick to be run.
func (s *Scenario) validatePauses() error {
	if s.PauseEvery > 0 && (s.EffectTolerance > 0 || s.hasNature(hostile) || s.has(Diverge)) {
		return errors.New("simtest: pauseEvery is set, and effectTolerance, or a fault that is hostile or diverges: one of them is allowed")
	}
	return nil
}

// control is what the oracle knows of the match beside the world.
type control struct {
	paused bool
	speed  session.Speed
}

// after returns the control state after what is done for tick t, by ascending participant that
// is not cut.
func (c control) after(s *Scenario, t driftback.Tick, roll *roll) control {
	if s.PauseEvery == 0 {
		return c
	}
	for q, peer := range s.players() {
		if is := &s.Peers[peer]; q != is.Plays[0] || t < driftback.Tick(is.InputDelay) || roll.status(q, t) == driftback.Replaced {
			continue
		}
		switch d := s.deed(q, t); d.kind {
		case pauses:
			c.paused = true
		case resumes:
			c.paused = false
		case setsSpeed:
			c.speed = d.speed
		case doesNothing:
		}
	}
	return c
}

// act does to the match what is to be done for the tick that the next input is for. While
// the peer stalls it says so again, which changes nothing.
func (p *peer[S, I]) act() {
	var err error
	switch d := p.m.s.deed(p.is.Plays[0], p.next+driftback.Tick(p.is.InputDelay)); d.kind {
	case pauses:
		err = p.session.Pause()
	case resumes:
		err = p.session.Resume()
	case setsSpeed:
		err = p.session.SetSpeed(d.speed)
	case doesNothing:
	}
	if err != nil && !p.over(err) {
		p.breaks(RuleState, p.next, "it cannot pause, resume or change the speed: %v", err)
	}
}

// over reports whether an error is why the peer's match has ended, as a fault has bid it do.
func (p *peer[S, I]) over(err error) bool {
	return errors.Is(err, session.ErrLeft) || errors.Is(err, session.ErrHalted)
}

// checkControl compares the newest confirmed control state with what it should be.
func (p *peer[S, I]) checkControl() {
	if p.m.s.PauseEvery == 0 {
		return
	}
	got, ok := p.session.ControlAt(p.final)
	if want := p.truth.at(p.final).begins; !ok || got != (session.Control{Paused: want.paused, Speed: want.speed}) {
		p.breaks(RuleState, p.final, "as the tick begins it is paused: %v, and the speed %d; in truth %v and %d", got.Paused, got.Speed, want.paused, want.speed)
	}
}

// paused reports whether a tick that the peer has come to is paused, as far as it knows.
func (p *peer[S, I]) paused(t driftback.Tick) bool {
	c, ok := p.session.ControlAt(t + 1)
	return p.m.s.PauseEvery > 0 && ok && c.Paused
}

// pausedBetween returns how many ticks of a range are.
func (p *peer[S, I]) pausedBetween(from, to driftback.Tick) (n int) {
	if p.m.s.PauseEvery == 0 {
		return 0
	}
	for t := from; t < to; t++ {
		if p.paused(t) {
			n++
		}
	}
	return n
}
