package session

import (
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/snapshot"
)

const (
	// keptStates is how many states of due ticks are kept: those that may wait to be
	// compared, and the one before them, on which all agree. The state that a peer begins with
	// counts as one.
	keptStates = mesh.MaxUncompared + 1
	// keptTogether is how many are made room for at once.
	keptTogether = 13
)

// kept holds the confirmed states whose fingerprints other peers have not agreed
// to, so that a desync can show the very state that differs.
type kept[S any] struct {
	policy snapshot.Policy[S]
	stores [(keptStates + keptTogether - 1) / keptTogether]snapshot.Store[S]
	ticks  [keptStates]driftback.Tick
	// controls has what was agreed on beside each; of speed 0 it is not known.
	controls [keptStates]Control
	next     int // the place that is used next
	used     int // how many places are
}

// save puts a state away in place of the oldest.
func (k *kept[S]) save(t driftback.Tick, s *S, control Control) error {
	i := k.next
	store := &k.stores[i/keptTogether]
	if *store == nil {
		made, err := k.policy(keptTogether)
		if err != nil {
			return err
		}
		*store = made
	}
	if err := (*store).Save(i%keptTogether, s); err != nil {
		return err
	}
	k.ticks[i], k.controls[i] = t, control
	k.next = (i + 1) % keptStates
	k.used = max(k.used, i+1)
	return nil
}

// place returns where the state of tick t is kept.
func (k *kept[S]) place(t driftback.Tick) (i int, ok bool) {
	i = slices.Index(k.ticks[:k.used], t)
	return i, i >= 0
}

// load copies the state of tick t, if it is kept, into s.
func (k *kept[S]) load(t driftback.Tick, s *S) bool {
	i, ok := k.place(t)
	return ok && k.stores[i/keptTogether].Load(i%keptTogether, s) == nil
}

// control returns what was agreed on beside the state of tick t; ok is false if that is not known.
func (k *kept[S]) control(t driftback.Tick) (c Control, ok bool) {
	if i, is := k.place(t); is {
		c = k.controls[i]
	}
	return c, c.Speed != 0
}

// base returns the tick of the newest state that is kept of those up to tick t, or of the oldest if none is;
// ok is false if there are none.
func (k *kept[S]) base(t driftback.Tick) (base driftback.Tick, ok bool) {
	newest, oldest := driftback.Tick(-1), driftback.Tick(-1)
	for _, has := range k.ticks[:k.used] {
		if has <= t {
			newest = max(newest, has)
		}
		if oldest < 0 || has < oldest {
			oldest = has
		}
	}
	if newest < 0 {
		newest = oldest
	}
	return newest, newest >= 0
}
