package mesh

import (
	"bytes"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// history holds one participant's inputs as bytes: the contiguous run [first, held)
// of ticks, and some beyond it that have overtaken others. The newest
// len(ring)/stride ticks are kept.
type history struct {
	stride int
	mask   driftback.Tick
	ring   []byte
	came   []bool // by place in the ring: an input from held on has come
	// held is the first tick that is not held. Everything below it is final.
	held driftback.Tick
	// first is the tick at which it begins; of none below it anything is known.
	first driftback.Tick
	end   driftback.Tick // the first tick beyond all that have come
	// limit is the first tick that does not count now, whatever has come for it.
	limit driftback.Tick
	// entries are what the participant did to the match itself on these ticks.
	entries entries
}

func newHistory(stride, depth int) history {
	return history{
		stride: stride, mask: driftback.Tick(depth - 1), limit: never,
		ring: make([]byte, stride*depth), came: make([]bool, depth), entries: entries{ring: make([]byte, depth)},
	}
}

// oldest returns the oldest tick whose input is still kept.
func (h *history) oldest() driftback.Tick { return max(h.first, h.end-h.mask-1) }

// begin makes a history that is new begin at tick t.
func (h *history) begin(t driftback.Tick) { h.first, h.held, h.end = t, t, t }

// before takes the input and the entry of the tick before the first. It reports whether
// there is room for it.
func (h *history) before(in []byte, e wire.Entry) bool {
	if h.first == 0 || h.end-h.first > h.mask {
		return false
	}
	h.first--
	copy(h.at(h.first), in)
	h.entries.ring[h.first&h.mask] = 0
	h.enter(h.first, e)
	return true
}

// at returns the bytes of tick t, which must be kept. They are borrowed until
// depth more ticks have been appended.
func (h *history) at(t driftback.Tick) []byte {
	i := int(t&h.mask) * h.stride
	return h.ring[i : i+h.stride : i+h.stride]
}

// put takes the input of tick t, from held on and less than a ring's length beyond
// it. It reports whether the input is new.
func (h *history) put(t driftback.Tick, in []byte) bool {
	if h.came[t&h.mask] {
		return false
	}
	copy(h.at(t), in)
	h.entries.ring[t&h.mask] = 0
	h.came[t&h.mask] = true
	h.end = max(h.end, t+1)
	h.advance()
	return true
}

// advance moves held past what has come.
func (h *history) advance() {
	for h.held < h.limit && h.came[h.held&h.mask] {
		h.came[h.held&h.mask] = false
		h.held++
	}
}

// setLimit makes what has come for tick t and later not count until the limit is
// another. t is less than a ring's length below held.
func (h *history) setLimit(t driftback.Tick) {
	h.limit = t
	for h.held > t {
		h.held--
		h.came[h.held&h.mask] = true
	}
	h.advance()
}

// cut drops what has come for tick t and later for good.
func (h *history) cut(t driftback.Tick) {
	h.setLimit(min(t, h.held))
	for ; t < h.end; t++ {
		h.came[t&h.mask] = false
	}
}

// append takes the input of the first tick not held.
func (h *history) append(in []byte) { h.put(h.held, in) }

// skip takes n neutral inputs, which are all zeros.
func (h *history) skip(n int) {
	neutral := make([]byte, h.stride)
	for range n {
		h.append(neutral)
	}
}

// contradicts reports whether an input and its entry differ from what has come for tick
// t. A tick that is no longer kept cannot be contradicted.
func (h *history) contradicts(t driftback.Tick, in []byte, e wire.Entry) bool {
	known := t < h.held && t >= h.oldest() || t >= h.held && t < h.end && h.came[t&h.mask]
	return known && (!bytes.Equal(h.at(t), in) || h.entry(t) != e)
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

// Confirmed returns the first tick that lacks some participant's input. It never
// falls.
func (m *Mesh) Confirmed() driftback.Tick {
	t := m.histories[0].held
	for p := range m.histories[1:] {
		t = min(t, m.histories[1+p].held)
	}
	return t
}

// heldFrom returns the first tick that lacks an input of a peer's.
func (m *Mesh) heldFrom(l *link) driftback.Tick {
	t := m.histories[l.plays[0]].held
	for _, p := range l.plays[1:] {
		t = min(t, m.histories[p].held)
	}
	return t
}

// Held returns the first tick for which the input of p, a participant of the match,
// is not held.
func (m *Mesh) Held(p driftback.Participant) driftback.Tick { return m.histories[p].held }

// Input returns the bytes of the input for tick t of p, a participant of the match.
// t must be below Held(p) and not older than the depth that Kept gives. They are
// borrowed until the next Poll or Publish.
func (m *Mesh) Input(p driftback.Participant, t driftback.Tick) []byte {
	return m.histories[p].at(t)
}

// Kept returns for how many ticks below Held an input is kept.
func (m *Mesh) Kept() int { return int(m.histories[0].mask + 1) }
