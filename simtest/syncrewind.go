package simtest

import (
	"encoding"
	"fmt"
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/internal/fields"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/snapshot"
)

const (
	lookUnsaved = "a field that CopyTo, UnmarshalBinary or the parts of Game.Save leave out, or set only in part"
	lookShared  = "a slice, map or pointer that CopyTo or Game.Save assigns where it should copy what is behind it (append(into.X[:0], s.X...))"
	lookOutside = "a generator, counter or cache in a package variable or captured by the step, which a new match sets up again and a rewind does not: keep it in the state; " +
		"a field that the snapshot and AppendBinary both leave out"
)

// policy is one way to make snapshots.
type policy[S any] struct {
	name string
	make snapshot.Policy[S]
}

// policies are what the game uses and what its state offers besides.
func policies[S any, I comparable](g *Game[S, I]) []policy[S] {
	if g.Save != nil {
		return []policy[S]{{"Game.Save", g.Save}}
	}
	list := []policy[S]{{"snapshot.For", snapshot.For[S]}}
	_, copies := any((*S)(nil)).(interface{ CopyTo(to *S) })
	_, binary := any((*S)(nil)).(ownBinary)
	if _, err := snapshot.Assign[S](1); err != nil && copies && binary {
		list = append(list, policy[S]{"AppendBinary and UnmarshalBinary", func(places int) (snapshot.Store[S], error) {
			return make(binaryStore[S], places), nil
		}})
	}
	return list
}

type ownBinary interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// binaryStore is snapshot.Encode for a type that is known to have the methods only when
// the program runs.
type binaryStore[S any] [][]byte

func (b binaryStore[S]) Save(i int, from *S) (err error) {
	b[i], err = any(from).(ownBinary).AppendBinary(b[i][:0])
	return err
}

func (b binaryStore[S]) Load(i int, into *S) error {
	return any(into).(ownBinary).UnmarshalBinary(b[i])
}

// rewinder is a run in which every tick is saved and earlier ones are run again.
type rewinder[S any, I comparable] struct {
	*rehearsal[S, I]
	policy string
	store  snapshot.Store[S]
	photos []photo[S] // by tick, in the places of the store
	// live runs on; an earlier tick is loaded into back, which then is the live one;
	// look is loaded only to be looked at, and so is begun, which has never run.
	live, back, look, begun *S
}

// rewinds runs the workload, and some of each tick's past again.
func (r *rehearsal[S, I]) rewinds(p policy[S]) (*Finding, error) {
	window := r.s.Window
	if window <= 0 {
		window = session.DefaultWindow
	}
	store, err := p.make(window + 2)
	if err != nil {
		return nil, err
	}
	// What is loaded into is no fresh world, so that a field that is not loaded shows.
	end := driftback.Tick(len(r.inputs))
	w := &rewinder[S, I]{rehearsal: r, policy: p.name, store: store, photos: make([]photo[S], window+2)}
	w.look, w.back, w.live = r.world(min(7, end), r.step), r.world(min(3, end), r.step), r.world(0, nil)
	w.begun = r.world(0, nil)
	depths := random(r.s.Seed, streamSync, 0)
	r.take(w.photo(0), w.live)
	for t := range end {
		if f, err := w.save(t); f != nil || err != nil {
			return f, err
		}
		if f := w.tick(w.live, t, "after earlier ticks were run again, it comes to something else than in a whole run"); f != nil {
			return f, nil
		}
		r.take(w.photo(t+1), w.live)
		from := t - driftback.Tick(depths.IntN(min(window, int(t)+1)))
		if f, err := w.rewind(from, t+1); f != nil || err != nil {
			return f, err
		}
		w.live, w.back = w.back, w.live
	}
	return nil, nil
}

func (w *rewinder[S, I]) place(t driftback.Tick) int { return int(t) % len(w.photos) }

func (w *rewinder[S, I]) photo(t driftback.Tick) *photo[S] { return &w.photos[w.place(t)] }

// save saves the live world as tick t begins, and loads it at once: over another world, and
// into what a session or its owner loads it into to look at it.
func (w *rewinder[S, I]) save(t driftback.Tick) (*Finding, error) {
	if err := w.store.Save(w.place(t), w.live); err != nil {
		return nil, fmt.Errorf("tick %d cannot be saved by %s: %w", t, w.policy, err)
	}
	if !w.is(w.photo(t), w.live) {
		return w.found(MistakeShared, t, "saving a world changes it", lookShared, w.live), nil
	}
	if f, err := w.loadAtOnce(t, w.look, "it was saved and loaded again at once"); f != nil || err != nil {
		return f, err
	}
	// Only Save may leave out what never changes.
	if w.game.Save != nil {
		return w.loadAtOnce(t, w.begun, "it was saved and loaded at once into a world that has just begun, as ConfirmedState does")
	}
	return w.loadAtOnce(t, new(S), "it was saved and loaded at once into an empty world, as a session does to fingerprint it")
}

