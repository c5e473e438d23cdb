package sim

import "github.com/driftback/driftback/fixed"

// How the bot drives. Angles are in turns.
const (
	lookLeast   = 80 * px // pixels ahead that it heads for, and more by its speed
	lookTicks   = 13
	steerFrom   = px * 12 / 1000 // off by more than this it begins to steer
	steerUntil  = px * 4 / 1000  // and by less than this it stops
	slideFrom   = px * 60 / 1000
	slideUntil  = px * 15 / 1000
	brakeFrom   = px * 110 / 1000
	slideSpeed  = px * 38 / 10
	brakeSpeed  = px * 3
	cruiseSpeed = px * 3
	straight    = px * 20 / 1000
	lookCurve   = 260 * px
)

// Drive returns what the bot presses for kart p in this state. It only looks, and at
// nothing but the state: the step asks it for karts whose players have been replaced, and
// a program may ask for its own player. It is meant to be fair company, not to win.
func Drive(s *State, p int) Input {
	if p < 0 || p >= MaxKarts || !s.Karts[p].On {
		return Input{}
	}
	k := &s.Karts[p]
	speed := k.speed()
	here := nearest(int(k.At), k.X, k.Y)
	// Every kart has a way of its own, which leads through the boxes and changes with the
	// lap.
	lane := laneWidth * fixed.Num((p+int(s.Race)+k.Lap())%boxLanes-1)
	x, y, _ := ahead(here.along()+lookLeast+speed*lookTicks, lane)
	off := wrapped(fixed.Atan2(y-k.Y, x-k.X) - k.Heading)

	held := Throttle
	// It goes on steering until it points there, so that its hands are not all a tremble.
	from := steerFrom
	if k.Held&(Left|Right) != 0 {
		from = steerUntil
	}
	switch {
	case off > from:
		held |= Right
	case off < -from:
		held |= Left
	}
	if k.Drift != 0 && off.Abs() > slideUntil || off.Abs() > slideFrom && speed > slideSpeed && curve(here.along()) > brakeFrom {
		held |= Slide
	}
	switch {
	case off.Abs() > brakeFrom && speed > brakeSpeed:
		held = held&^Throttle | Brake
	case k.Place > 0 && speed > cruiseSpeed:
		held &^= Throttle
	}
	if k.Item != NoItem && k.Held&Use == 0 && s.wantsItem(p, off, here.along()) {
		held |= Use
	}
	return Input{held}
}

// wrapped returns an angle from −1/2 to 1/2.
func wrapped(turns fixed.Num) fixed.Num { return (turns+fixed.Half)&turnWhole - fixed.Half }

// curve is by how much the track turns soon.
func curve(along fixed.Num) fixed.Num {
	_, _, at := ahead(along, 0)
	_, _, then := ahead(along+lookCurve, 0)
	a, b := &track[at], &track[then]
	return wrapped(fixed.Atan2(b.dy, b.dx) - fixed.Atan2(a.dy, a.dx)).Abs()
}

// wantsItem says whether the moment is right.
func (s *State) wantsItem(p int, off, along fixed.Num) bool {
	k := &s.Karts[p]
	switch k.Item {
	case Turbo:
		return off.Abs() < straight && curve(along) < brakeFrom
	case Puddle:
		return s.anyNear(p, pulseReach*2) && (s.Clock+int32(p)*23)%90 == 0
	case Pulse:
		return s.anyNear(p, pulseReach*3/4)
	case NoItem:
	}
	return false
}

func (s *State) anyNear(p int, reach fixed.Num) bool {
	for q := range s.Karts {
		if q != p && s.Karts[q].On && near(s.Karts[p].X, s.Karts[p].Y, s.Karts[q].X, s.Karts[q].Y, reach) {
			return true
		}
	}
	return false
}
