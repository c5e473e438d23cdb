package driftback

import "unsafe"

// TouchedPages is how many pages a [Touched] tells apart.
const TouchedPages = 128

// Touched notes in which parts of a state a step writes, so that taking a snapshot need not copy the rest. The
// parts are pages, of a power of two of bytes each, at most [TouchedPages] of them. The zero value is of a state of no bytes.
//
// The saving policy owns it: see [github.com/driftback/driftback/snapshot.Pages].
type Touched struct {
	size  uintptr
	shift uint8
	all   bool
	pages [TouchedPages / 64]uint64
	bytes []bool // nil: nobody wants to know of bytes
}

// Reset makes it one of a state of so many bytes, in pages of 1<<shift, all of which have been written to. Together
// the pages must be at most TouchedPages. bytes, which may be nil and otherwise has one element for each byte of the state, is
// where the bytes are noted as well.
func (t *Touched) Reset(size int, shift uint8, bytes []bool) {
	*t = Touched{size: uintptr(size), shift: shift, all: true, bytes: bytes}
}

// All reports whether every page counts as written to.
func (t *Touched) All() bool { return t.all }

// Words are the pages that were written to, a bit each, the first lowest. They do not count where All is true.
func (t *Touched) Words() *[TouchedPages / 64]uint64 { return &t.pages }

// Clear says that no page has been written to since.
func (t *Touched) Clear() {
	t.all, t.pages = false, [TouchedPages / 64]uint64{}
	clear(t.bytes)
}

// TouchAll says that every page may have been written to.
func (t *Touched) TouchAll() { t.all = true }

// span notes a write to the bytes from at on, n of them. What is not in the state may be anywhere.
func (t *Touched) span(at, n uintptr) {
	if at >= t.size || n > t.size-at {
		t.all = true
		return
	}
	if n == 0 {
		return
	}
	for page, last := at>>t.shift, (at+n-1)>>t.shift; page <= last; page++ {
		t.pages[page/64] |= 1 << (page % 64)
	}
	if t.bytes != nil {
		for i := at; i < at+n; i++ {
			t.bytes[i] = true
		}
	}
}

// Touch says that the step is about to write to a part of the state s that it was given, and returns the part:
//
//	unit := driftback.Touch(pass, world, &world.Units[i])
//	unit.Health -= hit
//
// Under the saving policy [github.com/driftback/driftback/snapshot.Pages] a write that no Touch has announced on its tick is
// lost or half undone when the world is taken back, and under any other policy Touch does nothing. A part that is not
// in s itself has all of s count as written to. pass may be nil.
func Touch[S, F any](pass *Pass, s *S, part *F) *F {
	if pass != nil && pass.touched != nil {
		// Where a part lies follows from the type of the state, and from nothing of this run.
		pass.touched.span(uintptr(unsafe.Pointer(part))-uintptr(unsafe.Pointer(s)), unsafe.Sizeof(*part))
	}
	return part
}

// Track has Touch note what is written in t; nil: nowhere. It is for whoever runs the step.
func (p *Pass) Track(t *Touched) { p.touched = t }
