package simtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// returnJoin is for how long one who comes back waits for a link at the beginning, and for
// being let in.
const returnJoin = 12 * time.Second

// returns is what a match knows about processes that come back.
type returns[S any, I comparable] struct {
	lives  []int         // by peer: how many processes it has had after the first
	coming []*peer[S, I] // by peer: the process that comes back, or nil
	former []*peer[S, I] // whose places were taken
	there  time.Duration // when a process that comes back was there last
	spoken [][]speech    // by participant: of its processes after the first, in order
}

// speech is from which tick on a process plays, and the first for which it has published
// what was pressed; never: it has not yet.
type speech struct{ from, first driftback.Tick }

// coming is a process that comes back to the match.
type coming[S any, I comparable] struct {
	p      *peer[S, I] // the peer that it will be
	fault  int
	config session.Config[S, I]
	asks   *session.Lockstep[S, I] // that of session.New, until it is told that the match is under way
	joiner *session.Joiner[S, I]
	came   time.Duration
	over   bool
	// disturbed: links were bad meanwhile, or so shortly before that something may be left of it.
	disturbed bool

	begun     bool
	fedFrom   driftback.Tick // as which tick the state begins that it was fed
	next      driftback.Tick // the next to run
	runs      driftback.Tick // the next that its step is to run
	ran       int            // how many it has run in this turn
	confirmed driftback.Tick
	feeder    driftback.Peer // who fed it last
	fed       bool
	owed      bool          // who fed it has finished, so that it must see the end
	since     time.Duration // since when nothing keeps it from being let in
}

func (m *match[S, I]) withReturns() {
	m.lives, m.coming = make([]int, len(m.s.Peers)), make([]*peer[S, I], len(m.s.Peers))
	m.spoken = make([][]speech, len(m.owner))
}

// validateReturns refuses what cannot come back, or what is not judged together with it.
func (s *Scenario) validateReturns() error {
	switch {
	case !s.Rejoin:
		return nil
	case !s.PlayOn || s.every() == 0:
		return errors.New("simtest: rejoin is set: it needs playOn, and a fingerprintEvery that is not -1")
	case s.PauseEvery > 0 || s.DelayEvery > 0 || s.MessageEvery > 0 || s.EffectTolerance > 0 || s.HaltAtLimit:
		return errors.New("simtest: rejoin is set, and pauseEvery, delayEvery, messageEvery, effectTolerance or haltAtLimit: what comes of both together is not judged")
	}
	for _, f := range s.Faults {
		// It may die before anybody has heard that it has halted the match, and come back to one that goes on.
		again := func(c Fault) bool { return kindTraits[c.Kind].nature == comes && slices.Contains(f.From, c.From[0]) }
		if f.Kind == Halt && slices.ContainsFunc(s.Faults, again) {
			return fmt.Errorf("simtest: peer %d halts the match, and comes back to it: one of them is allowed", f.From[0])
		}
	}
	return nil
}

// comeBack has another process of a peer come, if it is gone.
func (m *match[S, I]) comeBack(i, fault int) {
	old := m.peers[i]
	if m.coming[i] != nil || !m.joined || !old.gone && old.err == nil || is(session.ErrFinished)(old.err) || !m.live() {
		return
	}
	m.lives[i]++
	p, config := m.process(i)
	config.JoinTimeout = returnJoin
	p.comes = &coming[S, I]{p: p, fault: fault, config: config, came: m.net.Now(), since: m.net.Now()}
	p.clock += m.net.Now() + time.Hour
	p.polled = p.clock
	for _, q := range m.s.Faults {
		if now := m.net.Now(); q.Kind == Freeze && slices.Contains(q.From, i) && now >= q.At.Duration() && now < q.end().Duration() {
			p.frozen++
		}
	}
	p.skewed = slices.Clone(old.skewed)
	m.coming[i] = p
	if m.s.Faults[fault].Kind == Reopen {
		var err error
		if p.comes.asks, err = session.New(config); err != nil {
			p.breaks(RuleReturn, 0, "session.New: %v", err)
		}
	} else {
		p.comes.join()
	}
	m.at(m.net.Now()+p.period(), i, p.life)
}

// join begins to come with session.Join.
func (c *coming[S, I]) join() {
	var err error
	if c.joiner, err = session.Join(session.JoinConfig[S, I]{Config: c.config, Feeders: c.feeders()}); err != nil {
		c.p.breaks(RuleReturn, 0, "session.Join: %v", err)
	}
}

