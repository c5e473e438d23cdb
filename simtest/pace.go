package simtest

import (
	"fmt"
	"time"

	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/session"
)

// Paces is what a peer follows of what its session advises about its pace.
type Paces string

// What a peer can follow; a peer that follows nothing keeps the rate of its clock.
const (
	PacesByRate  Paces = "rate"  // its frames are as far apart as pacing.Advice.Rate says
	PacesBySkips Paces = "skips" // it leaves out ticks, or runs more, as pacing.Advice.Skip says
)

func (k Paces) validate(peer int) error {
	if k != "" && k != PacesByRate && k != PacesBySkips {
		return fmt.Errorf("simtest: paces of peer %d is %q: want %q or %q, or nothing", peer, string(k), PacesByRate, PacesBySkips)
	}
	return nil
}

// keepsPace reports whether sessions must know how long a tick lasts: a peer keeps pace, or
// input delays adapt.
func (s *Scenario) keepsPace() bool {
	for i := range s.Peers {
		if s.Peers[i].Paces != "" {
			return true
		}
	}
	return s.Adapt.on()
}

// skips reports whether a peer may leave out ticks.
func (s *Scenario) skips() bool {
	for i := range s.Peers {
		if s.Peers[i].Paces == PacesBySkips {
			return true
		}
	}
	return false
}

// tickRate returns session.Config's TickRate: what fits the frames best.
func (s *Scenario) tickRate() int {
	if !s.keepsPace() {
		return session.DefaultTickRate
	}
	return int((Second + s.Frame/2) / s.Frame)
}

const (
	// paceSlows is how much longer, in percent, the frames of a peer that keeps pace may be, or its
	// ticks, of which one of so many may be left out.
	paceSlows = 10
	// skipsApart is how many calls there are between two that advise to leave out a tick or to add one,
	// at the least.
	skipsApart = 10
)

// gait is how a peer keeps pace.
type gait struct {
	advice  pacing.Advice
	waits   bool // this turn leaves out its tick, as was advised
	calls   int  // of Tick since the last one that advised a skip
	skipped bool
	even    even
}

// length returns the time between two frames by the peer's own clock.
func (p *peer[S, I]) length() time.Duration {
	frame := p.m.s.Frame.Duration()
	if rate := p.gait.advice.Rate; p.is.Paces == PacesByRate && rate > 0 {
		return time.Duration(float64(frame)/rate) / time.Microsecond * time.Microsecond
	}
	return frame
}

// ticks returns how many ticks the peer's next frame is to run.
func (p *peer[S, I]) ticks() int {
	if p.is.Paces == PacesBySkips {
		switch p.gait.advice.Skip {
		case pacing.LeaveOut:
			p.m.leftOut++
			return 0
		case pacing.RunExtra:
			p.m.ranExtra++
			return 2
		default:
		}
	}
	return 1
}

// checkPace checks the advice of a turn.
func (p *peer[S, I]) checkPace(r *session.Result) {
	g := &p.gait
	if p.m.game.plantAdvice != nil {
		p.m.game.plantAdvice(p.self, &r.Pace)
	}
	g.advice = r.Pace
	if p.err != nil || !p.playing {
		return
	}
	least := pacing.MinCorrection // no clock measures a load here
	if p.m.s.hasNature(hostile) {
		least = pacing.MinRate // and what others say of theirs may be a lie
	}
	switch {
	case !(r.Pace.Rate >= least-1e-9 && r.Pace.Rate <= pacing.MaxRate):
		p.breaks(RulePace, p.next, "it is to go on at %v times its rate, and %v to %v are allowed", r.Pace.Rate, least, pacing.MaxRate)
	case r.Pace.Skip != pacing.Keep && r.Phase != session.Advanced:
		p.breaks(RulePace, p.next, "it is to %v in a turn that has run none", r.Pace.Skip)
	}
	if !g.waits {
		g.calls++
	}
	if r.Pace.Skip == pacing.Keep {
		return
	}
	if g.skipped && g.calls < skipsApart && !p.m.s.hasNature(hostile) {
		p.breaks(RulePace, p.next, "it is to %v, %d calls after the last such advice", r.Pace.Skip, g.calls)
	}
	g.skipped, g.calls = true, 0
}
