package session

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/wire"
)

// Entries are of two kinds, which do not get in each other's way.
const (
	pausing  = iota // pause and resume
	speeding        // speeds
	entryKinds
)

func kindOf(e wire.Entry) int {
	if _, ok := e.Speed(); ok {
		return speeding
	}
	return pausing
}

// entriesOf has the entry of each kind that counts, or none.
type entriesOf [entryKinds]wire.Entry

// controls are the entries and the control states of every tick that can still be run,
// and of those whose inputs have come.
type controls struct {
	ring []controlTick
	mask driftback.Tick
	told driftback.Tick // the first tick whose changes the game has not been told of

	pending entriesOf // what is to ride with the next input of rider
	rider   driftback.Participant
}

// controlTick is one tick's.
type controlTick struct {
	tick    driftback.Tick // whose the rest is
	begins  Control        // as the tick begins
	entries entriesOf
	by      [entryKinds]driftback.Participant
}

// newControls returns controls for depth ticks, a power of two, that begin at tick t in
// the given state.
func newControls(depth int, t driftback.Tick, begins Control) controls {
	c := controls{ring: make([]controlTick, depth), mask: driftback.Tick(depth - 1), told: t}
	for i := range c.ring {
		c.ring[i].tick = -1
	}
	c.claim(t).begins = begins
	return c
}

// at returns the place of tick t, which may be another tick's.
func (c *controls) at(t driftback.Tick) *controlTick { return &c.ring[t&c.mask] }

// claim returns the place of tick t, and takes it from the tick before.
func (c *controls) claim(t driftback.Tick) *controlTick {
	s := c.at(t)
	if s.tick != t {
		*s = controlTick{tick: t}
	}
	return s
}

// ends returns the control state after the tick's entries.
func (s *controlTick) ends() Control {
	after := s.begins
	if e := s.entries[pausing]; e != 0 {
		after.Paused = e == wire.EntryPause
	}
	if eighths, ok := s.entries[speeding].Speed(); ok {
		after.Speed = Speed(eighths)
	}
	return after
}

// changes tells what the tick's entries have changed, and which participant's it was.
func (s *controlTick) changes(tell func(e mesh.Event, by driftback.Participant)) {
	after := s.ends()
	e := mesh.Event{Tick: s.tick, Speed: int(after.Speed)}
	if after.Paused != s.begins.Paused {
		e.Kind = Resumed
		if after.Paused {
			e.Kind = Paused
		}
		tell(e, s.by[pausing])
	}
	if after.Speed != s.begins.Speed {
		e.Kind = SpeedChanged
		tell(e, s.by[speeding])
	}
}

// run works out how the tick after t begins, and reports whether t is paused.
func (c *controls) run(t driftback.Tick) (paused bool) {
	after := c.claim(t).ends()
	c.claim(t + 1).begins = after
	return after.Paused
}

// give notes a participant's entry, and reports whether it counts.
func (c *controls) give(p driftback.Participant, t driftback.Tick, e wire.Entry) bool {
	s, kind := c.claim(t), kindOf(e)
	if s.entries[kind] != 0 && s.by[kind] > p {
		return false
	}
	s.entries[kind], s.by[kind] = e, p
	return true
}

// correct works out anew how the ticks after t begin, of those that have run. It returns
// the first that ran and should not have run, or the other way round.
func (c *controls) correct(t, next driftback.Tick) (from driftback.Tick, wrong bool) {
	for ; t < next; t++ {
		after, follows := c.at(t).ends(), &c.claim(t+1).begins
		if *follows == after {
			break
		}
		if !wrong && follows.Paused != after.Paused {
			from, wrong = t, true
		}
		*follows = after
	}
	return from, wrong
}

// withdraw forgets every entry of tick t if one that counts there is participant p's, and
// reports whether it did: the others have to be given anew.
func (c *controls) withdraw(p driftback.Participant, t driftback.Tick) bool {
	s := c.at(t)
	if s.tick != t {
		return false
	}
	for kind, e := range s.entries {
		if e != 0 && s.by[kind] == p {
			s.entries = entriesOf{}
			return true
		}
	}
	return false
}
