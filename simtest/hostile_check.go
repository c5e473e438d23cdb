package simtest

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
)

// withHostility gives a peer its hostile side, an eye for that of others, and the truth
// that it is to be compared with.
func (p *peer[S, I]) withHostility() {
	m := p.m
	if m.inputs == nil {
		return
	}
	for i, f := range m.s.Faults {
		for _, d := range m.s.pairs(m.s.Faults[i]) {
			if f.Kind == Equivocate && d.to == int(p.self) {
				other := *m.truth
				other.inputs = func(q driftback.Participant, t driftback.Tick) I { return m.told(p.self, q, t) }
				p.truth = &other
			}
		}
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

// tick is the session's, but does not panic. ok is false if that did.
func (p *peer[S, I]) tick(now time.Duration) (r session.Result, ok bool, err error) {
	defer func() {
		if why := recover(); why != nil {
			p.breaks(RuleInternal, p.next, "it panicked at %s: %v", culprit(), why)
		}
	}()
	r, err = p.session.Tick(now, p.local...)
	return r, true, err
}

// culprit returns where a panic that is being recovered from began.
func culprit() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	panicked := false
	for {
		f, more := frames.Next()
		if panicked && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s, line %d", f.Function, f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
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

// parts reports whether two peers have been told different things, so that their states
// differ as tick t begins. Both must have come to it.
func (p *peer[S, I]) parts(other *peer[S, I], t driftback.Tick) bool {
	return len(p.m.forks) > 0 && p.truth.at(t).sum != other.truth.at(t).sum
}

// checkAgreed checks that nobody agrees with one who has been told something else, or
// who says that its state is another.
func (p *peer[S, I]) checkAgreed(t driftback.Tick) {
	if p.m.inputs == nil || t <= p.agreed {
		return
	}
	for _, q := range p.m.peers {
		if t <= q.final && p.parts(q, t) {
			p.breaks(RuleFingerprint, t, "it says that all agree, and peer %d has been told other inputs", q.self)
		}
		for due := p.agreed + p.m.every; due <= t; due += p.m.every {
			if _, fault := p.reported(q, due, 0); fault >= 0 {
				p.breaks(RuleHostile, due, "it says that all agree, and peer %d has told it another fingerprint", q.self)
			}
		}
	}
}

// disputes reports whether a peer may have found that another says that its state differs,
// and waits for that one to say so again.
func (p *peer[S, I]) disputes() bool {
	return slices.ContainsFunc(p.m.peers, func(q *peer[S, I]) bool {
		return q.liar != nil && slices.ContainsFunc(q.liar.reports, func(r misreport) bool { return r.victim == p.self && r.tick <= p.final })
	})
}

// checkParted checks that nobody finishes in another state than the others.
func (p *peer[S, I]) checkParted() {
	m, last := p.m, driftback.Tick(p.m.s.Ticks)
	if m.every == 0 || m.over || m.hardOfHearing() {
		return
	}
	for _, q := range m.peers {
		if q.final == last && p.parts(q, last) {
			p.breaks(RuleHostile, last, "it has finished, and peer %d in another state", q.self)
		}
	}
}

// evidenceMay plants that what a hostile peer does ends a match with the evidence.
func (m *match[S, I]) evidenceMay() {
	m.plant(cause{
		elsewhere: []like{as[*session.ConflictError](), as[*session.DesyncError]()}, may: true,
		wrong: func(self driftback.Peer, _ error) string {
			if !m.peers[self].convicts() {
				return "no hostile peer has done that"
			}
			return ""
		},
	})
}

// convicts reports whether a peer's match has ended for something that a hostile peer
// has done, with the evidence.
func (p *peer[S, I]) convicts() bool {
	var conflict *session.ConflictError
	if errors.As(p.err, &conflict) {
		for _, what := range p.met {
			if c := what.conflict; c != nil && c.Peer == conflict.Peer && c.Participant == conflict.Participant &&
				c.Tick == conflict.Tick && bytes.Equal(c.Had, conflict.Had) && bytes.Equal(c.Got, conflict.Got) {
				p.m.happens[what.fault] = true
				return true
			}
		}
		return false
	}
	var desync *session.DesyncError
	return errors.As(p.err, &desync) && p.splits(desync)
}

// splits reports whether a desync is at the first compared tick at which two peers that
// have been told different things differ, or one says that they do, and says so.
func (p *peer[S, I]) splits(e *session.DesyncError) bool {
	m := p.m
	if int(e.Peer) >= len(m.peers) || m.every == 0 {
		return false
	}
	other, last := m.peers[e.Peer], driftback.Tick(m.s.Ticks)
	if e.Tick%m.every != 0 && e.Tick != last || e.Tick > min(p.final, other.final) {
		return false
	}
	for t := m.every; t < e.Tick; t += m.every {
		if _, fault := p.reported(other, t, 0); fault >= 0 || p.parts(other, t) {
			return false
		}
	}
	ours, theirs := p.truth.at(e.Tick).sum, other.truth.at(e.Tick).sum
	told, fault := p.reported(other, e.Tick, theirs)
	if fault >= 0 && e.Theirs == told {
		m.happens[fault] = true
		return e.Ours == ours && ours != told
	}
	// The last state's own word may come before that of the due tick.
	return e.Ours == ours && e.Theirs == theirs && ours != theirs
}
