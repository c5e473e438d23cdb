package rewind

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/snapshot"
)

// MaxDepth bounds the snapshots of a loop.
const MaxDepth = 1 << 12

var (
	// ErrOutOfReach means that a tick is not between the oldest snapshot and the
	// next tick to run.
	ErrOutOfReach = errors.New("rewind: out of reach")
	// ErrUnsettled means that a snapshot was run on a guess that is known to be
	// wrong. [Loop.Settle] makes it right.
	ErrUnsettled = errors.New("rewind: not settled")
	// ErrStore means that the saving policy has failed; its own error is wrapped too.
	ErrStore = errors.New("rewind: the store failed")
	// ErrRunning means that the loop is inside its own step, or has lent its world:
	// what runs there has called the loop, or has panicked.
	ErrRunning = errors.New("rewind: the step is running or the world is lent, or that has panicked")
)

// never stands for no tick where the earliest of some ticks is wanted.
const never = driftback.Tick(1<<63 - 1)

// Config says what a loop runs.
type Config[S any, I comparable] struct {
	// Step advances the game by one tick.
	Step driftback.Step[S, I]
	// Initial is the world as tick First begins. It is not copied: the loop goes on with
	// it, and it belongs to the loop from then on. nil: the zero value.
	Initial *S
	// First is the first tick to run: more than 0 for who comes to a match that goes on.
	First driftback.Tick
	// Inputs is the log to read inputs from. Its window must begin at tick First and be
	// at least Depth long. The loop does not own it, but from here on the loop alone
	// may call its Confirm and Inputs.
	Inputs *inputlog.Log[I]
	// Depth is how many snapshots are kept at most, 2 to [MaxDepth]. One is for the tick
	// about to run, so the loop can go back Depth-1 ticks: a prediction window of w
	// ticks needs at least w+1.
	Depth int
	// Spacing is how many ticks may lie from one snapshot to the next, 1 to Depth; 0 is 1: every tick has one. With more
	// the world is copied less often, and a rollback runs up to Spacing-1 ticks more than those
	// that were wrong, on the inputs that they had. See [Loop.Space].
	Spacing int
	// Clock, if given, is read around some copies and steps, and the spacing follows, from 1 to Spacing, what they take
	// and how often guesses are wrong.
	Clock func() time.Duration
	// Wanted says which ticks have a snapshot in any case: those that the owner will ask for. nil: none.
	Wanted func(t driftback.Tick) bool
	// Save says how states are put away. nil is [snapshot.For].
	Save snapshot.Policy[S]
	// Statuses fills dst, one element for each participant, with who plays on tick
	// t. It must answer alike whenever the tick is run. nil: everybody is
	// [driftback.Playing].
	Statuses func(t driftback.Tick, dst []driftback.Status)
	// Ran is called after every run of every tick, before anything else happens,
	// with the pass that the step was given: borrowed, until it returns. It must not
	// call the loop. It may be nil.
	Ran func(pass *driftback.Pass)
}

// Span is a range of ticks that were run again, From to just before To. It is
// empty when nothing was.
type Span struct{ From, To driftback.Tick }

// Len returns how many ticks the span holds.
func (s Span) Len() int { return int(s.To - s.From) }

// Loop runs a game forward and back. Make one with [New].
type Loop[S any, I comparable] struct {
	step     driftback.Step[S, I]
	log      *inputlog.Log[I]
	store    snapshot.Store[S]
	in       []I                // one input for each participant, lent to the step
	statuses []driftback.Status // likewise
	fill     func(t driftback.Tick, dst []driftback.Status)
	ran      func(pass *driftback.Pass)

	next     driftback.Tick // the next tick to run for the first time
	earliest driftback.Tick // the first tick run on a wrong guess; never: none
	truth    driftback.Tick // changes below it are in the world already
	depth    int            // it can go back depth-1 ticks
	spacing  driftback.Tick // from one snapshot to the next
	widest   int            // what spacing is at most
	wanted   func(t driftback.Tick) bool
	shelf    shelf
	costs    costs
	running  bool // from before the step, or who borrows the world, runs until it has returned

	approaching bool // it runs on a tick that is right

	counts  Counts
	pass    driftback.Pass
	touched *driftback.Touched // where the step writes; nil: the store need not know
	state   *S
}

