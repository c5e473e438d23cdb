package sim

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fixed"
)

// How a kart drives, in pixels and ticks.
const (
	thrust     = px * 10 / 100
	boostPush  = px * 12 / 100
	brakePush  = px * 18 / 100
	drag       = px * 18 / 1000 // of the speed, per tick: thrust over drag is the top speed
	topSpeed   = px * 15 / 2    // which only a boost comes near
	topReverse = px * 3 / 2

	turnRate   = px * 66 / 10_000 // turns per tick at speed
	driftTurn  = px * 14 / 10     // times turnRate, into the drift
	driftOut   = px * 5 / 10      // and against it
	driftNone  = px * 10 / 10     // and without steering
	turnSpeed  = px * 2           // from here on a kart turns as fast as it can
	standTurn  = px * 35 / 100    // a kart that pulls turns at least so much, as a share
	grip       = px * 80 / 100    // what is left of the sideways speed after a tick
	driftGrip  = px * 93 / 100    // likewise
	driftKeep  = px * 50 / 100    // of the sideways speed lost
	driftSpeed = px * 5 / 2       // below, a drift ends
	spinDrag   = px * 95 / 100    // what is left of the speed after a tick of spinning
	spinTurn   = fixed.One / 16   // per tick
	spinTicks  = 32               // two whole turns
	safeTicks  = 75 + spinTicks   // so that nobody spins all the time
	chargeMost = 100              // ticks
	charged    = 35               // ticks of drifting that give a small boost
	wellDone   = 75               // and a large one
	smallBoost = 40               // ticks
	largeBoost = 75               //
	turnWhole  = fixed.Num(1)<<fixed.FractionBits - 1
)

// drive moves a kart by what its driver holds.
func (k *Kart) drive(p int, held uint16, pass *driftback.Pass) {
	k.Boost, k.Safe, k.Quiet = max(k.Boost-1, 0), max(k.Safe-1, 0), max(k.Quiet-1, 0)
	if k.Spin > 0 {
		k.Spin--
		k.Drift, k.Charge = 0, 0
		k.Heading = (k.Heading + spinTurn) & turnWhole
		k.VX, k.VY = k.VX.Mul(spinDrag), k.VY.Mul(spinDrag)
		k.X, k.Y = k.X+k.VX, k.Y+k.VY
		return
	}
	cos, sin := fixed.Cos(k.Heading), fixed.Sin(k.Heading)
	forward := k.VX.Mul(cos) + k.VY.Mul(sin)
	side := k.VY.Mul(cos) - k.VX.Mul(sin)

	k.slide(p, held, forward, pass)
	k.turn(held, forward)
	forward = k.push(held, forward)
	if k.Drift != 0 {
		// A drift turns some of the way it slides into the way it points.
		slid := side.Mul(driftGrip)
		forward, side = forward+(side-slid).Abs().Mul(driftKeep), slid
	} else {
		side = side.Mul(grip)
	}
	// The tyres pull the way the kart was pointing; it has turned since, and so slides.
	k.VX, k.VY = forward.Mul(cos)-side.Mul(sin), forward.Mul(sin)+side.Mul(cos)
	k.X, k.Y = k.X+k.VX, k.Y+k.VY
}

// slide begins and ends a drift. One that was long enough gives a boost.
func (k *Kart) slide(p int, held uint16, forward fixed.Num, pass *driftback.Pass) {
	switch way := steer(held); {
	case held&Slide == 0 || forward < driftSpeed:
		boost := 0
		switch {
		case k.Charge >= wellDone:
			boost = largeBoost
		case k.Charge >= charged:
			boost = smallBoost
		}
		if k.Drift != 0 && boost > 0 && forward >= driftSpeed {
			k.boost(p, boost, pass)
		}
		k.Drift, k.Charge = 0, 0
	case k.Drift == 0:
		k.Drift = way // which may still be 0
	default:
		k.Charge = min(k.Charge+1, chargeMost)
	}
}

func (k *Kart) boost(p, ticks int, pass *driftback.Pass) {
	k.Boost = max(k.Boost, int16(ticks))
	pass.Raise(effect(KindBoost, p, ticks))
}

// turn steers.
func (k *Kart) turn(held uint16, forward fixed.Num) {
	way := steer(held)
	share := forward.Div(turnSpeed).Clamp(-px, px)
	if held&Throttle != 0 {
		share = max(share, standTurn)
	}
	rate := turnRate.Mul(share)
	switch {
	case k.Drift == 0 && way == 0:
		return
	case k.Drift == 0:
		rate *= fixed.Num(way)
	case way == k.Drift:
		rate = rate.Mul(driftTurn) * fixed.Num(k.Drift)
	case way == 0:
		rate = rate.Mul(driftNone) * fixed.Num(k.Drift)
	default:
		rate = rate.Mul(driftOut) * fixed.Num(k.Drift)
	}
	k.Heading = (k.Heading + rate) & turnWhole
}

// push returns the speed ahead after a tick of throttle, brake and drag.
func (k *Kart) push(held uint16, forward fixed.Num) fixed.Num {
	if held&Throttle != 0 {
		forward += thrust
	}
	if k.Boost > 0 {
		forward += boostPush
	}
	if held&Brake != 0 {
		forward -= brakePush
		if forward < -topReverse {
			forward = -topReverse
		}
	}
	return (forward - forward.Mul(drag)).Clamp(-topSpeed, topSpeed)
}

// spin makes a kart spin, unless something has only just done so.
func (k *Kart) spin(p int, pass *driftback.Pass) {
	if k.Safe > 0 || k.Spin > 0 {
		return
	}
	k.Spin, k.Safe, k.Boost = spinTicks, safeTicks, 0
	pass.Raise(effect(KindSpin, p))
}

// speed is how fast a kart is, whichever way it goes.
func (k *Kart) speed() fixed.Num { return norm(k.VX, k.VY) }
