package simtest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
)

// around returns the step with a look at what it is given before it.
func (w *watcher[S, I]) around(step driftback.Step[S, I]) driftback.Step[S, I] {
	return func(s *S, in []I, pass *driftback.Pass) {
		w.run(in, pass)
		step(s, in, pass)
	}
}

// run looks at a tick that is about to run: it has all inputs and statuses as some view has
// them. What is confirmed never changes, so it does not matter which.
func (w *watcher[S, I]) run(in []I, pass *driftback.Pass) {
	m, t := w.m, pass.Tick()
	if t < w.runs || t > w.runs && w.ran > 0 && m.s.PauseEvery == 0 {
		w.breaks(RuleWatch, t, "it is run, and tick %d is the next", w.runs)
	}
	w.runs = t + 1
	w.ran++
	for i := len(m.views) - 1; i >= 0; i-- {
		if m.views[i].fits(in, pass) {
			w.view, w.ranIn = i, i
			return
		}
	}
	v := m.newest()
	for q := range in {
		status := pass.Status(driftback.Participant(q))
		if want := v.truth.input(q, t); in[q] != want || status != v.status(q, t) {
			w.breaks(RuleWatch, t, "it is run with %+v of participant %d, who is %v, and in truth with %+v, as %v", in[q], q, status, want, v.status(q, t))
			return
		}
	}
}

// fits reports whether a tick runs so in a view.
func (v *view[S, I]) fits(in []I, pass *driftback.Pass) bool {
	t := pass.Tick()
	for q := range in {
		if pass.Status(driftback.Participant(q)) != v.status(q, t) || in[q] != v.truth.input(q, t) {
			return false
		}
	}
	return true
}

// check holds what one turn did against the rules.
func (w *watcher[S, I]) check(at time.Duration, r *session.Result, err error) {
	m := w.m
	w.err = err
	m.watchTrace.add(uint64(w.self), uint64(r.Phase), uint64(r.Tick), uint64(r.Confirmed), uint64(len(r.Effects)))
	before := w.next
	for _, e := range r.Events {
		if e.Kind == session.FeedBegan && (!w.begun || w.skips(e.Tick, r.Tick)) {
			w.begins(e.Tick)
		}
	}
	w.ran = 0
	if w.begun {
		w.checkOrder(r, before)
		w.checkState(r)
		w.checkEffects(r)
	}
	if refused := w.session.Refused(); m.violation == nil {
		for why, n := range refused {
			if why := mesh.Refusal(why); n > 0 && why != mesh.Early { // what overtakes a hello is
				w.breaks(RuleHonest, w.next, "it has dropped %d that are %v, and nobody is hostile", n, why)
			}
		}
	}
	if err != nil {
		w.checkEnd(err)
		return
	}
	if w.feeder, w.fed = w.session.Feeder(); m.violation == nil {
		w.checkProgress(at)
	}
}

// skips reports whether the watcher, at whose next tick it is now, has been given a state in place of
// what it has not run before tick t.
func (w *watcher[S, I]) skips(t, now driftback.Tick) bool {
	ran := w.ran
	for u, truth := w.next, w.m.newest().truth; u < now && w.m.s.PauseEvery > 0; u++ {
		if truth.at(u + 1).begins.paused {
			ran++
		}
	}
	// It may have been paused all that time; but nobody runs so many ticks in a turn, paused or not.
	return t > w.next && t <= now && (ran < int(now-w.next) || now > w.next+session.DefaultCatchUp)
}

// begins notes that the feed begins at a tick.
func (w *watcher[S, I]) begins(t driftback.Tick) {
	if !w.begun {
		w.begun, w.first = true, t
	}
	w.next, w.runs = t, max(w.runs, t)
	w.told = told{settled: t, tick: t}
}

