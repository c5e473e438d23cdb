package pacing

import (
	"fmt"
	"math"
	"time"
)

// The control loop, and why its numbers are what they are.
//
// Of two peers, let D be how many ticks the first is ahead of the second in truth, and a and
// b the delays of the two directions in ticks. Their leads are D + a and b − D. Equal leads
// are D = (b − a)/2, which neither can see: no link tells how its delay is divided between
// the directions. But the sum of the leads is a + b whatever D is. So a peer that compares its
// own lead with the mean of all leads sees D directly, in its own lead, which it measures
// every tick and without delay; what comes late and rarely, the others' means, hardly moves.
// That is why the two sides of the comparison are smoothed so differently: leadMemory is short,
// since it lies inside the loop and every tick of it would have to be paid for with a lower
// gain, and meanMemory is long, since it does not.
//
// With more than two peers a lead is the largest over the others, and one common goal is
// still right: the peer with the largest lead waits for one whose lead is no larger, so that
// the largest lead falls and the smallest grows, whichever links they are made of, until all
// are equal.
//
// The correction is gain × error plus a sum of past errors. The gain alone would need an error
// of a whole tick against a clock that is one per cent off. The sum learns how far off that
// clock is and needs no error at all to hold against it. Both peers react, so that the loop's gain is
// twice that of one: time constant 1/(2 gain), 42 ticks. The delay inside it is leadMemory and, for what the
// other side does, the link's: some 20 ticks at 100 ms. Gain × delay, 0.5 at most, stays far from π/2,
// where it would swing. sumGain = gain²/2 makes the pair of the two not swing either.
//
// The sums of all peers could drift together, since a common change of rate alters no lead. So
// that a match does not run faster and faster for no reason, they are forgotten
// in sumMemory, which is long enough to hold against a wrong clock.
const (
	leadMemory = 8
	meanMemory = 32
	gain       = 0.016
	sumGain    = gain * gain / 2
	sumMemory  = 6000
	maxSum     = 0.03

	// A peer that is behind speeds up by twice as much as the one ahead slows down: players notice
	// a slow game sooner than a fast one, and to have fewer ticks in hand is not the fault
	// of the one who is ahead.
	whenBehind = 4.0 / 3
	whenAhead  = 2.0 / 3
	maxOutput  = 0.12

	// A game that follows the skips is where it should be but for the ticks that are owed. To take them
	// for given would be a dead band of a tick, and to count them not at all would
	// swing.
	skipHold = 0.4
	// After one tick was left out or added, the next one is not for so many calls; and one that takes
	// the last one back not for much longer: a tick is the least that can be given, and
	// where the leads cannot be equal with whole ticks, one is given and taken in turns.
	skipRest, skipBackRest, skipSlowRest = 12, 90, 2

	// loadMemory is how many ticks the load is averaged over, and budget what it may be: the
	// rest of a tick's time is for drawing.
	loadMemory = 60
	budget     = 0.9
	maxLoad    = 4

	// A peer that has not said anything for so long is not counted.
	maxAge = 2 * time.Second
)

// Bounds of [Advice.Rate], whatever the other peers say.
const (
	// MaxRate is the fastest rate: of a peer that is far behind.
	MaxRate = 1 + maxOutput*whenBehind
	// MinCorrection is the slowest that being ahead makes a peer.
	MinCorrection = 1 - maxOutput*whenAhead
	// MinRate is the slowest rate: of every peer, when one says that it has no time for more.
	MinRate = 0.5
)

// Skip is the advice to a game that cannot change its tick rate.
type Skip int8

const (
	// Keep: run one tick at the next frame, as ever.
	Keep Skip = iota
	// LeaveOut: run no tick at the next frame.
	LeaveOut
	// RunExtra: run two ticks at the next frame.
	RunExtra
)

// String returns the advice in lower-case words.
func (s Skip) String() string {
	switch s {
	case Keep:
		return "keep"
	case LeaveOut:
		return "leave out"
	case RunExtra:
		return "run extra"
	}
	return "unknown advice"
}

// Advice is what a game should do about its pace. It follows one half of it: the rate or
// the skips.
type Advice struct {
	// Rate is what to multiply the tick rate with, from MinRate to MaxRate; 1 is as ever.
	Rate float64
	// Skip is for the next frame alone.
	Skip Skip
}

// Report is what another peer says of itself.
type Report struct {
	// Lead is its mean lead in ticks, and Load the share of a tick's time that a tick costs
	// it; 0 where it does not measure that.
	Lead, Load float64
	// Age is how long ago it said so.
	Age time.Duration
}

