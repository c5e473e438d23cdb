package sim

import "github.com/driftback/driftback/fixed"

// Action is what a fighter is doing.
type Action uint8

// The actions. Those from Jab to Grab are strikes and have an entry in [moves].
const (
	Stand Action = iota
	Walk
	Retreat
	Crouch
	Spring // bending the knees before a jump
	Jump
	Land

	Jab        // standing light
	Straight   // standing heavy
	Overhead   // forward and heavy: must be blocked standing
	LowKick    // crouching light: must be blocked crouching
	Sweep      // crouching heavy: must be blocked crouching, and knocks down
	JumpKick   // light in the air
	JumpStrike // heavy in the air
	Fireball   // special: sends a projectile
	Grab       // throw: beats blocking

	Hurl   // throwing somebody
	Caught // being thrown
	Parted // a throw has been broken
	HitHigh
	HitLow
	HitAir // falling
	BlockHigh
	BlockLow
	Lying
	GetUp
	Cheer
	Kneel // has lost on time

	actions
)

var actionNames = [actions]string{
	"stand", "walk", "retreat", "crouch", "spring", "jump", "land",
	"jab", "straight", "overhead", "low kick", "sweep", "jump kick", "jump strike", "fireball", "grab",
	"hurl", "caught", "parted", "hit high", "hit low", "hit air", "block high", "block low",
	"lying", "get up", "cheer", "kneel",
}

// String returns the action as lower-case words.
func (a Action) String() string {
	if a >= actions {
		return "unknown action"
	}
	return actionNames[a]
}

// level says how a blow has to be blocked.
type level uint8

const (
	mid  level = iota // standing or crouching
	low               // crouching
	high              // standing
)

// A move is what a strike does and how long it takes, in ticks, pixels, and pixels
// per tick.
type move struct {
	startup, active, recovery int16
	damage, chip              int16 // chip: what blocking still costs
	hitStun, blockStun        int16
	hitStop                   int16
	level                     level
	rank                      uint8     // a strike that has met somebody may turn into one of a higher rank, or light into light
	push                      fixed.Num // backwards, for whoever is hit or blocks
	launch                    fixed.Num // upwards; 0 leaves a standing foe on its feet
	lunge                     fixed.Num // forwards, during start-up
	reach                     box       // what strikes, while active
}

func (m *move) total() int16 { return m.startup + m.active + m.recovery }

const px = fixed.One

var moves = [actions]move{
	Jab: {
		startup: 4, active: 3, recovery: 7, damage: 40, hitStun: 16, blockStun: 11, hitStop: 7,
		rank: 1, push: 3 * px, reach: box{14, 62, 40, 16},
	},
	Straight: {
		startup: 8, active: 4, recovery: 17, damage: 110, hitStun: 21, blockStun: 15, hitStop: 10,
		rank: 2, push: 6 * px, lunge: px, reach: box{14, 56, 58, 20},
	},
	Overhead: {
		startup: 20, active: 3, recovery: 18, damage: 100, hitStun: 22, blockStun: 14, hitStop: 10,
		level: high, rank: 2, push: 5 * px, lunge: px, reach: box{10, 36, 50, 58},
	},
	LowKick: {
		startup: 5, active: 3, recovery: 8, damage: 38, hitStun: 15, blockStun: 11, hitStop: 7,
		level: low, rank: 1, push: 3 * px, reach: box{14, 2, 46, 16},
	},
	Sweep: {
		startup: 9, active: 4, recovery: 22, damage: 100, hitStun: 20, blockStun: 15, hitStop: 10,
		level: low, rank: 2, push: 3 * px, launch: 4 * px, reach: box{14, 0, 62, 16},
	},
	JumpKick: {
		startup: 4, active: 14, recovery: 30, damage: 60, hitStun: 16, blockStun: 12, hitStop: 7,
		level: high, push: 4 * px, reach: box{4, 8, 36, 28},
	},
	JumpStrike: {
		startup: 7, active: 8, recovery: 30, damage: 105, hitStun: 21, blockStun: 15, hitStop: 10,
		level: high, push: 5 * px, reach: box{2, 2, 44, 34},
	},
	Fireball: {
		startup: 14, active: 1, recovery: 26, damage: 80, chip: 10, hitStun: 20, blockStun: 14, hitStop: 8,
		rank: 3, push: 5 * px, reach: box{-12, -10, 24, 20},
	},
	Grab: {
		startup: 4, active: 2, recovery: 22, damage: 140, push: 5 * px, launch: 5 * px,
	},
}

// Times, in ticks.
const (
	springTicks  = 4
	landTicks    = 3
	bufferTicks  = 6
	hurlTicks    = 24
	hurledTicks  = 18 // a thrower needs after letting go
	techTicks    = 10 // of a throw, during which its victim can break it
	partedTicks  = 18
	lyingTicks   = 26
	getUpTicks   = 14
	safeTicks    = 7
	shotTicks    = 150 // enough to cross the stage
	introTicks   = 80
	overTicks    = 130
	matchTicks   = 160
	recoverTicks = 3
)

// Speeds, in pixels per tick, and what changes them.
const (
	walkSpeed    = 2*px + px*3/5
	retreatSpeed = 2 * px
	jumpSpeed    = 9*px + px/2
	driftSpeed   = 3 * px
	gravity      = px / 2
	partedSpeed  = 6 * px
	shotSpeed    = 5 * px
	friction     = px * 13 / 16 // what is left of a push after a tick
	knockUp      = 5 * px       // for a blow in the air that does not launch by itself
)

const (
	// maxCombo bounds a combo: the blow that reaches it knocks down, and what is
	// falling from it cannot be hit.
	maxCombo = 8
	// throwReach is the distance between two fighters within which one can grab.
	throwReach = 52 * px
	// holdDistance is where a thrower holds its victim.
	holdDistance = 36 * px
	shotHeight   = 52
)
