package sim

import "github.com/driftback/driftback/fixed"

// box is a rectangle relative to the point between a fighter's feet, in pixels,
// for a fighter that faces right: X forwards, Y upwards, both of its near lower
// corner.
type box struct{ x, y, w, h int16 }

// rect is a box on the stage.
type rect struct{ left, right, bottom, top fixed.Num }

func (r *rect) empty() bool { return r.left >= r.right }

// meets says whether two boxes share more than an edge. An empty one meets nothing.
func (r *rect) meets(o *rect) bool {
	return !r.empty() && !o.empty() && r.left < o.right && o.left < r.right && r.bottom < o.top && o.bottom < r.top
}

// at puts a box on the stage.
func (b *box) at(x, y fixed.Num, facing int8) rect {
	near, width := fixed.Num(b.x)*px, fixed.Num(b.w)*px
	r := rect{left: x + near, right: x + near + width}
	if facing < 0 {
		r.left, r.right = x-near-width, x-near
	}
	r.bottom = y + fixed.Num(b.y)*px
	r.top = r.bottom + fixed.Num(b.h)*px
	return r
}

// posture is how a fighter holds itself, which decides where its boxes are.
type posture uint8

const (
	upright posture = iota
	crouched
	inAir
	prone
)

// postures holds what is not done upright.
var postures = [actions]posture{
	Crouch: crouched, LowKick: crouched, Sweep: crouched, HitLow: crouched, BlockLow: crouched, Kneel: crouched,
	Jump: inAir, JumpKick: inAir, JumpStrike: inAir, HitAir: inAir,
	Lying: prone,
}

// pushBoxes are what the other's push box cannot enter. All are symmetric and of
// one width, so that turning round or standing up pushes nobody aside.
var pushBoxes = [...]box{
	upright:  {-pushHalf, 0, 2 * pushHalf, 80},
	crouched: {-pushHalf, 0, 2 * pushHalf, 54},
	inAir:    {-pushHalf, 18, 2 * pushHalf, 50},
	prone:    {-pushHalf, 0, 2 * pushHalf, 20},
}

// hurtBoxes are where blows land.
var hurtBoxes = [...]box{
	upright:  {-18, 0, 36, 92},
	crouched: {-20, 0, 40, 60},
	inAir:    {-18, 10, 36, 70},
	prone:    {},
}

const pushHalf = 16

// wall is how far from the middle a fighter's feet can be.
const wall = (StageHalfWidth - pushHalf) * px

func (f *Fighter) push() rect { return pushBoxes[postures[f.Action]].at(f.X, f.Y, f.Facing) }

// hurt is where blows land now; it is empty while none can.
func (f *Fighter) hurt() rect {
	if f.Action == GetUp || f.Action == Hurl || f.Action == Caught ||
		f.Action == HitAir && f.Combo == maxCombo || f.Health == 0 {
		return rect{}
	}
	return hurtBoxes[postures[f.Action]].at(f.X, f.Y, f.Facing)
}

// hit is what the fighter strikes with now; it is empty while it does not.
func (f *Fighter) hit() rect {
	if !f.strikes() || f.Action == Fireball || f.Action == Grab || !f.active() {
		return rect{}
	}
	return moves[f.Action].reach.at(f.X, f.Y, f.Facing)
}

// hit is where a projectile is; it is empty if there is none.
func (shot *Shot) hit() rect {
	if shot.Life == 0 {
		return rect{}
	}
	return moves[Fireball].reach.at(shot.X, shotHeight*px, int8(shot.Dir))
}
