package session

import (
	"slices"

	"github.com/driftback/driftback"
)

// ReportKind says what a [Report] tells.
type ReportKind uint8

const (
	// Happened: the step raised the effect, maybe on a guess.
	Happened ReportKind = iota + 1
	// Undone: it had been reported and did not happen after all.
	Undone
	// Confirmed: the step raised the effect for when it is confirmed, and it is.
	Confirmed
)

// String returns the kind as one lower-case word.
func (k ReportKind) String() string {
	switch k {
	case Happened:
		return "happened"
	case Undone:
		return "undone"
	case Confirmed:
		return "confirmed"
	}
	return "unknown report"
}

// Report tells the game about one effect of one tick, once, however often the
// tick is run.
type Report struct {
	Kind   ReportKind
	Tick   driftback.Tick
	Effect driftback.Effect
}

// ledger remembers, for each tick that is not final, what its last run raised,
// so that a re-simulation reports only what is different.
type ledger struct {
	tolerance driftback.Tick
	mask      driftback.Tick
	ticks     []tickEffects
	end       driftback.Tick // the first tick that has not run
	final     driftback.Tick // the first tick whose confirmed effects are not reported

	// What this call's runs added and took away, by tick and in order.
	added, removed []Report
	reports        []Report
	dropped        uint64
}

// tickEffects is what the last run of one tick raised.
type tickEffects struct {
	raised, confirmed [driftback.MaxEffects]driftback.Effect
	nRaised           int
	nConfirmed        int
}

// newLedger returns a ledger for at most n ticks that are not final.
func newLedger(n, tolerance int) *ledger {
	size := 2
	for size < n {
		size *= 2
	}
	return &ledger{tolerance: driftback.Tick(tolerance), mask: driftback.Tick(size - 1), ticks: make([]tickEffects, size)}
}

// ran takes one run of one tick.
func (l *ledger) ran(pass *driftback.Pass) {
	t := pass.Tick()
	e := &l.ticks[t&l.mask]
	if t >= l.end {
		e.nRaised = 0
		l.end = t + 1
	}
	l.dropped += uint64(pass.Dropped())
	raised := pass.Raised()
	for _, had := range e.raised[:e.nRaised] {
		if !slices.Contains(raised, had) {
			l.removed = append(l.removed, Report{Kind: Undone, Tick: t, Effect: had})
		}
	}
	for _, has := range raised {
		if !slices.Contains(e.raised[:e.nRaised], has) {
			l.added = append(l.added, Report{Kind: Happened, Tick: t, Effect: has})
		}
	}
	e.nRaised = copy(e.raised[:], raised)
	e.nConfirmed = copy(e.confirmed[:], pass.RaisedConfirmed())
}

// settle works out what to report: what was undone, what happened, and what the
// ticks below final, which no run will change, raised for when they are
// confirmed.
func (l *ledger) settle(final driftback.Tick) {
	for i := range l.removed {
		if !l.moved(&l.removed[i]) {
			l.reports = append(l.reports, l.removed[i])
		}
	}
	for i := range l.added {
		if l.added[i].Kind != 0 {
			l.reports = append(l.reports, l.added[i])
		}
	}
	l.added, l.removed = l.added[:0], l.removed[:0]
	for ; l.final < final; l.final++ {
		e := &l.ticks[l.final&l.mask]
		for _, effect := range e.confirmed[:e.nConfirmed] {
			l.reports = append(l.reports, Report{Kind: Confirmed, Tick: l.final, Effect: effect})
		}
	}
}

// moved reports whether an effect that a run took away was added within the
// tolerance by another, and takes that addition back.
func (l *ledger) moved(gone *Report) bool {
	for i := range l.added {
		if a := &l.added[i]; a.Kind != 0 && a.Effect == gone.Effect && max(a.Tick-gone.Tick, gone.Tick-a.Tick) <= l.tolerance {
			a.Kind = 0
			return true
		}
	}
	return false
}
