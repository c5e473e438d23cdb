package simtest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// moves is what a peer's runs raise, seen at its step. It is kept where a scenario
// tolerates that an effect moves: what happened without being told can then not be
// worked out from what was.
type moves struct {
	now            []tickEffect // of the newest run of every tick that is not final
	removed, added []tickEffect // by this turn's runs
}

// watched returns a step that notes what its runs raise.
func watched[S, I any](step driftback.Step[S, I], retracing func() bool, m *moves) driftback.Step[S, I] {
	return func(s *S, in []I, pass *driftback.Pass) {
		if step(s, in, pass); !retracing() {
			m.ran(pass.Tick(), pass.Raised())
		}
	}
}

func (m *moves) ran(t driftback.Tick, raised []driftback.Effect) {
	m.now = slices.DeleteFunc(m.now, func(e tickEffect) bool {
		gone := e.tick == t && !slices.Contains(raised, e.effect)
		if gone {
			m.removed = append(m.removed, e)
		}
		return gone
	})
	for _, effect := range raised {
		if e := (tickEffect{t, effect}); !slices.Contains(m.now, e) {
			m.now, m.added = append(m.now, e), append(m.added, e)
		}
	}
}

// forget takes away what a tick that is final raised.
func (m *moves) forget(t driftback.Tick) {
	m.now = slices.DeleteFunc(m.now, func(e tickEffect) bool { return e.tick <= t })
}

// turn judges what a turn told of what its runs did, and moves in open what was rightly
// not told. An effect that one run took away and another added within the tolerance is the
// same one, and must not be told; everything else must.
func (m *moves) turn(open []tickEffect, reports []session.Report, tolerance driftback.Tick) (moved int, wrong string) {
	defer func() { m.removed, m.added = m.removed[:0], m.added[:0] }()
	near := func(a, b tickEffect) bool {
		return a.effect == b.effect && max(a.tick-b.tick, b.tick-a.tick) <= tolerance
	}
	for _, r := range reports {
		e, list := tickEffect{r.Tick, r.Effect}, &m.added
		switch r.Kind {
		case session.Undone:
			list = &m.removed
			for _, other := range reports {
				if o := (tickEffect{other.Tick, other.Effect}); other.Kind == session.Happened && near(e, o) {
					return 0, fmt.Sprintf("%+v moved to tick %d, within %d ticks, and both were told", r, o.tick, tolerance)
				}
			}
		case session.Confirmed:
			continue
		default:
		}
		i := slices.Index(*list, e)
		if i < 0 {
			return 0, fmt.Sprintf("%+v was told, and no run made it so", r)
		}
		*list = slices.Delete(*list, i, i+1)
	}
	// What was not told must fit: in the order of ticks, each with the next of its kind.
	byTick := func(a, b tickEffect) int { return cmp.Compare(a.tick, b.tick) }
	slices.SortStableFunc(m.removed, byTick)
	slices.SortStableFunc(m.added, byTick)
	for _, e := range m.removed {
		i := slices.IndexFunc(m.added, func(o tickEffect) bool { return o.effect == e.effect })
		if i < 0 || !near(e, m.added[i]) {
			return 0, fmt.Sprintf("%+v of tick %d was taken away, and is not within %d ticks of another, and it was not told", e.effect, e.tick, tolerance)
		}
		if j := slices.Index(open, e); j >= 0 {
			open[j].tick = m.added[i].tick
		}
		m.added = slices.Delete(m.added, i, i+1)
		moved++
	}
	if len(m.added) > 0 {
		return 0, fmt.Sprintf("%+v of tick %d happened and was not told", m.added[0].effect, m.added[0].tick)
	}
	return moved, ""
}
