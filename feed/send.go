package feed

import (
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

const (
	// window is how many ticks may be on their way to a watcher, sent and not
	// acknowledged.
	window = 1024
	// together is for how long inputs are collected before they are sent, unless they are
	// as many as batch: with fewer messages they take fewer bytes, and who watches
	// predicts nothing.
	together = 50 * time.Millisecond
	batch    = 64
	// maxBurst is how many packets go to a watcher in one Poll.
	maxBurst = 4
	// maxInputs is how many bytes of inputs a packet holds at most, written out, so that
	// it fits a reliable message.
	maxInputs = 32 << 10
	// maxSums is how many fingerprints it holds.
	maxSums = wire.MaxSums
)

// sendInputs sends what a watcher lacks, as far as that may be on its way.
func (f *Feeder) sendInputs(w *watcher) {
	for range maxBurst {
		to := min(f.archive.End(), w.acked+window)
		if to <= w.sent || to-w.sent < batch && f.clock-w.sentAt < together || !f.sendPacket(w, to) {
			return
		}
	}
}

// sendAll sends all that a watcher lacks, and reports whether the transport took it.
func (f *Feeder) sendAll(w *watcher) bool {
	for w.sent < f.archive.End() {
		if w.sent < f.archive.Oldest() || !f.sendPacket(w, f.archive.End()) {
			return false
		}
	}
	return true
}

// sendPacket sends inputs from the first that was not sent on, up to tick to, as many as fit.
func (f *Feeder) sendPacket(w *watcher, to driftback.Tick) bool {
	if !f.sendStatuses(w) {
		return false
	}
	a, p := f.archive, &f.packet
	n := min(to-w.sent, wire.MaxRunTicks, driftback.Tick(maxInputs/(len(a.inputs)*a.stride)))
	to = w.sent + n
	p.Tag, p.Seq, p.Runs, p.Acks = w.tag, w.seq, p.Runs[:0], p.Acks[:0]
	f.runs, f.entries = f.runs[:0], f.entries[:0]
	for q := range a.inputs {
		start, begin := len(f.runs), len(f.entries)
		f.runs = a.flatten(f.runs, q, w.sent, to)
		var some bool
		f.entries, some = a.flattenEntries(f.entries, q, w.sent, to)
		r := wire.Run{Participant: driftback.Participant(q), First: w.sent, Count: int(n), Inputs: f.runs[start:]}
		if some {
			r.Entries = f.entries[begin:]
		}
		p.Runs = append(p.Runs, r)
	}
	sums := f.putSums(w, to)
	b, err := p.Append(f.out[:0], a.stride)
	if err != nil {
		return false
	}
	f.out = b
	if f.cfg.Transport.SendReliable(w.peer, b) != nil {
		return false
	}
	w.seq++
	w.sent, w.sums, w.sentAt, w.spokeAt = to, sums, f.clock, f.clock
	return true
}

// putSums adds the next fingerprints to the packet, of ticks up to to, and returns the
// index of the first that is left.
func (f *Feeder) putSums(w *watcher, to driftback.Tick) uint64 {
	a, p := f.archive, &f.packet
	p.Sums.List = p.Sums.List[:0]
	if a.sums.every == 0 {
		return 0
	}
	i := w.sums
	if oldest := a.sums.end - min(a.sums.end, uint64(len(a.sums.ring))); i < oldest {
		i = oldest
	}
	for ; i < a.sums.end && len(p.Sums.List) < maxSums && driftback.Tick(i+1)*a.sums.every <= to; i++ {
		sum, ok := a.sums.at(i)
		if !ok {
			if len(p.Sums.List) > 0 {
				break
			}
			continue
		}
		if len(p.Sums.List) == 0 {
			p.Sums.First = i
		}
		p.Sums.List = append(p.Sums.List, sum)
	}
	return i
}

// sendBeat says that this side is alive.
func (f *Feeder) sendBeat(w *watcher) {
	if f.clock-w.spokeAt < beat {
		return
	}
	w.spokeAt = f.clock
	f.packet = wire.Packet{Tag: w.tag, Seq: w.seq, Runs: f.packet.Runs[:0], Acks: f.packet.Acks[:0], Sums: wire.Sums{List: f.packet.Sums.List[:0]}}
	if b, err := f.packet.Append(f.out[:0], f.archive.stride); err == nil {
		f.out = b
		f.cfg.Transport.Send(w.peer, b)
	}
}
