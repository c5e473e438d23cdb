package feed

import (
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// maxStatuses is how many changes of status an archive keeps: far more than a match has.
const maxStatuses = 1024

// PutStatus says who is behind participant p's input from tick t on, whatever was said of
// later ticks before. It must not be below End. It reports false when there have been too
// many changes to keep.
func (a *Archive) PutStatus(p driftback.Participant, t driftback.Tick, status driftback.Status) bool {
	change := wire.Status{Participant: p, Tick: t, Status: status}
	if slices.Contains(a.statuses, change) {
		return true
	}
	a.statuses = slices.DeleteFunc(a.statuses, func(s wire.Status) bool { return s.Participant == p && s.Tick >= t })
	if len(a.statuses) == maxStatuses {
		return false
	}
	a.statuses = append(a.statuses, change)
	a.changed++
	return true
}

// Statuses fills dst, one element for each participant, with who is behind its input on
// tick t.
func (a *Archive) Statuses(t driftback.Tick, dst []driftback.Status) {
	for p := range dst {
		dst[p] = driftback.Playing
	}
	for _, s := range a.statuses { // those of one participant ascend
		if s.Tick <= t && int(s.Participant) < len(dst) {
			dst[s.Participant] = s.Status
		}
	}
}

// sendStatuses sends a watcher all changes of status, if there are new ones: it knows
// those it has already.
func (f *Feeder) sendStatuses(w *watcher) bool {
	if w.changed == f.archive.changed {
		return true
	}
	for _, s := range f.archive.statuses {
		if !f.sendControl(w, s) {
			return false
		}
	}
	w.changed = f.archive.changed
	return true
}

// receiveStatus takes a change of status.
func (f *Follower) receiveStatus(s wire.Status) error {
	if int(s.Participant) >= len(f.archive.inputs) {
		return broken("the status of participant %d, and there are %d", s.Participant, len(f.archive.inputs))
	}
	if slices.Contains(f.archive.statuses, s) {
		return nil
	}
	if s.Tick >= f.archive.first && s.Tick < f.used {
		return broken("participant %d was %v from tick %d on, and tick %d is the next", s.Participant, s.Status, s.Tick, f.used)
	}
	if !f.archive.PutStatus(s.Participant, s.Tick, s.Status) {
		return broken("more than %d changes of status", maxStatuses)
	}
	return nil
}
