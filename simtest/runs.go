package simtest

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// runs watches every run of every tick at one peer: on which inputs it ran, what was
// guessed and from what, and whether it had to run at all. The state shows only those
// faults that it remembers; this shows them in a game that forgets, and in one whose
// guesses only cost time.
type runs[S any, I comparable] struct {
	p    *peer[S, I]
	mask driftback.Tick
	// By place in a ring: the tick, and the inputs on which it was last run.
	ticks    []driftback.Tick
	rows     []I
	replaced []uint16 // the participants that were not playing

	// Of this turn: the first tick that ran and the one that would be next.
	first, next driftback.Tick
	count       int
	interrupted [MaxPeers]bool // peers that it has not heard for too long
	// known is, by participant, the first tick whose input the session lacks.
	known []driftback.Tick
	// blank is the tick as which one begins to play that comes back with another's state and has run
	// nothing since: what was pressed before it does not know; 0: it was there, or has run something.
	blank driftback.Tick
}

func newRuns[S any, I comparable](p *peer[S, I]) *runs[S, I] {
	n := len(p.m.owner)
	size := driftback.Tick(4)
	for size < 3*p.m.window+8+session.DefaultCatchUp {
		size *= 2
	}
	r := &runs[S, I]{
		p: p, mask: size - 1, ticks: make([]driftback.Tick, size), rows: make([]I, int(size)*n),
		known: make([]driftback.Tick, n), replaced: make([]uint16, size),
	}
	for i := range r.ticks {
		r.ticks[i] = -1
	}
	return r
}

func (r *runs[S, I]) run(in []I, pass *driftback.Pass) {
	p, t := r.p, pass.Tick()
	again := t < p.next
	switch {
	case r.count == 0:
		r.first = t
		p.seeView()
		r.find(false)
		if !again {
			r.find(true)
		}
	case t != r.next && p.m.s.PauseEvery == 0 || t < r.next:
		p.breaks(RuleThrift, t, "it ran in the same turn as tick %d, where %d would be next", r.next-1, r.next)
	case !again:
		r.find(true) // its own input came in between
	}
	r.count++
	r.next = t + 1
	place := int(t & r.mask)
	row := r.rows[place*len(in):][:len(in)]
	same := r.ticks[place] == t
	replaced := uint16(0)
	for q := range in {
		same = same && in[q] == row[q]
		switch got := pass.Status(driftback.Participant(q)); {
		case got != p.view.status(q, t):
			p.breaks(RuleRun, t, "it ran with participant %d as %v, who is %v", q, got, p.view.status(q, t))
		case got != driftback.Playing:
			replaced |= 1 << q
		}
		switch {
		case t < r.known[q]:
			if in[q] != p.truth.input(q, t) {
				r.wrongInput(q, t, in[q])
			}
		case p.m.owner[q] == p.self:
			p.breaks(RuleGuess, t, "it ran on a guess of its own participant %d", q)
		case p.view.status(q, t) == driftback.Replaced && in[q] == p.truth.input(q, t): // there is nothing to guess
		case in[q] != p.guess(q, r.known[q]-1, t):
			r.wrongGuess(q, t, in[q])
		}
	}
	if same && again && t == r.first && p.m.s.PauseEvery == 0 && r.replaced[place] == replaced {
		p.breaks(RuleThrift, t, "it was run again, and all after it, on the inputs on which it had run")
	}
	r.ticks[place] = t
	r.replaced[place] = replaced
	copy(row, in)
}

// retrace judges a run that is to come to what the one before has come to.
func (r *runs[S, I]) retrace(in []I, pass *driftback.Pass) {
	t := pass.Tick()
	place := int(t & r.mask)
	if r.ticks[place] != t {
		return // that is too long ago
	}
	for q, had := range r.rows[place*len(in):][:len(in)] {
		if in[q] != had {
			r.p.breaks(RuleRun, t, "it was retraced with an input of participant %d of %+v, and had run on %+v", q, in[q], had)
		}
		if got := pass.Status(driftback.Participant(q)) != driftback.Playing; got != (r.replaced[place]>>q&1 == 1) {
			r.p.breaks(RuleRun, t, "it was retraced with participant %d as %v, and had not run so", q, pass.Status(driftback.Participant(q)))
		}
	}
}

// find looks for the first input that the session lacks of each participant: of this
// peer's own, or of all others.
func (r *runs[S, I]) find(own bool) {
	p := r.p
	for q := range r.known {
		if (p.m.owner[q] == p.self) != own && r.count > 0 {
			continue
		}
		least := min(p.confirmed, p.next)
		t := max(r.known[q], p.inputs[q], least)
		if p.m.s.playsOn() {
			// What is beyond a cut that others propose counts no more, until there is another.
			for t > least && !r.holds(q, t-1) {
				t--
			}
		}
		for r.holds(q, t) {
			t++
		}
		r.known[q] = t
	}
}

// holds reports whether the session has the input of a participant for a tick.
func (r *runs[S, I]) holds(q int, t driftback.Tick) bool {
	_, confirmed, ok := r.p.session.Input(driftback.Participant(q), t)
	return ok && confirmed
}

// guess returns what is to be guessed of participant q for a tick if its newest input is
// that of tick newest.
func (p *peer[S, I]) guess(q int, newest, t driftback.Tick) I {
	return p.guessFrom(p.truth.input(q, newest), newest, t)
}

