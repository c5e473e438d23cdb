package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/desync"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/mesh"
)

// DesyncError means that two peers' confirmed states differ: a step that is not
// pure, or two programs that are not the same. In a match the two then find out together in what; a
// spectator, one who comes back, and who plays through a relay know no more than that.
type DesyncError struct {
	// Tick is the first tick that is known to begin in different states, Peer is the other peer,
	// and Ours and Theirs are the states' fingerprints.
	Tick         driftback.Tick
	Peer         driftback.Peer
	Ours, Theirs fingerprint.Sum
	// Exact says that the states were alike as the tick before Tick began.
	Exact bool
	// Agreed is the last tick that was compared and alike, and Found the one at which the difference was
	// noticed. Both are 0 where nobody looked further.
	Agreed, Found driftback.Tick
	// Fields are those in which the states differ as tick FieldsAt began, which is Tick or Found: at most
	// fingerprint.MaxDifferences, A ours and B theirs. MoreFields says that there may be more. None: the
	// other peer has not told its state.
	Fields     []fingerprint.Difference
	FieldsAt   driftback.Tick
	MoreFields bool
	// Repeats says of this peer and of the other one whether the ticks since Agreed, run again with the
	// same inputs, came to the same state. Where one's did not its step is not pure, and Unrepeated are
	// the fields in which this peer's did not: A is what was, B is what came of it.
	Repeats    [2]dispute.Repeats
	Unrepeated []fingerprint.Difference
}

// saidFields is how many fields the text of an error names.
const saidFields = 3

// Error says which tick and fields differ, and whose step does not repeat itself.
func (e *DesyncError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "session: desync: as tick %d began the state's fingerprint was %v here and %v at peer %d", e.Tick, e.Ours, e.Theirs, e.Peer)
	switch {
	case e.Found == 0:
	case e.Exact:
		fmt.Fprintf(&b, ", and one tick before they were alike")
	default:
		fmt.Fprintf(&b, ", and they were last seen alike as tick %d began", e.Agreed)
	}
	said := func(list []fingerprint.Difference, more bool, a, z string) {
		for i, d := range list {
			if i == saidFields {
				fmt.Fprintf(&b, "; and %d more", len(list)-i)
				break
			}
			fmt.Fprintf(&b, "; %s was %s %s and %s %s", d.Path, d.A, a, d.B, z)
		}
		if more {
			b.WriteString("; and others")
		}
	}
	if len(e.Fields) > 0 && e.FieldsAt != e.Tick {
		fmt.Fprintf(&b, "; as tick %d began", e.FieldsAt)
	}
	said(e.Fields, e.MoreFields, "here", "there")
	ours, theirs := e.Repeats[0] == dispute.Different, e.Repeats[1] == dispute.Different
	if ours {
		fmt.Fprintf(&b, "; the step is not pure here: the ticks since tick %d, run again with the same inputs, came to another state", e.Agreed)
		said(e.Unrepeated, false, "then", "now")
	}
	if theirs {
		fmt.Fprintf(&b, "; the step is not pure at peer %d, which ran the ticks since tick %d again and came to another state", e.Peer, e.Agreed)
	}
	if !ours && !theirs {
		b.WriteString("; a step that is not pure does this, and so do two programs that differ")
	}
	if e.Found != 0 {
		b.WriteString(": Report has all that is known")
	}
	return b.String()
}

// desynced says what is known of a disagreement that ended the match.
func (m *Lockstep[S, I]) desynced(found *mesh.DesyncError) *DesyncError {
	e := &DesyncError{
		Tick: found.Tick, Peer: found.Peer,
		Ours: fingerprint.Sum(found.Ours), Theirs: fingerprint.Sum(found.Theirs),
	}
	q := &m.inquiry
	if !m.inquires() || q.concluded {
		return e
	}
	q.concluded = true
	f := m.concludeInquiry(found.Peer)
	e.Agreed, e.Found = q.agreed, found.Tick
	e.Exact = e.Found == e.Agreed+1
	e.Repeats, e.Unrepeated = [2]dispute.Repeats{q.anew.repeats, f.Repeats[1]}, q.anew.unrepeated
	q.finding = f
	for _, r := range f.Roots {
		if r.Tick == f.Tick && r.Differ() {
			e.Tick, e.Exact = f.Tick, f.Exact
			e.Ours, e.Theirs = fingerprint.Sum(r.Ours), fingerprint.Sum(r.Theirs)
		}
	}
	if f.Compared {
		if ours, ok := m.stateBytesAt(f.At); ok && len(ours) == f.OursSize {
			e.Fields = m.hasher.DiffBytes(nil, ours, theirsOf(ours, &f))
		}
		if len(e.Fields) > 0 { // or what it told is what this peer has
			e.FieldsAt, e.MoreFields = f.At, f.More || len(e.Fields) == fingerprint.MaxDifferences
		}
	}
	q.start, q.end = e.Tick-1, e.Tick
	if q.anew.repeats != dispute.Same {
		q.start, q.end = q.agreed, q.found
		if e.Exact {
			q.end = e.Tick // it is kept
		}
	}
	q.after, _ = m.stateBytesAt(q.end)
	q.before, _ = m.stateBytesAt(q.start)
	q.states[0].bytes, q.states[1].bytes, q.parleys = nil, nil, nil
	q.keepState(m, e.Tick)
	return e
}

