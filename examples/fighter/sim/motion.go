package sim

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fixed"
)

// move carries fighters and projectiles along.
func (s *State) move(pass *driftback.Pass) {
	var blocked [Sides]fixed.Num // what a wall kept a fighter from
	for side := range s.Fighters {
		f := &s.Fighters[side]
		if f.HitStop > 0 {
			continue
		}
		blocked[side] = f.slide()
		if f.airborne() {
			s.fall(side, pass)
		}
	}
	for side, d := range blocked {
		// A blow against somebody at the wall pushes the striker back instead.
		f, foe := &s.Fighters[side], &s.Fighters[1-side]
		if d != 0 && f.Shoved && !foe.airborne() {
			foe.X = (foe.X - d).Clamp(-wall, wall)
		}
	}
	s.hold()
	for side := range s.Shots {
		shot := &s.Shots[side]
		if shot.Life == 0 {
			continue
		}
		shot.Life--
		shot.X += shotSpeed * fixed.Num(shot.Dir)
		if shot.Life == 0 || shot.X.Abs() > StageHalfWidth*px {
			*shot = Shot{}
		}
	}
}

// slide moves a fighter along the floor or through the air and returns what the
// wall kept it from.
func (f *Fighter) slide() (blocked fixed.Num) {
	to := f.X + f.VX
	f.X = to.Clamp(-wall, wall)
	switch f.Action {
	case HitHigh, HitLow, BlockHigh, BlockLow, Parted:
		f.VX = f.VX.Mul(friction)
		return to - f.X
	default: // moves itself, or not at all
		return 0
	}
}

// fall moves a fighter up or down and sets it on its feet or on its back.
func (s *State) fall(side int, pass *driftback.Pass) {
	f := &s.Fighters[side]
	f.Y += f.VY
	f.VY -= gravity
	if f.Y > 0 || f.VY > 0 {
		return
	}
	f.Y, f.VY, f.VX = 0, 0, 0
	if f.Action == HitAir {
		f.begin(Lying)
		f.Shoved = false
		pass.Raise(effect(KindFall, side))
		return
	}
	f.begin(Land)
	pass.Raise(effect(KindLand, side))
}

// hold keeps the victim of a throw in its thrower's hands.
func (s *State) hold() {
	for side := range s.Fighters {
		f, victim := &s.Fighters[side], &s.Fighters[1-side]
		if f.Action == Hurl && victim.Action == Caught {
			victim.X = (f.X + f.ahead(holdDistance)).Clamp(-wall, wall)
		}
	}
}

// separate pushes apart two fighters whose push boxes overlap, each by half of the
// overlap, or the one that is not at the wall by all of it.
func (s *State) separate() {
	l, r := &s.Fighters[0], &s.Fighters[1]
	if (l.X - r.X).Abs() >= 2*pushHalf*px {
		return
	}
	if a, b := l.push(), r.push(); !a.meets(&b) {
		return
	}
	if l.X > r.X || l.X == r.X && l.Facing < r.Facing {
		l, r = r, l
	}
	// The distance is that between the feet, since the boxes are of one width. An
	// odd overlap is rounded up for both, so that neither side is favoured.
	half := (l.X + 2*pushHalf*px - r.X + 1) / 2
	l.X -= half
	r.X += half
	if l.X < -wall {
		l.X = -wall
		r.X = max(r.X, l.X+2*pushHalf*px)
	}
	if r.X > wall {
		r.X = wall
		l.X = min(l.X, r.X-2*pushHalf*px)
	}
}
