package inputlog

import (
	"fmt"
	"math/bits"

	"github.com/driftback/driftback"
)

// MaxDepth bounds the window of a log, in ticks.
const MaxDepth = 1 << 16

// MaxFirst bounds the tick at which a log begins. No match comes near it, and it leaves
// the window as much room again to move in.
const MaxFirst driftback.Tick = 1 << 62

// Config says what a log holds.
type Config[I comparable] struct {
	// Participants is how many inputs every tick has, 1 to
	// [driftback.MaxParticipants].
	Participants int
	// Depth is the length of the window in ticks, 2 to [MaxDepth]. It is rounded
	// up to a power of two.
	Depth int
	// First is the tick at which the window begins, 0 to [MaxFirst]: more than 0 for who
	// comes to a match that goes on. What lies below it counts as forgotten.
	First driftback.Tick
	// Neutral holds, for each participant, how many ticks from First on are
	// confirmed from the beginning with the zero input: those before the
	// participant's input delay, for which nobody ever sends anything. It has one
	// entry for each participant, 0 to the window's length, or is nil for none.
	// It is copied.
	Neutral []int
	// Predict guesses an input from the newest one confirmed before it, which lies
	// age ticks back (at least 1). Before anything of a participant is confirmed,
	// the newest is the zero input at tick First-1. It must be pure. nil repeats last.
	Predict func(last I, age int) I
}

// Log is the inputs of every participant on the ticks of a window. Make one with
// [New].
type Log[I comparable] struct {
	oldest    driftback.Tick // first tick of the window
	end       driftback.Tick // first tick beyond it
	confirmed driftback.Tick // least of confirmedOf
	mask      int            // depth-1: tick & mask is a tick's row
	n         int            // participants
	full      uint16         // one bit for each participant

	// rows holds n inputs for each tick of the window, those of one tick side by
	// side, so that handing them to a step is one copy.
	rows []I
	// marks holds which inputs of a row mean something.
	marks []mark
	// newest is the newest confirmed input of each participant; at tick First-1,
	// the zero input.
	newest []stamped[I]
	// edge is the row of tick oldest-1, from which a guess at the window's edge is
	// made. It is all zero until something has been forgotten, unless Before gave it.
	edge        []I
	confirmedOf []driftback.Tick
	predict     func(last I, age int) I
}

// mark has one bit for each participant.
type mark struct {
	held    uint16 // confirmed
	guessed uint16 // a step has used a guess, which the row holds until it is confirmed
	// suggested: the row holds what is to be guessed.
	suggested uint16
}

type stamped[I comparable] struct {
	tick driftback.Tick
	in   I
}

// New returns a log whose window begins at tick c.First.
func New[I comparable](c Config[I]) (*Log[I], error) {
	if c.Participants < 1 || c.Participants > driftback.MaxParticipants {
		return nil, fmt.Errorf("inputlog: Participants is %d; it must be 1 to %d", c.Participants, driftback.MaxParticipants)
	}
	if c.Depth < 2 || c.Depth > MaxDepth {
		return nil, fmt.Errorf("inputlog: Depth is %d ticks; it must be 2 to %d", c.Depth, MaxDepth)
	}
	if c.First < 0 || c.First > MaxFirst {
		return nil, fmt.Errorf("inputlog: First is tick %d; it must be 0 to %d", c.First, MaxFirst)
	}
	if c.Neutral != nil && len(c.Neutral) != c.Participants {
		return nil, fmt.Errorf("inputlog: Neutral has %d entries; it must have one for each of %d participants, or be nil", len(c.Neutral), c.Participants)
	}
	depth := 1 << bits.Len(uint(c.Depth-1))
	n := c.Participants
	l := &Log[I]{
		oldest:      c.First,
		end:         c.First + driftback.Tick(depth),
		mask:        depth - 1,
		n:           n,
		full:        uint16(1<<n - 1),
		rows:        make([]I, depth*n),
		marks:       make([]mark, depth),
		newest:      make([]stamped[I], n),
		edge:        make([]I, n),
		confirmedOf: make([]driftback.Tick, n),
		predict:     c.Predict,
	}
	for p := range n {
		ticks := 0
		if c.Neutral != nil {
			ticks = c.Neutral[p]
		}
		if ticks < 0 || ticks > depth {
			return nil, fmt.Errorf("inputlog: Neutral[%d] is %d ticks; it must be 0 to the window's length of %d", p, ticks, depth)
		}
		l.confirmedOf[p] = c.First + driftback.Tick(ticks)
		l.newest[p].tick = l.confirmedOf[p] - 1
		for t := c.First; t < l.confirmedOf[p]; t++ {
			l.marks[int(t)&l.mask].held |= 1 << p
		}
	}
	l.raiseConfirmed()
	return l, nil
}

// Participants returns how many inputs every tick has.
func (l *Log[I]) Participants() int { return l.n }

// Window returns the ticks that the log can answer for: the oldest one and the
// first one beyond its end.
func (l *Log[I]) Window() (oldest, end driftback.Tick) { return l.oldest, l.end }

// Confirmed returns the first tick that lacks somebody's input. Every tick below
// it is final. It never falls.
func (l *Log[I]) Confirmed() driftback.Tick { return l.confirmed }

// ConfirmedOf returns the first tick that lacks participant p's input, whatever
// is held beyond it. It never falls. For a participant the log does not have it
// returns 0.
func (l *Log[I]) ConfirmedOf(p driftback.Participant) driftback.Tick {
	if int(p) >= l.n {
		return 0
	}
	return l.confirmedOf[p]
}

