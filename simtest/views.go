package simtest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// never stands for no tick.
const never = driftback.Tick(math.MaxInt64)

// view is what peers have agreed on about who plays. View 0 is the roster. The first peer
// that is in a view says what it is, and all others are held to that.
type view[S any, I comparable] struct {
	number  int
	by      driftback.Peer
	members []bool // by peer
	roll
	truth *truth[S, I]
}

// playsOn reports whether survivors go on without a peer that is lost: two have no majority
// without each other, unless one may come back.
func (s *Scenario) playsOn() bool {
	return s.PlayOn && (len(s.Peers) > 2 || s.Rejoin && len(s.Peers) > 1)
}

// withViews begins with the roster.
func (m *match[S, I]) withViews() {
	roster := &view[S, I]{members: make([]bool, len(m.s.Peers)), roll: newRoll(len(m.owner)), truth: m.truth}
	for i := range roster.members {
		roster.members[i] = true
	}
	m.views = append(m.views, roster)
	if m.s.playsOn() {
		m.plant(cause{elsewhere: []like{is(session.ErrCutOff)}, wrong: m.cutWrongly, may: true})
	}
}

// newest returns the newest view in which somebody is.
func (m *match[S, I]) newest() *view[S, I] { return m.views[len(m.views)-1] }

// weigh returns how many participants those peers play of which is says so.
func (m *match[S, I]) weigh(is func(p *peer[S, I]) bool) (n int) {
	for _, p := range m.peers {
		if is(p) {
			n += len(p.is.Plays)
		}
	}
	return n
}

// seeView looks whether the peer has come to another view, and judges that.
func (p *peer[S, I]) seeView() {
	m := p.m
	if !m.s.playsOn() || !p.begun {
		return
	}
	number := p.session.Stats().View
	if number == p.view.number {
		return
	}
	said := p.says()
	i := slices.IndexFunc(m.views, func(v *view[S, I]) bool { return v.number >= number })
	if i < 0 || m.views[i].number != number {
		if i < 0 {
			i = len(m.views)
		}
		v := m.agreed(i, number, said, p)
		if v == nil {
			return
		}
		m.views = slices.Insert(m.views, i, v)
	}
	p.enter(m.views[i], said)
}

// agreed judges a view in which nobody was before, which will be m.views[place].
func (m *match[S, I]) agreed(place, number int, said roll, p *peer[S, I]) *view[S, I] {
	if place == 0 {
		p.breaks(RuleView, p.next, "it is in view %d with the cuts %v, and the roster has none", number, ticks(said.cuts))
		return nil
	}
	before, cuts := m.views[place-1], said.cuts
	v := &view[S, I]{number: number, by: p.self, members: slices.Clone(before.members), roll: said}
	if wrong := m.letIn(before, v); wrong != "" {
		p.breaks(RuleReturn, p.next, "in view %d %s", number, wrong)
		return nil
	}
	for q, t := range cuts {
		owner := m.peers[m.owner[q]]
		switch {
		case v.joined[q] > before.joined[q] && t == never:
			continue
		case t == never && before.cuts[q] == never:
			continue
		case t > before.cuts[q] && v.joined[q] == before.joined[q]:
			p.breaks(RuleView, t, "in view %d participant %d plays to that tick, and in view %d only to tick %d", number, q, before.number, before.cuts[q])
			return nil
		case t > owner.published(q):
			p.breaks(RuleView, t, "in view %d participant %d plays to that tick, and it has pressed nothing from tick %d on", number, q, owner.published(q))
			return nil
		}
		v.members[owner.self] = false
	}
	for q, t := range cuts {
		if !v.members[m.owner[q]] && t == never {
			p.breaks(RuleView, p.next, "in view %d peer %d does not play and its participant %d does", number, m.owner[q], q)
			return nil
		}
	}
	if wrong := m.cutInVain(before, v); wrong != "" {
		p.breaks(RuleView, p.next, "in view %d %s", number, wrong)
		return nil
	}
	all := m.weigh(func(p *peer[S, I]) bool { return before.members[p.self] })
	left := m.weigh(func(p *peer[S, I]) bool { return v.members[p.self] && before.members[p.self] })
	alone := m.s.Rejoin && len(before.peers()) == 2 && len(v.peers()) == 1 // the other has lost the match
	if !alone && 2*left <= all && number == before.number+1 {
		p.breaks(RuleView, p.next, "it goes on in view %d with %d of the %d participants of view %d, which is no majority", number, left, all, before.number)
		return nil
	}
	truth := *m.truth
	truth.begun, truth.ticks, truth.roll = false, nil, &v.roll
	v.truth = &truth
	v.truth.begin(p.seed)
	return v
}

