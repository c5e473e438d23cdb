package fixed

import "math/bits"

// Angles are in turns: [One] is a whole turn, One/4 a right angle. A turn then has
// exactly 65,536 angles, adding turns never rounds, and going round is a mask.

const (
	// Quarter is a right angle.
	Quarter = One / 4
	// Eighth is half of one.
	Eighth = One / 8
)

// unit is 1 in the working precision of this file, 2^60.
const unit = 1 << 60

// tau is a turn in radians times 2^60, over 2^16: the radians of one Tiny.
const tau uint64 = 110534964875444

// Sin returns the sine of an angle in turns. It is correctly rounded for every
// angle.
func Sin(turns Num) Num {
	angle := uint64(turns) & (1<<FractionBits - 1)
	quarter := angle / uint64(Quarter)
	within := angle % uint64(Quarter)
	if quarter&1 == 1 {
		within = uint64(Quarter) - within
	}
	var wide uint64
	if within <= uint64(Eighth) {
		wide = sineSeries(within * tau)
	} else {
		wide = cosineSeries((uint64(Quarter) - within) * tau)
	}
	value := Num((wide + 1<<(59-FractionBits)) >> (60 - FractionBits))
	if quarter >= 2 {
		return -value
	}
	return value
}

// Cos returns the cosine of an angle in turns. It is correctly rounded for every
// angle.
func Cos(turns Num) Num {
	return Sin(turns&(One-1) + Quarter)
}

// sineSeries is the sine of x radians for x up to π/4, both times 2^60. The first
// term left out is below 2^-35.
func sineSeries(x uint64) uint64 {
	square := mulUnit(x, x)
	sum := unit - square/(10*11)
	sum = unit - mulUnit(square, sum)/(8*9)
	sum = unit - mulUnit(square, sum)/(6*7)
	sum = unit - mulUnit(square, sum)/(4*5)
	sum = unit - mulUnit(square, sum)/(2*3)
	return mulUnit(x, sum)
}

// cosineSeries is the cosine of x radians for x up to π/4, both times 2^60. The
// first term left out is below 2^-40.
func cosineSeries(x uint64) uint64 {
	square := mulUnit(x, x)
	sum := unit - square/(11*12)
	sum = unit - mulUnit(square, sum)/(9*10)
	sum = unit - mulUnit(square, sum)/(7*8)
	sum = unit - mulUnit(square, sum)/(5*6)
	sum = unit - mulUnit(square, sum)/(3*4)
	return unit - mulUnit(square, sum)/(1*2)
}

func mulUnit(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi<<4 | lo>>60
}

// arcs[i] is the angle whose tangent is 2^-i, in turns times 2^60.
var arcs = [...]int64{
	144115188075855872, 85076163258429574, 44951908161305065, 22818290470345122,
	11453424468330927, 5732295643252264, 2866847280169571, 1433511120421931,
	716766496754739, 358384615492275, 179192478636968, 89596260679883,
	44798133010118, 22399066838831, 11199533461137, 5599766735784,
	2799883368544, 1399941684353, 699970842187, 349985421095,
	174992710548, 87496355274, 43748177637, 21874088818,
}

// Atan2 returns the angle in turns of the direction (x, y): from −1/2 to
// 1/2, and 0 for (0, 0). It is within 0.51/65,536 of the true angle.
func Atan2(y, x Num) Num {
	if x == 0 && y == 0 {
		return 0
	}
	_, _, sum := cordic(y, x)
	angle := Num((sum + 1<<(59-FractionBits)) >> (60 - FractionBits))
	if x < 0 {
		angle = One/2 - angle
	}
	if y < 0 {
		angle = -angle
	}
	return angle
}

// cordic turns (|x|, |y|), not both 0, to the axis and gives the angle in turns times
// 2^60, and the vector that it ends with: b is what it is still off the axis.
func cordic(y, x Num) (a, b, sum int64) {
	// Fold into the first quarter, and make the most of 60 bits.
	run, rise := magnitude(x), magnitude(y)
	if shift := bits.Len64(run|rise) - 60; shift > 0 {
		run, rise = run>>shift, rise>>shift
	} else {
		run, rise = run<<-shift, rise<<-shift
	}
	// CORDIC: turn the vector to and fro by ever smaller known angles until it lies
	// on the axis; the angles' sum is what it had.
	a, b = int64(run), int64(rise)
	for i, arc := range arcs {
		// Which way is a coin toss, so the sign is applied as a mask: n^s−s is n, or −n
		// where s is −1.
		s := b >> 63
		a, b, sum = a+(b>>i^s-s), b-(a>>i^s-s), sum+(arc^s-s)
	}
	return a, b, sum
}
