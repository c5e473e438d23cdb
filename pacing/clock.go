package pacing

import (
	"fmt"
	"time"
)

// Bounds of a [Clock]'s speed.
const (
	MinSpeed = 1.0 / 16
	MaxSpeed = 16.0
)

// DefaultCatchUp is how many ticks a [Clock] gives at most at one time.
const DefaultCatchUp = 5

// Clock turns the time that passes between two frames into the ticks that are to be run,
// for a game that has no fixed step of its own. It reads no clock. Create it with
// [NewClock].
type Clock struct {
	length  time.Duration
	catchUp int
	speed   float64
	// passed is the time since the last tick that was given, at the game's own rate.
	passed time.Duration
}

// NewClock returns a clock of ticks of the given length. catchUp is how many ticks it gives
// at most at one time, and 0 is DefaultCatchUp: what a longer gap would
// need beside that is forgotten, or a game that cannot keep up would be given ever more to do.
func NewClock(length time.Duration, catchUp int) (*Clock, error) {
	if catchUp == 0 {
		catchUp = DefaultCatchUp
	}
	switch {
	case length < time.Microsecond || length > time.Minute:
		return nil, fmt.Errorf("pacing: ticks of %v: from 1µs to 1m are allowed", length)
	case catchUp < 1 || catchUp > 1000:
		return nil, fmt.Errorf("pacing: at most %d ticks at one time: 1 to 1000 are allowed, or 0 for %d", catchUp, DefaultCatchUp)
	}
	return &Clock{length: length, catchUp: catchUp, speed: 1}, nil
}

// SetSpeed makes the game run so many times as fast from now on: 1 is as ever. A speed
// beyond MinSpeed or MaxSpeed counts as that.
func (c *Clock) SetSpeed(speed float64) {
	if c.speed = bounded(speed, MinSpeed, MaxSpeed); c.speed == 0 { // it was no number
		c.speed = 1
	}
}

// Ticks returns how many ticks to run, now that so much time has passed since the last
// call. rate is that of the newest [Advice]; one beyond MinRate or MaxRate counts as
// that. Time that goes back is no time.
func (c *Clock) Ticks(elapsed time.Duration, rate float64) int {
	const longest = time.Hour // beyond catchUp it does not matter how long
	if rate = bounded(rate, MinRate, MaxRate); rate == 0 {
		rate = 1
	}
	c.passed += time.Duration(float64(min(max(elapsed, 0), longest)) * rate * c.speed)
	n := c.passed / c.length
	c.passed -= n * c.length
	return int(min(n, time.Duration(c.catchUp)))
}

// Alpha returns how much of the time to the next tick has passed, from 0 to just below 1: how far
// to draw between the last world and the one before it.
func (c *Clock) Alpha() float64 { return float64(c.passed) / float64(c.length) }