// New returns a loop that is about to run tick c.First.
func New[S any, I comparable](c Config[S, I]) (*Loop[S, I], error) {
	if c.Step == nil {
		return nil, errors.New("rewind: Step is nil; it must be the game's step")
	}
	if c.Inputs == nil {
		return nil, errors.New("rewind: Inputs is nil; it must be a log made by inputlog.New")
	}
	if c.Depth < 2 || c.Depth > MaxDepth {
		return nil, fmt.Errorf("rewind: Depth is %d snapshots; it must be 2 to %d", c.Depth, MaxDepth)
	}
	if c.Spacing == 0 {
		c.Spacing = 1
	}
	if c.Spacing < 1 || c.Spacing > c.Depth {
		return nil, fmt.Errorf("rewind: Spacing is %d ticks; it must be 1 to Depth, which is %d, or 0 for 1", c.Spacing, c.Depth)
	}
	oldest, end := c.Inputs.Window()
	if oldest != c.First {
		return nil, fmt.Errorf("rewind: Inputs has a window that begins at tick %d; it must begin at First, which is %d", oldest, c.First)
	}
	if end-oldest < driftback.Tick(c.Depth) {
		return nil, fmt.Errorf("rewind: Inputs holds %d ticks; it must hold at least Depth, which is %d", end-oldest, c.Depth)
	}
	save := c.Save
	if save == nil {
		save = snapshot.For[S]
	}
	places := c.Depth
	if c.Spacing > 1 {
		places++ // who asks for a tick without a snapshot needs one for the present and one for that tick
	}
	store, err := save(places)
	if err != nil {
		return nil, fmt.Errorf("rewind: Save cannot keep the state: %w", err)
	}
	if store == nil {
		return nil, errors.New("rewind: Save returned neither a store nor an error; it must return one of them")
	}
	state := c.Initial
	if state == nil {
		state = new(S)
	}
	n := c.Inputs.Participants()
	l := &Loop[S, I]{
		step:     c.Step,
		log:      c.Inputs,
		store:    store,
		in:       make([]I, n),
		statuses: make([]driftback.Status, n),
		fill:     c.Statuses,
		ran:      c.Ran,
		next:     c.First,
		earliest: never,
		depth:    c.Depth,
		spacing:  driftback.Tick(c.Spacing),
		widest:   c.Spacing,
		costs:    costs{clock: c.Clock},
		wanted:   c.Wanted,
		shelf:    newShelf(places),
		state:    state,
	}
	if t, ok := store.(snapshot.Tracker[S]); ok {
		l.touched = t.Track(state)
		l.pass.Track(l.touched)
	}
	return l, nil
}

// Next returns the next tick that Advance will run.
func (l *Loop[S, I]) Next() driftback.Tick { return l.next }

// Oldest returns the oldest tick that the loop can go back to. It is Next when
// there is no snapshot yet.
func (l *Loop[S, I]) Oldest() driftback.Tick {
	if l.shelf.held == 0 {
		return l.next
	}
	return l.shelf.oldest().tick
}

// State returns the world as Next begins. It is borrowed: read it at any time
// between two calls, and write to it only before the first Advance. It is right
// only as far as the guesses are, and between Supply and Settle it may rest on one
// that is known to be wrong.
func (l *Loop[S, I]) State() *S { return l.state }

// Supply records the input that participant p really gave for tick t, in whatever
// order inputs arrive. If a different one was guessed and has been used, the next
// Settle repairs the world; until then nothing is run.
//
// It returns the log's error when that refuses the input, and [ErrOutOfReach] when
// the wrong guess was used so long ago that no snapshot is left to repair it from:
// the input is recorded, and the world stays wrong.
func (l *Loop[S, I]) Supply(p driftback.Participant, t driftback.Tick, in I) error {
	if l.running {
		return ErrRunning
	}
	changed, err := l.log.Confirm(p, t, in)
	if !changed {
		return err
	}
	if t >= l.next || t < l.truth || t >= l.earliest {
		return nil
	}
	if t < l.Oldest() {
		return fmt.Errorf("%w: participant %d's input for tick %d was guessed wrongly, and the oldest snapshot is of tick %d; keep more than %d snapshots, or let fewer ticks run on guesses",
			ErrOutOfReach, p, t, l.Oldest(), l.depth)
	}
	l.earliest = t
	return nil
}

// Settle runs again the ticks from the earliest one whose input was guessed
// wrongly up to Next, and returns which these were. Without such a tick it does
// nothing. After an error the same Settle can be tried again; until one succeeds
// the state is not that of Next.
func (l *Loop[S, I]) Settle() (Span, error) {
	if l.running {
		return Span{}, ErrRunning
	}
	if l.earliest == never {
		return Span{}, nil
	}
	return l.rerun(l.earliest, l.next)
}

