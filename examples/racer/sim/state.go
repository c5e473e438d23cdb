// Package sim is a kart race for two to eight: the whole of it, as a pure step over a
// plain value, and nothing of its looks.
//
// Karts drive three laps of one track, drift for a boost, bump into each other and take
// items from boxes; when the race is over the next one begins, for ever. Everything is
// fixed point and nothing points anywhere: a [State] is copied by assignment, is the same
// to the last bit on every machine, and holds its own random generator.
//
// Participant p drives kart p. One whose status is driftback.Absent is not on the track;
// one whose status is driftback.Replaced is driven by the same bot that a session's
// player may ask for with [Drive]. Both may change from tick to tick.
//
// It owns the rules and the track; it refuses to own pictures, sounds and devices. Draw
// from [State.View] and [Track]; play what the step raises ([KindGo] and its neighbours).
//
// [Step] is a driftback.Step. Nothing that changes is shared between states, so any
// goroutine may step one, though no two the same one at once.
package sim

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fixed"
	"github.com/driftback/driftback/rng"
)

// TicksPerSecond is the rate the game is meant to be played at.
const TicksPerSecond = 60

// MaxKarts is how many can race at the same time.
const MaxKarts = 8

// Laps is the length of a race.
const Laps = 3

// State is the whole game. Its fields have fixed widths and leave no gaps between
// them, so that its memory is its canonical encoding on little-endian machines.
type State struct {
	Rand  rng.PCG // decides what is in a box
	Karts [MaxKarts]Kart
	Oils  [MaxKarts]Oil // one for each kart; another of its own takes its place
	Clock int32         // ticks of this phase so far
	Ended int32         // ticks since the first kart finished, or 0
	Race  uint32        // counts races from 1
	Boxes [boxes]uint16 // ticks until each is there again; 0: it is there
	Phase Phase
	Done  uint16 // karts that have finished this race
}

// Kart is one of the karts. Positions are in pixels, x to the right and y downwards, and
// velocities in pixels per tick. An angle is in turns, clockwise from the direction of x.
type Kart struct {
	X, Y    fixed.Num
	VX, VY  fixed.Num
	Heading fixed.Num // from 0 to below 1
	Passed  int32     // checkpoints passed in order; the start line is the first
	Lapped  int32     // ticks of the race when this lap began
	Best    int32     // ticks of the best lap, or 0
	Took    int32     // ticks that the race took the kart, once it has finished
	At      int32     // the part of the track it is on
	Charge  int16     // ticks of drifting so far
	Boost   int16     // ticks of boost left
	Spin    int16     // ticks to spin for
	Safe    int16     // ticks during which nothing makes it spin
	Quiet   int16     // ticks during which its bumps are not told
	Held    uint16    // buttons held on the last tick
	Item    Item
	Drift   int8  // −1 or 1: drifting to the left or the right; 0
	Grid    uint8 // its place when the race begins, from 0
	Place   uint8 // in which it finished, from 1; 0: not yet
	On      bool  // on the track
	Bot     bool  // driven by the step: its player has been replaced, or it has finished
	Known   bool  // has been on the track in this race
}

// Oil is a puddle that a kart has left behind, if Life is not 0.
type Oil struct {
	X, Y fixed.Num
	Life int64 // ticks left
}

// Phase is what part of a race is going on.
type Phase uint16

// The phases, in order. After Over comes the next race's Countdown.
const (
	Countdown Phase = iota // nobody moves
	Racing
	Over // bots drive on
)

// How long the phases take, in ticks.
const (
	CountdownTicks = 3 * TicksPerSecond
	overTicks      = 8 * TicksPerSecond
	// raceTicks ends a race that nobody finishes, and lateTicks one that somebody has.
	raceTicks = 240 * TicksPerSecond
	lateTicks = 20 * TicksPerSecond
)

// String returns the phase as lower-case words.
func (p Phase) String() string {
	switch p {
	case Countdown:
		return "countdown"
	case Racing:
		return "racing"
	case Over:
		return "over"
	}
	return "unknown phase"
}

// New returns the start of a game whose random choices follow from seed. Nobody is on the
// track yet: who is follows from the statuses of the first step.
func New(seed uint64) State {
	s := State{Rand: rng.New(seed, 1)}
	for p := range s.Karts {
		s.Karts[p].Grid = uint8(p)
	}
	s.beginRace()
	return s
}

// Start puts s where New(seed) begins, for a session's Start.
func Start(seed uint64, s *State) { *s = New(seed) }

// Step advances the game by one tick. in[p] drives kart p; a missing input is nothing
// held, more are ignored, and so are buttons that do not exist.
func Step(s *State, in []Input, pass *driftback.Pass) {
	s.seat(pass)
	s.run(pass)
	var held [MaxKarts]uint16
	for p := range s.Karts {
		k := &s.Karts[p]
		switch {
		case !k.On:
		case k.Bot:
			held[p] = Drive(s, p).clean()
		case p < len(in):
			held[p] = in[p].clean()
		}
	}
	for p := range s.Karts {
		if k := &s.Karts[p]; k.On {
			if s.Phase != Countdown {
				s.useItem(p, held[p]&^k.Held, pass)
				k.drive(p, held[p], pass)
			}
			k.Held = held[p]
		}
	}
	s.bump(pass)
	for p := range s.Karts {
		if k := &s.Karts[p]; k.On {
			k.stay(p, pass)
		}
	}
	if s.Phase != Countdown {
		s.touch(pass)
		s.lap(pass)
	}
}
