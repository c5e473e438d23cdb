package sim

import "github.com/driftback/driftback"

// grabs lets throws catch whoever is within reach. Two who grab each other on the
// same tick let go.
func (s *State) grabs(pass *driftback.Pass) {
	a, b := s.catches(0), s.catches(1)
	switch {
	case a && b:
		s.Fighters[0].part(&s.Fighters[1])
		pass.Raise(effect(KindTech, 0))
		pass.Raise(effect(KindTech, 1))
	case a:
		s.catch(0, pass)
	case b:
		s.catch(1, pass)
	}
}

func (s *State) catches(side int) bool {
	f, foe := &s.Fighters[side], &s.Fighters[1-side]
	return f.Action == Grab && f.active() && foe.throwable() && (f.X-foe.X).Abs() <= throwReach
}

// throwable says whether a fighter can be caught: on its feet and not in the grip
// of something else. Blocking is no help, except while a blow is being blocked.
func (f *Fighter) throwable() bool {
	return f.Safe == 0 && f.HitStop == 0 && f.Health > 0 && (f.free() || f.Action == Land || f.strikes() && !f.airborne())
}

func (s *State) catch(side int, pass *driftback.Pass) {
	f, victim := &s.Fighters[side], &s.Fighters[1-side]
	f.begin(Hurl)
	victim.begin(Caught)
	f.face(victim)
	victim.face(f)
	f.VX, victim.VX = 0, 0
	f.Buffered, f.Buffer, victim.Buffered, victim.Buffer = 0, 0, 0, 0
	pass.Raise(effect(KindThrow, side))
}

// grip lets a throw in progress be broken or end. It waits until both fighters have
// acted, so that which of them is the thrower does not matter.
func (s *State) grip(pass *driftback.Pass) {
	for side := range s.Fighters {
		f, victim := &s.Fighters[side], &s.Fighters[1-side]
		switch {
		case victim.Action != Caught:
		case victim.Age < techTicks && victim.Buffered&Throw != 0:
			f.part(victim)
			pass.Raise(effect(KindTech, 1-side))
		case f.Age >= hurlTicks:
			s.hurl(side, pass)
		}
	}
}

// part breaks a throw: both are pushed away.
func (f *Fighter) part(foe *Fighter) {
	for _, who := range [...]*Fighter{f, foe} {
		who.begin(Parted)
		who.Buffered, who.Buffer = 0, 0
		who.VX, who.Shoved = -who.ahead(partedSpeed), true
	}
}

// hurl lets go of a throw's victim: it flies.
func (s *State) hurl(side int, pass *driftback.Pass) {
	f, victim := &s.Fighters[side], &s.Fighters[1-side]
	m := &moves[Grab]
	victim.begin(HitAir)
	victim.Y = px // off the ground
	victim.VX, victim.VY, victim.Shoved = f.ahead(m.push), m.launch, false
	if s.Phase == Fight {
		damage := min(m.damage, victim.Health)
		victim.Health -= damage
		victim.Combo, victim.Damage = 1, damage
		pass.Raise(effect(KindHit, 1-side, int(damage), 1))
	}
}
