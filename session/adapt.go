package session

import (
	"fmt"
	"time"

	"github.com/driftback/driftback/mesh"
)

// DefaultDepth is what an [AdaptDelay]'s Depth of zero means.
const DefaultDepth = 3

// AdaptDelay says within which bounds input delays may follow the links. A delay rises
// within a second or two when the links are so slow, or shake so much, that rollbacks
// become deeper than Depth, and it falls by a tick at a time, after ten seconds in which a
// shorter one would have done. Between two changes there is at least a second. Each is an
// event, [DelayChanged]. How long a tick lasts is what Config.TickRate and the speed say.
//
// Each peer decides by what it measures alone, and that is safe: see
// [Lockstep.SetInputDelay]. Since a peer's own delay spares the others rollbacks, both ends
// of a link should have it.
type AdaptDelay struct {
	// Min and Max bound the delay in ticks, from 0 to mesh.MaxDelay. A Max of 0 leaves the
	// delays alone. Without predictions Min is at least 1, and with the
	// prediction window at least Config.PublishEvery. A delay that begins beyond
	// either begins there.
	Min, Max int
	// Depth is how many ticks deep rollbacks may be before the delay rises; 0 is
	// DefaultDepth, None is no rollbacks at all. It counts as at most half of the
	// prediction window.
	Depth int
}

func (a *AdaptDelay) on() bool { return a.Max > 0 }

// nearest returns the nearest delay that is allowed.
func (a *AdaptDelay) nearest(ticks int) int { return min(max(ticks, a.Min), a.Max) }

// fillAdaptDelay completes AdaptDelay, and the delays that it bounds.
func (c *Config[S, I]) fillAdaptDelay() error {
	a := &c.AdaptDelay
	switch {
	case a.Max < 0 || a.Max > mesh.MaxDelay:
		return fmt.Errorf("session: AdaptDelay.Max is %d ticks: 1 to %d are allowed, or 0 to leave the delays alone", a.Max, mesh.MaxDelay)
	case a.Min < 0 || a.Min > a.Max:
		return fmt.Errorf("session: AdaptDelay.Min is %d ticks: 0 to Max, which is %d, are allowed", a.Min, a.Max)
	case a.Depth < None || a.Depth > mesh.MaxWindow:
		return fmt.Errorf("session: AdaptDelay.Depth is %d ticks: 1 to %d, 0 for %d, or None", a.Depth, mesh.MaxWindow, DefaultDepth)
	case !a.on():
		return nil
	}
	if err := c.validDelay("AdaptDelay.Min", a.Min); err != nil {
		return err
	}
	if a.Depth == 0 {
		a.Depth = DefaultDepth
	}
	for i := range c.InputDelays {
		c.InputDelays[i] = a.nearest(c.InputDelays[i])
	}
	return nil
}

const (
	// lookEvery is how often the numbers are looked at, and settled for how many looks a
	// shorter delay must have been enough before it is taken.
	lookEvery = 500 * time.Millisecond
	settled   = 20
	// rest is the least time between two changes.
	rest = time.Second
	// maxRise is by how many ticks a delay rises at once: as many are filled in, in which
	// the player is not heard.
	maxRise = 3
	// maxPressure is how many ticks stalls, deep rollbacks and loads may add to what the links'
	// times call for, and calmLooks after how many looks without them one is taken off.
	maxPressure = 2
	calmLooks   = 60
	// riseBeyond and fallBelow are how far, in parts of a tick, what is called for must be
	// above the delay, or below the next shorter one, to change it.
	part       = 1000
	riseBeyond = part / 2
	fallBelow  = part / 4
	// fullLoad is the load beyond which a peer has no time for more, and maxAge how old its
	// word for it may be.
	fullLoad = 0.9
	maxAge   = 2 * time.Second
	// maxOneWay bounds what a link's times are taken for.
	maxOneWay = 10 * time.Second
)

// numbers are what is looked at: what has been measured, and what happened since the last
// look.
type numbers struct {
	tick time.Duration // how long a tick lasts
	// oneWay is the time that the slowest link takes, with what it often takes more.
	oneWay time.Duration
	// load is the largest share of a tick's time that another peer needs for its steps and
	// re-simulation.
	load                                  float64
	ticks, stalls, rollbacks, resimulated uint64
}

// adapter works out input delays. It is arithmetic over numbers, and knows nothing of
// sessions.
type adapter struct {
	min, max int
	depth    int
	// called is what the last looks called for, in parts of a tick: the newest is at looks-1.
	called   [settled]int64
	looks    int
	pressure int
	pressed  int // looks in a row with some of that
	calm     int // looks in a row without
	changed  time.Duration
	ever     bool
}

func newAdapter(c AdaptDelay, window int) adapter {
	return adapter{min: c.Min, max: c.Max, depth: max(min(c.Depth, window/2), 0)}
}

// look takes the numbers, as the shortest delay is so long.
func (a *adapter) look(n *numbers, delay int) {
	if n.tick <= 0 {
		return
	}
	called := int64(min(n.oneWay, maxOneWay))*part/int64(n.tick) - int64(a.depth)*part
	a.press(n, called <= int64(delay)*part+riseBeyond)
	a.called[a.looks%settled] = called + int64(a.pressure)*part
	a.looks++
}

// press notes what the links' times do not show: that this peer stalls, or runs many ticks
// again, or that another cannot run what it has to in time, although the delay is long enough for them. When nothing at all went on somebody is
// silent, against which no delay helps.
func (a *adapter) press(n *numbers, enough bool) {
	stalls := n.stalls*10 >= n.ticks && n.stalls > 0 && n.stalls < n.ticks
	deep := n.rollbacks >= 3 && n.resimulated > n.rollbacks*uint64(a.depth+2)
	if !enough || !stalls && !deep && n.load <= fullLoad {
		a.pressed = 0
		if a.calm++; a.calm >= calmLooks {
			a.calm, a.pressure = 0, max(a.pressure-1, 0)
		}
		return
	}
	a.calm = 0
	if a.pressed++; a.pressed >= 4 {
		a.pressed, a.pressure = 0, min(a.pressure+1, maxPressure)
	}
}

// rested reports whether delays may change now. A time that has gone back says nothing.
func (a *adapter) rested(now time.Duration) bool {
	return a.looks >= 3 && (!a.ever || now-a.changed >= rest || now < a.changed)
}

// next returns what a delay should be. It rises to what the last three looks called for, of
// which one alone may have met a jump, and falls by one when that would have been enough for all that is remembered.
func (a *adapter) next(delay int) int {
	newest := func(back int) int64 { return a.called[(a.looks-1-back)%settled] }
	if least := min(newest(0), newest(1), newest(2)); least > int64(delay)*part+riseBeyond {
		return int(min(int64(min(delay+maxRise, a.max)), (least+part-1)/part))
	}
	if a.looks < settled {
		return delay
	}
	most := a.called[0]
	for _, called := range a.called[1:] {
		most = max(most, called)
	}
	if most < int64(delay-1)*part-fallBelow {
		return max(delay-1, a.min)
	}
	return delay
}

// changes notes that a delay has changed.
func (a *adapter) changes(now time.Duration) { a.changed, a.ever = now, true }
