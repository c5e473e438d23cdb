package simtest

import (
	"fmt"
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fingerprint"
)

// What is behind each mistake, usually.
const (
	lookRandom = "a generator that is not in the state (math/rand, a package variable, one that the step has captured: keep an rng.PCG in the state), " +
		"a counter, cache or another variable outside the state, time.Now, goroutines, a loop over a large map; an AppendBinary that writes an address or loops over a map"
	lookMap = "a loop over a map (its order is another one each time: go through sorted keys or keep a slice), " +
		"a small draw from a generator that is not in the state (math/rand), a counter or another variable outside the state, time.Now, goroutines; " +
		"an AppendBinary that loops over a map"
	lookRaises = "a step that raises by what it remembers outside the state (what it has raised already, a counter, math/rand, time.Now); effects raised in a loop over a map (its order is another one each time: go through sorted keys or keep a slice)"
	lookStart  = "Game.Initial or Game.Start drawing from a generator of their own, looping over a map or changing what they have handed out; an AppendBinary that writes an address or loops over a map"
	lookKept   = "the step putting its inputs' slice or its pass into the state or a variable: copy what is needed (both are lent for one call)"
	lookAlike  = "Game.Initial or Game.Start handing out the same slice, map or pointer each time: make a new one, since every peer has a world of its own"
)

// How often a run from the start is repeated: to find something that is another each
// time, though perhaps only one time in two; and to count the states that a tick comes to.
const (
	wholeRuns = 6
	manyRuns  = 32
)

// repeats does whole runs from the start.
func (r *rehearsal[S, I]) repeats() *Finding {
	var before photo[S]
	idle := r.world(0, nil)
	r.take(&before, idle)
	ran := r.world(0, nil)
	r.ref = append(r.ref, tickTruth{sum: before.sum})
	if r.hasher.Sum(ran) != before.sum {
		return (&Finding{
			Mistake: MistakeImpure, Detail: "Initial and Start do not make the same world when they are called again", Look: lookStart,
		}).differs(r.between(&before, ran))
	}
	for t := range driftback.Tick(len(r.inputs)) {
		now := &r.ref[t]
		// Each tick had memory of its own, which is nobody else's afterwards.
		now.raised, now.confirmed = r.fresh(ran, t)
		r.ref = append(r.ref, tickTruth{sum: r.hasher.Sum(ran)})
		if r.ref[t+1].sum != r.ref[t].sum {
			r.report.Changed++
		}
		if !r.is(&before, idle) {
			return r.startsAlike(&before, idle, ran, t)
		}
	}
	r.report.Ticks = len(r.inputs)
	for range wholeRuns {
		if t, effects := r.departs(r.fresh); t >= 0 {
			return r.impure(t, effects)
		}
	}
	t, effects := r.departs(r.step)
	if t < 0 {
		return nil
	}
	if f := r.impureIfAtAll(); f != nil {
		return f
	}
	f := &Finding{Mistake: MistakeKept, Tick: t, Look: lookKept,
		Detail: "when the memory of its inputs and its pass is used for something else after each call, it comes to something else"}
	if effects {
		return f
	}
	right, wrong := r.world(t+1, r.fresh), r.world(t+1, r.step)
	return differ(f, r.hasher.Diff(nil, right, wrong), right, wrong)
}

// startsAlike says that a world which nobody ran has changed while another ran tick t.
func (r *rehearsal[S, I]) startsAlike(before *photo[S], idle, ran *S, t driftback.Tick) *Finding {
	return (&Finding{
		Mistake: MistakeShared, Tick: t, Look: lookAlike,
		Detail: "a world that has just begun changes while another one runs this tick" + inCommon(idle, ran),
	}).differs(r.between(before, idle))
}

// impureIfAtAll does some more whole runs.
func (r *rehearsal[S, I]) impureIfAtAll() *Finding {
	for range wholeRuns {
		if t, effects := r.departs(r.fresh); t >= 0 {
			return r.impure(t, effects)
		}
	}
	return nil
}

// impure says that whole runs do not repeat. Some run has departed in tick t; others
// may do so sooner.
func (r *rehearsal[S, I]) impure(t driftback.Tick, effects bool) *Finding {
	for range wholeRuns {
		if sooner, e := r.departs(r.fresh); sooner >= 0 && sooner < t {
			t, effects = sooner, e
		}
	}
	f := &Finding{Mistake: MistakeImpure, Tick: t, Look: lookRandom}
	if effects {
		f.Detail, f.Look = "it comes to the same state and raises other effects"+r.otherEffects(t), lookRaises
		return f
	}
	var states []fingerprint.Sum
	var one, other *S
	for range manyRuns {
		s := r.world(t+1, r.fresh)
		sum := r.hasher.Sum(s)
		if !slices.Contains(states, sum) {
			states = append(states, sum)
		}
		switch {
		case one == nil:
			one = s
		case other == nil && sum != r.hasher.Sum(one):
			other = s
		}
	}
	f.Detail = fmt.Sprintf("%d runs came to %d different states", manyRuns, len(states))
	if len(states) <= manyRuns/2 {
		// A small map has few orders, which come again; a counter never does.
		f.Look = lookMap
	}
	if other == nil {
		return f
	}
	return differ(f, r.hasher.Diff(nil, one, other), one, other)
}

// otherEffects says what whole runs raise in tick t, if one more of them shows two ways.
func (r *rehearsal[S, I]) otherEffects(t driftback.Tick) string {
	for range manyRuns {
		raised, confirmed := r.fresh(r.world(t, r.fresh), t)
		if was := &r.ref[t]; !slices.Equal(raised, was.raised) || !slices.Equal(confirmed, was.confirmed) {
			return raisedTwice(was, raised, confirmed)
		}
	}
	return ""
}

// raisedTwice says what one run of a tick raised and another one did.
func raisedTwice(was *tickTruth, raised, confirmed []driftback.Effect) string {
	text := ""
	if !slices.Equal(raised, was.raised) {
		text += fmt.Sprintf("; it raised %v, and run again %v", was.raised, raised)
	}
	if !slices.Equal(confirmed, was.confirmed) {
		text += fmt.Sprintf("; it raised %v as confirmed, and run again %v", was.confirmed, confirmed)
	}
	return text
}
