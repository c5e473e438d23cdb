package sim

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fixed"
)

// Item is what a kart carries.
type Item uint16

// The items.
const (
	NoItem Item = iota
	Turbo       // pushes the kart forwards
	Puddle      // oil, left behind: who drives into it spins
	Pulse       // pushes away all that are near, and makes them spin
)

// String returns the item as one lower-case word; no item is none.
func (i Item) String() string {
	switch i {
	case NoItem:
		return ""
	case Turbo:
		return "turbo"
	case Puddle:
		return "oil"
	case Pulse:
		return "pulse"
	}
	return "unknown item"
}

const (
	boxRows   = 4
	boxLanes  = 3
	boxes     = boxRows * boxLanes
	laneWidth = 42 * px
	boxReach  = (KartRadius + 13) * px
	boxTicks  = 150 // until it is there again

	turboTicks = 90
	oilReach   = (KartRadius + 9) * px
	oilTicks   = 15 * TicksPerSecond
	oilFresh   = oilTicks - 45 // until then its owner may still be in it
	oilBehind  = 2 * KartRadius * px
	pulseReach = 140 * px
	pulsePush  = 4 * px
)

// box is where a box stands.
type box struct{ x, y fixed.Num }

// boxPlaces are the boxes in rows across the track. They never change.
var boxPlaces = func() (list [boxes]box) {
	for i := range list {
		// Not where karts stand when a race begins, nor in the first bend.
		along := trackLength.Mul(px * fixed.Num(3+5*(i/boxLanes)) / 20)
		list[i].x, list[i].y, _ = ahead(along, laneWidth*fixed.Num(i%boxLanes-1))
	}
	return list
}()

func near(ax, ay, bx, by, reach fixed.Num) bool {
	dx, dy := ax-bx, ay-by
	return dx.Abs() < reach && dy.Abs() < reach && dx.Mul(dx)+dy.Mul(dy) < reach.Mul(reach)
}

// touch lets karts take what stands in their way, and spin in what lies there.
func (s *State) touch(pass *driftback.Pass) {
	for i := range s.Boxes {
		if s.Boxes[i] > 0 {
			s.Boxes[i]--
			continue
		}
		for p := range s.Karts {
			k := &s.Karts[p]
			if k.On && k.Item == NoItem && near(k.X, k.Y, boxPlaces[i].x, boxPlaces[i].y, boxReach) {
				k.Item, s.Boxes[i] = s.drawItem(p), boxTicks
				pass.Raise(effect(KindPickUp, p, int(k.Item)))
				break
			}
		}
	}
	for owner := range s.Oils {
		o := &s.Oils[owner]
		if o.Life == 0 {
			continue
		}
		o.Life--
		for p := range s.Karts {
			k := &s.Karts[p]
			fresh := p == owner && o.Life > oilFresh
			if k.On && !fresh && k.Safe == 0 && k.Spin == 0 && near(k.X, k.Y, o.X, o.Y, oilReach) {
				k.spin(p, pass)
				*o = Oil{}
				break
			}
		}
		if o.Life == 0 {
			*o = Oil{}
		}
	}
}

// drawItem draws what is in a box: the further ahead, the more is there to leave behind.
func (s *State) drawItem(p int) Item {
	n := s.Rand.IntN(6)
	switch front := s.rank(p) == 0; {
	case n < 2 && front, n < 1:
		return Puddle
	case n < 3 && front:
		return Puddle
	case n < 4:
		return Turbo
	}
	return Pulse
}

// useItem uses a kart's item if the button has just been pressed.
func (s *State) useItem(p int, pressed uint16, pass *driftback.Pass) {
	k := &s.Karts[p]
	if pressed&Use == 0 || k.Spin > 0 {
		return
	}
	switch k.Item {
	case NoItem:
		return
	case Turbo:
		k.boost(p, turboTicks, pass)
	case Puddle:
		x, y := k.X-fixed.Cos(k.Heading).Mul(oilBehind), k.Y-fixed.Sin(k.Heading).Mul(oilBehind)
		s.Oils[p] = Oil{X: x, Y: y, Life: oilTicks}
		pass.Raise(effect(KindOil, p))
	case Pulse:
		s.pulse(p, pass)
	}
	k.Item = NoItem
}

func (s *State) pulse(p int, pass *driftback.Pass) {
	k := &s.Karts[p]
	pass.Raise(effect(KindPulse, p))
	for q := range s.Karts {
		other := &s.Karts[q]
		if q == p || !other.On || !near(k.X, k.Y, other.X, other.Y, pulseReach) {
			continue
		}
		dx, dy := other.X-k.X, other.Y-k.Y
		if distance := norm(dx, dy); distance > 0 && other.Safe == 0 {
			other.VX += dx.Div(distance).Mul(pulsePush)
			other.VY += dy.Div(distance).Mul(pulsePush)
		}
		other.spin(q, pass)
	}
}
