package sim

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fixed"
)

// blow is a strike or a projectile that has met somebody.
type blow struct {
	move *move
	dir  int8 // where it pushes: 1 or −1
	body bool // a fighter's own limb, not a projectile
}

// contacts finds what has met whom, and only then lets anything happen, so that two
// who strike each other on the same tick are both hit, whichever is looked at first.
func (s *State) contacts(pass *driftback.Pass) {
	s.clash(pass)
	var met [Sides]blow // by each side
	for side := range s.Fighters {
		met[side] = s.meeting(side)
	}
	if met[0].move != nil || met[1].move != nil {
		// One draw for both sides, so that who is looked at first does not matter.
		luck := int16(s.Rand.IntN(5)) - 2
		for side := range met {
			if b := &met[1-side]; b.move != nil {
				s.suffer(side, b, luck, pass)
			}
		}
	}
	s.grabs(pass)
}

// meeting returns the blow that one side now deals the other, if any. A limb comes
// before a projectile, which then flies on.
func (s *State) meeting(side int) blow {
	f, shot, foe := &s.Fighters[side], &s.Shots[side], &s.Fighters[1-side]
	limb, missile := f.hit(), shot.hit()
	if limb.empty() && missile.empty() {
		return blow{}
	}
	hurt := foe.hurt()
	if limb.meets(&hurt) {
		return blow{&moves[f.Action], f.Facing, true}
	}
	if missile.meets(&hurt) {
		dir := int8(shot.Dir)
		*shot = Shot{}
		return blow{&moves[Fireball], dir, false}
	}
	return blow{}
}

// clash ends two projectiles that meet.
func (s *State) clash(pass *driftback.Pass) {
	a, b := s.Shots[0].hit(), s.Shots[1].hit()
	if !a.meets(&b) {
		return
	}
	pass.Raise(effect(KindClash, 0, ((s.Shots[0].X + s.Shots[1].X) / 2).Floor()))
	s.Shots = [Sides]Shot{}
}

// guards says whether the fighter blocks: on its feet, not busy, holding back.
func (f *Fighter) guards() bool {
	return (f.free() || f.Action == BlockHigh || f.Action == BlockLow) && f.forward() < 0
}

// stops says whether the guard, high or low, is the right one for the blow.
func (f *Fighter) stops(m *move) bool {
	switch m.level {
	case low:
		return f.Held&Down != 0
	case high:
		return f.Held&Down == 0
	default:
		return true
	}
}

// suffer lets a blow do what it does to the fighter it has met.
func (s *State) suffer(side int, b *blow, luck int16, pass *driftback.Pass) {
	f, striker, m := &s.Fighters[side], &s.Fighters[1-side], b.move
	result := Landed
	if f.guards() && f.stops(m) {
		result = Blocked
		s.block(side, b, pass)
	} else {
		s.wound(side, b, luck, pass)
	}
	f.HitStop = max(f.HitStop, m.hitStop)
	f.VX, f.Shoved = m.push*fixed.Num(b.dir), b.body
	if b.body {
		striker.HitStop = max(striker.HitStop, m.hitStop)
		if striker.strikes() { // and has not just been struck itself
			striker.Contact = result
		}
	}
}

func (s *State) block(side int, b *blow, pass *driftback.Pass) {
	f, m := &s.Fighters[side], b.move
	posture, crouching := BlockHigh, 0
	if f.Held&Down != 0 {
		posture, crouching = BlockLow, 1
	}
	chip := min(m.chip, f.Health)
	f.Health -= chip
	f.begin(posture)
	f.Stun = m.blockStun
	pass.Raise(effect(KindBlock, side, int(chip), crouching))
}

func (s *State) wound(side int, b *blow, luck int16, pass *driftback.Pass) {
	f, m := &s.Fighters[side], b.move
	// Each further blow of a combo is worth a tenth less, down to two fifths.
	damage := (m.damage + luck) * (10 - min(f.Combo, 6)) / 10
	damage = min(max(damage, 1), f.Health)
	f.Health -= damage
	f.Damage += damage
	f.Combo = min(f.Combo+1, maxCombo)
	pass.Raise(effect(KindHit, side, int(damage), int(f.Combo)))

	up := m.launch
	if up == 0 && (f.airborne() || f.Combo == maxCombo || f.Health == 0) {
		up = knockUp
	}
	if up == 0 {
		posture := HitHigh
		if f.crouches() {
			posture = HitLow
		}
		f.begin(posture)
		f.Stun = m.hitStun
		return
	}
	f.begin(HitAir)
	f.Stun, f.VY = 0, up
	f.Y = max(f.Y, px) // off the ground
}
