package rewind

// DepthBuckets is the length of [Counts.Depths].
const DepthBuckets = 16

// Counts is what a loop has done since it was made.
type Counts struct {
	// Steps counts runs of the step, first runs and re-simulations.
	Steps uint64
	// Resimulated counts the runs among Steps in which the loop went over a tick
	// again, for a wrong guess, a Redo or a Reconcile.
	Resimulated uint64
	// Approached counts the runs among Steps of ticks that were right, to get from a snapshot to a
	// tick that has none: see Config.Spacing.
	Approached uint64
	// Rollbacks counts how often it did so, whatever the number of ticks.
	Rollbacks uint64
	// Saves and Loads count copies of the state into and out of the snapshots.
	Saves, Loads uint64
	// Deepest is the largest number of ticks that one rollback ran again.
	Deepest int
	// Depths[i] counts the rollbacks that ran i+1 ticks again; the last element
	// counts the deeper ones as well.
	Depths [DepthBuckets]uint64
}

func (c *Counts) wentBack(ticks int) {
	c.Rollbacks++
	c.Deepest = max(c.Deepest, ticks)
	c.Depths[min(ticks, DepthBuckets)-1]++
}

// Counts returns what the loop has done so far.
func (l *Loop[S, I]) Counts() Counts { return l.counts }
