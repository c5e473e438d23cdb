package simtest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// run looks at a tick that is about to run while its process comes back: it has all inputs and
// statuses as some view has them.
func (c *coming[S, I]) run(in []I, pass *driftback.Pass) {
	m, t := c.p.m, pass.Tick()
	if t != c.runs && c.begun && c.runs > c.next {
		c.p.breaks(RuleReturn, t, "it is run, and tick %d is the next", c.runs)
	}
	c.runs = t + 1
	c.ran++
	for _, v := range slices.Backward(m.views) {
		if v.fits(in, pass) {
			return
		}
	}
	v := m.newest()
	for q := range in {
		status := pass.Status(driftback.Participant(q))
		if want := v.truth.input(q, t); in[q] != want || status != v.status(q, t) {
			c.p.breaks(RuleReturn, t, "it is run with %+v of participant %d, who is %v, and in truth with %+v, as %v", in[q], q, status, want, v.status(q, t))
			return
		}
	}
}

// check holds what one turn did against the rules.
func (c *coming[S, I]) check(r *session.Result, err error) {
	p, m := c.p, c.p.m
	m.trace.add(uint64(r.Phase), uint64(r.Tick), uint64(r.Confirmed), uint64(len(r.Effects)))
	for _, e := range r.Events {
		// One that goes on from what is there begins beyond what has been run of it.
		skips := e.Tick > c.next && e.Tick <= r.Tick && c.ran < int(r.Tick-c.next)
		if e.Kind == session.FeedBegan && (!c.begun || skips) {
			c.begun, c.next, c.fedFrom = true, e.Tick, e.Tick
		}
	}
	c.ran = 0
	newest := driftback.Tick(0)
	for _, q := range slices.Concat(m.peers, m.former) {
		newest = max(newest, q.final)
	}
	switch {
	case !c.begun:
	case r.Tick < c.next || r.Tick > c.next+session.DefaultCatchUp:
		p.breaks(RuleReturn, r.Tick, "the next tick was %d and is %d", c.next, r.Tick)
	case r.Tick > r.Confirmed || r.Confirmed > newest:
		p.breaks(RuleReturn, r.Tick, "it has run to tick %d and knows all inputs below tick %d, and no player has confirmed more than those below tick %d", r.Tick, r.Confirmed, newest)
	default:
		c.next, c.runs, c.confirmed = r.Tick, r.Tick, r.Confirmed
		c.checkState()
	}
	switch {
	case m.violation != nil:
	case err != nil:
		if wrong := c.endedWrongly(err); wrong != "" {
			p.breaks(RuleReturn, c.next, "%s: %v", wrong, err)
		}
		p.end.Crash()
		c.ends()
	case c.overdue():
		p.breaks(RuleReturn, c.next, "nothing has kept it from being let in for %v, and it does not play", m.net.Now()-c.since)
	default:
		c.feeder, c.fed = c.joiner.Feeder()
	}
}

// checkState compares the state as the next tick begins with what it should be in some view.
func (c *coming[S, I]) checkState() {
	m := c.p.m
	state := c.joiner.State()
	got := m.truth.hasher.Sum(state)
	m.trace.add(uint64(got))
	for _, v := range slices.Backward(m.views) {
		if v.truth.at(c.next).sum == got {
			return
		}
	}
	truth := m.newest().truth
	c.p.breaks(RuleReturn, c.next, "the fingerprint as the tick begins is %v and in truth %v", got, truth.at(c.next).sum)
	if want, same := truth.again(c.next, got); same {
		if differ := m.truth.hasher.Diff(nil, want, state); len(differ) > 0 {
			m.violation.Different, m.violation.Difference = true, differ[0]
			m.violation.Field = fieldBeside(differ[0], want, state)
		}
	}
}

// overdue reports whether nothing has kept the process from being let in for too long: all
// who play are there and in the newest view, and have more to play than that takes.
func (c *coming[S, I]) overdue() bool {
	m, now, newest := c.p.m, c.p.m.net.Now(), c.p.m.newest()
	most := 2 * (m.outlook.patience + m.outlook.losing)
	able := m.joined && !m.muddled && now >= m.outlook.quiet && m.disturbing == 0 && len(m.thin) == 0 && m.handsInTime() &&
		slices.Contains(newest.members, true)
	for _, q := range m.peers {
		if newest.members[q.self] && q.self != c.p.self {
			able = able && !q.gone && q.err == nil && q.frozen == 0 && q.view == newest && q.final < driftback.Tick(m.s.Ticks)
		}
	}
	if !able {
		c.since = now
	}
	return now-c.since > most
}

// handsInTime reports whether a state is not too old when it has been handed over.
func (m *match[S, I]) handsInTime() bool {
	return 8*m.s.late().Duration() < time.Duration(int(m.s.kept())/2-2*m.s.every())*m.s.Frame.Duration()
}

