package rewind

import (
	"time"

	"github.com/driftback/driftback"
)

const (
	// costsEvery is once in how many ticks a copy and a step are measured, and spacedEvery once in how many the spacing
	// follows what they take.
	costsEvery  = 16
	spacedEvery = 128
	// settling is by what part of what is off a mean moves, and outlying how many times the mean counts at most: what
	// holds the machine up says nothing.
	settling = 8
	outlying = 4
)

// costs is what copies and steps take, and how far apart snapshots pay by that.
type costs struct {
	clock      func() time.Duration // nil: nothing is measured
	save, step float64              // nanoseconds, 0: not known yet
	measuring  bool

	before Counts // when the spacing was looked at last
}

// mean returns the mean after another value.
func mean(of float64, took time.Duration) float64 {
	x := max(float64(took), 1)
	if of == 0 {
		return x
	}
	return of + (min(x, outlying*of)-of)/settling
}

// Costs returns what a copy of the world and a step have taken lately, on average: 0 without a Config.Clock, and at first.
func (l *Loop[S, I]) Costs() (save, step time.Duration) {
	return time.Duration(l.costs.save), time.Duration(l.costs.step)
}

// space has the spacing follow what copies and steps take, and how often and how far guesses have been wrong.
func (l *Loop[S, I]) space() {
	c := &l.costs
	if c.clock == nil || l.next%spacedEvery != 0 || c.save == 0 || c.step == 0 {
		return
	}
	rollbacks := float64(l.counts.Rollbacks-c.before.Rollbacks) / spacedEvery
	again := float64(l.counts.Resimulated-c.before.Resimulated) / spacedEvery
	c.before = l.counts
	best, least := 1, 0.0
	for ticks := 1; ticks <= l.widest; ticks++ {
		// Of every tick a snapshot is made in first runs and in all of a rollback's but the last; otherwise once in so many
		// ticks, and in a rollback of the first tick that may still be wrong, but half as many ticks are run again
		// to where it begins.
		saves, steps := 1+again-rollbacks, 0.0
		if ticks > 1 {
			saves, steps = 1/float64(ticks)+rollbacks, rollbacks*float64(ticks-1)/2
		}
		if cost := saves*c.save + steps*c.step; ticks == 1 || cost < least {
			best, least = ticks, cost
		}
	}
	l.spacing = driftback.Tick(best)
}
