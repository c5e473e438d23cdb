package sim

import "github.com/driftback/driftback/rng"

// Bot plays one side. It is a value outside the game's state: what it presses
// follows from the states it is shown and its own generator, so a session sends a
// bot's buttons as it would a person's.
//
// It is meant to be fun to watch and hard on a network, not to win: it misjudges,
// reacts late, and changes its mind every few ticks.
type Bot struct {
	Rand  rng.PCG
	plan  plan
	left  int16 // ticks before it makes another plan
	age   int16 // ticks since it made this one
	watch Action
}

// plan is what a bot means to do for the next few ticks.
type plan uint8

const (
	wait plan = iota
	approach
	backOff
	guardHigh
	guardLow
	leap     // forwards, and strike on the way down
	leapBack // away
	chain    // light, light, heavy, special
	lowChain
	poke
	trip
	smash // from above
	seize // throw
	hurlShot
	escape // break a throw
)

// planTicks is how long a bot keeps to each plan.
var planTicks = [...]int16{
	wait: 6, approach: 12, backOff: 10, guardHigh: 18, guardLow: 18, leap: 42, leapBack: 40,
	chain: 44, lowChain: 40, poke: 26, trip: 30, smash: 38, seize: 26, hurlShot: 36, escape: 10,
}

// choice is a plan and how often it is chosen, out of the sum of its table.
type choice struct {
	plan   plan
	weight uint32
}

var (
	far = []choice{
		{approach, 48}, {hurlShot, 20}, {leap, 14}, {wait, 10}, {backOff, 4}, {leapBack, 2},
	}
	near = []choice{
		{approach, 50}, {leap, 15}, {hurlShot, 7}, {backOff, 6}, {wait, 4}, {guardLow, 5}, {poke, 7}, {trip, 7},
	}
	touching = []choice{
		{chain, 20}, {lowChain, 18}, {seize, 14}, {smash, 10}, {trip, 9}, {poke, 9}, {guardLow, 8}, {guardHigh, 4}, {backOff, 5}, {leapBack, 3},
	}
)

// NewBot returns a bot whose choices follow from seed.
func NewBot(seed uint64) Bot { return Bot{Rand: rng.New(seed, 2)} }

// Input returns what the bot holds on the tick that s is about to begin, playing
// the given side (0 or 1; others hold nothing). Call it once a tick.
func (b *Bot) Input(s *State, side int) Input {
	if side < 0 || side >= Sides || s.Phase != Fight {
		b.plan, b.left, b.age = wait, 0, 0
		return Input{}
	}
	f, foe := &s.Fighters[side], &s.Fighters[1-side]
	b.react(f, foe, &s.Shots[1-side])
	if b.left <= 0 {
		b.adopt(b.pick(tableFor(f, foe)))
	}
	b.left--
	held := b.hold(f, foe)
	b.age++
	return Input{Buttons: held}
}

func (b *Bot) adopt(p plan) { b.plan, b.left, b.age = p, planTicks[p], 0 }

func tableFor(f, foe *Fighter) []choice {
	switch gap := (foe.X - f.X).Abs(); {
	case foe.Action == Lying:
		return near[:1] // close in
	case gap > 200*px:
		return far
	case gap > 74*px:
		return near
	}
	return touching
}

func (b *Bot) pick(from []choice) plan {
	sum := uint32(0)
	for i := range from {
		sum += from[i].weight
	}
	at := b.Rand.Uint32n(sum)
	for i := range from {
		if at < from[i].weight {
			return from[i].plan
		}
		at -= from[i].weight
	}
	return wait
}

// react drops the plan for what the foe has just begun, now and then.
func (b *Bot) react(f, foe *Fighter, shot *Shot) {
	began := foe.Action != b.watch
	b.watch = foe.Action
	gap := (foe.X - f.X).Abs()
	switch {
	case f.Action == Caught && f.Age == 1:
		if b.Rand.Chance(2, 5) {
			b.adopt(escape)
		}
	case shot.Life > 0 && (shot.X-f.X).Abs() < 96*px && f.free() && b.plan != guardLow && b.plan != leap:
		// A projectile is coming: most are blocked, some jumped over.
		b.adopt(b.pick([]choice{{guardLow, 6}, {guardHigh, 3}, {leap, 4}, {wait, 2}}))
	case foe.Action == Jump && foe.VY < 0 && gap < 90*px && b.plan != guardHigh && b.Rand.Chance(1, 8):
		b.adopt(guardHigh) // what comes from above has to be met standing
	case !began || !foe.strikes() || gap > 120*px || !b.Rand.Chance(1, 2):
	case foe.airborne(), foe.Action == Overhead && b.Rand.Chance(1, 2),
		(foe.Action == Jab || foe.Action == Straight) && b.Rand.Chance(1, 3):
		b.adopt(guardHigh)
	case foe.Action != Grab:
		b.adopt(guardLow)
	}
}

// hold turns the plan into buttons.
func (b *Bot) hold(f, foe *Fighter) uint16 {
	toward, away := Right, Left
	if foe.X < f.X {
		toward, away = Left, Right
	}
	// Strikes are pressed on one tick in four, so that each is a fresh press and a
	// strike that has landed turns into the next.
	tap := func(button uint16) uint16 {
		if b.age%4 == 1 {
			return button
		}
		return 0
	}
	switch b.plan {
	case wait:
	case approach:
		return toward
	case backOff:
		return away
	case guardHigh:
		return away
	case guardLow:
		return away | Down
	case leap:
		if f.Action == Jump && f.VY < 0 && f.Y < 70*px {
			if b.Rand.Chance(1, 3) {
				return toward | tap(Light)
			}
			return toward | tap(Heavy)
		}
		if b.age < 6 {
			return toward | Up
		}
		return toward
	case leapBack:
		if b.age < 6 {
			return away | Up
		}
		return away
	case chain, lowChain:
		return b.combo(tap)
	case poke:
		return tap(Heavy)
	case trip:
		return Down | tap(Heavy)
	case smash:
		if f.free() {
			return toward | tap(Heavy)
		}
	case seize:
		if (foe.X-f.X).Abs() > throwReach-4*px && f.free() {
			return toward
		}
		return tap(Throw)
	case hurlShot:
		if b.age < 4 {
			return tap(Special)
		}
	case escape:
		return tap(Throw)
	}
	return 0
}

// combo presses lights, then a heavy, then the special.
func (b *Bot) combo(tap func(uint16) uint16) uint16 {
	down := uint16(0)
	if b.plan == lowChain {
		down = Down
	}
	switch {
	case b.age < 16:
		return down | tap(Light)
	case b.age < 26:
		return down | tap(Heavy)
	case b.plan == chain:
		return tap(Special)
	}
	return down
}