// cutInVain returns in words why a peer should not have been cut, or "".
func (m *match[S, I]) cutInVain(before, v *view[S, I]) string {
	for _, q := range m.peers {
		if v.members[q.self] || !before.members[q.self] || q.err != nil || m.lives[q.self] > 0 && (q.gone || q.view.number > v.number) {
			continue
		}
		// If a link is dead, it depends on the others whom they go on without.
		missed := slices.ContainsFunc(m.peers, func(a *peer[S, I]) bool { return a.missed[q.self] || q.missed[a.self] })
		if !missed {
			return fmt.Sprintf("peer %d does not play, which has not left and whom nobody has missed for %v", q.self, m.s.silence())
		}
	}
	return ""
}

// enter brings a peer into a view.
func (p *peer[S, I]) enter(v *view[S, I], said roll) {
	m, had, cuts := p.m, p.view, said.cuts
	p.view, p.truth, p.entered = v, v.truth, m.net.Now()
	if !slices.Equal(cuts, v.cuts) {
		p.breaks(RuleView, p.next, "it is in view %d with the cuts %v, and peer %d is in it with %v", v.number, ticks(cuts), v.by, ticks(v.cuts))
		return
	}
	if !slices.Equal(said.joined, v.joined) {
		p.breaks(RuleReturn, p.next, "in view %d its participants play from the ticks %d on, and at peer %d from %d", v.number, said.joined, v.by, v.joined)
		return
	}
	if !v.members[p.self] {
		p.breaks(RuleView, p.next, "it goes on in view %d, in which it does not play", v.number)
		return
	}
	for q, t := range cuts {
		if j := v.joined[q]; j != had.joined[q] && j < p.confirmed {
			p.breaks(RuleReturn, j, "from that tick on participant %d plays again in view %d, and it had confirmed all below tick %d without it", q, v.number, p.confirmed)
			return
		}
		if t != had.cuts[q] && t < p.confirmed {
			p.breaks(RuleView, t, "from that tick on participant %d does not play in view %d, and it had confirmed all below tick %d with it", q, v.number, p.confirmed)
			return
		}
	}
	// All that is confirmed is compared once more, so that nothing of it has changed.
	clear(p.inputs)
	clear(p.runs.known)
	for _, q := range m.peers {
		if !v.members[q.self] && q.view.number < v.number {
			for _, own := range p.is.Plays {
				q.most = min(q.most, p.published(own)) // it can have heard no more of this one
			}
		}
	}
}

// shares reports whether a peer may still pass on what only it has of those that were cut.
func (p *peer[S, I]) shares() bool {
	return p.view.number > 0 && p.m.net.Now() < p.entered+p.m.outlook.patience+p.m.outlook.losing
}

// checkOutside checks that a peer without which others go on does not go on itself.
func (p *peer[S, I]) checkOutside() {
	if p.confirmed > p.most {
		p.breaks(RuleView, p.most, "it has confirmed all below tick %d, and others go on without it since they had pressed no more than to that tick", p.confirmed)
	}
}

// ticks shows cuts.
func ticks(cuts []driftback.Tick) (list []string) {
	for _, t := range cuts {
		if t == never {
			list = append(list, "none")
		} else {
			list = append(list, fmt.Sprint(t))
		}
	}
	return list
}