// Confirm records the input that participant p really gave for tick t. Ticks may
// come in any order. changed says that a step has already used a guess for this
// input and that the guess was wrong, so whatever was run from t on has to be run
// again.
//
// A copy of an input that is held, or that was confirmed and has been forgotten
// since, changes nothing and is no error. One that differs from what is held is
// a [ConflictError], and what is held stays. A tick beyond the window (or below
// zero) is [ErrOutsideWindow], and a participant the log does not have
// [ErrNoParticipant]; nothing is recorded then.
func (l *Log[I]) Confirm(p driftback.Participant, t driftback.Tick, in I) (changed bool, err error) {
	if int(p) >= l.n {
		return false, l.noParticipant(p)
	}
	if t < l.oldest && t >= 0 {
		return false, nil
	}
	if t < 0 || t >= l.end {
		return false, l.outside(t)
	}
	row := int(t) & l.mask
	m := &l.marks[row]
	bit := uint16(1) << p
	had := &l.rows[row*l.n+int(p)]
	if m.held&bit != 0 {
		if *had != in {
			return false, &ConflictError[I]{Participant: p, Tick: t, Had: *had, Got: in}
		}
		return false, nil
	}
	changed = m.guessed&bit != 0 && *had != in
	*had = in
	m.held |= bit
	if newest := &l.newest[p]; t > newest.tick {
		newest.tick, newest.in = t, in
	}
	if t == l.confirmedOf[p] {
		l.raiseConfirmedOf(p, bit)
	}
	return changed, nil
}

// raiseConfirmedOf moves p's watermark past every tick that is held without a
// gap, and the log's with it.
func (l *Log[I]) raiseConfirmedOf(p driftback.Participant, bit uint16) {
	was := l.confirmedOf[p]
	t := was + 1
	for t < l.end && l.marks[int(t)&l.mask].held&bit != 0 {
		t++
	}
	l.confirmedOf[p] = t
	if was == l.confirmed {
		l.raiseConfirmed()
	}
}

func (l *Log[I]) raiseConfirmed() {
	least := l.confirmedOf[0]
	for _, t := range l.confirmedOf[1:] {
		least = min(least, t)
	}
	l.confirmed = least
}

// Inputs fills dst, which must have one element for each participant, with the
// inputs of tick t for a step that is about to run. Where an input has not
// arrived it makes a guess, from the newest input confirmed before t, and stores
// it; a guess stored by an earlier call for the same tick is replaced. dst is the
// caller's and is written in full or not at all.
func (l *Log[I]) Inputs(t driftback.Tick, dst []I) error {
	if t < l.oldest || t >= l.end {
		return l.outside(t)
	}
	if len(dst) != l.n {
		return fmt.Errorf("inputlog: dst has room for %d inputs; it must have one for each of %d participants", len(dst), l.n)
	}
	at := int(t) & l.mask
	row := l.rows[at*l.n:][:l.n]
	if m := &l.marks[at]; m.held != l.full {
		m.guessed = l.full &^ m.held
		l.guess(t, m.guessed&^m.suggested, row)
	}
	copy(dst, row)
	return nil
}

// guess fills in what is missing from the row of tick t.
func (l *Log[I]) guess(t driftback.Tick, missing uint16, row []I) {
	for ; missing != 0; missing &= missing - 1 {
		p := bits.TrailingZeros16(missing)
		tick, last := l.newest[p].tick, &l.newest[p].in
		if tick > t {
			tick, last = l.newestBefore(p, t)
		}
		if l.predict == nil {
			row[p] = *last
		} else {
			row[p] = l.predict(*last, int(t-tick))
		}
	}
}

// newestBefore finds the newest confirmed input of p before tick t when later
// ones have overtaken it. Everything below confirmedOf is held, so the search
// ends there at the latest, or at the edge of the window.
func (l *Log[I]) newestBefore(p int, t driftback.Tick) (driftback.Tick, *I) {
	for t--; t >= l.oldest; t-- {
		row := int(t) & l.mask
		if l.marks[row].held&(1<<p) != 0 {
			return t, &l.rows[row*l.n+p]
		}
	}
	return t, &l.edge[p]
}

// Peek returns participant p's input for tick t as the log knows it: confirmed,
// or the guess that a step last used. ok is false when it is neither, and when t
// is outside the window. Peek makes no guess and changes nothing.
func (l *Log[I]) Peek(p driftback.Participant, t driftback.Tick) (in I, confirmed, ok bool) {
	if int(p) >= l.n || t < l.oldest || t >= l.end {
		return in, false, false
	}
	at := int(t) & l.mask
	bit := uint16(1) << p
	m := l.marks[at]
	if (m.held|m.guessed)&bit == 0 {
		return in, false, false
	}
	return l.rows[at*l.n+int(p)], m.held&bit != 0, true
}

// Before gives what the participants did on the tick before the window, from which is guessed
// until something newer is confirmed: for who comes to a match that goes on. It is called
// before anything is confirmed.
func (l *Log[I]) Before(row []I) {
	copy(l.edge, row)
	for p := range l.newest {
		if n := &l.newest[p]; n.tick == l.oldest-1 {
			n.in = l.edge[p]
		}
	}
}

// Forget drops the ticks below before and moves the window up to it. Only what is
// confirmed can be forgotten: the window never moves past [Log.Confirmed], because
// an input that is still to come must find its place. Forget never moves it back.
func (l *Log[I]) Forget(before driftback.Tick) {
	before = min(before, l.confirmed)
	if before <= l.oldest {
		return
	}
	last := int(before-1) & l.mask
	copy(l.edge, l.rows[last*l.n:][:l.n])
	for t := l.oldest; t < before; t++ {
		l.marks[int(t)&l.mask] = mark{}
	}
	l.end += before - l.oldest
	l.oldest = before
}
