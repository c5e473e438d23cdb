package simtest

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
)

// breaks records that a rule does not hold, unless one has been found already.
func (p *peer[S, I]) breaks(rule Rule, t driftback.Tick, format string, args ...any) {
	p.m.breaks(p.self, rule, t, format, args...)
}

func (m *match[S, I]) breaks(self driftback.Peer, rule Rule, t driftback.Tick, format string, args ...any) {
	if m.violation == nil {
		m.violation = &Violation{
			Rule: rule, Event: m.events - 1, Time: m.net.Now(), Peer: self, Tick: t,
			Detail: fmt.Sprintf(format, args...),
		}
	}
}

// check holds what one turn did against the rules.
func (p *peer[S, I]) check(r *session.Result, err error) {
	m := p.m
	m.trace.add(uint64(r.Phase), uint64(r.Tick), uint64(r.Confirmed), uint64(r.Rerun.From), uint64(r.Rerun.To), uint64(len(r.Effects)))
	for _, e := range r.Effects {
		m.trace.add(uint64(e.Kind), uint64(e.Tick), uint64(e.Effect.Kind), uint64(uint32(e.Effect.Args[0])), uint64(uint32(e.Effect.Args[1])), uint64(uint32(e.Effect.Args[2])))
	}
	if r.Phase != session.Ended && err != nil {
		p.breaks(RuleWorkload, r.Tick, "%v", err)
		return
	}
	if p.checkRefused(r, err); m.violation != nil {
		return
	}
	p.checkMessages(r)
	if !p.begun {
		p.err = err
		p.checkEnd()
		return
	}
	if !m.truth.begun {
		m.truth.begin(p.seed)
	}
	if !p.truth.begun { // its world is another
		p.truth.begin(p.seed)
	}
	next, final := p.next, p.final
	p.checkOrder(r, final)
	p.checkInputs()
	if p.runs.check(r, next, final); m.violation != nil {
		return
	}
	if p.checkState(); m.violation != nil {
		return
	}
	p.checkControl()
	p.believe()
	p.checkFingerprints()
	p.checkReturned(r)
	p.runs.waits(r)
	p.checkLimit(r)
	p.checkOutside()
	p.checkEffects(r, errors.Is(err, session.ErrFinished))
	p.err = err
	p.checkEnd()
	p.checkSilence()
}

// checkOrder checks the numbers of a turn against those of the one before.
func (p *peer[S, I]) checkOrder(r *session.Result, final driftback.Tick) {
	advanced := driftback.Tick(0)
	// The turn that runs the last tick may end the match.
	if r.Phase == session.Advanced || r.Phase == session.Ended && r.Tick == p.next+1 {
		advanced = 1
		p.checkTaken(r)
	} else if p.from > 0 && r.Phase != session.Stalled {
		advanced = p.caughtUp(r)
	}
	if !p.playing && (r.Phase == session.Advanced || r.Phase == session.Stalled) {
		p.playing = true
		p.m.begins()
		clear(p.silent) // whoever had said everything had nothing to repeat
	}
	rerun := r.Rerun.To > r.Rerun.From
	switch {
	case r.Tick != p.next+advanced:
		p.breaks(RuleMonotonic, r.Tick, "the next tick was %d and is %d in a turn that is %v", p.next, r.Tick, r.Phase)
	case r.Confirmed < p.confirmed:
		p.breaks(RuleMonotonic, r.Confirmed, "the first tick that lacks an input was %d and is %d", p.confirmed, r.Confirmed)
	case r.Tick > r.Confirmed+p.m.window:
		p.breaks(RuleWindow, r.Tick, "it predicts %d ticks beyond tick %d, with a window of %d", r.Tick-r.Confirmed, r.Confirmed, p.m.window)
	case rerun && (r.Rerun.From < final || r.Rerun.To != p.next):
		p.breaks(RuleWindow, r.Tick, "the ticks from %d to %d were run again, where tick %d was final and tick %d next", r.Rerun.From, r.Rerun.To, final, p.next)
	}
	p.next, p.confirmed = r.Tick, r.Confirmed
}

// checkInputs compares the inputs that have been confirmed with the workload.
func (p *peer[S, I]) checkInputs() {
	m := p.m
	for q := range m.owner {
		owner := m.peers[m.owner[q]]
		// What has run with every input is forgotten; its state is compared.
		t := max(p.inputs[q], min(p.confirmed, p.next))
		for ; ; t++ {
			in, confirmed, ok := p.session.Input(driftback.Participant(q), t)
			if !ok || !confirmed {
				break
			}
			want := p.truth.input(q, t)
			switch {
			case p.view.status(q, t) == driftback.Replaced && in == want:
			case t >= owner.published(q):
				p.breaks(RuleInput, t, "it has confirmed %+v of participant %d, who has pressed nothing from tick %d on", in, q, owner.published(q))
			case in != want:
				p.breaks(RuleInput, t, "it has confirmed %+v of participant %d, who pressed %+v", in, q, want)
			}
			p.runs.knows(q, t, in)
		}
		p.inputs[q] = t
		if p.confirmed > owner.published(q) && p.view.cuts[q] > owner.published(q) {
			p.breaks(RuleInput, owner.published(q), "it has confirmed all below tick %d, but participant %d has pressed nothing from tick %d on", p.confirmed, q, owner.published(q))
		}
	}
}

