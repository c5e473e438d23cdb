package session

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/snapshot"
	"github.com/driftback/driftback/wire"
)

const (
	// anewAtOnce is how many ticks one call runs anew at most.
	anewAtOnce = 64
	// anewApart is how many ticks lie between the states that are kept of a run anew, so that
	// any other takes no more runs than that.
	anewApart = 128
	// maxAnew is how many ticks are run anew at most.
	maxAnew = dispute.MaxRoots
)

// anew is a run, once more, of ticks that are final: from a state on which peers agree to one in which
// they differ. What it comes to on the way nobody has kept.
type anew[S any, I comparable] struct {
	over    bool
	repeats dispute.Repeats
	// from is the tick that it begins with, next the one that it has come to and to where it ends; control is what
	// was agreed on beside the world as next begins.
	from, next, to driftback.Tick
	control        Control
	sums           []uint64 // of the ticks after from, up to next
	// store has the world as next begins, and those of every anewApart ticks before it.
	store    snapshot.Store[S]
	controls []Control
	// unrepeated are the fields in which it came to another state: A is what was, B what the run came to.
	unrepeated []fingerprint.Difference

	in     []I
	status []driftback.Status
	pass   driftback.Pass
}

// progress is the place of the world as next begins.
const progress = 0

// Retracing reports whether the step is running now on a tick as it has run before: to find out where peers' states
// began to differ, in a world that is thrown away afterwards, or to get from a state that was put away
// to one that was not, see Config.Spacing. What it raises goes nowhere. It is for a
// step that is watched, by a test, say; what it comes to must not depend on it.
func (m *Lockstep[S, I]) Retracing() bool { return m.inquiry.retracing || m.loop.Approaching() }

// beginAnew makes ready to run the ticks from the inquiry's base on. Where it cannot be done it is over.
func (m *Lockstep[S, I]) beginAnew() {
	a, past := &m.inquiry.anew, m.past.archive
	a.over = true
	from, to, control := m.inquiry.base, m.inquiry.found, m.inquiry.baseControl
	if control.Speed == 0 || from >= to || to-from > maxAnew || past == nil || past.Oldest() > from || past.End() < to {
		return
	}
	places := 1 + int((to-from+anewApart-1)/anewApart)
	store, err := m.kept.policy(places)
	if err != nil {
		return
	}
	*a = anew[S, I]{
		from: from, next: from, to: to, control: control, store: store, controls: make([]Control, places),
		sums: make([]uint64, 0, to-from), in: make([]I, len(m.cfg.Players)), status: make([]driftback.Status, len(m.cfg.Players)),
	}
}

// runAnew runs some more ticks, and reports whether all that can be known of them is.
func (m *Lockstep[S, I]) runAnew() (over bool) {
	a := &m.inquiry.anew
	if a.over {
		return true
	}
	first := a.next == a.from
	m.apart(func(world *S) error {
		if first {
			if !m.kept.load(a.from, world) {
				return errForgotten
			}
		} else if err := a.store.Load(progress, world); err != nil {
			return err
		}
		for n := 0; n < anewAtOnce && a.next < a.to; n++ {
			if ahead := a.next - a.from; ahead%anewApart == 0 {
				place := 1 + int(ahead/anewApart)
				if a.controls[place] = a.control; a.store.Save(place, world) != nil {
					return errForgotten
				}
			}
			m.rerun(world, a.next, &a.control)
			a.next++
			sum, ok := m.sum(world)
			if !ok || m.err != nil {
				return errForgotten
			}
			a.sums = append(a.sums, sum)
		}
		return a.store.Save(progress, world)
	})
	if m.err == nil && !a.over && a.next == a.to {
		a.over = true
		m.judgeAnew()
	}
	return a.over
}

// judgeAnew compares what the run anew has come to with what was.
func (m *Lockstep[S, I]) judgeAnew() {
	a := &m.inquiry.anew
	if a.sums[len(a.sums)-1] == m.inquiry.ours {
		a.repeats = dispute.Same
		return
	}
	var came []byte
	m.apart(func(world *S) error {
		err := a.store.Load(progress, world)
		if err == nil {
			came, _ = m.hasher.AppendBytes(nil, world)
		}
		return err
	})
	a.repeats = dispute.Different
	was, ok := m.stateBytesAt(a.to)
	switch {
	case !ok || came == nil:
	case bytes.Equal(was, came):
		a.repeats = dispute.Same // ours is the fingerprint of one subsystem
	default:
		a.unrepeated = m.hasher.DiffBytes(nil, was, came)
	}
}