// endedWrongly returns in words why a process may not end so that came back, or "".
func (c *coming[S, I]) endedWrongly(err error) string {
	m := c.p.m
	var desync *session.DesyncError
	switch {
	case is(session.ErrFinished)(err):
		if c.next != driftback.Tick(m.s.Ticks) {
			return "it says that the match has finished, at tick " + itoa(int(c.next))
		}
		return ""
	case errors.As(err, &desync):
		return "its world is the players'"
	case is(session.ErrCutOff)(err):
		if !slices.ContainsFunc(m.views, func(v *view[S, I]) bool { return v.joined[c.p.is.Plays[0]] > 0 && !v.members[c.p.self] }) && m.newest().members[c.p.self] {
			return "in no view was it let in and cut again"
		}
		return c.undisturbed("it was let in, and nothing has kept it from playing", nil)
	case is(session.ErrNeverJoined)(err):
		return c.undisturbed("all who play could have let it in", nil)
	case is(session.ErrNoFeeder)(err) && c.owed && !c.disturbed:
		return "who fed it has finished, and it has not seen that"
	case is(session.ErrNoFeeder)(err) && strings.Contains(err.Error(), "too old") && !m.handsInTime():
		return ""
	case is(session.ErrNoFeeder)(err):
		return c.undisturbed("somebody could have fed it", c.feeders())
	}
	return "it may not end so"
}

// undisturbed returns why if nothing has befallen any of those that matter, none being all, since
// this process came.
func (c *coming[S, I]) undisturbed(why string, matter []driftback.Peer) string {
	m := c.p.m
	if c.disturbed || m.muddled || len(m.thin) > 0 || !m.handsInTime() {
		return ""
	}
	for _, q := range m.peers {
		if q.self != c.p.self && (len(matter) == 0 || slices.Contains(matter, q.self)) && (q.gone || q.err != nil || q.from > 0 && q.entered >= c.came) {
			return ""
		}
	}
	if m.net.Now()-c.came < returnJoin && is(session.ErrNeverJoined)(c.joiner.Err()) {
		return "it has waited for only " + (m.net.Now() - c.came).String()
	}
	return why
}

// due returns the first tick whose fingerprint a peer that has come back compares.
func (v *view[S, I]) due(i int, m *match[S, I]) driftback.Tick {
	if m.every == 0 {
		return 0
	}
	return (v.joined[m.s.Peers[i].Plays[0]]/m.every + 1) * m.every
}

// due returns the first tick whose fingerprint the peer in that place has not compared.
func (p *peer[S, I]) due() driftback.Tick {
	if v := p.m.newest(); v.joined[p.is.Plays[0]] > p.from {
		return v.due(int(p.self), p.m)
	}
	return p.root
}

// caughtUp returns how many ticks a peer that has come back has run in a turn in which it used
// no input.
func (p *peer[S, I]) caughtUp(r *session.Result) driftback.Tick {
	n := r.Tick - p.next
	if n < 0 || n > session.DefaultCatchUp || n > 0 && r.Tick-1+driftback.Tick(p.is.InputDelay) >= p.from {
		p.breaks(RuleReturn, r.Tick, "the next tick was %d and is %d, and it plays from tick %d on", p.next, r.Tick, p.from)
	}
	return n
}

// checkReturned checks that the peer was told of everybody who has come back, once.
func (p *peer[S, I]) checkReturned(r *session.Result) {
	m := p.m
	if !m.s.Rejoin || m.violation != nil || r.Phase == session.Ended {
		return
	}
	if p.returned == nil {
		p.returned = make([]driftback.Tick, len(m.owner))
	}
	for _, e := range r.Events {
		if e.Kind != session.PeerReturned || int(e.Peer) >= len(m.peers) {
			continue
		}
		for _, q := range m.s.Peers[e.Peer].Plays {
			if e.Tick <= p.returned[q] || e.Tick > p.view.joined[q] {
				p.breaks(RuleReturn, e.Tick, "it is told that peer %d plays from that tick on, and was told so for tick %d; by view %d it does from tick %d on", e.Peer, p.returned[q], p.view.number, p.view.joined[q])
				return
			}
			p.returned[q] = e.Tick
		}
	}
	if !slices.Equal(p.returned, p.view.joined) {
		p.breaks(RuleReturn, p.next, "in view %d participants play from the ticks %d on, and it was told of %d", p.view.number, p.view.joined, p.returned)
	}
	if now := m.net.Now(); r.Phase == session.Advanced && len(p.view.peers()) == 1 && m.disturbing == 0 &&
		m.s.PeerTimeout > 0 &&
		now > max(m.there, p.entered)+m.s.PeerTimeout.Duration()*5/8+10*m.s.late().Duration() {
		p.breaks(RuleReturn, p.next, "it plays on alone, and for %v nobody has been there who comes back", now-m.there)
	}
	if p.from > 0 && r.Phase == session.Advanced {
		m.happens[p.fault] = true
	}
}
