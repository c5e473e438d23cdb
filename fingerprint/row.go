package fingerprint

import (
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback/layout"
)

const (
	// leastPart is how many bytes neighbours have before they are hashed apart: a call for
	// each field of a few bytes takes several times as long as one for all of them.
	leastPart = 64
	// mostPart is how many bytes a subsystem has before it is cut further, or a share of
	// the state if that is more.
	mostPart  = 64 << 10
	partShare = 16
	// smallShare is the share of the state below which neighbours go together, so that
	// there are never more subsystems than some thousands.
	smallShare = 1024
)

// partsOf cuts a state into subsystems.
func partsOf[S any](l *layout.Layout[S]) []layout.Part[S] {
	return l.Parts(max(leastPart, l.Size()/smallShare), max(mostPart, l.Size()/partShare))
}

// Subsystems returns the names of the parts of a state that [Hasher.Row] hashes, in
// canonical order; the slice is borrowed. They are the fields at the top of the state, or
// of the one field that it has: "Fighters". Neighbours of a few bytes are one, "Tick to
// Score", and what is large is several, "Level.Tiles[0:4096]": of more than 64 KiB and more
// than a sixteenth of the state. All depends on the type alone.
//
// Of a state with bytes of its own they are what its AppendParts names, and nil until that
// was called: see [Parted]. Without one the state is one subsystem, "(state)".
func (h *Hasher[S]) Subsystems() []string { return h.names }

// Row appends one sum for each of the subsystems of s to dst, in their order, and returns
// the longer slice. Two states have the same sum there exactly if they have the same
// bytes in that subsystem, but for the odds of one in 2^64. Like Sum it neither changes
// nor keeps s, and allocates nothing once dst and its buffer have grown. Where the state's
// own methods fail it appends nothing, and Err says why.
func (h *Hasher[S]) Row(dst []Sum, s *S) []Sum {
	if h.layout == nil {
		return h.rowOwn(dst, s)
	}
	dst = slices.Grow(dst, len(h.parts))
	for i := range h.parts {
		dst = append(dst, h.sumPart(i, s))
	}
	return dst
}

// SumOne returns the sum of one subsystem alone, that which Row has at i modulo their
// number: with an i that goes up by one all of them come round, and a large state is never
// hashed at once. Of a state with bytes of its own all bytes are made each time.
func (h *Hasher[S]) SumOne(i uint64, s *S) Sum {
	switch {
	case h.layout == nil:
		return h.sumOneOwn(i, s)
	case len(h.parts) == 0:
		return h.Sum(s)
	}
	return h.sumPart(int(i%uint64(len(h.parts))), s)
}

// Root returns one sum of a whole row: two rows of as many sums have the same root
// exactly if they are alike, but for the odds. It is not what Sum returns.
func (h *Hasher[S]) Root(row []Sum) Sum {
	h.buf = h.buf[:0]
	for _, sum := range row {
		h.buf = binary.LittleEndian.AppendUint64(h.buf, uint64(sum))
	}
	return Sum(xxh3.Hash(h.buf))
}

func (h *Hasher[S]) sumPart(i int, s *S) Sum {
	b, inPlace := h.parts[i].View(h.buf, s)
	if !inPlace {
		h.buf = b
	}
	return Sum(xxh3.Hash(b))
}