// guessFrom is the same from what may not have been pressed.
func (p *peer[S, I]) guessFrom(last I, newest, t driftback.Tick) I {
	if p.m.game.Predict == nil {
		return last
	}
	return p.m.game.Predict(last, int(t-newest))
}

// wrongInput tells an input that was confirmed wrongly from a tick that was given another.
func (r *runs[S, I]) wrongInput(q int, t driftback.Tick, got I) {
	want := r.p.truth.input(q, t)
	if has, confirmed, _ := r.p.session.Input(driftback.Participant(q), t); confirmed && has == got {
		r.p.breaks(RuleInput, t, "it has confirmed %+v of participant %d, who pressed %+v", got, q, want)
		return
	}
	r.p.breaks(RuleRun, t, "it ran on %+v of participant %d, who is known to have pressed %+v", got, q, want)
}

func (r *runs[S, I]) wrongGuess(q int, t driftback.Tick, got I) {
	var zero I
	if p := r.p; p.m.s.Buggify && got == zero {
		return // a wrong guess is one of the rare paths that are forced
	}
	newest := r.known[q] - 1
	if r.blank > 0 && newest == r.blank-1 && got == r.p.guessFrom(zero, newest, t) {
		return
	}
	want := r.p.guess(q, newest, t)
	for range 8 {
		if r.p.guess(q, newest, t) != want {
			return // guesses draw from outside the scenario, so it is the replay that tells
		}
	}
	r.p.breaks(RuleGuess, t, "it ran on %+v as a guess of what participant %d presses, whose newest input is that of tick %d, which makes it %+v",
		got, q, newest, want)
}

// knows takes an input that has been confirmed: where its tick has run, the turn has run it
// again if it was guessed wrongly.
func (r *runs[S, I]) knows(q int, t driftback.Tick, in I) {
	place := int(t & r.mask)
	if t < r.p.next && r.ticks[place] == t && !r.p.paused(t) && r.rows[place*len(r.known)+q] != in {
		r.p.breaks(RuleRun, t, "participant %d's input is known to be %+v, and it was last run on %+v", q, in, r.rows[place*len(r.known)+q])
	}
}

// waits judges a turn that ran no tick: something has kept it from that.
func (r *runs[S, I]) waits(turn *session.Result) {
	p, m := r.p, r.p.m
	for _, e := range turn.Events {
		switch e.Kind {
		case session.PeerInterrupted:
			r.interrupted[e.Peer] = true
		case session.PeerResumed:
			r.interrupted[e.Peer] = false
		default:
		}
	}
	within := turn.Tick < turn.Confirmed+m.window
	if p.gait.waits || turn.Phase != session.Stalled || turn.Tick >= driftback.Tick(m.s.Ticks) || !within || r.waitsForSome() || p.full() ||
		m.s.Buggify || m.s.disputed() {
		return
	}
	p.breaks(RuleThrift, turn.Tick, "it has stalled, where tick %d is the first that lacks an input and nothing else is in the way", turn.Confirmed)
}

// waitsForSome reports whether a peer that it plays with is not heard, or others have yet to
// agree to go on without it.
func (r *runs[S, I]) waitsForSome() bool {
	if r.p.m.s.Rejoin && len(r.p.view.peers()) == 1 {
		return true // it goes on alone only while somebody is there who comes back
	}
	for _, q := range r.p.m.peers {
		if r.p.view.members[q.self] && (r.interrupted[q.self] || r.p.m.s.playsOn() && (q.gone || q.err != nil || q.view != r.p.view)) {
			return true
		}
	}
	return false
}

// check judges a turn: it runs what it says and no more, and what has become final was
// last run on what was pressed.
func (r *runs[S, I]) check(turn *session.Result, next, final driftback.Tick) {
	p := r.p
	want := turn.Rerun.Len() + int(p.next-next)
	first := next
	if turn.Rerun.Len() > 0 {
		first = turn.Rerun.From
	}
	still := p.pausedBetween(first, p.next)
	if r.count != want-still || r.count > 0 && r.first != first && still == 0 {
		p.breaks(RuleThrift, p.next, "it ran %d ticks from tick %d on, and says that it ran those from %d to %d again and then came to tick %d",
			r.count, r.first, turn.Rerun.From, turn.Rerun.To, p.next)
	}
	r.count = 0
	n := len(p.m.owner)
	for t := final; t < min(p.confirmed, p.next); t++ {
		place := int(t & r.mask)
		if p.truth.at(t + 1).begins.paused {
			continue // whether it has run before that was known does not matter
		}
		if r.ticks[place] != t {
			p.breaks(RuleRun, t, "it is confirmed and has not run")
			return
		}
		for q, in := range r.rows[place*n:][:n] {
			if got := r.replaced[place]>>q&1 == 1; got != (p.view.status(q, t) == driftback.Replaced) {
				p.breaks(RuleRun, t, "it is confirmed and was last run with participant %d as one that is not %v", q, p.view.status(q, t))
				return
			}
			if want := p.truth.input(q, t); in != want {
				p.breaks(RuleRun, t, "it is confirmed and was last run on %+v of participant %d, who pressed %+v", in, q, want)
				return
			}
		}
	}
}
