package relay

import (
	"bytes"
	"math/bits"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/wire"
)

// How soon after one tick the next one can start, in 64ths of a tick's length. If whoever gives
// inputs far ahead could have ticks start faster than others' clocks go, the others would soon be
// late for all of them; their pace follows a start that is a little too fast. What was held up for
// everybody, by this relay for one, is made up for at the faster rate.
const (
	soonest   = 63
	soonestUp = 56
	catchUp   = 250 * time.Millisecond
)

// none is a tick that no match comes to.
const none = driftback.Tick(1<<63 - 1)

// collector has the set, and what has come for ticks that are not closed yet, in one ring.
type collector struct {
	stride int
	depth  driftback.Tick // a power of two
	mask   driftback.Tick
	inputs [][]byte // by participant, rings
	marks  [][]byte // by participant: entries and marks
	// came has a bit for each participant whose input of a tick has come, and firstAt when
	// the first one did, if that is not its neutral one.
	came    []uint16
	firstAt []time.Duration
	begun   []bool // a firstAt is set

	full uint16
	next driftback.Tick // the first tick that is not closed
	last driftback.Tick // the first that is never closed
	span driftback.Tick
	// held is, by participant, the first tick for which an input is still to come, and gone
	// the first that it does not play.
	held, gone []driftback.Tick
	late       []uint64 // by participant

	// started is when the newest tick that was closed started, if hasStarted, and fair when it
	// would have if nothing had held it up, but at most catchUp sooner. length is how
	// long a tick is at the speed that the set has come to.
	started    time.Duration
	fair       time.Duration
	hasStarted bool
	normal     time.Duration
	length     time.Duration
}

// newCollector returns a collector for a match in which participants begin with the given
// delays.
func newCollector(terms *mesh.RelayTerms, delays []int, history int) *collector {
	c := &collector{stride: terms.Stride, depth: 1, span: terms.Span(), last: none, normal: terms.TickLength, length: terms.TickLength}
	for c.depth < driftback.Tick(history)+c.span {
		c.depth *= 2
	}
	n := len(delays)
	c.mask, c.full = c.depth-1, uint16(1<<n-1)
	c.came, c.firstAt, c.begun = make([]uint16, c.depth), make([]time.Duration, c.depth), make([]bool, c.depth)
	c.held, c.gone, c.late = make([]driftback.Tick, n), make([]driftback.Tick, n), make([]uint64, n)
	for p, delay := range delays {
		c.inputs = append(c.inputs, make([]byte, int(c.depth)*c.stride))
		c.marks = append(c.marks, make([]byte, c.depth))
		c.held[p], c.gone[p] = driftback.Tick(delay), none
		for t := range delay {
			c.came[t] |= 1 << p
		}
	}
	return c
}

// oldest returns the oldest tick whose set is kept.
func (c *collector) oldest() driftback.Tick { return max(0, c.next+c.span-c.depth) }

func (c *collector) input(p int, t driftback.Tick) []byte {
	i := int(t&c.mask) * c.stride
	return c.inputs[p][i : i+c.stride : i+c.stride]
}

func (c *collector) entry(p int, t driftback.Tick) wire.Entry {
	return wire.Entry(c.marks[p][t&c.mask])
}

// took says what became of an input.
type took uint8

const (
	taken  took = iota
	again       // it was there
	tooOld      // its tick is closed, with it or without
	tooFar      // no honest peer can have got so far
	differs
)

// put takes what participant p gave for tick t. It borrows in.
func (c *collector) put(p int, t driftback.Tick, in []byte, e wire.Entry, now time.Duration) took {
	switch {
	case t >= c.next+c.span:
		return tooFar
	case t >= c.gone[p] || t < c.oldest():
		return tooOld
	case t < c.next && c.entry(p, t).Mark():
		return tooOld // what stands there is not p's, and no evidence
	case t < c.next || c.came[t&c.mask]>>p&1 == 1:
		if !bytes.Equal(c.input(p, t), in) || c.entry(p, t) != e {
			return differs
		}
		return again
	}
	i := t & c.mask
	copy(c.input(p, t), in)
	c.marks[p][i] = byte(e)
	c.came[i] |= 1 << p
	if !c.begun[i] {
		c.begun[i], c.firstAt[i] = true, now
	}
	c.advance(p)
	return taken
}

// advance moves held past what has come, and past what is not awaited any more.
func (c *collector) advance(p int) {
	c.held[p] = max(c.held[p], c.next)
	for c.held[p] < c.next+c.span && c.came[c.held[p]&c.mask]>>p&1 == 1 {
		c.held[p]++
	}
}

// leave says that participant p plays no tick from the first on that is missing.
func (c *collector) leave(p int) {
	if c.gone[p] != none {
		return
	}
	c.gone[p] = c.held[p]
	for t := c.gone[p]; t < c.next+c.span; t++ {
		c.came[t&c.mask] &^= 1 << p
	}
}

// start returns when tick t, which is not below next, started; ok is false before that.
func (c *collector) start(t driftback.Tick) (at time.Duration, ok bool) {
	if !c.begun[t&c.mask] {
		return 0, false
	}
	at = c.firstAt[t&c.mask]
	if c.hasStarted {
		beyond := time.Duration(t-c.next+1) * c.length / 64
		at = max(at, c.started+beyond*soonestUp, c.fair+beyond*soonest)
	}
	return at, true
}

// missing returns the participants, by bit, whose inputs the next tick waits for.
func (c *collector) missing() uint16 {
	wanted := c.full
	for p, gone := range c.gone {
		if c.next >= gone {
			wanted &^= 1 << p
		}
	}
	return wanted &^ c.came[c.next&c.mask]
}

// ready reports whether the next tick is to be closed. deadline is None or how long a tick
// waits.
func (c *collector) ready(now, deadline time.Duration) bool {
	if c.next >= c.last {
		return false
	}
	if c.missing() == 0 {
		return true
	}
	at, started := c.start(c.next)
	return started && deadline != None && now-at >= deadline
}

// close closes the next tick.
func (c *collector) close(now time.Duration) {
	t, i := c.next, c.next&c.mask
	if at, ok := c.start(t); ok {
		if c.missing() == 0 {
			at = min(at, now) // nobody is later than that
		}
		if !c.hasStarted {
			c.fair = at
		}
		c.fair = min(max(c.fair+c.length/64*soonest, at-catchUp), at)
		c.started, c.hasStarted = at, true
	}
	for missing := c.full &^ c.came[i]; missing != 0; missing &= missing - 1 {
		p := bits.TrailingZeros16(missing)
		in := c.input(p, t)
		switch {
		case t >= c.gone[p]:
			clear(in)
			c.marks[p][i] = byte(wire.EntryGone)
			continue
		case t == 0:
			clear(in)
		default:
			copy(in, c.input(p, t-1))
		}
		c.marks[p][i] = byte(wire.EntryLate)
		c.late[p]++
	}
	for p := range c.marks {
		if speed, ok := c.entry(p, t).Speed(); ok {
			c.length = c.normal * wire.SpeedUnit / time.Duration(speed)
		}
	}
	c.next++
	far := (c.next + c.span - 1) & c.mask // the tick that comes into reach
	c.came[far], c.begun[far] = 0, false
	for p := range c.marks {
		c.marks[p][far] = 0
		c.advance(p)
	}
}