// rerun runs one tick that is final in a world apart. control is what was agreed on as it begins, and is
// moved on.
func (m *Lockstep[S, I]) rerun(world *S, t driftback.Tick, control *Control) {
	a := &m.inquiry.anew
	if *control = m.controlAfter(*control, t); control.Paused {
		return
	}
	past := m.past.archive
	for p := range a.in {
		if err := m.inputs.Parse(past.Input(driftback.Participant(p), t), &m.in); err != nil {
			m.check(err)
			return
		}
		a.in[p] = m.in
	}
	past.Statuses(t, a.status)
	a.pass.Begin(t, a.status)
	m.inquiry.retracing = true
	m.cfg.Step(world, a.in, &a.pass)
	m.inquiry.retracing = false
}

// controlAfter returns what is agreed on when the entries of tick t, which is archived, have been given,
// as it was before. Of several participants the highest has the last word.
func (m *Lockstep[S, I]) controlAfter(before Control, t driftback.Tick) Control {
	s := controlTick{begins: before}
	for p := range m.cfg.Players {
		if e := m.past.archive.Entry(driftback.Participant(p), t); e != 0 && e <= wire.MaxEntry {
			s.entries[kindOf(e)] = e
		}
	}
	return s.ends()
}

// errForgotten means that what is asked for is not kept any more.
var errForgotten = errors.New("session: it is not kept")

// apart does something in a world apart. Where that fails nothing more is run anew; where the world itself is
// gone the match ends with that.
func (m *Lockstep[S, I]) apart(do func(world *S) error) (ok bool) {
	var failed error
	err := m.loop.Apart(func(world *S) { failed = do(world) })
	if errors.Is(err, rewind.ErrStore) && m.mesh.Phase() != mesh.Ended {
		m.check(fmt.Errorf("%w: %w", ErrState, err))
	}
	if err != nil || failed != nil {
		m.inquiry.anew.over = true
		return false
	}
	return true
}

// root returns the fingerprint of the state as tick t began, as far as that is known.
func (m *Lockstep[S, I]) root(t driftback.Tick) (sum uint64, ok bool) {
	q := &m.inquiry
	if t == q.found {
		return q.ours, true
	}
	if a := &q.anew; a.repeats == dispute.Same && t > a.from && t <= a.next {
		return a.sums[t-a.from-1], true
	}
	if m.cfg.FingerprintRotate {
		return 0, false // that of one subsystem says nothing of the others
	}
	return m.mesh.Root(t)
}

// withState calls use with the world as tick t, which is final, began, in a world apart.
func (m *Lockstep[S, I]) withState(t driftback.Tick, use func(world *S) error) (ok bool) {
	if _, kept := m.kept.place(t); kept {
		return m.apart(func(world *S) error {
			if !m.kept.load(t, world) {
				return errForgotten
			}
			return use(world)
		})
	}
	if t == m.loop.Next() && t <= m.confirmed() {
		return m.apart(use)
	}
	a := &m.inquiry.anew
	if a.repeats != dispute.Same || t <= a.from || t >= a.to {
		return false
	}
	return m.apart(func(world *S) error {
		back := (t - a.from) % anewApart
		place := 1 + int((t-a.from)/anewApart)
		if err := a.store.Load(place, world); err != nil {
			return err
		}
		control := a.controls[place]
		for at := t - back; at < t; at++ {
			m.rerun(world, at, &control)
		}
		return use(world)
	})
}

// stateBytesAt returns the canonical bytes of the state as tick t, which is final, began; ok is false where it cannot
// be had. It is asked for the same one several times. Nobody may change them.
func (m *Lockstep[S, I]) stateBytesAt(t driftback.Tick) (b []byte, ok bool) {
	q := &m.inquiry
	for _, s := range q.states {
		if s.bytes != nil && s.tick == t {
			return s.bytes, true
		}
	}
	m.withState(t, func(world *S) error {
		b, ok = m.hasher.AppendBytes(nil, world)
		return nil
	})
	if ok {
		q.states[1] = q.states[0]
		q.states[0].tick, q.states[0].bytes = t, b
	}
	return b, ok
}
