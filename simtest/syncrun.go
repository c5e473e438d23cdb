package simtest

import (
	"encoding"
	"fmt"
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/snapshot"
)

// rehearsal is one SyncTest.
type rehearsal[S any, I comparable] struct {
	game   Game[S, I]
	s      Scenario
	hasher *fingerprint.Hasher[S]
	plain  bool  // a copy of the state shares nothing with it
	inputs [][]I // by tick
	all    []driftback.Status
	ref    []tickTruth // by tick: what a whole run gives; its end has a state alone
	report SyncReport

	// in and pass are lent to the step, and scribbled over when it has returned.
	in   []I
	pass driftback.Pass
	own  *fingerprint.Hasher[ownBytes]
}

func newRehearsal[S any, I comparable](g Game[S, I], s Scenario) (*rehearsal[S, I], error) {
	if err := g.playable(&s); err != nil {
		return nil, err
	}
	r := &rehearsal[S, I]{game: g, s: s}
	r.game.Step = guarded(g.Step)
	var err error
	if r.hasher, err = fingerprint.New[S](); err != nil {
		return nil, fmt.Errorf("simtest: the state cannot be compared: %w", err)
	}
	if r.own, err = fingerprint.New[ownBytes](); err != nil {
		return nil, err
	}
	_, err = snapshot.Assign[S](1)
	r.plain = err == nil
	r.in = make([]I, s.participants())
	r.all = make([]driftback.Status, s.participants()) // Playing
	return r, nil
}

// tabulate asks for every input, and once more from the end.
func (r *rehearsal[S, I]) tabulate() *Finding {
	press := r.game.workload(&r.s)
	players := r.s.players()
	r.inputs = make([][]I, r.s.Ticks)
	each := func(visit func(in *I, p int, t driftback.Tick)) {
		for t := range driftback.Tick(r.s.Ticks) {
			for p := range r.inputs[t] {
				if t >= driftback.Tick(r.s.Peers[players[p]].InputDelay) {
					visit(&r.inputs[t][p], p, t)
				}
			}
		}
	}
	for t := range r.inputs {
		r.inputs[t] = make([]I, len(players))
	}
	each(func(in *I, p int, t driftback.Tick) { *in = press(driftback.Participant(p), t) })
	var f *Finding
	each(func(in *I, p int, t driftback.Tick) {
		if again := press(driftback.Participant(p), t); again != *in && f == nil {
			f = &Finding{
				Mistake: MistakeInput, Tick: t, Detail: fmt.Sprintf("participant %d presses %+v, and asked again %+v", p, *in, again),
				Look: "a generator or a counter of its own: it may draw from the generator that it is given and look at the participant and the tick",
			}
		}
	})
	return f
}

// step runs tick t in memory that is lent, and scribbles over that afterwards: the inputs of
// another tick, the wrong way round. The effects that it raised are borrowed.
func (r *rehearsal[S, I]) step(s *S, t driftback.Tick) (raised, confirmed []driftback.Effect) {
	copy(r.in, r.inputs[t])
	r.pass.Begin(t, r.all)
	r.game.Step(s, r.in, &r.pass)
	raised, confirmed = r.pass.Raised(), r.pass.RaisedConfirmed()
	copy(r.in, r.inputs[(int(t)+len(r.inputs)/2)%len(r.inputs)])
	slices.Reverse(r.in)
	return raised, confirmed
}

// fresh runs tick t in memory that nobody else uses.
func (r *rehearsal[S, I]) fresh(s *S, t driftback.Tick) (raised, confirmed []driftback.Effect) {
	pass := new(driftback.Pass)
	pass.Begin(t, r.all)
	r.game.Step(s, slices.Clone(r.inputs[t]), pass)
	return pass.Raised(), pass.RaisedConfirmed()
}

type stepper[S any] func(s *S, t driftback.Tick) (raised, confirmed []driftback.Effect)

// world returns a new world, after the ticks below end.
func (r *rehearsal[S, I]) world(end driftback.Tick, step stepper[S]) *S {
	s := new(S)
	r.game.start(r.s.Seed, s)
	for t := range end {
		step(s, t)
	}
	return s
}

// departs does a whole run and returns the first tick that comes to another state or raises
// other effects than the first run, and which of the two; −1: none.
func (r *rehearsal[S, I]) departs(step stepper[S]) (t driftback.Tick, effects bool) {
	s := new(S)
	r.game.start(r.s.Seed, s)
	for t := range driftback.Tick(len(r.inputs)) {
		raised, confirmed := step(s, t)
		switch was := &r.ref[t]; {
		case r.hasher.Sum(s) != r.ref[t+1].sum:
			return t, false
		case !slices.Equal(raised, was.raised) || !slices.Equal(confirmed, was.confirmed):
			return t, true
		}
	}
	return -1, false
}

// photo is what a state was, in memory that the game cannot reach.
type photo[S any] struct {
	sum   fingerprint.Sum
	state S        // if a copy shares nothing
	bytes ownBytes // otherwise
}

// ownBytes are what a state's AppendBinary made.
type ownBytes []byte

// AppendBinary appends the bytes as they are.
func (o *ownBytes) AppendBinary(b []byte) ([]byte, error) { return append(b, *o...), nil }

func (r *rehearsal[S, I]) take(p *photo[S], s *S) {
	p.sum = r.hasher.Sum(s)
	if r.plain {
		p.state = *s
		return
	}
	p.bytes = r.bytes(p.bytes[:0], s)
}

// bytes appends what the state's own AppendBinary makes. Where that fails the hasher has kept
// the error.
func (r *rehearsal[S, I]) bytes(b ownBytes, s *S) ownBytes {
	if a, ok := any(s).(encoding.BinaryAppender); ok {
		if more, err := a.AppendBinary(b); err == nil {
			return more
		}
	}
	return b
}

// is reports whether s is still what it was.
func (r *rehearsal[S, I]) is(p *photo[S], s *S) bool { return r.hasher.Sum(s) == p.sum }

// between returns what differs between what a state was and s.
func (r *rehearsal[S, I]) between(p *photo[S], s *S) []fingerprint.Difference {
	if r.plain {
		return r.hasher.Diff(nil, &p.state, s)
	}
	now := r.bytes(nil, s)
	return r.own.Diff(nil, &p.bytes, &now)
}

// differ puts what differs first between a world that is right and another into a finding.
func differ[S any](f *Finding, d []fingerprint.Difference, right, wrong *S) *Finding {
	if len(d) > 0 {
		f.Field = fieldBeside(d[0], right, wrong)
	}
	return f.differs(d)
}

// differs puts the first difference into a finding.
func (f *Finding) differs(d []fingerprint.Difference) *Finding {
	if len(d) > 0 {
		f.Different, f.Difference = true, d[0]
	}
	return f
}
