package simtest

import (
	"slices"

	"github.com/driftback/driftback"
)

// passing are the kinds that a fault is drawn from; those that came later are drawn apart, so
// that a seed without them means what it did.
var passing = slices.DeleteFunc(kindsThat(passes), func(k Kind) bool { return k == Skew })

// temper says how bad a generated scenario is.
type temper int

const (
	calm temper = iota
	rough
	nasty
)

// Generate returns the scenario of a seed: two to four peers, on links from perfect to
// awful, with up to eight faults that pass, in one of seven something that ends the match,
// in about one of ten a peer that is hostile, in about one of nine peers that pause, in about
// one of seven input delays that change, in one of seven one to three that watch, in one of five messages of the game's, and in a quarter some peers that do not put
// every tick's state away, and in half of
// those with three peers and more survivors that play on. Equal seeds give equal scenarios; a [Shape] asks for more peers,
// longer matches, peers that come back, or input delays that adapt and peers that keep pace. What a seed gives may change with this module's version; a scenario's file
// does not.
func Generate(seed uint64) Scenario { return Shape{}.Generate(seed) }

// Generate returns the scenario of a seed as [Generate] does, but of this shape, which must
// be valid.
func (shape Shape) Generate(seed uint64) Scenario {
	g := generate(seed, shape)
	if h := (&draw{random(seed, streamHostile, 0)}); g.temper > calm && !g.s.HaltAtLimit && !g.s.PlayOn && !g.s.hasNature(ends) && h.Chance(1, 7) {
		g.hostile(h)
	}
	g.generatePauses()
	g.generateDelays()
	g.watchers()
	g.generateMessages()
	g.returns()
	g.adapts()
	g.spaces()
	return g.s
}

// everySoOften has something happen in one of five scenarios on one tick of so many,
// unless that is refused beside the rest. It draws from a sequence of its own.
func (g *generator) everySoOften(every *int, stream uint64, refused func() error, choices ...int) {
	d := draw{random(g.s.Seed, stream, 0)}
	if d.Chance(1, 5) {
		*every = pick(&d, choices...)
	}
	if refused() != nil {
		*every = 0
	}
}

// generate returns the scenario of a seed in which everybody is honest.
func generate(seed uint64, of Shape) generator {
	shape := random(seed, streamShape, 0)
	g := generator{
		of: of, shape: &draw{shape}, links: &draw{random(seed, streamShape, 1)}, faults: &draw{random(seed, streamShape, 2)},
		s: Scenario{Version: Version, Seed: seed},
	}
	g.temper = pick(g.shape, calm, calm, calm, rough, rough, rough, rough, nasty, nasty, nasty)
	g.match()
	g.peers()
	g.connect()
	for range g.faults.between(int(g.temper), [...]int{2, 4, 8}[g.temper]) {
		g.fault()
	}
	switch g.faults.IntN(20) {
	case 0, 1, 2:
		g.ending()
	case 3:
		g.absence(false)
	}
	buggify := random(seed, streamBuggify, 0)
	g.s.Buggify = buggify.Chance(1, 3)
	g.edges()
	g.skews()
	g.losses()
	return g
}

type generator struct {
	s                    Scenario
	of                   Shape
	temper               temper
	shape, links, faults *draw
	plays                int
}

func (g *generator) match() {
	d, s := g.shape, &g.s
	s.Frame = pick(d, Micros(16_667), 16_667, 16_667, 16_667, 8_333, 33_333)
	s.Ticks = d.between(150, 600)
	if d.Chance(1, 25) {
		s.Ticks = d.between(600, 2000)
	}
	if s.Ticks < g.of.Ticks {
		s.Ticks = g.of.Ticks + s.Ticks%64
	}
	s.Hold = pick(d, 1, 3, 7, 7, 12)
	s.Window = pick(d, 0, 0, 0, 1, 2, 5, 20, 60, 200, None)
	s.FingerprintEvery = pick(d, 0, 0, 0, 1, 3, 32, None)
	s.PeerTimeout = pick(d, 0, 0, 20*Second)
	if s.PeerTimeout != 0 {
		s.RejoinGrace = pick(d, 0, 0, 5*Second)
	}
	s.EffectTolerance = pick(d, 0, 0, 0, 0, 0, 1, 3, 10)
}