// Advance settles, saves the world as Next begins if it is time to, and runs that tick. It returns
// the ticks that were run again, which the new one is not among. The oldest
// snapshot gives way when no tick needs it that the loop can go back to. After an error Next has not been
// run.
func (l *Loop[S, I]) Advance() (Span, error) {
	again, err := l.Settle()
	if err != nil {
		return again, err
	}
	t := l.next
	if err := l.log.Inputs(t, l.in); err != nil {
		return again, err
	}
	l.costs.measuring = l.costs.clock != nil && t%costsEvery == 0
	if l.isDue(t, again.Len() > 0) {
		if err := l.keep(t); err != nil {
			return again, err
		}
	}
	l.run(t)
	l.costs.measuring = false
	l.next = t + 1
	l.letGo()
	l.space()
	return again, nil
}

// RewindTo makes t, which must be from Oldest to Next, the next tick to run, and
// the state the world as t began. The snapshots after it are dropped; the inputs
// stay in the log. If a wrong guess was used before t, the ticks from there to t
// are run again first. After an error Next is what it was, and a Settle that
// succeeds makes the state right.
func (l *Loop[S, I]) RewindTo(t driftback.Tick) error {
	if l.running {
		return ErrRunning
	}
	if err := l.reach(t); err != nil {
		return err
	}
	switch {
	case l.earliest < t:
		if _, err := l.rerun(l.earliest, t); err != nil {
			return err
		}
	case t < l.next:
		if err := l.takeBack(t); err != nil {
			l.earliest = t // the state may be half of two; running t again makes it whole
			return err
		}
	}
	l.shelf.dropFrom(t)
	l.next, l.earliest = t, never
	return nil
}

// Reconcile replaces the world as tick t began, t from Oldest to Next, with what
// an authority says it was, and runs the ticks from t to Next again on the log's
// inputs. truth is copied as the saving policy copies. The snapshots before t no
// longer lead to this world and are dropped, so Oldest becomes t; an input that
// arrives later for a tick before t is taken to be in truth and repairs nothing. One
// that will never arrive keeps the log from forgetting its tick until somebody
// supplies it: what [inputlog.Log.Peek] says was guessed will do. After an error
// Reconcile can be tried again; until it or a Settle has run the state may be that
// of no tick.
func (l *Loop[S, I]) Reconcile(t driftback.Tick, truth *S) (Span, error) {
	if l.running {
		return Span{}, ErrRunning
	}
	if truth == nil {
		return Span{}, errors.New("rewind: truth is nil; it must be the world as the tick began")
	}
	if err := l.reach(t); err != nil {
		return Span{}, err
	}
	place := l.shelf.take()
	if err := l.save(place, t, truth); err != nil {
		l.shelf.giveBack(place)
		return Span{}, err
	}
	l.shelf.dropFrom(l.Oldest())
	l.truth = t
	if t == l.next {
		l.earliest = never
		l.shelf.giveBack(place)
		return Span{}, l.load(place, t, l.state)
	}
	l.shelf.put(t, place)
	l.earliest = t
	return l.rerun(t, l.next)
}

// Snapshot copies the world as tick t began, t from Oldest to Next, into into, as
// the saving policy copies: what that leaves out stays in into as it is, so begin
// with a copy of the start state. It is final when every input below t is confirmed.
// If a tick below t was run on a guess known to be wrong it returns [ErrUnsettled].
func (l *Loop[S, I]) Snapshot(t driftback.Tick, into *S) error {
	if into == nil {
		return errors.New("rewind: into is nil; it must be a state to copy into")
	}
	if err := l.right(t); err != nil {
		return err
	}
	if t < l.next {
		if had := l.shelf.upTo(t, l.next); had.tick == t {
			return l.load(had.place, t, into)
		}
		return l.away(t, func() error { return l.copy(t, into) })
	}
	return l.copy(t, into)
}

// copy copies the world, as tick t begins, as the saving policy copies.
func (l *Loop[S, I]) copy(t driftback.Tick, into *S) error {
	place := l.shelf.take()
	defer l.shelf.giveBack(place)
	if err := l.save(place, t, l.state); err != nil {
		return err
	}
	return l.load(place, t, into)
}

