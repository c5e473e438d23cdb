package mesh

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// An entry is part of its participant's input for a tick: the two are held, sent,
// acknowledged and contradicted together. That nobody ever holds an input without its
// entry is what lets peers that confirm a tick agree about both.

// entries are a history's, by place in its ring.
type entries struct {
	ring []byte
	end  driftback.Tick // the first tick beyond the newest entry
}

// enter sets the entry of tick t, whose input has just been put.
func (h *history) enter(t driftback.Tick, e wire.Entry) {
	if e != 0 {
		h.entries.ring[t&h.mask] = byte(e)
		h.entries.end = max(h.entries.end, t+1)
	}
}

// entry returns the entry of tick t, which must be kept.
func (h *history) entry(t driftback.Tick) wire.Entry { return wire.Entry(h.entries.ring[t&h.mask]) }

// flattenEntries appends the entries of [from, to), which must be kept, to b, and
// returns them apart, or none if there is no entry among them.
func (h *history) flattenEntries(b []byte, from, to driftback.Tick) (all, these []byte) {
	if from >= h.entries.end {
		return b, nil
	}
	start := len(b)
	some := false
	for t := from; t < to; t++ {
		e := h.entries.ring[t&h.mask]
		some = some || e != 0
		b = append(b, e)
	}
	if !some {
		return b[:start], nil
	}
	return b, b[start:len(b):len(b)]
}

// Entry returns the entry that came with the input for tick t of p, a participant of the
// match. What is said of t at [Mesh.Input] holds here too.
func (m *Mesh) Entry(p driftback.Participant, t driftback.Tick) wire.Entry {
	if e := m.histories[p].entry(t); !e.Mark() {
		return e
	}
	return 0 // it says who the input is from
}

// PublishEntry is Publish with an entry, which belongs to the input from then on; 0 is
// none.
func (m *Mesh) PublishEntry(p driftback.Participant, t driftback.Tick, in []byte, e wire.Entry) error {
	if e > wire.MaxEntry {
		return fmt.Errorf("mesh: an entry of %d for tick %d, and the largest is %d", e, t, wire.MaxEntry)
	}
	if err := m.Publish(p, t, in); err != nil {
		return err
	}
	m.publishing(p).enter(t, e)
	return nil
}

// may reports whether participant p may give the entry.
func (m *Mesh) may(p driftback.Participant, e wire.Entry) bool {
	return e == 0 || e <= wire.MaxEntry && (m.cfg.ValidEntry == nil || m.cfg.ValidEntry(p, e))
}

// fitEntries returns how many of the run's inputs fit into budget bytes with their
// entries, given that fits of them do without, and how many bytes the entries take at
// most.
func fitEntries(inputs, entries []byte, stride, budget, fits int) (ticks, size int) {
	if len(entries) == 0 {
		return fits, 0
	}
	for fits > 0 {
		size = 0
		for _, e := range entries[:fits] {
			if e != 0 {
				size += wire.MaxEntrySize
			}
		}
		room := wire.FitRun(inputs[:fits*stride], stride, budget-size)
		if room >= fits {
			return fits, size
		}
		// With fewer inputs there are fewer entries too: maybe one more would have fitted,
		// but an input that is left for the next packet is only late.
		fits = min(max(room, 1), fits-1)
	}
	return 0, 0
}
