package mesh

import (
	"bytes"

	"github.com/driftback/driftback"
)

// history holds one participant's inputs as bytes: the contiguous run
// [first, held) of ticks, of which the newest len(ring)/stride are kept.
type history struct {
	stride int
	mask   driftback.Tick
	ring   []byte
	// held is the first tick that is not held. Everything below it is final.
	held driftback.Tick
}

func newHistory(stride, depth int) history {
	return history{stride: stride, mask: driftback.Tick(depth - 1), ring: make([]byte, stride*depth)}
}

// oldest returns the oldest tick whose input is still kept.
func (h *history) oldest() driftback.Tick { return max(0, h.held-h.mask-1) }

// at returns the bytes of tick t, which must be kept. They are borrowed until
// depth more ticks have been appended.
func (h *history) at(t driftback.Tick) []byte {
	i := int(t&h.mask) * h.stride
	return h.ring[i : i+h.stride : i+h.stride]
}

// append takes the input of the first tick not held.
func (h *history) append(in []byte) {
	copy(h.at(h.held), in)
	h.held++
}

// skip takes n neutral inputs, which are all zeros.
func (h *history) skip(n int) {
	for range n {
		clear(h.at(h.held))
		h.held++
	}
}

// contradicts reports whether in differs from what is held for tick t. A tick
// that is no longer kept cannot be contradicted.
func (h *history) contradicts(t driftback.Tick, in []byte) bool {
	return t < h.held && t >= h.oldest() && !bytes.Equal(h.at(t), in)
}

// flatten appends the inputs of [from, to), which must be kept, to b.
func (h *history) flatten(b []byte, from, to driftback.Tick) []byte {
	for t := from; t < to; {
		// The ring is copied in at most two pieces.
		n := min(to-t, h.mask+1-t&h.mask)
		i := int(t&h.mask) * h.stride
		b = append(b, h.ring[i:i+int(n)*h.stride]...)
		t += n
	}
	return b
}