// peer adds one, who plays so many participants; 0: that is drawn too.
func (g *generator) peer(plays int) {
	d, s := g.shape, &g.s
	p := Peer{
		InputDelay: pick(d, 0, 0, 0, 1, 2, 3, 9, 30),
		Redundancy: pick(d, 0, 0, None, 5, 100),
		Phase:      d.time(0, 20),
	}
	if s.Window == None {
		p.InputDelay = max(p.InputDelay, 1)
	}
	if d.Chance(1, 4) {
		p.Phase = d.time(0, 2000)
	}
	if d.Chance(1, 2) {
		p.Ahead = d.time(-3_600_000, 3_600_000)
	}
	switch d.IntN(4) {
	case 0:
		p.Skew = d.between(-200, 200) // a clock
	case 1:
		p.Skew = d.between(-30_000, 30_000) // a loop that does not keep its rate
	}
	if plays == 0 {
		plays = pick(d, 1, 1, 1, 1, 1, 2)
	}
	for range plays {
		p.Plays = append(p.Plays, g.plays)
		g.plays++
	}
	s.Peers = append(s.Peers, p)
}

// connect gives every direction an impairment.
func (g *generator) connect() {
	d := g.links
	latency, jitter, loss := d.time(5, [...]int{40, 120, 250}[g.temper]), d.time(0, [...]int{3, 30, 80}[g.temper]), [...]int{1, 10, 30}[g.temper]
	for a := range g.s.Peers {
		for b := range g.s.Peers {
			if a == b || d.Chance(1, 10) {
				continue // perfect
			}
			l := Link{From: a, To: b, Latency: latency, Jitter: jitter}
			if g.temper > calm && d.Chance(1, 4) { // asymmetric
				l.Latency, l.Jitter = d.time(0, 200), d.time(0, 40)
			}
			if d.Chance(1, 2) {
				l.Loss = d.share(0, loss)
			}
			if g.temper > calm && d.Chance(1, 3) {
				l.Reorder, l.ReorderBy = d.share(0, 2*loss), d.time(1, 120)
			}
			if d.Chance(1, 3) {
				l.Duplicate = d.share(0, loss)
			}
			if d.Chance(1, 12) && g.s.Peers[a].Redundancy < 100 { // the line must carry what it sends
				l.BytesPerSecond = d.between(30_000, 100_000)
			}
			g.s.Links = append(g.s.Links, l)
		}
	}
}

// during returns a time at which the match is being played, after a share of it in
// percent: the handshake takes five messages from when the last peer has come, a few of
// them at the latest that is usual.
func (g *generator) during(low, high int) Micros {
	var begin, latency Micros
	for _, p := range g.s.Peers {
		begin = max(begin, p.Phase)
	}
	for _, l := range g.s.Links {
		latency = max(latency, l.Latency)
	}
	begin += 5 * (latency/2 + g.s.Frame)
	length := int(Micros(g.s.Ticks) * g.s.Frame / Millisecond)
	return begin + g.faults.time(length*low/100, length*high/100)
}

// some returns from low to high peers, without one that crashes.
func (g *generator) some(low, high int) (list []int) {
	n := g.faults.between(low, min(high, len(g.s.Peers)))
	left := make([]int, len(g.s.Peers))
	for i := range left {
		left[i] = i
	}
	for range n {
		i := g.faults.IntN(len(left))
		list = append(list, left[i])
		left = append(left[:i], left[i+1:]...)
	}
	return list
}

// directions returns From and To: every direction, those from one peer, those to one, or a
// single one.
func (g *generator) directions() (from, to []int) {
	two := g.some(2, 2)
	switch g.faults.IntN(4) {
	case 0:
		return nil, nil
	case 1:
		return two[:1], nil
	case 2:
		return nil, two[:1]
	}
	return two[:1], two[1:]
}