// checkOrder checks the numbers of a turn against those of the one before.
func (w *watcher[S, I]) checkOrder(r *session.Result, before driftback.Tick) {
	m, newest := w.m, driftback.Tick(0)
	for _, p := range slices.Concat(m.peers, m.former) {
		newest = max(newest, p.final)
	}
	switch {
	case r.Tick < w.next || r.Tick > w.next+session.DefaultCatchUp:
		w.breaks(RuleWatch, r.Tick, "the next tick was %d and is %d", w.next, r.Tick)
	case r.Tick > r.Confirmed:
		w.breaks(RuleWatch, r.Tick, "it has run to tick %d, and knows all inputs below tick %d", r.Tick, r.Confirmed)
	case r.Confirmed > newest:
		w.breaks(RuleWatch, r.Confirmed, "it knows all inputs below tick %d, and no player has confirmed more than those below tick %d", r.Confirmed, newest)
	case r.Tick > before && w.next == before && !w.mayHurry() && r.Tick > r.Confirmed-driftback.Tick(w.is.Delay):
		w.breaks(RuleWatch, r.Tick, "it has run to tick %d, which is less than %d ticks behind tick %d", r.Tick, w.is.Delay, r.Confirmed)
	case r.Phase == session.Advanced && r.Tick == before:
		w.breaks(RuleWatch, r.Tick, "it says that it has advanced, and has not")
	}
	w.next, w.confirmed = r.Tick, r.Confirmed
}

// mayHurry reports whether it may know, or think, that nothing more comes: then it runs all.
func (w *watcher[S, I]) mayHurry() bool {
	if w.disturbed || w.m.ended > 0 || w.m.over || slices.ContainsFunc(w.feeders(), w.excused) {
		return true
	}
	for _, p := range w.m.peers {
		if p.gone || p.err != nil {
			return true
		}
	}
	return slices.ContainsFunc(w.m.watchers, func(o *watcher[S, I]) bool { return o.disturbed || o.err != nil })
}

// checkState compares the state as the next tick begins with what it should be, in the view
// that it is in.
func (w *watcher[S, I]) checkState(r *session.Result) {
	m := w.m
	if m.violation != nil || r.Phase == session.Joining {
		return
	}
	state := w.session.State()
	got := m.truth.hasher.Sum(state)
	m.watchTrace.add(uint64(got))
	for i := len(m.views) - 1; i >= 0; i-- {
		if m.views[i].truth.at(w.next).sum == got {
			w.view = i
			w.checkControl()
			return
		}
	}
	truth := m.newest().truth
	w.breaks(RuleWatch, w.next, "the fingerprint as the tick begins is %v and in truth %v", got, truth.at(w.next).sum)
	if want, same := truth.again(w.next, got); same {
		if differ := m.truth.hasher.Diff(nil, want, state); len(differ) > 0 {
			m.violation.Different, m.violation.Difference = true, differ[0]
			m.violation.Field = fieldBeside(differ[0], want, state)
		}
	}
}

func (w *watcher[S, I]) checkControl() {
	got, want := w.session.Control(), w.m.views[w.view].truth.at(w.next).begins
	if got != (session.Control{Paused: want.paused, Speed: want.speed}) {
		w.breaks(RuleWatch, w.next, "as the tick begins it is paused: %v, and the speed %d; in truth %v and %d", got.Paused, got.Speed, want.paused, want.speed)
	}
}

// checkEffects compares what was told about effects with the truth: all is final.
func (w *watcher[S, I]) checkEffects(r *session.Result) {
	d, truth := &w.told, w.m.views[w.view].truth
	if w.m.violation != nil {
		return
	}
	for _, e := range r.Effects {
		if e.Kind == session.Confirmed {
			for d.tick < w.next && d.n == len(truth.at(d.tick).confirmed) {
				d.tick, d.n = d.tick+1, 0
			}
			if d.tick >= w.next || e.Tick != d.tick || e.Effect != truth.at(d.tick).confirmed[d.n] {
				w.breaks(RuleWatch, e.Tick, "%+v was told, which is not the next that was raised", e)
				return
			}
			d.n++
		} else if e.Kind != session.Happened || !d.happened(tickEffect{e.Tick, e.Effect}, false) {
			w.breaks(RuleWatch, e.Tick, "%+v was told and cannot have been", e)
			return
		}
	}
	for ; d.settled < w.next; d.moves.forget(d.settled) {
		if t := d.settled; !d.settle(t, truth.at(t).raised) {
			w.breaks(RuleWatch, t, "what was told of it is not %+v, which it raised", truth.at(t).raised)
			return
		}
	}
	for ; d.tick < w.next; d.tick, d.n = d.tick+1, 0 {
		if all := truth.at(d.tick).confirmed; d.n < len(all) {
			w.breaks(RuleWatch, d.tick, "it has run and %+v was not told", all[d.n])
			return
		}
	}
}

