package simtest

import (
	"fmt"
	"slices"

	"github.com/driftback/driftback"
)

// roll says who plays when. A nil roll is that of a match in which nobody is ever cut.
type roll struct {
	cuts   []driftback.Tick // by participant: the first tick that it does not play, or never
	joined []driftback.Tick // by participant: the first that it plays since it came back, or 0
	away   [][]span         // by participant: when it did not play, before it came back
}

// span is the ticks from the first to just before the last.
type span struct{ from, to driftback.Tick }

func newRoll(participants int) (r roll) {
	r.joined, r.away = make([]driftback.Tick, participants), make([][]span, participants)
	for range participants {
		r.cuts = append(r.cuts, never)
	}
	return r
}

// status returns who is behind participant q's input on tick t.
func (r *roll) status(q int, t driftback.Tick) driftback.Status {
	if r == nil || t < r.cuts[q] && !slices.ContainsFunc(r.away[q], func(s span) bool { return s.from <= t && t < s.to }) {
		return driftback.Playing
	}
	return driftback.Replaced
}

// says returns who plays as the peer's session has it.
func (p *peer[S, I]) says() roll {
	r := newRoll(len(p.m.owner))
	for q := range r.cuts {
		if t, ok := p.session.Cut(driftback.Participant(q)); ok {
			r.cuts[q] = t
		}
		r.joined[q], _ = p.session.Joined(driftback.Participant(q))
	}
	return r
}

// peers returns who is in the view.
func (v *view[S, I]) peers() (list []int) {
	for i, in := range v.members {
		if in {
			list = append(list, i)
		}
	}
	return list
}

// letIn works out who has come back from one view to a later one, and returns in words what
// is wrong with that, or "".
func (m *match[S, I]) letIn(before, v *view[S, I]) string {
	v.away = slices.Clone(before.away)
	for q, j := range v.joined {
		i := m.owner[q]
		switch cut := before.cuts[q]; {
		case j == before.joined[q]:
			if m.s.Peers[i].Plays[0] != q && j != 0 && v.joined[m.s.Peers[i].Plays[0]] != j {
				return fmt.Sprintf("participant %d plays from tick %d on, and peer %d's others from another", q, j, i)
			}
			continue
		case j < before.joined[q], j < cut, cut == never:
			return fmt.Sprintf("participant %d plays again from tick %d on, who came back at tick %d before and was cut at %v", q, j, before.joined[q], ticks(before.cuts[q:][:1]))
		case m.coming[i] == nil && m.lives[i] == m.peers[i].life:
			return fmt.Sprintf("participant %d plays again from tick %d on, and no process of peer %d has come", q, j, i)
		default:
			// One that was lost again before it had played was away all the time.
			list := slices.Clone(v.away[q])
			if n := len(list); n > 0 && list[n-1].to == cut {
				list[n-1].to = j
			} else {
				list = append(list, span{cut, j})
			}
			v.away[q], v.members[i] = list, true
		}
	}
	return ""
}
