package session

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/snapshot"
)

const (
	// keptStates is how many states of due ticks are kept: those that may wait to be
	// compared.
	keptStates = mesh.MaxUncompared
	// keptTogether is how many are made room for at once.
	keptTogether = 16
)

// kept holds the confirmed states whose fingerprints other peers have not agreed
// to, so that a desync can show the very state that differs.
type kept[S any] struct {
	policy snapshot.Policy[S]
	stores [(keptStates + keptTogether - 1) / keptTogether]snapshot.Store[S]
	ticks  [keptStates]driftback.Tick
	next   int // the place that is used next
}

// save puts a state away in place of the oldest.
func (k *kept[S]) save(t driftback.Tick, s *S) error {
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
	k.ticks[i] = t
	k.next = (i + 1) % keptStates
	return nil
}

// load copies the state of tick t, if it is kept, into s. A place that has not been
// used has tick 0, at which no state is due.
func (k *kept[S]) load(t driftback.Tick, s *S) bool {
	for i, has := range k.ticks {
		if has == t {
			return k.stores[i/keptTogether].Load(i%keptTogether, s) == nil
		}
	}
	return false
}
