package sim

import "github.com/driftback/driftback/fixed"

const px = fixed.One

// The map in pixels, and the track on it.
const (
	MapWidth   = 1800
	MapHeight  = 1120
	HalfWidth  = 84 // of the track
	KartRadius = 15
)

// reach is how far from the middle of the track a kart's own middle may be.
const reach = (HalfWidth - KartRadius) * px

// bends are the points that the middle of the track goes through, in the direction of
// the race. It starts at the first one.
var bends = [...][2]int{
	{1000, 165}, {1380, 178}, {1610, 300}, {1640, 560}, {1560, 850}, {1310, 960}, {1100, 860},
	{1110, 640}, {990, 450}, {790, 435}, {665, 590}, {715, 800}, {590, 950}, {330, 930},
	{185, 760}, {275, 560}, {185, 350}, {320, 190}, {640, 160},
}

const (
	partsPerBend = 8
	// parts is the number of straight parts that the track consists of.
	parts = len(bends) * partsPerBend
	// checkpoints is the number of lines that a kart has to pass in order. The first is
	// the start line.
	checkpoints = 8
)

// part is a straight piece of the middle of the track.
type part struct {
	x, y   fixed.Num // where it begins
	dx, dy fixed.Num // its direction, of length 1
	length fixed.Num
	along  fixed.Num // from the start line to where it begins
}

// track is the middle of the track. It never changes.
var track, trackLength = lay()

// lay draws a smooth closed curve through the bends: Catmull and Rom's, which in steps of
// an eighth is exact in 1/1,024 of a pixel.
func lay() (list [parts]part, length fixed.Num) {
	for i := range list {
		a, b, c, d := bends[(i/partsPerBend+len(bends)-1)%len(bends)], bends[i/partsPerBend], bends[(i/partsPerBend+1)%len(bends)], bends[(i/partsPerBend+2)%len(bends)]
		t := i % partsPerBend
		point := func(axis int) fixed.Num {
			a, b, c, d := a[axis], b[axis], c[axis], d[axis]
			in1024 := 1024*b + 64*t*(c-a) + 8*t*t*(2*a-5*b+4*c-d) + t*t*t*(3*b-a-3*c+d)
			return fixed.Num(in1024) * px / 1024
		}
		list[i].x, list[i].y = point(0), point(1)
	}
	for i := range list {
		p, next := &list[i], &list[(i+1)%parts]
		dx, dy := next.x-p.x, next.y-p.y
		p.length = norm(dx, dy)
		p.dx, p.dy = dx.Div(p.length), dy.Div(p.length)
		p.along = length
		length += p.length
	}
	return list, length
}

func norm(x, y fixed.Num) fixed.Num { return (x.Mul(x) + y.Mul(y)).Sqrt() }

// spot is a place on the middle of the track.
type spot struct {
	part int
	in   fixed.Num // from the part's beginning
	x, y fixed.Num
}

// along is how far it is from the start line to the spot, in the direction of the race.
func (s *spot) along() fixed.Num { return track[s.part].along + s.in }

// nearest returns the spot nearest to (x, y) on part i of the track.
func nearest(i int, x, y fixed.Num) spot {
	p := &track[i]
	in := ((x - p.x).Mul(p.dx) + (y - p.y).Mul(p.dy)).Clamp(0, p.length)
	return spot{part: i, in: in, x: p.x + p.dx.Mul(in), y: p.y + p.dy.Mul(in)}
}

// window is how many parts from where it was a kart is looked for: it moves by less than
// one in a tick, and parts of the track beyond are other stretches of road.
const window = 3

// locate returns the spot nearest to (x, y) among the parts near part at.
func locate(at int, x, y fixed.Num) spot {
	var best spot
	least := fixed.Max
	for i := at - window; i <= at+window; i++ {
		s := nearest((i+parts)%parts, x, y)
		if d := (x - s.x).Mul(x-s.x) + (y - s.y).Mul(y-s.y); d < least {
			best, least = s, d
		}
	}
	return best
}

// ahead returns the place that is so far along the track from the start line, to the right
// of the middle by side, and the part it is on. Along may be beyond a whole lap, or negative.
func ahead(along, side fixed.Num) (x, y fixed.Num, at int) {
	along %= trackLength
	if along < 0 {
		along += trackLength
	}
	// The parts are not all alike long; the guess is near, and the walk short.
	at = int(int64(along) * int64(parts) / int64(trackLength))
	for track[at].along > along {
		at--
	}
	for at+1 < parts && track[at+1].along <= along {
		at++
	}
	p := &track[at]
	in := along - p.along
	return p.x + p.dx.Mul(in) - p.dy.Mul(side), p.y + p.dy.Mul(in) + p.dx.Mul(side), at
}

// sector is the number of the checkpoint that was passed last on the way to a part.
func sector(at int) int { return at * checkpoints / parts }

// lineAlong is how far from the start line checkpoint c is.
func lineAlong(c int) fixed.Num {
	// The first part whose sector it is.
	return track[(c*parts+checkpoints-1)/checkpoints].along
}
