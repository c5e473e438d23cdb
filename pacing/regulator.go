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
// own lead with the mean of both sees D in its own lead, which it measures every tick and
// without delay; what comes late and seldom, the other's mean, moves the goal little, since what it
// loses this peer has gained. That is why the two sides of the comparison are smoothed so
// differently: leadMemory is short, since it lies inside the loop, where each tick of it would have
// to be paid for with a lower gain; meanMemory may be long.
//
// With more peers a lead is the largest over the others. The peer with the largest lead waits for
// one whose lead is no larger, so that towards any common goal the largest lead falls and the smallest
// grows, whichever links they are made of, until all are equal. The goal is halfway between these
// two and not the mean of all: there one of eight that differs would pull the seven
// others, if it does nothing itself, with an eighth of the gain.
//
// The correction is gain × error plus a sum of past errors. The gain alone would need an error
// of a third of a tick, and so leads that differ by two thirds, against a clock that is one per cent
// off. The sum learns how far off that clock is, and then needs no error. Both peers react, so that
// the gain of the loop is 2 × gain: 0.032 a tick, a time constant of 31 ticks. The delay in it is
// leadMemory and, for the half that the other side does, the link too: 8 to 16 ticks at 100 ms one
// way, and gain × delay is at most a third of the π/2 where it would swing. In the simulations 16 times
// the gain still settles at that latency and 32 times swings; the rest is for worse links and for
// noise, of which a higher gain makes a rate that jitters. sumGain = gain²/2 lets the sum follow no
// faster than the gain can damp.
//
// The sums of all peers could drift together, since a change of rate that is common to all
// alters no lead. So that a match does not run faster and faster for no reason, they are
// forgotten in sumMemory, which is long enough to hold against a wrong clock.
const (
	leadMemory = 8
	meanMemory = 32
	gain       = 0.016
	sumGain    = gain * gain / 2
	sumMemory  = 6000
	maxSum     = 0.03

	// A peer that is behind speeds up by twice as much as the one ahead slows down: players
	// notice a slow game sooner than a fast one, and that somebody else has no ticks in hand is
	// not the fault of the one who is ahead.
	whenBehind = 4.0 / 3
	whenAhead  = 2.0 / 3
	maxOutput  = 0.12

	// For a game that follows the skips the least step is a tick, which moves two leads
	// apart by two, and where they cannot be equal with whole ticks, one is given and taken in
	// turns. What is owed in fractions of a tick counts as given in part: to count it whole
	// would be a dead band of a tick, in which nobody helps, and not at all would give and take
	// for nothing where leads are equal. The gain is higher and the sum slower: an error that
	// comes in whole ticks is seen at once, and teaches less.
	skipHold    = 0.3
	skipGain    = 0.024
	skipSumGain = 0.0001
	// After one tick was left out or added, the next one is not for so many calls; one that
	// takes the last one back not for longer. One for an overloaded peer need not wait: nobody
	// can be helped otherwise.
	skipRest, skipBackRest, skipSlowRest = 12, 45, 2

	// loadMemory is how many ticks the load is averaged over, and budget what it may be: the
	// rest of a tick's time is for drawing. maxLoad is the largest that is counted.
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
	return &Regulator{
		limit: float64(limit), rested: skipBackRest,
		rate: corrector{gain: gain, sumGain: sumGain},
		skip: corrector{gain: skipGain, sumGain: skipSumGain},
	}, nil
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
	rate := bounded(base*(1+r.rate.correct(err, 0, tired)), MinRate, MaxRate)
	// A frame in which a tick is left out takes as long as any, and those in which one is run
	// take longer than that where the load is above 1: fewer need be left out.
	base /= 1 + base*(1-max(r.load.value, 1))
	skips := bounded(base*(1+r.skip.correct(err, skipHold*r.owed, tired)), MinRate, MaxRate)
	return Advice{Rate: rate, Skip: r.step(skips, heaviest > budget, s.Stalled)}
}

// corrector makes a correction of the rate of an error, which is how many ticks this
// peer's lead is less than it should be.
type corrector struct {
	gain, sumGain float64
	sum           float64
}

// correct returns it. Of the error as many ticks as given are on their way. A peer that is
// tired is not asked to run faster.
func (c *corrector) correct(err, given float64, tired bool) float64 {
	c.sum -= c.sum / sumMemory
	wish := c.gain*(err-given) + c.sum
	output := bounded(wish, -maxOutput, maxOutput)
	if tired {
		output = min(output, 0)
	}
	// What cannot be acted on is not learnt from, or it would have to be unlearnt.
	if output == wish {
		c.sum = bounded(c.sum+c.sumGain*err, -maxSum, maxSum)
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