// loadAtOnce loads what has just been saved.
func (w *rewinder[S, I]) loadAtOnce(t driftback.Tick, into *S, detail string) (*Finding, error) {
	if err := w.load(t, into); err != nil || w.is(w.photo(t), into) {
		return nil, err
	}
	// In a state with bytes of its own the field has a name all the same.
	f := w.found(MistakeUnsaved, t, detail, lookUnsaved, into)
	if d, ok := fields.Between(w.live, into); ok && !w.plain {
		f.Difference = d
	}
	return f, nil
}

func (w *rewinder[S, I]) load(t driftback.Tick, into *S) error {
	if err := w.store.Load(w.place(t), into); err != nil {
		return fmt.Errorf("tick %d cannot be loaded by %s: %w", t, w.policy, err)
	}
	return nil
}

// tick runs tick t in a world and compares what comes of it with the whole runs.
func (w *rewinder[S, I]) tick(s *S, t driftback.Tick, how string) *Finding {
	raised, confirmed := w.step(s, t)
	same := w.hasher.Sum(s) == w.ref[t+1].sum
	if same && slices.Equal(raised, w.ref[t].raised) && slices.Equal(confirmed, w.ref[t].confirmed) {
		return nil
	}
	if same {
		how = "it comes to the same state and raises other effects" + raisedTwice(&w.ref[t], raised, confirmed)
	}
	var now photo[S]
	w.take(&now, s)
	if f := w.impureIfAtAll(); f != nil {
		return f
	}
	f := &Finding{Mistake: MistakeOutside, Tick: t, Policy: w.policy, Detail: how, Look: lookOutside}
	if same {
		f.Look = lookRaises
		return f
	}
	right := w.world(t+1, w.fresh)
	d := w.between(&now, right)
	for i := range d {
		d[i].A, d[i].B = d[i].B, d[i].A
	}
	return differ(f, d, right, s)
}

// rewind loads tick from and runs the ticks up to to again.
func (w *rewinder[S, I]) rewind(from, to driftback.Tick) (*Finding, error) {
	if err := w.load(from, w.back); err != nil {
		return nil, err
	}
	if !w.is(w.photo(from), w.back) {
		detail := fmt.Sprintf("the snapshot of its beginning has changed while the world ran on to tick %d", to) + w.inCommon(from, w.live, w.back)
		return w.found(MistakeShared, from, detail, lookShared, w.back), nil
	}
	w.report.Rewinds++
	for t := from; t < to; t++ {
		w.report.Resimulated++
		if f := w.tick(w.back, t, fmt.Sprintf("rewound from tick %d to tick %d and run again, it comes to something else", to, from)); f != nil {
			if name := w.leftOut(from); name != "" && f.Mistake == MistakeOutside {
				f.Detail += fmt.Sprintf("; and a load does not bring back %s", name)
			}
			return f, nil
		}
	}
	if err := w.load(from, w.look); err != nil {
		return nil, err
	}
	if !w.is(w.photo(from), w.look) {
		detail := fmt.Sprintf("the snapshot of its beginning has changed while what was loaded from it ran on to tick %d", to) + w.inCommon(from, w.back, w.look)
		return w.found(MistakeShared, from, detail, lookShared, w.look), nil
	}
	for _, other := range []*S{w.live, w.back} {
		if !w.is(w.photo(to), other) {
			detail := fmt.Sprintf("a world changes while a snapshot of tick %d is loaded into another one", from) + w.inCommon(from, other, w.look)
			return w.found(MistakeShared, to, detail, lookShared, other), nil
		}
	}
	return nil, nil
}

// leftOut names a field that neither the snapshot nor the state's bytes have, if there is one.
func (w *rewinder[S, I]) leftOut(from driftback.Tick) string {
	if w.plain || w.load(from, w.look) != nil {
		return ""
	}
	d, ok := fields.Between(w.world(from, w.fresh), w.look)
	if !ok {
		return ""
	}
	return d.String()
}

// found makes a finding of a world that is not what the photo of tick t, or of the one that
// the detail names, shows.
func (w *rewinder[S, I]) found(m Mistake, t driftback.Tick, detail, look string, now *S) *Finding {
	p := w.photo(t)
	return differ(&Finding{Mistake: m, Tick: t, Policy: w.policy, Detail: detail, Look: look}, w.between(p, now), w.world(t, w.fresh), now)
}

// inCommon names what memory two worlds have in common or, if they have moved apart since,
// what a world has in common with what is loaded at once from a snapshot of it. The snapshot of
// tick from is lost by that, so a finding must follow.
func (w *rewinder[S, I]) inCommon(from driftback.Tick, a, b *S) string {
	if text := inCommon(a, b); text != "" {
		return text
	}
	saved := w.world(from, w.fresh)
	for t := from; t < driftback.Tick(len(w.inputs)); t++ {
		loaded := new(S)
		if w.store.Save(w.place(from), saved) != nil || w.store.Load(w.place(from), loaded) != nil {
			return ""
		}
		if text := inCommon(saved, loaded); text != "" {
			return text
		}
		w.fresh(saved, t)
	}
	return ""
}
