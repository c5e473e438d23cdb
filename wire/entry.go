package wire

import (
	"bytes"
	"fmt"

	"github.com/driftback/driftback"
)

// Entry is what a participant does to the match itself beside its input for a tick: it
// pauses, resumes, or sets the speed. The zero Entry is none, and costs no byte.
type Entry uint8

const (
	// EntryPause pauses the match and EntryResume resumes it.
	EntryPause  Entry = 1
	EntryResume Entry = 2
	// entrySpeed and as many eighths of the normal rate are a speed.
	entrySpeed Entry = 2

	// EntryLate and EntryGone are marks: only a relay gives them, in place of what the
	// participant may have given, and says by them that the input is not the participant's
	// own. It came too late and its last one in the relay's set is repeated, or the
	// participant does not play any more and its input is zeros.
	EntryLate = MaxEntry + 1
	EntryGone = MaxEntry + 2
)

const (
	// SpeedUnit is the normal speed: speeds are counted in eighths of it.
	SpeedUnit = 8
	// MaxSpeed is the largest speed in eighths; the smallest is 1.
	MaxSpeed = 4 * SpeedUnit
	// MaxEntry is the largest entry that a participant gives; a relay's marks are larger.
	MaxEntry = entrySpeed + MaxSpeed
	// MaxEntrySize is the size in bytes that one entry takes in a packet at most.
	MaxEntrySize = 3
)

// Entry returns the entry of the run's tick number i, which counts from 0.
func (r *Run) Entry(i int) Entry {
	if len(r.Entries) == 0 {
		return 0
	}
	return Entry(r.Entries[i])
}

// EntrySpeed returns the entry that sets the speed, from 1 to MaxSpeed eighths of the
// normal one.
func EntrySpeed(eighths int) Entry { return entrySpeed + Entry(eighths) }

// Speed returns the speed that the entry sets in eighths of the normal one; ok is false
// if it sets none.
func (e Entry) Speed() (eighths int, ok bool) {
	return int(e) - int(entrySpeed), e > entrySpeed && e <= MaxEntry
}

// Mark reports whether the entry is one that only a relay gives.
func (e Entry) Mark() bool { return e == EntryLate || e == EntryGone }

// String returns the entry as a few lower-case words.
func (e Entry) String() string {
	eighths, ok := e.Speed()
	switch {
	case e == 0:
		return "none"
	case e == EntryPause:
		return "pause"
	case e == EntryResume:
		return "resume"
	case e == EntryLate:
		return "late"
	case e == EntryGone:
		return "gone"
	case ok:
		return fmt.Sprintf("speed %d/%d", eighths, SpeedUnit)
	}
	return fmt.Sprintf("unknown entry %d", uint8(e))
}

// The entries of a packet follow its runs, each a header and the entry. The header says
// how many ticks without one lie between it and the one before, counted through all the
// runs as if they were one, and in its lowest bit whether another entry follows.
const entryMore = 0x01

// surveyEntries reports whether a run has an entry. It refuses entries that cannot be
// written.
func (w *writer) surveyEntries(run *Run) (some bool) {
	if len(run.Entries) == 0 {
		return false
	}
	if len(run.Entries) != run.Count {
		w.refuse("the run of participant %d has %d entries for %d ticks", run.Participant, len(run.Entries), run.Count)
		return false
	}
	for i, e := range run.Entries {
		if Entry(e) > EntryGone {
			w.refuse("the entry of participant %d for tick %d is %d, and at most %d is allowed", run.Participant, run.First+driftback.Tick(i), e, EntryGone)
			return false
		}
		some = some || e != 0
	}
	return some
}

// appendEntries appends the entries of the runs, of which there is at least one.
func (p *Packet) appendEntries(w *writer) {
	header := 0 // where the last entry's header is: it is told when another one follows
	gap := uint64(0)
	for i := range p.Runs {
		run := &p.Runs[i]
		if len(run.Entries) == 0 {
			gap += uint64(run.Count)
			continue
		}
		for _, e := range run.Entries {
			if e == 0 {
				gap++
				continue
			}
			if header > 0 {
				w.b[header] |= entryMore
			}
			header = len(w.b)
			w.uvarint(gap << 1)
			w.b = append(w.b, e)
			gap = 0
		}
	}
}

// parseEntries reads the entries of the runs that have been read.
func (p *Packet) parseEntries(r *reader) {
	total := 0
	for i := range p.Runs {
		total += p.Runs[i].Count
	}
	// Room for as many bytes as there are ticks, all zero.
	p.entries = append(p.entries[:0], zeroEntries[:total]...)
	at := 0
	for more := true; more && r.err == nil; at++ {
		h := r.number("the header of an entry", uint64(len(zeroEntries))<<1)
		more = h&entryMore != 0
		if at += int(h >> 1); r.err == nil && at >= total {
			r.refuse("an entry for tick %d of all the runs, which have %d", at+1, total)
		}
		e := r.byte()
		if r.err == nil && (e == 0 || Entry(e) > EntryGone) {
			r.refuse("an entry of %d, and 1 to %d are allowed", e, EntryGone)
		}
		if r.err == nil {
			p.entries[at] = e
		}
	}
	if r.err != nil {
		return
	}
	at = 0
	for i := range p.Runs {
		run := &p.Runs[i]
		end := at + run.Count
		if of := p.entries[at:end:end]; !bytes.Equal(of, zeroEntries[:run.Count]) {
			run.Entries = of
		}
		at = end
	}
}

var zeroEntries [MaxRuns * MaxRunTicks]byte