// checkState compares the newest confirmed state with what it should be.
func (p *peer[S, I]) checkState() {
	m := p.m
	t, err := p.session.ConfirmedState(&p.state)
	switch {
	case err != nil:
		p.breaks(RuleState, t, "there is no confirmed state: %v", err)
		return
	case t < p.final || t > p.confirmed:
		p.breaks(RuleMonotonic, t, "the confirmed state was of tick %d and is of tick %d, where tick %d lacks an input", p.final, t, p.confirmed)
		return
	}
	p.final = t
	got, want := m.truth.hasher.Sum(&p.state), p.truth.at(t).sum
	m.trace.add(uint64(t), uint64(got))
	if got == want {
		return
	}
	state, same := p.truth.again(t, got)
	if !same {
		p.breaks(RulePure, t, "one simulation that ran again with the same inputs is not in the same state as the tick begins")
	} else {
		p.breaks(RuleState, t, "the fingerprint as the tick begins is %v and in truth %v", got, want)
	}
	if differ := m.truth.hasher.Diff(nil, state, &p.state); len(differ) > 0 {
		m.violation.Different, m.violation.Difference = true, differ[0]
		m.violation.Field = fieldBeside(differ[0], state, &p.state)
	}
}

// checkFingerprints compares the fingerprints that have been published with the truth,
// and what is agreed with what might be.
func (p *peer[S, I]) checkFingerprints() {
	m := p.m
	stats := p.session.Stats()
	if m.every == 0 || len(m.peers) == 1 {
		return
	}
	for ; p.root <= p.final; p.root += m.every {
		sum, ok := p.session.Root(p.root)
		if !ok && p.forgotten(p.root) {
			continue
		}
		if !ok {
			break // too many wait to be compared; they are bounded below
		}
		if want := p.truth.at(p.root).sum; sum != want {
			p.breaks(RuleFingerprint, p.root, "it is %v and in truth %v", sum, want)
		}
	}
	if stats.Agreed < p.agreed || stats.Agreed > max(p.final, p.from) {
		p.breaks(RuleFingerprint, stats.Agreed, "all agreed on tick %d and now on %d, with tick %d confirmed", p.agreed, stats.Agreed, p.final)
	}
	// In the turn that ends it as it is cut off it may have been in views that nobody saw it in.
	seen := stats.View == p.view.number
	for _, q := range m.peers {
		if stats.Agreed > p.from && stats.Agreed >= q.due() && p.view.members[q.self] && seen {
			p.breaks(RuleFingerprint, stats.Agreed, "it says that all agree, and peer %d has not come to it", q.self)
		}
	}
	p.checkAgreed(stats.Agreed)
	p.agreed = stats.Agreed
	if most := p.agreed + (mesh.MaxUncompared+2)*m.every + m.window; p.next > most {
		p.breaks(RuleWindow, p.next, "tick %d is the newest on which all agree, so it cannot be beyond tick %d", p.agreed, most)
	}
}

// forgotten reports whether a root is not kept any more as the peer has run far in one turn: alone,
// it knows all inputs at once.
func (p *peer[S, I]) forgotten(t driftback.Tick) bool {
	for next := t + p.m.every; next <= p.final; next += p.m.every {
		if _, ok := p.session.Root(next); ok {
			return true
		}
	}
	return false
}

// watch looks for peers that do not go on.
type watch struct {
	at     time.Duration // since when the slowest has confirmed nothing
	final  driftback.Tick
	ending time.Duration // since when the match is over; 0: it is not
	full   uint64        // what had overflowed of thin lines at the time of at or ending
	tick   time.Duration // since when the slowest should have confirmed something
	all    bool          // everybody plays, and what faults have left behind is over
}

// watchProgress checks that a match goes on once it is quiet.
func (m *match[S, I]) watchProgress() {
	now, w := m.net.Now(), &m.watch
	if now < m.outlook.quiet {
		return
	}
	if m.s.playsOn() && !m.over {
		m.watchLeft(now)
	}
	slowest := m.slowest()
	if slowest == nil {
		return
	}
	if m.over {
		// Nobody goes on, and all are to end.
		if w.ending == 0 {
			w.ending, w.full = now, m.overflowed()
		}
		if now-w.ending > slowest.bound() && !m.starves(w.full, now-w.ending) {
			slowest.breaks(RuleCause, slowest.next, "the match is over, and for %v it has not ended here", now-w.ending)
		}
		return
	}
	moved := w.at == 0 || slowest.final > w.final || m.full()
	if moved {
		w.at, w.final, w.full = now, slowest.final, m.overflowed()
	}
	patience := m.outlook.patience + m.outlook.losing
	if m.muddled {
		patience = max(patience, slowest.bound()) // it may still be joining, and whom it waits for is lost
	}
	if m.hardOfHearing() && slowest.final == driftback.Tick(m.s.Ticks) {
		patience += 2 * m.s.silence() // the last word of a peer that is done may be lost
	}
	switch {
	case now-w.at > patience && m.starves(w.full, now-w.at), now > m.outlook.limit && m.starves(0, now):
		return
	case now-w.at > patience:
		slowest.breaks(RuleProgress, slowest.confirmed, "all faults were over at %v, and for %v it has confirmed nothing", m.outlook.quiet, now-w.at)
	case now > m.outlook.limit:
		slowest.breaks(RuleProgress, slowest.confirmed, "all faults were over at %v, and tick %d should be confirmed by now", m.outlook.quiet, m.s.Ticks)
	}
	m.watchTick(now, slowest, moved)
	for _, p := range m.peers {
		p.watchAgreement(now, slowest.final)
	}
}

// slowest returns, of the peers that are to go on, the one that has confirmed the least.
func (m *match[S, I]) slowest() (slowest *peer[S, I]) {
	for _, p := range m.peers {
		if !p.gone && p.err == nil && (m.over || !m.s.playsOn() || p.staysOn()) && (slowest == nil || p.final < slowest.final) {
			slowest = p
		}
	}
	return slowest
}
