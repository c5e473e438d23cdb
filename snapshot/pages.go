package snapshot

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/layout"
)

// ErrUntouched means that a step has written to a part of the state that it had not announced with
// [driftback.Touch]. A store of [CheckedPages] finds it.
var ErrUntouched = errors.New("snapshot: written to without a Touch")

// Tracker is a store that has to be told which state it saves most of the time, and where a step writes.
type Tracker[S any] interface {
	// Track says that live is the state that steps run on. What they write is noted in what it returns, whenever it is live
	// that they run on.
	Track(live *S) *driftback.Touched
}

// Pages copies only those parts of a state that were written to since the last copy: its step says so with
// [driftback.Touch], for each part before it writes there. What a step writes without that is lost or half undone when
// it is taken back: test a game with [CheckedPages]. It pays for a large state of which a tick changes a little.
//
// The state must have a layout: see [layout.Of].
func Pages[S any](places int) (Store[S], error) { return newPages[S](places, false) }

// CheckedPages is Pages, but compares every byte of the state whenever it saves or loads, and fails with [ErrUntouched] and the
// field's name where something was written without a [driftback.Touch], be it beside what was touched. It is for a game's
// tests: it takes longer than to copy everything.
func CheckedPages[S any](places int) (Store[S], error) { return newPages[S](places, true) }

const (
	leastShift = 6 // a page has 64 bytes at least, which is what a processor fetches at once
	noCopy     = -1
)

// pages is a store of pages. A copy of a page is shared by all places that have it, and by the live state as
// long as it is not written to.
type pages[S any] struct {
	held   held
	layout *layout.Layout[S]
	size   int // bytes of a state
	shift  uint8
	n      int // pages of a state

	live    *S // nil: none is tracked
	touched driftback.Touched
	now     []int32   // by page: the copy that the live state has where it is not touched; noCopy: none
	tables  [][]int32 // by place and page; noCopy: none

	copies []byte  // one after the other
	users  []int32 // by copy: the places and the live state that have it
	free   []int32

	checked bool
	bytes   []bool // of the live state: which have been touched
	was     *S     // what the live state should be where it was not touched
	had     []byte
	has     []byte
}

func newPages[S any](places int, checked bool) (Store[S], error) {
	l, err := layout.Of[S]()
	if err != nil {
		return nil, fmt.Errorf("snapshot: only a state that has a layout can be saved by pages: %w", err)
	}
	h, err := newHeldOf[S](places)
	if err != nil {
		return nil, err
	}
	p := &pages[S]{held: h, layout: l, size: len(l.Memory(new(S))), shift: leastShift, checked: checked}
	for p.size > driftback.TouchedPages<<p.shift {
		p.shift++
	}
	p.n = (p.size + 1<<p.shift - 1) >> p.shift
	table := func() []int32 {
		t := make([]int32, p.n)
		for i := range t {
			t[i] = noCopy
		}
		return t
	}
	p.now = table()
	for range places {
		p.tables = append(p.tables, table())
	}
	copies := (places + 1) * p.n // those of the live state may be of no place any more
	p.copies, p.users, p.free = make([]byte, copies<<p.shift), make([]int32, copies), make([]int32, copies)
	for i := range p.free {
		p.free[i] = int32(copies - 1 - i)
	}
	if checked {
		p.was = new(S)
	}
	return p, nil
}

// Track makes live the state that is tracked.
func (p *pages[S]) Track(live *S) *driftback.Touched {
	p.live = live
	if p.checked {
		p.bytes = make([]bool, p.size)
	}
	p.touched.Reset(p.size, p.shift, p.bytes)
	for i := range p.now {
		p.leave(&p.now[i])
	}
	return &p.touched
}

// page returns the bytes of a page of a state.
func (p *pages[S]) page(memory []byte, i int) []byte {
	return memory[i<<p.shift : min((i+1)<<p.shift, len(memory))]
}

func (p *pages[S]) copyOf(c int32) []byte { return p.copies[int(c)<<p.shift : (int(c)+1)<<p.shift] }

// leave gives up a copy of a page.
func (p *pages[S]) leave(of *int32) {
	if c := *of; c != noCopy {
		if p.users[c]--; p.users[c] == 0 {
			p.free = append(p.free, c)
		}
		*of = noCopy
	}
}

// share makes to the copy that from is.
func (p *pages[S]) share(to *int32, from int32) {
	p.leave(to)
	*to = from
	p.users[from]++
}

// put makes of a new copy of a page.
func (p *pages[S]) put(of *int32, page []byte) {
	p.leave(of)
	last := len(p.free) - 1
	c := p.free[last]
	p.free = p.free[:last]
	p.users[c] = 1
	*of = c
	copy(p.copyOf(c), page)
}

// Save copies the pages that were written to.
func (p *pages[S]) Save(i int, from *S) error {
	if err := p.held.check(i, false); err != nil {
		return err
	}
	p.held[i] = false
	memory, table := p.layout.Memory(from), p.tables[i]
	if from != p.live {
		for k := range table {
			p.put(&table[k], p.page(memory, k))
		}
		p.held[i] = true
		return nil
	}
	if err := p.check(); err != nil {
		return err
	}
	for k := p.written(0); k < p.n; k = p.written(k + 1) {
		p.put(&p.now[k], p.page(memory, k))
	}
	p.touched.Clear()
	for k, c := range p.now {
		if table[k] != c {
			p.share(&table[k], c)
		}
	}
	p.held[i] = true
	return nil
}

// Load copies the pages that are other ones.
func (p *pages[S]) Load(i int, into *S) error {
	if err := p.held.check(i, true); err != nil {
		return err
	}
	memory, table := p.layout.Memory(into), p.tables[i]
	if into != p.live {
		for k, c := range table {
			copy(p.page(memory, k), p.copyOf(c))
		}
		return nil
	}
	if err := p.check(); err != nil {
		return err
	}
	for k := p.written(0); k < p.n; k = p.written(k + 1) {
		p.leave(&p.now[k])
	}
	p.touched.Clear()
	for k, c := range table {
		if p.now[k] != c {
			copy(p.page(memory, k), p.copyOf(c))
			p.share(&p.now[k], c)
		}
	}
	return nil
}

// written returns the first page from k on that the live state has been written to in; as many as there are if there is none.
func (p *pages[S]) written(k int) int {
	if p.touched.All() {
		return k
	}
	words := p.touched.Words()
	for k < p.n {
		if word := words[k/64] >> (k % 64); word != 0 {
			return k + bits.TrailingZeros64(word)
		}
		k = (k/64 + 1) * 64
	}
	return p.n
}

// check compares what should not have been written to.
func (p *pages[S]) check() error {
	if !p.checked || p.touched.All() {
		return nil
	}
	was, is := p.layout.Memory(p.was), p.layout.Memory(p.live)
	for k, c := range p.now {
		copy(p.page(was, k), p.copyOf(c))
	}
	for i, touched := range p.bytes {
		if touched {
			was[i] = is[i]
		}
	}
	p.had, p.has = p.layout.Append(p.had[:0], p.was), p.layout.Append(p.has[:0], p.live)
	had, has := p.had, p.has
	for at := range had {
		if had[at] != has[at] {
			f, err := p.layout.At(at)
			if err != nil {
				return err
			}
			return fmt.Errorf("%w: %s was %s and is %s; call driftback.Touch before the step writes there",
				ErrUntouched, f.Path, f.Format(had[f.Offset:f.Offset+f.Size]), f.Format(has[f.Offset:f.Offset+f.Size]))
		}
	}
	return nil
}
