package simtest

import (
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/session"
)

// truth is what really happens in a match: the oracle's states, as fingerprints, and its
// effects, tick by tick as far as somebody has confirmed.
type truth[S any, I comparable] struct {
	game   *Game[S, I]
	inputs func(p driftback.Participant, t driftback.Tick) I
	delays []int
	roll   *roll // nil: nobody is cut
	hasher *fingerprint.Hasher[S]
	// scenario says what is done to the match.
	scenario *Scenario

	begun bool
	seed  uint64
	run   *oracle[S, I]
	ticks []tickTruth // by tick
}

// tickTruth is one tick: the state as it begins, and what it raises.
type tickTruth struct {
	sum               fingerprint.Sum
	begins            control
	raised, confirmed []driftback.Effect
}

// begin starts the oracle from the seed on which the peers agreed.
func (t *truth[S, I]) begin(seed uint64) {
	t.begun, t.seed, t.run = true, seed, t.fresh()
	t.game.start(seed, &t.run.state)
	t.ticks = append(t.ticks, tickTruth{sum: t.hasher.Sum(&t.run.state), begins: t.run.now})
}

func (t *truth[S, I]) fresh() *oracle[S, I] {
	return &oracle[S, I]{step: guarded(t.game.Step), inputs: t.inputs, delays: t.delays, roll: t.roll, scenario: t.scenario, now: control{speed: session.NormalSpeed}}
}

// at returns tick n, whose own effects are known only from at(n+1) on.
func (t *truth[S, I]) at(n driftback.Tick) *tickTruth {
	for t.run.next < n {
		now := &t.ticks[t.run.next]
		t.run.run()
		now.raised = append(now.raised, t.run.pass.Raised()...)
		now.confirmed = append(now.confirmed, t.run.pass.RaisedConfirmed()...)
		t.ticks = append(t.ticks, tickTruth{sum: t.hasher.Sum(&t.run.state), begins: t.run.now})
	}
	return &t.ticks[n]
}

// input returns the input of participant q on which tick n runs; before its first one it
// is the zero input, and when it has been cut.
func (t *truth[S, I]) input(q int, n driftback.Tick) (in I) {
	if n < driftback.Tick(t.delays[q]) || t.roll.status(q, n) == driftback.Replaced {
		return in
	}
	return t.inputs(driftback.Participant(q), n)
}

// again runs new oracles to tick n, because the first one's states are not kept, and
// returns a state that has not the fingerprint other, if it comes to one. It reports
// whether all got where the first had: a step that looks at the order of a map may do so
// by chance, but not often.
func (t *truth[S, I]) again(n driftback.Tick, other fingerprint.Sum) (state *S, same bool) {
	same = true
	for range 8 {
		o := t.fresh()
		t.game.start(t.seed, &o.state)
		for o.next < n {
			o.run()
		}
		sum := t.hasher.Sum(&o.state)
		same = same && sum == t.at(n).sum
		if state == nil || sum != other {
			state = &o.state
		}
	}
	return state, same
}

// told is what a peer was told about effects.
type told struct {
	open  []tickEffect // happened, not undone, and their tick is not yet final
	moves moves
	// tick and n say which confirmed effect comes next.
	tick driftback.Tick
	n    int
	// settled is the first tick whose open effects have not been compared.
	settled driftback.Tick
}

// tickEffect is one effect of one tick.
type tickEffect struct {
	tick   driftback.Tick
	effect driftback.Effect
}

// happened takes a report that e happened, or was undone. It is false if it had been
// told so already, or had not.
func (d *told) happened(e tickEffect, undone bool) bool {
	i := slices.Index(d.open, e)
	switch {
	case undone && i >= 0 && e.tick >= d.settled:
		d.open = slices.Delete(d.open, i, i+1)
	case !undone && i < 0 && e.tick >= d.settled:
		d.open = append(d.open, e)
	default:
		return false
	}
	return true
}

// settle compares what was told of a tick with what it raised, and forgets it.
func (d *told) settle(t driftback.Tick, raised []driftback.Effect) bool {
	for _, e := range raised {
		i := slices.Index(d.open, tickEffect{t, e})
		if i < 0 {
			return false
		}
		d.open = slices.Delete(d.open, i, i+1)
	}
	d.settled = t + 1
	return !slices.ContainsFunc(d.open, func(e tickEffect) bool { return e.tick <= t })
}