// checkEnd judges why a watcher has ended.
func (w *watcher[S, I]) checkEnd(err error) {
	m, last := w.m, driftback.Tick(w.m.s.Ticks)
	m.watchTrace.add(1)
	var desync *session.DesyncError
	switch {
	case m.violation != nil:
	case is(session.ErrFinished)(err):
		if w.next != last {
			w.breaks(RuleWatchEnd, w.next, "it has finished at tick %d, and the match at tick %d", w.next, last)
		}
		m.owe(w.self)
	case is(session.ErrLeft)(err):
		if !w.leaves {
			w.breaks(RuleWatchEnd, w.next, "nobody has bid it leave: %v", err)
		}
	case errors.As(err, &desync):
		// Whoever feeds it may be in a world of its own, or cut off in one.
		if !m.s.has(Diverge) && w.view == len(m.views)-1 {
			w.breaks(RuleWatchEnd, desync.Tick, "%v", err)
		}
	case is(session.ErrNoFeeder)(err):
		if wrong := w.noFeederWrongly(err); wrong != "" {
			w.breaks(RuleWatchEnd, w.next, "%s: %v", wrong, err)
		}
	default:
		w.breaks(RuleWatchEnd, w.next, "%v", err)
	}
}

// noFeederWrongly returns in words why a watcher may not say that nobody feeds it: somebody
// does, or could.
func (w *watcher[S, I]) noFeederWrongly(err error) string {
	m := w.m
	if w.disturbed || w.wordsAreSlow() || strings.Contains(err.Error(), "its states cannot be handed over") && (m.every == 0 || !handsOver[S]()) {
		return ""
	}
	if w.owed && !m.crashed(w.owes) && !m.cutShort(w.owes) {
		return "who fed it has finished, and it has not seen that"
	}
	if w.strayed() {
		return ""
	}
	for _, f := range w.feeders() {
		if excused := w.excused(f); !excused {
			return "nothing has befallen it nor peer " + itoa(f) + ", which could feed it"
		}
	}
	return ""
}

// strayed reports whether what it ran last is not what the players go on from: who fed it was
// cut off, and it had run that before anybody could tell. Who stays far enough behind has not:
// players wait for one whose inputs do not come.
func (w *watcher[S, I]) strayed() bool {
	s, last, now := w.m.s, w.next-1, w.m.newest()
	ahead := s.window()
	for i := range s.Peers {
		ahead = max(ahead, s.window()+s.longest(&s.Peers[i]))
	}
	if w.next <= w.first || w.is.Delay >= ahead {
		return false
	}
	ran := w.m.views[w.ranIn]
	for q := range s.participants() {
		if ran.status(q, last) != now.status(q, last) {
			return true
		}
	}
	return false
}

// feeders returns those that may feed it.
func (w *watcher[S, I]) feeders() (list []int) {
	if len(w.is.Feeders) > 0 {
		return w.is.Feeders
	}
	for i := range w.m.s.Peers {
		list = append(list, i)
	}
	return list
}

// excused reports whether a feeder had a reason not to feed.
func (w *watcher[S, I]) excused(f int) bool {
	m := w.m
	if f >= FirstWatcher {
		o := m.watchers[f-FirstWatcher]
		// What it lacks itself it cannot give.
		return o.disturbed || o.gone || o.session == nil || o.came > w.came || o.err != nil
	}
	p := m.peers[f]
	for _, fault := range m.s.Faults {
		if fault.Kind == Freeze && slices.Contains(fault.From, f) && fault.For.Duration() >= m.s.watchTimeout()/4 {
			return true
		}
	}
	late := m.s.Peers[f].Phase.Duration() > w.came+m.s.watchTimeout()/2
	return late || p.gone || p.err != nil || m.lives[f] > 0
}

// owe notes that a peer has finished: whom it feeds it tells all that is left, unless that is not kept
// any more.
func (m *match[S, I]) owe(by driftback.Peer) {
	for _, w := range m.watchers {
		if w.fed && w.feeder == by && w.err == nil && w.confirmed+m.s.kept() >= driftback.Tick(m.s.Ticks) {
			w.owed, w.owes = true, by
		}
	}
}

// cutShort reports whether a fault of its own may have kept one who watches from saying all to whom
// it feeds.
func (m *match[S, I]) cutShort(p driftback.Peer) bool {
	return p >= FirstWatcher && m.watchers[p-FirstWatcher].disturbed
}

// crashed reports whether a peer, who may watch, has crashed: what it had not sent yet nobody
// sends, be its match over or not.
func (m *match[S, I]) crashed(p driftback.Peer) bool {
	if p >= FirstWatcher {
		return m.watchers[p-FirstWatcher].gone
	}
	return m.peers[p].gone
}
