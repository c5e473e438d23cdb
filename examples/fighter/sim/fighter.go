package sim

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fixed"
)

// begin starts an action from its first tick.
func (f *Fighter) begin(a Action) {
	f.Action, f.Age, f.Contact = a, 0, Nothing
}

// read takes what is held on this tick. While nobody is fighting, nothing is.
func (f *Fighter) read(held uint16, fighting bool) {
	if !fighting {
		f.Held, f.Buffered, f.Buffer = 0, 0, 0
		return
	}
	pressed := held &^ f.Held & strikes
	f.Held = held
	switch {
	case pressed != 0:
		f.Buffered, f.Buffer = pressed, bufferTicks
	case f.HitStop > 0: // the blow's own pause does not use up what was pressed in it
	case f.Buffer > 1:
		f.Buffer--
	default:
		f.Buffered, f.Buffer = 0, 0
	}
}

// forward says whether the direction held is towards where the fighter faces (1),
// away from it (−1), or neither (0).
func (f *Fighter) forward() int8 {
	switch {
	case f.Held&Right != 0:
		return f.Facing
	case f.Held&Left != 0:
		return -f.Facing
	}
	return 0
}

// ahead turns a speed forwards into one along X.
func (f *Fighter) ahead(speed fixed.Num) fixed.Num { return speed * fixed.Num(f.Facing) }

func (f *Fighter) face(foe *Fighter) {
	if foe.X > f.X {
		f.Facing = 1
	} else if foe.X < f.X {
		f.Facing = -1
	}
}

// free says whether the fighter can do as its player pleases.
func (f *Fighter) free() bool { return f.Action <= Crouch }

func (f *Fighter) strikes() bool { return f.Action >= Jab && f.Action <= Grab }

func (f *Fighter) airborne() bool { return postures[f.Action] == inAir }

func (f *Fighter) crouches() bool { return postures[f.Action] == crouched }

// active says whether the fighter's strike can meet somebody now.
func (f *Fighter) active() bool {
	m := &moves[f.Action]
	return f.HitStop == 0 && f.Contact == Nothing && f.Age >= m.startup && f.Age < m.startup+m.active
}

// act lets one fighter's action run on for a tick, and end, and another begin.
func (s *State) act(side int, pass *driftback.Pass) {
	f, foe := &s.Fighters[side], &s.Fighters[1-side]
	if f.HitStop > 0 {
		f.HitStop--
		return
	}
	f.Safe = max(f.Safe-1, 0)
	f.Age = min(f.Age+1, maxAge)
	switch f.Action {
	case Stand, Walk, Retreat, Crouch:
		s.choose(side)
	case Spring:
		if f.Age >= springTicks {
			f.begin(Jump)
			f.VX, f.VY = f.ahead(driftSpeed*fixed.Num(f.forward())), jumpSpeed
			pass.Raise(effect(KindJump, side))
		}
	case Jump:
		switch {
		case f.Buffered&Heavy != 0:
			s.strike(side, JumpStrike)
		case f.Buffered&Light != 0:
			s.strike(side, JumpKick)
		}
	case JumpKick, JumpStrike:
		s.whiffed(side, pass)
		if f.Age > moves[f.Action].total() {
			f.Age = moves[f.Action].total() // it hangs on until the feet touch the ground
		}
	case Land:
		s.release(side, f.Age >= landTicks)
	case Jab, Straight, Overhead, LowKick, Sweep, Fireball, Grab:
		s.striking(side, pass)
	case Hurl:
		s.release(side, f.Age >= hurlTicks+hurledTicks)
	case Parted:
		s.release(side, f.Age >= partedTicks)
	case HitHigh, HitLow, BlockHigh, BlockLow:
		f.Stun = max(f.Stun-1, 0)
		s.release(side, f.Stun == 0)
	case Lying:
		if f.Age >= lyingTicks && f.Health > 0 {
			f.begin(GetUp)
			f.face(foe)
		}
	case GetUp:
		s.release(side, f.Age >= getUpTicks)
	default: // the thrower or the floor ends the others, or the next round
	}
}

