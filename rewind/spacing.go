package rewind

import (
	"fmt"
	"time"

	"github.com/driftback/driftback"
)

// Space sets how many ticks may lie from one snapshot to the next, 1 to Config.Spacing, for what is run from now on.
// It changes how much is copied and run again, and never what comes of it.
func (l *Loop[S, I]) Space(ticks int) error {
	if l.running {
		return ErrRunning
	}
	if ticks < 1 || ticks > l.widest {
		return fmt.Errorf("rewind: a spacing of %d ticks; it must be 1 to Config.Spacing, which is %d", ticks, l.widest)
	}
	l.spacing = driftback.Tick(ticks)
	return nil
}

// Spacing returns how many ticks may lie from one snapshot to the next.
func (l *Loop[S, I]) Spacing() int { return int(l.spacing) }

// Approaching reports whether the step is running now on a tick that is right, to get to one that has no snapshot.
func (l *Loop[S, I]) Approaching() bool { return l.approaching }

// isDue reports whether tick t, which is about to run and newer than every snapshot, is to have one. wrong says that a
// guess has just turned out wrong: then the next one does so soon, if any, and at the first
// tick that is not confirmed at the earliest.
func (l *Loop[S, I]) isDue(t driftback.Tick, wrong bool) bool {
	return l.spacing == 1 || l.costs.measuring || l.shelf.held == 0 || t-l.shelf.newest().tick >= l.spacing ||
		wrong && t == l.log.Confirmed() || l.wanted != nil && l.wanted(t)
}

// keep saves the world as tick t, newer than every snapshot, begins.
//
// Between two calls at most depth-1 ticks have snapshots, see letGo, and there are depth places: one more for the tick
// about to run, or the present of who has gone back. Where not every tick has a snapshot there is another for the tick that was gone back to.
func (l *Loop[S, I]) keep(t driftback.Tick) error {
	place := l.shelf.take()
	began := time.Duration(0)
	if l.costs.measuring {
		began = l.costs.clock()
	}
	if err := l.save(place, t, l.state); err != nil {
		l.shelf.giveBack(place)
		return err
	}
	if l.costs.measuring {
		l.costs.save = mean(l.costs.save, l.costs.clock()-began)
	}
	l.shelf.put(t, place)
	l.letGo()
	return nil
}

// letGo drops the snapshots that no tick needs of the depth-1 before Next, which are those that the loop can go back to. What is left is at
// most one that is not of one of them.
func (l *Loop[S, I]) letGo() {
	for l.shelf.held > 1 && l.shelf.at(1).tick <= l.next-driftback.Tick(l.depth-1) {
		l.shelf.dropOldest()
	}
}

// takeBack takes back the world as tick t began, which is before Next and right.
func (l *Loop[S, I]) takeBack(t driftback.Tick) error {
	base := l.shelf.upTo(t, l.next)
	if err := l.load(base.place, base.tick, l.state); err != nil {
		return err
	}
	for at := base.tick; at < t; at++ {
		if err := l.approach(at); err != nil {
			return err
		}
	}
	return nil
}

// approach runs tick t again as it was run, to get from a snapshot to a tick that has none. Nobody is told.
func (l *Loop[S, I]) approach(t driftback.Tick) error {
	for p := range l.in {
		in, _, ok := l.log.Peek(driftback.Participant(p), t)
		if !ok {
			return fmt.Errorf("%w: the log has forgotten tick %d, and the snapshot before the tick that is wanted is of one before; let it forget the ticks before Oldest alone", ErrOutOfReach, t)
		}
		l.in[p] = in
	}
	l.running, l.approaching = true, true
	l.call(t)
	l.running, l.approaching = false, false
	l.counts.Approached++
	return nil
}