// feeders returns by whom it is to be fed; none: by any of the others.
func (c *coming[S, I]) feeders() (list []driftback.Peer) {
	for _, f := range c.p.m.s.Faults[c.fault].To {
		if f != int(c.p.self) {
			list = append(list, driftback.Peer(f))
		}
	}
	return list
}

// befall lets a fault that ends processes befall this one.
func (c *coming[S, I]) befall(kind Kind, on bool) {
	if !on || kind == Halt || c.over {
		return
	}
	if (kind == Leave || kind == Return) && c.joiner != nil {
		c.joiner.Leave()
	}
	c.p.end.Crash()
	c.ends()
}

// ends takes a process that comes no further out of the match.
func (c *coming[S, I]) ends() {
	m, i := c.p.m, c.p.self
	c.over = true
	m.coming[i] = nil
	m.disturbed = m.net.Now()
	m.gone(i, true)
}

// turn is a turn of whichever process of a peer an event is about.
func (m *match[S, I]) turn(e event) {
	if p := m.coming[e.peer]; p != nil && p.life == e.change {
		p.comes.frame(e.at)
	} else if p := m.peers[e.peer]; p.life == e.change {
		p.frame(e.at)
	}
}

// frame is one turn of a process that comes back.
func (c *coming[S, I]) frame(at time.Duration) {
	p, m := c.p, c.p.m
	m.there = at
	m.at(at+p.period(), int(p.self), p.life)
	now := p.clock
	if p.clock += m.s.Frame.Duration(); p.frozen > 0 {
		c.since = at
		return
	}
	p.polled = now
	c.disturbed = c.disturbed || m.unsettled(at, m.s.silence())
	if c.asks != nil {
		c.ask(now)
		return
	}
	r, ok, err := c.tick(now)
	if !ok {
		return
	}
	c.check(&r, err)
	if s := c.joiner.Session(); s != nil && m.violation == nil {
		c.plays(s)
	}
}

// tick is the joiner's, but does not panic. ok is false if that did.
func (c *coming[S, I]) tick(now time.Duration) (r session.Result, ok bool, err error) {
	defer func() {
		if why := recover(); why != nil {
			place := culprit()
			c.p.breaksAt(place, c.next, "it panicked at %s: %v", place, why)
		}
	}()
	r, err = c.joiner.Tick(now)
	return r, true, err
}

// ask has a process that does not know of the match be told.
func (c *coming[S, I]) ask(now time.Duration) {
	p, m := c.p, c.p.m
	r, err := c.asks.Tick(now, make([]I, len(p.is.Plays))...)
	m.trace.add(uint64(r.Phase), uint64(r.Tick))
	switch {
	case err == nil && r.Phase != session.Joining:
		p.breaks(RuleReturn, r.Tick, "it has nothing of the match, and is %v in it", r.Phase)
	case err == nil && c.overdue():
		p.breaks(RuleReturn, 0, "nothing has kept it from being told that the match is under way for %v", m.net.Now()-c.since)
	case err == nil:
	case errors.Is(err, session.ErrUnderWay):
		m.lives[p.self]++ // of another nonce
		again, config := m.process(int(p.self))
		config.JoinTimeout = returnJoin
		again.clock, again.polled, again.frozen, again.skewed = p.clock, p.polled, p.frozen, p.skewed
		again.comes = &coming[S, I]{p: again, fault: c.fault, config: config, came: m.net.Now(), since: m.net.Now(), disturbed: c.disturbed}
		m.coming[p.self] = again
		again.comes.join()
		m.at(m.net.Now()+again.period(), int(p.self), again.life)
	default:
		if as[*session.MismatchError]()(err) || !c.disturbed && c.anyThere() {
			p.breaks(RuleReturn, 0, "session.New has ended with %v, and the match goes on", err)
		}
		p.end.Crash()
		c.ends()
	}
}

// anyThere reports whether somebody plays the match.
func (c *coming[S, I]) anyThere() bool {
	return slices.ContainsFunc(c.p.m.peers, func(q *peer[S, I]) bool { return !q.gone && q.err == nil && q.view == c.p.m.newest() })
}

