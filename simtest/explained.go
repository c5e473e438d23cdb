package simtest

import (
	"errors"
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/session"
)

// retracing reports whether a run of the step is one in which the session finds out where states began to
// differ, or gets from one state to another: it is not of the match.
func (p *peer[S, I]) retracing() bool { return p.session != nil && p.session.Retracing() }

// checkDesync checks what a peer whose match has ended with a desync says of it: all of that must be true,
// and where nothing kept the two from finding it out it must be all that there is.
func (p *peer[S, I]) checkDesync() {
	var e *session.DesyncError
	if !errors.As(p.err, &e) || e.Found == 0 {
		return
	}
	m, other := p.m, p.m.peers[e.Peer]
	if _, fault := p.reported(other, e.Found, 0); fault >= 0 {
		return // it was lied to
	}
	first := e.Agreed + 1
	for first < e.Found && !p.parts(other, first) {
		first++
	}
	switch {
	case e.Tick <= e.Agreed || e.Tick > e.Found || !p.parts(other, e.Tick):
		p.breaks(RuleDesync, e.Tick, "it says that its state differs from that of peer %d as the tick begins, and it is the same", e.Peer)
	case e.Ours != p.truth.at(e.Tick).sum || e.Theirs != other.truth.at(e.Tick).sum:
		p.breaks(RuleDesync, e.Tick, "it says that the fingerprints are %v here and %v at peer %d, and they are %v and %v",
			e.Ours, e.Theirs, e.Peer, p.truth.at(e.Tick).sum, other.truth.at(e.Tick).sum)
	case e.Exact && e.Tick != first:
		p.breaks(RuleDesync, e.Tick, "it says that this is the first tick at which its state differs from that of peer %d, and that is tick %d", e.Peer, first)
	case slices.Contains(e.Repeats[:], dispute.Different):
		p.breaks(RuleDesync, e.Tick, "it says that the ticks since tick %d, run again with the same inputs, come to another state: here they are %v, at peer %d %v",
			e.Agreed, e.Repeats[0], e.Peer, e.Repeats[1])
	}
	p.checkFields(e, other)
	explained := e.Exact && len(e.Fields) > 0
	if explained {
		m.explained++
	}
	if !explained && m.mayBeExplained(e) {
		p.breaks(RuleDesync, e.Tick, "nothing kept it and peer %d from finding out in what they differ first, and it knows of tick %d (exactly: %t) and of %d fields",
			e.Peer, e.Tick, e.Exact, len(e.Fields))
	}
}

// checkFields compares the fields in which a peer says that its state differs with those in which it does.
func (p *peer[S, I]) checkFields(e *session.DesyncError, other *peer[S, I]) {
	if len(e.Fields) == 0 || p.m.violation != nil {
		return
	}
	want := p.m.truth.hasher.Diff(nil, p.truth.state(e.FieldsAt), other.truth.state(e.FieldsAt))
	if n := len(e.Fields); n > len(want) || !slices.Equal(e.Fields, want[:n]) || n < len(want) && !e.MoreFields {
		p.breaks(RuleDesync, e.FieldsAt, "it says that these fields differ from those of peer %d: %v; and these do: %v", e.Peer, e.Fields, want)
	}
}

// mayBeExplained reports whether two peers that differ have had the time to find out in what: dispute.MaxRounds
// times each has said something, and before that both what they differ in, and run the ticks again.
func (m *match[S, I]) mayBeExplained(e *session.DesyncError) bool {
	s, apart := &m.s, e.Found-e.Agreed
	if s.Buggify || s.queued() > 0 || apart > dispute.MaxRoots || apart > session.DefaultHistory/2 || s.History != 0 {
		return false
	}
	for _, f := range s.Faults {
		if f.Kind != Diverge && (kindTraits[f.Kind].nature != passes || f.At.Duration() < m.net.Now() && m.net.Now() < f.end().Duration()+2*m.outlook.patience) {
			return false
		}
	}
	takes := (dispute.MaxRounds+3)*(s.late()+3*s.slowest()) + Micros(apart/16)*s.slowest()
	if loss := s.loss(); loss > 0 {
		// A reliable message is late by a round trip for each time it is lost, and there are about forty.
		takes += Micros(8+160*loss) * 2 * (s.late() + 25*Millisecond)
	}
	return takes < maxDispute*3/4
}

// state returns the true state as tick n begins.
func (t *truth[S, I]) state(n driftback.Tick) *S {
	o := t.fresh()
	t.game.start(t.seed, &o.state)
	for o.next < n {
		o.run()
	}
	return &o.state
}