// theirsOf returns the other peer's state: ours, but for what was told to differ.
func theirsOf(ours []byte, f *dispute.Finding) []byte {
	theirs := make([]byte, f.TheirsSize)
	copy(theirs, ours)
	for _, r := range f.Ranges {
		if r.Offset >= 0 && r.Offset <= len(theirs) {
			copy(theirs[r.Offset:], r.Theirs)
		}
	}
	return theirs
}

// keepState keeps the state of a tick, for DesyncState.
func (q *inquiry[S, I]) keepState(m *Lockstep[S, I], t driftback.Tick) {
	if _, kept := m.kept.place(t); kept || t == m.loop.Next() {
		return
	}
	m.withState(t, func(world *S) error { return m.kept.save(t, world, Control{}) })
}

// DesyncState copies into into the state whose fingerprint is the Ours of the
// [*DesyncError] that ended the match; ok is false when it did not end so. What
// Config.Save leaves out stays in into as it is: begin with a copy of the start state.
func (m *Lockstep[S, I]) DesyncState(into *S) (t driftback.Tick, ok bool) {
	var e *DesyncError
	if !errors.As(m.err, &e) {
		return 0, false
	}
	if e.Tick == m.loop.Next() {
		return e.Tick, m.loop.Snapshot(e.Tick, into) == nil
	}
	return e.Tick, m.kept.load(e.Tick, into)
}

// Report returns all that is known of the [*DesyncError] that ended the match, to be written to a file:
// see package desync. ok is false when it did not end so, or through a relay. The report is the caller's.
func (m *Lockstep[S, I]) Report() (r *desync.Report, ok bool) {
	var e *DesyncError
	if !errors.As(m.err, &e) || e.Found == 0 {
		return nil, false
	}
	q := &m.inquiry
	r = &desync.Report{
		Game: m.cfg.Game, Build: m.build(), Platform: desync.Platform(), Settings: m.settings(),
		Match: m.cfg.Match, Seed: m.mesh.Seed(), Self: m.cfg.Self, Peer: e.Peer, Players: slices.Clone(m.cfg.Players),
		Agreed: e.Agreed, Found: e.Found, Ours: fingerprint.Sum(q.ours), Theirs: fingerprint.Sum(q.theirs),
		Tick: e.Tick, Exact: e.Exact, Roots: slices.Clone(q.finding.Roots),
		Repeats: e.Repeats, Unrepeated: slices.Clone(e.Unrepeated),
		At: e.FieldsAt, Compared: len(e.Fields) > 0, OursSize: q.finding.OursSize, TheirsSize: q.finding.TheirsSize,
		Fields: slices.Clone(e.Fields), MoreFields: e.MoreFields,
		Inputs: m.inputsOf(q.base, q.found+1), InputSize: m.inputs.Size(), InputLayout: m.inputs.Hash(),
	}
	if q.before != nil {
		r.Start, r.Before = q.start, slices.Clone(q.before)
	}
	if q.after != nil {
		r.End, r.After = q.end, slices.Clone(q.after)
	}
	if l, err := layout.Of[S](); err == nil {
		r.StateLayout = l.Hash()
	}
	return r, true
}

// inputsOf returns what ticks were run with, as far as that is kept: those in [from, to), of which the first
// begins with the control state of the inquiry's base.
func (m *Lockstep[S, I]) inputsOf(from, to driftback.Tick) (list []desync.Inputs) {
	past, control := m.past.archive, m.inquiry.baseControl
	if past == nil || control.Speed == 0 || past.Oldest() > from {
		return nil
	}
	to = min(to, past.End())
	status := make([]driftback.Status, len(m.cfg.Players))
	for t := from; t < to; t++ {
		control = m.controlAfter(control, t)
		if to-t > desync.MaxInputs {
			continue
		}
		in := desync.Inputs{Tick: t, Paused: control.Paused, Speed: int(control.Speed)}
		past.Statuses(t, status)
		for p := range status {
			q := driftback.Participant(p)
			in.Given = append(in.Given, desync.Given{Input: slices.Clone(past.Input(q, t)), Entry: past.Entry(q, t), Status: status[p]})
		}
		list = append(list, in)
	}
	return list
}
