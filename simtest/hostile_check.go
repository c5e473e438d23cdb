package simtest

import (
	"bytes"
	"errors"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
)

// withHostility gives a peer its hostile side, and an eye for that of others.
func (p *peer[S, I]) withHostility() {
	m := p.m
	if m.inputs == nil {
		return
	}
	p.tap.came = p.came
	if p.liar = newLiar(p); p.liar != nil {
		p.tap.alter = p.liar.alter
		p.tap.said = func(to driftback.Peer) { p.liar.greeted[to] = true }
	}
}

// came looks for lies in what arrives.
func (p *peer[S, I]) came(msg transport.Message) (heard bool) {
	if msg.Kind == transport.Up {
		if p.liar != nil {
			p.liar.greeted[msg.From] = false
		}
		return true
	}
	what, ok := p.m.lies[label{msg.From, p.self, msg.Kind, xxh3.Hash(msg.Data)}]
	if !ok {
		return true
	}
	p.met = append(p.met, what)
	if msg.Kind == transport.Reliable {
		p.m.peers[msg.From].liar.unread[p.self]--
	}
	return what.heard
}

// checkRefused holds what a peer has dropped in this turn against the lies that it has
// met: each of them is counted for its own reason, and nothing else is.
func (p *peer[S, I]) checkRefused(r *session.Result, err error) {
	var due [mesh.Refusals]uint64
	for _, what := range p.met {
		if what.conflict == nil {
			due[what.why]++
		}
	}
	refused := p.session.Stats().Refused
	missing, early, which := uint64(0), uint64(0), mesh.Refusal(0)
	for i := range refused {
		why, n := mesh.Refusal(i), refused[i]-p.refused[i]
		switch {
		case why == mesh.Early:
			// A peer may play before another has heard that it does.
			early = n
		case p.m.s.playsOn() && (len(p.m.views) > 1 || slices.Max(p.m.lives) > 0) && (why == mesh.CutOff || why == mesh.OtherMatch):
			// Those who are in another view say it as they do in theirs.
		case why == mesh.FarAhead && p.from > 0:
			// The others go on without its inputs until it plays, and it may have missed theirs.
		case n > due[i]:
			p.breaks(RuleHonest, p.next, "it has dropped %d that are %v, and %d are from hostile peers", n, why, due[i])
		case n < due[i]:
			missing, which = missing+due[i]-n, why
		}
	}
	p.refused = refused
	if err == nil && missing > early {
		p.breaks(RuleHostile, p.next, "it should have dropped %d that are %v, and %d fewer are counted", due[which], which, missing-early)
	}
	for _, what := range p.met {
		c := what.conflict
		switch {
		case c == nil:
			p.m.happens[what.fault] = true
		case err == nil && r.Phase != session.Joining && c.Tick >= r.Confirmed-p.m.span():
			p.breaks(RuleHostile, c.Tick, "it plays on, and has been shown another input: %v", c)
		}
	}
	if err == nil {
		p.met = p.met[:0]
	}
}

// span returns how far back an input is kept at least: as far as an honest peer's can be
// ahead.
func (m *match[S, I]) span() driftback.Tick { return 2*(m.window+mesh.MaxDelay) + 1 }

// believe notes which of the things that this peer alone has been told it has confirmed.
func (p *peer[S, I]) believe() {
	for at, f := range p.m.forks {
		if at.victim == p.self && at.tick < p.final {
			p.m.happens[f.fault] = true
		}
	}
}

// evidenceMay plants that what a hostile peer does ends a match with the evidence.
func (m *match[S, I]) evidenceMay() {
	m.plant(cause{elsewhere: []like{as[*session.ConflictError]()}, wrong: m.conflictWrongly, may: true})
}

// conflictWrongly returns why a peer may not say that another has sent it two inputs for
// one tick.
func (m *match[S, I]) conflictWrongly(self driftback.Peer, err error) string {
	var e *session.ConflictError
	errors.As(err, &e)
	for _, what := range m.peers[self].met {
		if c := what.conflict; c != nil && c.Peer == e.Peer && c.Participant == e.Participant &&
			c.Tick == e.Tick && bytes.Equal(c.Had, e.Had) && bytes.Equal(c.Got, e.Got) {
			m.happens[what.fault] = true
			return ""
		}
	}
	return "no hostile peer has done that"
}