// Sample is what one call that was to run a tick found.
type Sample struct {
	// Lead is by how many ticks the next tick is beyond the first that lacks an input of
	// somebody else: negative if inputs of ticks are held that have not run.
	Lead int
	// Load is the share of a tick's time that this call took for ticks; 0 if that is not
	// measured.
	Load float64
	// Stalled: the call ran no tick, because the prediction window was used up.
	Stalled bool
}

// Regulator works out how fast a peer should run. Create it with [New].
type Regulator struct {
	limit      float64
	lead, mean average
	load       average
	rate, skip corrector // of a game that follows the one or the other
	owed       float64   // ticks to add, or if negative to leave out
	rested     int       // calls since the last skip
	last       Skip      // which that was
}

// New returns a regulator. limit is the largest lead that a peer can honestly have, in
// ticks: the prediction window and the largest input delay. What others claim beyond it
// counts as no more.
func New(limit int) (*Regulator, error) {
	if limit < 1 {
		return nil, fmt.Errorf("pacing: a limit of %d ticks: at least 1 is allowed", limit)
	}
	return &Regulator{limit: float64(limit), rested: skipBackRest}, nil
}

// Lead returns this peer's mean lead, for the others.
func (r *Regulator) Lead() float64 { return r.mean.value }

// Load returns this peer's mean load, for the others.
func (r *Regulator) Load() float64 { return r.load.value }

// Tick takes what one call found and the others' newest reports, and returns what to do
// next. It keeps nothing of others.
func (r *Regulator) Tick(s Sample, others []Report) Advice {
	lead := min(max(float64(s.Lead), -r.limit), r.limit)
	r.lead.add(lead, leadMemory)
	r.mean.add(lead, meanMemory)
	r.load.add(bounded(s.Load, 0, maxLoad), loadMemory)

	least, most, heaviest, heard := r.mean.value, r.mean.value, r.load.value, false
	for i := range others {
		if o := &others[i]; o.Age <= maxAge {
			theirs := bounded(o.Lead, -r.limit, r.limit)
			least, most, heard = min(least, theirs), max(most, theirs), true
			heaviest = max(heaviest, bounded(o.Load, 0, maxLoad))
		}
	}
	err := 0.0
	if heard {
		err = (least+most)/2 - r.lead.value
	}
	// Who has no time for the ticks that it runs already is not asked for more.
	tired := r.load.value > budget
	base := within(heaviest)
	a := Advice{Rate: bounded(base*(1+r.rate.correct(err, 0, tired)), MinRate, MaxRate)}
	a.Skip = r.step(bounded(base*(1+r.skip.correct(err, r.owed, tired)), MinRate, MaxRate), base < 1, s.Stalled)
	return a
}

// corrector makes a correction of the rate of an error: how many ticks this peer has
// less than it should.
type corrector struct{ sum float64 }

func (c *corrector) correct(err, owed float64, tired bool) float64 {
	c.sum -= c.sum / sumMemory
	wish := gain*(err-skipHold*owed) + c.sum
	output := bounded(wish, -maxOutput, maxOutput)
	if tired {
		output = min(output, 0)
	}
	// What cannot be acted on is not learnt from, or it would have to be unlearnt.
	if output == wish {
		c.sum = bounded(c.sum+sumGain*err, -maxSum, maxSum)
	}
	if output > 0 {
		return output * whenBehind
	}
	return output * whenAhead
}

// within returns the rate at which the heaviest load of any peer fits its frames. To run the game
// slower for everybody is what is left when one cannot keep up: otherwise
// the others run to the end of their windows and stall every few ticks. Fewer ticks a second are also fewer
// that a link's delay is long, so that less is run again, and the load falls too.
func within(load float64) float64 {
	if !(load > budget) {
		return 1
	}
	return max(budget/load, MinRate)
}

// step makes of a rate a tick that is left out, or run twice, now and then.
func (r *Regulator) step(rate float64, slowed, stalled bool) Skip {
	r.rested++
	r.owed = bounded(r.owed+rate-1, -1, 1)
	if stalled {
		// It has been held back by a tick already, and could run no other one.
		r.owed = bounded(r.owed+1, -1, 0)
		return Keep
	}
	advice := Keep
	switch {
	case r.owed >= 1:
		advice = RunExtra
	case r.owed <= -1:
		advice = LeaveOut
	}
	rest := skipBackRest
	switch {
	case slowed:
		rest = skipSlowRest
	case advice == r.last:
		rest = skipRest
	}
	if advice == Keep || r.rested < rest {
		return Keep
	}
	r.owed, r.rested, r.last = 0, 0, advice
	return advice
}

// average is a mean over the newest values, older ones counting less. While there are few
// it is the plain mean of them.
type average struct {
	value float64
	n     float64
}

func (a *average) add(v, memory float64) {
	a.n = min(a.n+1, memory)
	a.value += (v - a.value) / a.n
}

func bounded(v, least, most float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(max(v, least), most)
}
