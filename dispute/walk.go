package dispute

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// walk goes down a tree over the bytes of two states. Its leaves are blocks; a part of height h is
// fanOut parts of height h-1. Both states have the tree of the longer one, and what is beyond the shorter
// one's end is empty there.
type walk struct {
	ours, theirs int // the lengths of the states
	height       int // of the parts
	parts        []int
	// more: there are parts that differ and are not followed.
	more bool
}

func (w *walk) begin(ours, theirs int) {
	*w = walk{ours: ours, theirs: theirs}
	size := max(ours, theirs)
	if size == 0 {
		return
	}
	for span(w.height) < size {
		w.height++
	}
	w.parts = append(w.parts, 0)
}

// span returns how many bytes a part has.
func span(height int) int {
	n := BlockSize
	for range height {
		n *= fanOut
	}
	return n
}

// below returns the children of a part: those from first to before end.
func (w *walk) below(part int) (first, end int) {
	size := span(w.height - 1)
	blocks := (max(w.ours, w.theirs) + size - 1) / size
	return part * fanOut, min((part+1)*fanOut, blocks)
}

func (w *walk) children() (n int) {
	for _, part := range w.parts {
		first, end := w.below(part)
		n += end - first
	}
	return n
}

// cut returns a part of a state: what of it lies before the state's end.
func cut(state []byte, height, part int) []byte {
	size := span(height)
	return state[min(part*size, len(state)):min((part+1)*size, len(state))]
}

func (w *walk) appendSums(b, state []byte) []byte {
	for _, part := range w.parts {
		first, end := w.below(part)
		for child := first; child < end; child++ {
			b = binary.LittleEndian.AppendUint64(b, xxh3.Hash(cut(state, w.height-1, child)))
		}
	}
	return b
}

// narrow replaces the parts by the first of their children that differ.
func (w *walk) narrow(ours, theirs []byte) {
	most := maxParts
	if w.height == 1 {
		most = MaxRanges
	}
	var differ []int
	at := 0
	for _, part := range w.parts {
		first, end := w.below(part)
		for child := first; child < end; child++ {
			alike := [8]byte(ours[at:]) == [8]byte(theirs[at:])
			at += 8
			switch {
			case alike:
			case len(differ) == most:
				w.more = true
			default:
				differ = append(differ, child)
			}
		}
	}
	w.height--
	w.parts = differ
}

// lengthOf returns how many bytes of a block a state of that size has.
func lengthOf(block, size int) int {
	return min(max(size-block*BlockSize, 0), BlockSize)
}

// bytes returns how many bytes the blocks have together in a state of that size.
func (w *walk) bytes(size int) (n int) {
	for _, block := range w.parts {
		n += lengthOf(block, size)
	}
	return n
}

// appendBytes appends the blocks' bytes, as many as were promised.
func (w *walk) appendBytes(b, state []byte) []byte {
	for _, block := range w.parts {
		var whole [BlockSize]byte
		copy(whole[:], cut(state, 0, block))
		b = append(b, whole[:lengthOf(block, w.ours)]...)
	}
	return b
}

// ranges returns what differs in the blocks.
func (w *walk) ranges(ours, theirs []byte) (list []Range) {
	for _, block := range w.parts {
		n, m := lengthOf(block, w.ours), lengthOf(block, w.theirs)
		a, b := ours[:n:n], theirs[:m:m]
		ours, theirs = ours[n:], theirs[m:]
		at := 0
		for at < min(n, m) && a[at] == b[at] {
			at++
		}
		a, b = a[at:], b[at:]
		for len(a) > 0 && len(a) == len(b) && a[len(a)-1] == b[len(b)-1] {
			a, b = a[:len(a)-1], b[:len(b)-1]
		}
		if len(a)+len(b) > 0 {
			list = append(list, Range{Offset: block*BlockSize + at, Ours: a, Theirs: b})
		}
	}
	return list
}