// Lend calls to with the world as tick t began, t from Oldest to Next, in place, so
// that what the saving policy leaves out is there as well. The world is borrowed until
// to returns, and only to be read; to must not call the loop. An earlier tick than Next
// costs one save and two loads, which are counted. It refuses what Snapshot refuses.
// After an error the state is what it was; where it could not be taken back, a Settle
// that succeeds makes it right.
func (l *Loop[S, I]) Lend(t driftback.Tick, to func(world *S)) error {
	if to == nil {
		return errors.New("rewind: to is nil; it must be a function to lend the world to")
	}
	if err := l.right(t); err != nil {
		return err
	}
	if t == l.next {
		l.lend(to)
		return nil
	}
	return l.away(t, func() error {
		l.lend(to)
		return nil
	})
}

// away takes the world back to tick t, before Next, calls do, and brings the present back.
func (l *Loop[S, I]) away(t driftback.Tick, do func() error) error {
	present := l.shelf.take()
	defer l.shelf.giveBack(present)
	if err := l.save(present, l.next, l.state); err != nil {
		return err
	}
	err := l.takeBack(t)
	if err == nil {
		err = do()
	}
	if back := l.load(present, l.next, l.state); back != nil {
		l.earliest = min(l.earliest, t) // the state may be half of two; running t again makes it whole
		if err == nil {
			err = back
		}
	}
	return err
}

func (l *Loop[S, I]) lend(to func(world *S)) {
	l.running = true
	to(l.state)
	l.running = false
}

// rerun takes back the world as from began and runs every tick up to to, saving
// on the way where it is time to. The snapshot of to is made by whoever runs to.
func (l *Loop[S, I]) rerun(from, to driftback.Tick) (Span, error) {
	base := l.shelf.upTo(from, l.next)
	l.shelf.dropFrom(base.tick + 1)
	if err := l.load(base.place, base.tick, l.state); err != nil {
		return Span{}, err
	}
	for t := base.tick; ; {
		var err error
		if t < from {
			err = l.approach(t)
		} else if err = l.log.Inputs(t, l.in); err == nil {
			l.run(t)
			l.counts.Resimulated++
		}
		if err != nil {
			return Span{}, err
		}
		if t++; t == to {
			break
		}
		if l.isDue(t, true) {
			if err := l.keep(t); err != nil {
				return Span{}, err
			}
		}
	}
	l.earliest = never
	s := Span{from, to}
	l.counts.wentBack(s.Len())
	return s, nil
}

// run runs tick t once, on the inputs in l.in.
func (l *Loop[S, I]) run(t driftback.Tick) {
	l.running = true
	l.call(t)
	if l.ran != nil {
		l.ran(&l.pass)
	}
	l.running = false
}

func (l *Loop[S, I]) call(t driftback.Tick) {
	if l.fill != nil {
		l.fill(t, l.statuses)
	}
	l.pass.Begin(t, l.statuses)
	if l.costs.measuring {
		began := l.costs.clock()
		l.step(l.state, l.in, &l.pass)
		l.costs.step = mean(l.costs.step, l.costs.clock()-began)
	} else {
		l.step(l.state, l.in, &l.pass)
	}
	l.counts.Steps++
}

func (l *Loop[S, I]) save(place int, t driftback.Tick, from *S) error {
	if err := l.store.Save(place, from); err != nil {
		return fmt.Errorf("%w: the state of tick %d cannot be saved: %w", ErrStore, t, err)
	}
	l.counts.Saves++
	return nil
}

func (l *Loop[S, I]) load(place int, t driftback.Tick, into *S) error {
	if err := l.store.Load(place, into); err != nil {
		return fmt.Errorf("%w: the state of tick %d cannot be taken back: %w", ErrStore, t, err)
	}
	l.counts.Loads++
	return nil
}

// reach refuses a tick that is not from oldest to next.
func (l *Loop[S, I]) reach(t driftback.Tick) error {
	if t < l.Oldest() || t > l.next {
		return fmt.Errorf("%w: tick %d is not from %d, the oldest snapshot, to %d, the next tick", ErrOutOfReach, t, l.Oldest(), l.next)
	}
	return nil
}

// right refuses a tick whose beginning is not at hand, or is known to be wrong.
func (l *Loop[S, I]) right(t driftback.Tick) error {
	if l.running {
		return ErrRunning
	}
	if err := l.reach(t); err != nil {
		return err
	}
	if l.earliest < t {
		return fmt.Errorf("%w: the snapshot of tick %d rests on a wrong guess for tick %d; call Settle first", ErrUnsettled, t, l.earliest)
	}
	return nil
}