// lights is the rank of the strikes that may follow each other.
const lights = 1

// maxAge bounds Age: standing about for longer looks no different.
const maxAge = 10_000

// release sets a fighter free once it is over, and lets it choose at once.
func (s *State) release(side int, over bool) {
	if !over {
		return
	}
	f := &s.Fighters[side]
	if f.Action != Land {
		f.Safe = safeTicks
	}
	f.Combo, f.Damage, f.Stun, f.VX = 0, 0, 0, 0
	f.begin(Stand)
	s.choose(side)
}

// choose is what a free fighter does with the buttons.
func (s *State) choose(side int) {
	f, foe := &s.Fighters[side], &s.Fighters[1-side]
	f.face(foe)
	f.VX = 0
	if a, ok := f.asked(s.Shots[side].Life > 0); ok {
		s.strike(side, a)
		return
	}
	next := Stand
	switch {
	case f.Held&Up != 0:
		next = Spring
	case f.Held&Down != 0:
		next = Crouch
	case f.forward() > 0:
		next, f.VX = Walk, f.ahead(walkSpeed)
	case f.forward() < 0:
		next, f.VX = Retreat, -f.ahead(retreatSpeed)
	case s.Phase >= RoundOver && s.Winner == int8(side):
		next = Cheer
	case s.Phase >= RoundOver && s.Winner == int8(1-side):
		next = Kneel
	}
	if next != f.Action {
		f.begin(next)
	}
}

// asked returns the strike on the ground that the buttons ask for.
func (f *Fighter) asked(shotInFlight bool) (Action, bool) {
	b, crouching := f.Buffered, f.Held&Down != 0
	switch {
	case b&Throw != 0:
		return Grab, true
	case b&Special != 0 && !shotInFlight:
		return Fireball, true
	case b&Heavy != 0 && crouching:
		return Sweep, true
	case b&Heavy != 0 && f.forward() > 0:
		return Overhead, true
	case b&Heavy != 0:
		return Straight, true
	case b&Light != 0 && crouching:
		return LowKick, true
	case b&Light != 0:
		return Jab, true
	}
	return Stand, false
}

// strike begins a strike and uses up the button that asked for it.
func (s *State) strike(side int, a Action) {
	f := &s.Fighters[side]
	f.begin(a)
	f.Buffered, f.Buffer = 0, 0
}

// striking runs a strike on the ground: its lunge, its projectile, the stronger
// strike that it may turn into, and its end.
func (s *State) striking(side int, pass *driftback.Pass) {
	f, m := &s.Fighters[side], &moves[s.Fighters[side].Action]
	f.VX = 0
	if f.Age < m.startup {
		f.VX = f.ahead(m.lunge)
	}
	if f.Action == Fireball && f.Age == m.startup && s.Phase == Fight {
		s.Shots[side] = Shot{X: f.X + f.ahead(30*px), Life: shotTicks, Dir: int32(f.Facing)}
		f.Contact = Landed // the strike itself meets nobody, and has not missed
		pass.Raise(effect(KindShot, side))
		return
	}
	if f.Contact != Nothing && f.Action != Fireball && f.Age < m.startup+m.active+recoverTicks {
		if next, ok := f.asked(s.Shots[side].Life > 0); ok && (moves[next].rank > m.rank || moves[next].rank == lights && m.rank == lights) {
			s.strike(side, next)
			return
		}
	}
	s.whiffed(side, pass)
	if f.Age >= m.total() {
		f.begin(Stand)
		s.choose(side)
	}
}

func (s *State) whiffed(side int, pass *driftback.Pass) {
	f, m := &s.Fighters[side], &moves[s.Fighters[side].Action]
	if f.Contact == Nothing && f.Age == m.startup+m.active {
		pass.Raise(effect(KindWhiff, side, int(f.Action)))
	}
}
