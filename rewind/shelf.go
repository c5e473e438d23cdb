package rewind

import "github.com/driftback/driftback"

// shelf knows which ticks have a snapshot, and in which place of the store each is. Ticks are put on it in
// ascending order, and leave it at either end.
type shelf struct {
	ring  []kept // from first on, held of them, round the end
	first int
	held  int
	// free are the places that no tick has, the one that was given back last at the end: its memory is likelier than
	// any other's to be in the processor's cache.
	free []int
}

type kept struct {
	tick  driftback.Tick
	place int
}

// newShelf returns an empty shelf of so many places.
func newShelf(places int) shelf {
	s := shelf{ring: make([]kept, places), free: make([]int, places)}
	for i := range s.free {
		s.free[i] = places - 1 - i
	}
	return s
}

// at returns the i-th oldest snapshot, i below held.
func (s *shelf) at(i int) kept {
	if i += s.first; i >= len(s.ring) {
		i -= len(s.ring)
	}
	return s.ring[i]
}

func (s *shelf) oldest() kept { return s.ring[s.first] }
func (s *shelf) newest() kept { return s.at(s.held - 1) }

// take takes a free place. There always is one: see [Loop.keep].
func (s *shelf) take() (place int) {
	n := len(s.free) - 1
	place, s.free = s.free[n], s.free[:n]
	return place
}

// giveBack makes a place free that was taken.
func (s *shelf) giveBack(place int) { s.free = append(s.free, place) }

// put says that a place that was taken has the snapshot of tick t, which is newer than all others.
func (s *shelf) put(t driftback.Tick, place int) {
	i := s.first + s.held
	if i >= len(s.ring) {
		i -= len(s.ring)
	}
	s.ring[i] = kept{t, place}
	s.held++
}

// dropOldest gives the oldest snapshot's place back.
func (s *shelf) dropOldest() {
	s.giveBack(s.oldest().place)
	if s.first++; s.first == len(s.ring) {
		s.first = 0
	}
	s.held--
}

// dropFrom gives the places of tick t's snapshot and of all newer ones back.
func (s *shelf) dropFrom(t driftback.Tick) {
	for s.held > 0 && s.newest().tick >= t {
		s.giveBack(s.newest().place)
		s.held--
	}
}

// upTo returns the newest snapshot of those up to tick t; next is the tick after the newest that can have one, and the
// oldest snapshot is not newer than t.
func (s *shelf) upTo(t, next driftback.Tick) kept {
	// No two are of one tick, so that from t on there are at most so many as ticks: where every tick has one
	// the first that is looked at is the one.
	i := max(0, s.held-int(next-t))
	for i+1 < s.held && s.at(i+1).tick <= t {
		i++
	}
	return s.at(i)
}
