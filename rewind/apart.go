package rewind

import "errors"

// Apart calls run with the world, which it may change as it likes, and takes back the world as
// Next began after it: for an owner who wants to know what comes of other ticks, or of the same ones
// again, in a world that has all that the saving policy leaves out. It costs a save and a load, which are
// counted; run must not call the loop. A loop that is not settled refuses with [ErrUnsettled].
// Where the world could not be taken back, a Settle that succeeds makes it right, if there is a snapshot to
// run from.
func (l *Loop[S, I]) Apart(run func(world *S)) error {
	if run == nil {
		return errors.New("rewind: run is nil; it must be a function to lend the world to")
	}
	if err := l.right(l.next); err != nil {
		return err
	}
	present := l.shelf.take()
	defer l.shelf.giveBack(present)
	if err := l.save(present, l.next, l.state); err != nil {
		return err
	}
	l.lend(run)
	if l.touched != nil {
		l.touched.TouchAll() // run has a pass of its own, if any
	}
	err := l.load(present, l.next, l.state)
	if err != nil && l.shelf.held > 0 {
		l.earliest = min(l.earliest, l.next-1)
	}
	return err
}
