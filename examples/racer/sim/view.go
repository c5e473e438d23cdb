package sim

import "github.com/driftback/driftback/fixed"

// View is a state as something to draw: tenths of pixels and words. It is plain data of
// fixed size; encode it as JSON for a web page. X counts to the right and Y downwards.
type View struct {
	Phase string             `json:"phase"`
	Race  int                `json:"race"`
	Laps  int                `json:"laps"`
	Count int                `json:"count"` // seconds until the race begins, rounded up; 0
	Ticks int                `json:"ticks"` // of the race so far
	Karts [MaxKarts]KartView `json:"karts"`
	Oils  [MaxKarts]OilView  `json:"oils"`
	Boxes [boxes]bool        `json:"boxes"` // that are there
}

// KartView is a kart as something to draw, if On.
type KartView struct {
	On       bool   `json:"on"`
	X        int    `json:"x"` // of its middle, in tenths of a pixel
	Y        int    `json:"y"`
	Heading  int    `json:"heading"` // in 1/65,536 turns, clockwise from the direction of X
	Speed    int    `json:"speed"`   // in pixels per second
	Lap      int    `json:"lap"`     // from 1
	Rank     int    `json:"rank"`    // from 1: its place at present
	Place    int    `json:"place"`   // in which it finished, from 1; 0: not yet
	Took     int    `json:"took"`    // ticks of its race, once it has finished
	Best     int    `json:"best"`    // ticks of its best lap, or 0
	Item     string `json:"item"`
	Boost    int    `json:"boost"` // ticks left
	Drift    int    `json:"drift"` // −1, 0 or 1
	Charge   int    `json:"charge"`
	Spin     int    `json:"spin"`
	Bot      bool   `json:"bot"` // driven by the step
	WrongWay bool   `json:"wrongWay"`
}

// OilView is a puddle as something to draw, if Live.
type OilView struct {
	Live bool `json:"live"`
	X    int  `json:"x"`
	Y    int  `json:"y"`
}

// View returns what there is to see. It changes nothing and does not allocate.
func (s *State) View() View {
	v := View{Phase: s.Phase.String(), Race: int(s.Race), Laps: Laps}
	switch s.Phase {
	case Countdown:
		v.Count = int(CountdownTicks-s.Clock+TicksPerSecond-1) / TicksPerSecond
	case Racing:
		v.Ticks = int(s.Clock)
	case Over:
	}
	for p := range s.Karts {
		if s.Karts[p].On {
			v.Karts[p] = s.kartView(p)
		}
		if o := &s.Oils[p]; o.Life > 0 {
			v.Oils[p] = OilView{Live: true, X: tenths(o.X), Y: tenths(o.Y)}
		}
	}
	for i := range s.Boxes {
		v.Boxes[i] = s.Boxes[i] == 0
	}
	return v
}

func (s *State) kartView(p int) KartView {
	k := &s.Karts[p]
	at := &track[k.At]
	return KartView{
		On: true, X: tenths(k.X), Y: tenths(k.Y), Heading: int(k.Heading), Speed: perSecond(k.speed()),
		Lap: min(k.Lap(), Laps), Rank: s.rank(p) + 1, Place: int(k.Place), Took: int(k.Took), Best: int(k.Best),
		Item: k.Item.String(), Boost: int(k.Boost), Drift: int(k.Drift), Charge: int(k.Charge), Spin: int(k.Spin), Bot: k.Bot,
		WrongWay: k.Spin == 0 && fixed.Cos(k.Heading).Mul(at.dx)+fixed.Sin(k.Heading).Mul(at.dy) < -fixed.Half,
	}
}

func tenths(n fixed.Num) int { return (10 * n).Round() }

// TrackView is what there is to draw that never changes, in pixels.
type TrackView struct {
	Width       int      `json:"width"` // of the map
	Height      int      `json:"height"`
	HalfWidth   int      `json:"halfWidth"`   // of the road
	KartRadius  int      `json:"kartRadius"`  //
	Middle      [][2]int `json:"middle"`      // points of the road's middle, in tenths; the start line is at the first
	Boxes       [][2]int `json:"boxes"`       // in tenths
	Charged     int      `json:"charged"`     // the charge of a small boost
	WellCharged int      `json:"wellCharged"` // and of a large one
}

// Track returns the track as something to draw.
func Track() TrackView {
	t := TrackView{
		Width: MapWidth, Height: MapHeight, HalfWidth: HalfWidth, KartRadius: KartRadius, Charged: charged, WellCharged: wellDone,
	}
	for i := range track {
		t.Middle = append(t.Middle, [2]int{tenths(track[i].x), tenths(track[i].y)})
	}
	for _, b := range boxPlaces {
		t.Boxes = append(t.Boxes, [2]int{tenths(b.x), tenths(b.y)})
	}
	return t
}