// cutWrongly returns why a peer may not say that others go on without it.
func (m *match[S, I]) cutWrongly(self driftback.Peer, err error) string {
	p := m.peers[self]
	var e *session.CutOffError
	if !errors.As(err, &e) || int(e.Participant) >= len(m.owner) || int(e.By) >= len(m.peers) {
		return "it names no participant and peer"
	}
	i := slices.IndexFunc(m.views, func(v *view[S, I]) bool { return v.number == e.View })
	if i < 0 {
		return fmt.Sprintf("nobody has been in view %d", e.View)
	}
	v := m.views[i]
	switch {
	case m.peers[e.By].view.number < e.View:
		return fmt.Sprintf("peer %d has not been in view %d", e.By, e.View)
	case v.cuts[e.Participant] != e.Tick && v.joined[e.Participant] != e.Tick:
		return fmt.Sprintf("in view %d participant %d plays to %v", e.View, e.Participant, ticks(v.cuts[e.Participant:][:1]))
	case e.Self != !v.members[self], e.Self != (m.owner[e.Participant] == self):
		return fmt.Sprintf("in view %d it plays, or another's participant is named", e.View)
	case !e.Self && p.confirmed <= e.Tick:
		return fmt.Sprintf("it has confirmed nothing beyond tick %d", p.confirmed)
	}
	return ""
}

// mustGoOn returns in words why a peer may not end because others are lost: those that are
// left are enough, and nothing has disturbed them for long enough to agree on that.
func (m *match[S, I]) mustGoOn(self driftback.Peer) string {
	v, now := m.newest(), m.net.Now()
	p := m.peers[self]
	if !m.s.playsOn() || !m.joined || m.muddled || m.tangled || !v.members[self] || m.outlook.deciding == 0 || p.view != v ||
		m.unsettled(now, m.outlook.deciding) {
		return ""
	}
	all := m.weigh(func(p *peer[S, I]) bool { return v.members[p.self] })
	left := m.weigh(func(q *peer[S, I]) bool {
		return v.members[q.self] && !q.gone && q.frozen == 0 && (q.err == nil || q == p)
	})
	if members := slices.DeleteFunc(slices.Clone(v.members), func(in bool) bool { return !in }); len(members) <= 2 || 2*left <= all {
		return ""
	}
	return fmt.Sprintf("%d of the %d participants of view %d are there and could go on, and nothing has disturbed them for %v", left, all, v.number, now-m.disturbed)
}

// staysOn reports whether a peer is to go on: it plays in the newest view, and of that a
// majority is there. Who has finished counts as there.
func (p *peer[S, I]) staysOn() bool {
	m, v := p.m, p.m.newest()
	if !v.members[p.self] {
		return false
	}
	there := func(q *peer[S, I]) bool {
		return v.members[q.self] && !q.gone && (q.err == nil || is(session.ErrFinished)(q.err))
	}
	all := m.weigh(func(q *peer[S, I]) bool { return v.members[q.self] })
	members, left := 0, 0
	for i, in := range v.members {
		if in {
			members++
			if there(m.peers[i]) {
				left++
			}
		}
	}
	if m.s.Rejoin && members == 1 && len(m.peers) > 1 {
		return false // alone it waits, or plays, as long as somebody comes back or may
	}
	return left == members || members > 2 && 2*m.weigh(there) > all
}

// watchLeft watches the peers that are to end, because others go on without them or too few
// are left: within their bound they must have. It is called once all faults are over.
func (m *match[S, I]) watchLeft(now time.Duration) {
	for _, p := range m.peers {
		switch {
		case p.gone || p.err != nil || m.muddled:
		case p.staysOn() || m.pending():
			p.ending = 0
		case p.ending == 0:
			p.ending = now
		case now-p.ending > p.bound()+2*m.outlook.losing && p.m.s.playsOn():
			p.breaks(RuleCause, p.next, "others go on without it, or too few are left, and for %v it has not ended here", now-p.ending)
		}
	}
}

// begins notes that a peer has begun to play.
func (m *match[S, I]) begins() {
	if m.joined {
		return
	}
	m.together = m.net.Now()
	m.joined = !slices.ContainsFunc(m.peers, func(p *peer[S, I]) bool { return !p.playing })
}

// mayGoOn reports whether others may go on where a peer is lost from now on. Before all have
// begun to play that depends on how far each has come.
func (m *match[S, I]) mayGoOn() bool {
	m.tangled = m.tangled || m.unsettled(m.net.Now(), m.outlook.losing)
	m.muddled = m.muddled || m.s.playsOn() && !m.joined
	return m.s.playsOn()
}