// plays has the session that has come of it play on.
func (c *coming[S, I]) plays(s *session.Lockstep[S, I]) {
	p, m := c.p, c.p.m
	p.session, p.comes = s, nil
	stats := s.Stats()
	i := slices.IndexFunc(m.views, func(v *view[S, I]) bool { return v.number == stats.View })
	if i < 0 {
		p.breaks(RuleReturn, c.next, "it plays in view %d, and nobody has been in that", stats.View)
		return
	}
	p.view, p.truth, p.entered = m.views[i], m.views[i].truth, m.net.Now()
	p.from = p.view.joined[p.is.Plays[0]]
	if said := p.says(); !slices.Equal(said.joined, p.view.joined) || !slices.Equal(said.cuts, p.view.cuts) || !p.view.members[p.self] || p.from == 0 {
		p.breaks(RuleReturn, c.next, "it comes to view %d with participants that play from %d to %v, and for others they play from %d to %v", stats.View, said.joined, ticks(said.cuts), p.view.joined, ticks(p.view.cuts))
		return
	}
	if err := s.Finish(driftback.Tick(m.s.Ticks)); err != nil {
		p.breaks(RuleReturn, c.next, "%v", err)
	}
	p.next, p.final, p.confirmed, p.playing = c.next, c.next, c.next, true
	if c.next == c.fedFrom {
		p.runs.blank = c.next
	}
	p.told = told{settled: c.next, tick: c.next}
	p.root, p.agreed = p.view.due(int(p.self), m), stats.Agreed
	p.returned = slices.Clone(p.view.joined)
	p.fault = c.fault
	clear(p.tally.turn)
	clear(p.silent)
	for _, own := range p.is.Plays {
		m.spoken[own] = append(m.spoken[own], speech{p.from, never})
	}
	m.former = append(m.former, m.peers[p.self])
	m.peers[p.self], m.coming[p.self] = p, nil
	m.disturbed = m.net.Now()
	for _, q := range m.peers {
		// From when it was let in on, they wait for it no longer than for others.
		waited := time.Duration(0)
		if q.view == p.view {
			waited = m.net.Now() - q.entered
		}
		q.silent[p.self], q.missed[p.self] = waited, waited >= m.s.silence()
	}
}

// unsaid reports whether participant q's process that plays on tick t had not yet published
// anything for it that was pressed.
func (m *match[S, I]) unsaid(q int, t driftback.Tick) bool {
	for i := len(m.spoken[q]) - 1; i >= 0; i-- {
		if s := m.spoken[q][i]; t >= s.from {
			return t < s.first
		}
	}
	return false
}

// speaks notes for which tick one that has come back is to publish first.
func (p *peer[S, I]) speaks() {
	target := p.next + driftback.Tick(p.is.InputDelay)
	if p.from == 0 || target < p.from {
		return
	}
	for _, own := range p.is.Plays {
		if s := &p.m.spoken[own][len(p.m.spoken[own])-1]; s.first == never {
			s.first = target
		}
	}
}

// around returns the step with a look at what it is given before it.
func (p *peer[S, I]) around(step driftback.Step[S, I]) driftback.Step[S, I] {
	return func(s *S, in []I, pass *driftback.Pass) {
		switch {
		case p.retracing():
			p.runs.retrace(in, pass)
		case p.comes != nil:
			p.comes.run(in, pass)
		default:
			p.runs.run(in, pass)
		}
		step(s, in, pass)
	}
}

// back reports whether a peer has come back not long ago.
func (m *match[S, I]) back(q driftback.Peer) bool {
	p := m.peers[q]
	return m.coming[q] != nil || p.from > 0 && m.net.Now() < p.entered+m.outlook.patience
}

// pending reports whether somebody comes back, or is going to.
func (m *match[S, I]) pending() bool {
	now := m.net.Now()
	for _, f := range m.s.Faults {
		if kindTraits[f.Kind].nature == comes && now < f.end().Duration() {
			return true
		}
	}
	return slices.ContainsFunc(m.coming, func(p *peer[S, I]) bool { return p != nil })
}

// endOf returns with what that process of a peer's has ended which told something.
func (m *match[S, I]) endOf(told *session.ToldError) error {
	if p := m.peers[told.Peer]; p.err != nil {
		return p.err
	}
	for _, p := range slices.Backward(m.former) {
		if p.self == told.Peer && p.err != nil {
			return p.err
		}
	}
	return nil
}
