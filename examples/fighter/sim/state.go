// Package sim is a small fighting game for two: the whole of it, as a pure step
// over a plain value, and nothing of its looks.
//
// Two fighters walk, jump, crouch, block high and low, strike, throw and send
// projectiles until one has won two rounds; then the next match begins, for ever.
// Everything is fixed point and nothing points anywhere: a [State] is copied by
// assignment, is the same to the last bit on every machine, and holds its own
// random generator.
//
// It owns the rules and the tables of moves; it refuses to own pictures, sounds
// and devices. Draw from [State.View]; play what the step raises ([KindHit] and
// its neighbours). [Bot] plays a side where nobody is at the buttons.
//
// [Step] is a driftback.Step. Nothing is shared between states, so any goroutine
// may step one, though no two the same one at once.
package sim

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fixed"
	"github.com/driftback/driftback/rng"
)

// TicksPerSecond is the rate the game is meant to be played at.
const TicksPerSecond = 60

// Sides is the number of fighters. Participant 0 plays fighter 0, who starts on
// the left.
const Sides = 2

// The stage, in pixels. The middle is 0 and the floor is at height 0; heights
// count upwards.
const (
	StageHalfWidth = 360
	StartDistance  = 90 // of each fighter from the middle
)

// MaxHealth is a fighter's health as a round begins.
const MaxHealth = 1000

// RoundTicks is the length of a round that nobody wins by a knock-out.
const RoundTicks = 60 * TicksPerSecond

// WinsNeeded is the number of rounds that win a match.
const WinsNeeded = 2

// State is the whole game. Its fields have fixed widths and leave no gaps between
// them, so that its memory is its canonical encoding on little-endian machines.
type State struct {
	Rand     rng.PCG // varies the damage
	Fighters [Sides]Fighter
	Shots    [Sides]Shot // one for each fighter
	Match    uint32      // counts matches from 1
	Clock    int32       // ticks of fighting left in this round
	Pause    int32       // ticks left in this phase, unless it is Fight
	Phase    Phase
	Round    uint8 // of this match, from 1
	Winner   int8  // of the round just over: 0, 1, or NoWinner
	KO       bool  // the round just over ended by a knock-out
	// Looks are what the fighters wear, below [NumLooks]: chosen before the match, and
	// changed by no tick.
	Looks [Sides]uint32
}

// NumLooks is the number of looks to choose from.
const NumLooks = 4

// NoWinner stands for nobody where a side is named.
const NoWinner = -1

// Fighter is one of the two. Positions are those of the point between the feet, in
// pixels, and velocities are in pixels per tick.
type Fighter struct {
	X, Y     fixed.Num
	VX, VY   fixed.Num
	Held     uint16 // buttons held on the last tick
	Buffered uint16 // strikes pressed and not yet used
	Health   int16
	Age      int16 // ticks since Action began
	Stun     int16 // ticks left of hit-stun or block-stun
	HitStop  int16 // ticks to stand still for, after a blow has met somebody
	Safe     int16 // ticks during which nobody can throw the fighter
	Combo    int16 // blows taken without getting away
	Damage   int16 // taken in that combo
	Action   Action
	Facing   int8  // 1: towards larger X; −1
	Buffer   uint8 // ticks that Buffered is still good for
	Contact  Contact
	Wins     uint8 // rounds won in this match
	Shoved   bool  // pushed back by a body, which a wall pushes back in turn
}

// Shot is a fighter's projectile in flight, if Life is not 0.
type Shot struct {
	X    fixed.Num
	Life int32 // ticks left
	Dir  int32 // 1 or −1
}

// Phase is what part of a match is going on.
type Phase uint8

// The phases, in order. After MatchOver comes the next match's Intro.
const (
	Intro     Phase = iota // nobody moves
	Fight                  // buttons count
	RoundOver              // the winner cheers
	MatchOver              // and cheers
)

// String returns the phase as lower-case words.
func (p Phase) String() string {
	switch p {
	case Intro:
		return "intro"
	case Fight:
		return "fight"
	case RoundOver:
		return "round over"
	case MatchOver:
		return "match over"
	}
	return "unknown phase"
}

// Contact is what a strike has met so far.
type Contact uint8

// What a strike can have met.
const (
	Nothing Contact = iota
	Blocked
	Landed
)

// New returns the start of a game whose random choices follow from seed.
func New(seed uint64) State {
	s := State{Rand: rng.New(seed, 1), Match: 1}
	s.beginRound(1)
	return s
}

// Start puts s where New(seed) begins, for a session's Start. Looks stay as they are.
func Start(seed uint64, s *State) {
	looks := s.Looks
	*s = New(seed)
	s.Looks = looks
}

// Step advances the game by one tick. in[0] plays fighter 0 and in[1] fighter 1; a
// missing input is nothing held, more are ignored, and so are buttons that do not
// exist.
func Step(s *State, in []Input, pass *driftback.Pass) {
	var held [Sides]uint16
	for side := range min(Sides, len(in)) {
		held[side] = in[side].clean()
	}
	s.runPhase(pass)
	fighting := s.Phase == Fight
	for side := range s.Fighters {
		s.Fighters[side].read(held[side], fighting)
	}
	for side := range s.Fighters {
		s.act(side, pass)
	}
	s.grip(pass)
	s.move(pass)
	s.separate()
	if fighting {
		s.contacts(pass)
		s.separate()
		s.judge(pass)
	}
}
