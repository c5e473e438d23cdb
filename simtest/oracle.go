package simtest

import "github.com/driftback/driftback"

// oracle is one simulation that is given every input on time: a plain loop over the
// step and the workload. It shares nothing with the engine but the root's words, so
// that the two cannot be wrong together.
type oracle[S, I any] struct {
	step   driftback.Step[S, I]
	inputs func(p driftback.Participant, t driftback.Tick) I
	delays []int // by participant: before that tick its input is the zero one
	// now is the control state as next begins; what is done to the match is the scenario's.
	now      control
	scenario *Scenario
	// roll, unless it is nil, says who is replaced on which ticks: then the input is the zero
	// one.
	roll *roll

	state S
	next  driftback.Tick // the world is state as this tick begins
	in    []I
	pass  driftback.Pass
	all   []driftback.Status
}

// run runs one tick. What it raised is in pass until the next call.
func (o *oracle[S, I]) run() {
	if o.in == nil {
		o.in = make([]I, len(o.delays))
		o.all = make([]driftback.Status, len(o.delays)) // Playing
	}
	for p, delay := range o.delays {
		var neutral I
		o.in[p] = neutral
		if o.all[p] = o.roll.status(p, o.next); o.next >= driftback.Tick(delay) && o.all[p] == driftback.Playing {
			o.in[p] = o.inputs(driftback.Participant(p), o.next)
		}
	}
	o.pass.Begin(o.next, o.all)
	if o.now = o.now.after(o.scenario, o.next, o.roll); !o.now.paused {
		o.step(&o.state, o.in, &o.pass)
	}
	o.next++
}
