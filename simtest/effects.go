package simtest

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// checkEffects compares what was told about effects with the truth.
func (p *peer[S, I]) checkEffects(r *session.Result, finished bool) {
	m, d := p.m, &p.told
	for _, e := range r.Effects {
		if e.Kind == session.Confirmed {
			for d.tick < p.final && d.n == len(p.truth.at(d.tick).confirmed) {
				d.tick, d.n = d.tick+1, 0
			}
			if d.tick >= p.final || e.Tick != d.tick || e.Effect != p.truth.at(d.tick).confirmed[d.n] {
				p.breaks(RuleConfirmed, e.Tick, "%+v was told, which is not the next that was raised, and tick %d is the newest confirmed", e, p.final)
				return
			}
			d.n++
			continue
		}
		undone := e.Kind == session.Undone
		if undone {
			m.undone++
		}
		if !d.happened(tickEffect{e.Tick, e.Effect}, undone) {
			p.breaks(RuleEffects, e.Tick, "%+v was told and cannot have been", e)
		}
	}
	if r.Phase == session.Ended && !finished {
		return // the turn stopped before it told
	}
	if tolerance := m.s.EffectTolerance; tolerance > 0 {
		moved, wrong := d.moves.turn(d.open, r.Effects, driftback.Tick(tolerance))
		m.moved += uint64(moved)
		if wrong != "" {
			p.breaks(RuleEffects, p.next, "%s", wrong)
			return
		}
	}
	for d.settled < p.final {
		t := d.settled
		if raised := p.truth.at(t).raised; !d.settle(t, raised) {
			p.breaks(RuleEffects, t, "what was told of it is not %+v, which it raised", raised)
			return
		}
		d.moves.forget(t)
	}
	for ; d.tick < p.final; d.tick, d.n = d.tick+1, 0 {
		if all := p.truth.at(d.tick).confirmed; d.n < len(all) {
			p.breaks(RuleConfirmed, d.tick, "tick %d is confirmed and %+v was not told", p.final, all[d.n])
			return
		}
	}
}