func (g *generator) fault() {
	d := g.faults
	f := Fault{Kind: pick(d, passing...), At: g.during(0, 60)}
	f.For = d.time(200, [...]int{400, 800, 2000}[g.temper])
	switch f.Kind {
	case Loss:
		f.From, f.To = g.directions()
		f.Share = d.share(30, 100)
	case Bursts:
		f.From, f.To = g.directions()
		f.Share, f.Every = d.share(50, 100), d.time(20, 150)
	case Delay:
		f.From, f.To = g.directions()
		f.By = d.time(20, [...]int{60, 200, 600}[g.temper])
	case Reorder:
		f.From, f.To = g.directions()
		f.Share, f.By = d.share(30, 80), d.time(40, 200)
	case Duplicate:
		f.From, f.To = g.directions()
		f.Share = d.share(40, 100)
	case Block:
		f.From, f.To = g.directions()
	case Partition:
		f.From = g.some(1, len(g.s.Peers)-1)
	case Clog:
		f.From = g.some(1, driftback.MaxParticipants)
		f.Every = d.time(20, 300)
	case Freeze:
		f.From = g.some(1, 2)
	case Throttle:
		f.From, f.To = g.directions()
		f.Rate, f.For = d.between(MinRate, 2*MinRate), f.For+300*Millisecond // a queue takes time to grow
	case Down:
		f.From, f.To = g.directions()
		g.missed(8, 20)
	default: // the others end the match
	}
	g.s.Faults = append(g.s.Faults, f)
}

// missed sees to it that a silent peer is missed at some time.
func (g *generator) missed(low, high int) {
	if g.s.PeerTimeout == 0 {
		g.s.PeerTimeout = g.faults.time(1000*low, 1000*high)
	}
}

// ending adds one thing that ends the match.
func (g *generator) ending() {
	d := g.faults
	switch kind := pick(d, Crash, Crash, Leave, Halt, Diverge, Block, Partition); kind {
	case Crash:
		g.s.PeerTimeout = d.time(3000, 8000)
		g.s.Faults = append(g.s.Faults, Fault{Kind: Crash, At: g.during(50, 90), From: g.some(1, 1)})
	case Diverge:
		if g.s.FingerprintEvery == None {
			g.s.FingerprintEvery = 0
		}
		g.s.Faults = append(g.s.Faults, Fault{Kind: Diverge, Tick: d.between(0, g.s.Ticks*7/10), From: g.some(1, 1)})
	case Block: // a window that is used up
		g.s.HaltAtLimit, g.s.Window = true, pick(d, 15, 30, 60)
		two := g.some(2, 2)
		most := 2 * Micros(g.s.Window+30) * g.s.Frame
		g.s.Faults = append(g.s.Faults, Fault{Kind: Block, At: g.during(50, 90), For: most, From: two[:1], To: two[1:]})
	case Partition: // a peer that is missed
		g.absence(true)
	default:
		g.s.Faults = append(g.s.Faults, Fault{Kind: kind, At: g.during(50, 90), From: g.some(1, 1)})
	}
}

// absence makes a peer silent for longer than its time-out, and either for so long that it
// is lost, or so that it comes back while there is grace.
func (g *generator) absence(lost bool) {
	d := g.faults
	g.s.PeerTimeout = d.time(3000, 4000)
	f := Fault{Kind: pick(d, Partition, Down, Block), At: g.during(50, 90), From: g.some(1, 1)}
	if lost {
		g.s.RejoinGrace = pick(d, 0, 0, Second)
		f.For = g.s.PeerTimeout + g.s.RejoinGrace + d.time(2000, 5000)
	} else {
		g.s.RejoinGrace = 12 * Second
		f.For = g.s.PeerTimeout + d.time(200, 3000)
	}
	g.s.Faults = append(g.s.Faults, f)
}
