package soak

import (
	"slices"
	"time"

	"github.com/driftback/driftback/simtest"
)

// Ended says why a run ended.
type Ended string

// Why a run can have ended.
const (
	RangeDone   Ended = "range"     // every seed was played
	TimeUp      Ended = "time"      // the budget was used up
	Failed      Ended = "failure"   // a rule was broken
	Interrupted Ended = "interrupt" // the context ended
	Refused     Ended = "refused"   // the game cannot be played
)

// Summary is what a run was.
type Summary struct {
	// First is the first seed and Asked how many there were to be, or 0 for as many as
	// there was time for. The seeds from First to First+Matches−1 were played and are what
	// all the rest is about.
	First, Asked, Matches uint64
	Ended                 Ended
	Shape                 simtest.Shape
	Parallel              int
	Twice                 bool

	// Wall is how long the run took, without shrinking.
	Wall time.Duration
	// All is the speed of all matches, TwoPeers that of those with two peers.
	All, TwoPeers Speed

	Events    uint64
	Datagrams uint64
	// Rollbacks, Resimulated, Stalls, Undone, Lost and Blocked are simtest.Report's, added
	// up; Deepest is the longest rollback.
	Rollbacks, Resimulated, Stalls, Undone, Lost, Blocked uint64
	Deepest                                               int
	// Views is how often survivors went on without somebody, in how many of the matches.
	Views, ViewMatches uint64
	// Adaptations, LeftOut and RanExtra are simtest.Report's, added up; Even counts the matches that
	// were so long and calm that peers had to come to predict equally many ticks.
	Adaptations, LeftOut, RanExtra, Even uint64
	// Faults has the kinds that were planned, in the order of simtest.Kinds.
	Faults []simtest.FaultCount

	// Buggified has the rare paths that were forced, in the order of package buggify.
	Buggified []simtest.SiteCount

	// Vacuous counts matches that prove little; the first of them is of VacuousSeed, for the
	// reasons of VacuousWhy.
	Vacuous     uint64
	VacuousSeed uint64
	VacuousWhy  []string
	// Traces is how many different matches there were among the first Compared ones:
	// among all, up to MaxTraces.
	Traces, Compared uint64

	// Failed counts the seeds that failed; Failures has the first MaxFailures, by seed.
	Failed   uint64
	Failures []Failure
}

// Speed is how much virtual time was played in how much wall time.
type Speed struct {
	Matches   uint64
	Simulated time.Duration
	// Playing is the wall time of the matches' first plays, added up over all that ran at
	// once: second plays check, and simulate nothing new.
	Playing time.Duration
}

// PerMinute returns how much is simulated in one minute of wall time by parallel matches
// at once.
func (s Speed) PerMinute(parallel int) time.Duration {
	if s.Playing <= 0 {
		return 0
	}
	return time.Duration(float64(s.Simulated) / float64(s.Playing) * float64(parallel) * float64(time.Minute))
}

// add counts one match.
func (s *Summary) add(done *outcome, traces map[uint64]struct{}) {
	r := &done.report
	s.Matches++
	s.All.add(done)
	if done.peers == 2 {
		s.TwoPeers.add(done)
	}
	s.Events += uint64(r.Events)
	s.Datagrams += r.Datagrams
	s.Rollbacks += r.Rollbacks
	s.Resimulated += r.Resimulated
	s.Stalls += r.Stalls
	s.Undone += r.Undone
	s.Lost += r.Lost
	s.Blocked += r.Blocked
	s.Deepest = max(s.Deepest, r.Deepest)
	if s.Views += uint64(r.Views); r.Views > 0 {
		s.ViewMatches++
	}
	s.Adaptations += r.Adaptations
	s.LeftOut += r.LeftOut
	s.RanExtra += r.RanExtra
	if r.Even {
		s.Even++
	}
	for _, f := range r.Faults {
		s.addFault(f)
	}
	for _, c := range r.Buggified {
		i, found := slices.BinarySearchFunc(s.Buggified, c, func(a, b simtest.SiteCount) int { return int(a.Site) - int(b.Site) })
		if !found {
			s.Buggified = slices.Insert(s.Buggified, i, simtest.SiteCount{Site: c.Site})
		}
		s.Buggified[i].Fired += c.Fired
	}
	if len(r.Vacuous) > 0 {
		if s.Vacuous++; s.Vacuous == 1 {
			s.VacuousSeed, s.VacuousWhy = done.seed, r.Vacuous
		}
	}
	if s.Compared < MaxTraces {
		s.Compared++
		traces[r.Trace] = struct{}{}
		s.Traces = uint64(len(traces))
	}
}

func (s *Speed) add(done *outcome) {
	s.Matches++
	s.Simulated += done.report.Simulated
	s.Playing += done.played
}

func (s *Summary) addFault(f simtest.FaultCount) {
	place := func(k simtest.Kind) int { return slices.Index(simtest.Kinds[:], k) }
	i, found := slices.BinarySearchFunc(s.Faults, f, func(a, b simtest.FaultCount) int { return place(a.Kind) - place(b.Kind) })
	if !found {
		s.Faults = slices.Insert(s.Faults, i, simtest.FaultCount{Kind: f.Kind})
	}
	s.Faults[i].Planned += f.Planned
	s.Faults[i].Happened += f.Happened
}

// Progress is how far a run is.
type Progress struct {
	// Done of Asked seeds are played; Asked is 0 where there is no end to them.
	Done, Asked uint64
	// Budget is Options.Budget.
	Wall, Budget time.Duration
	Simulated    time.Duration
	Failed       uint64
	// Over: no match runs any more.
	Over bool
}

// Left returns how long the run will go on at the speed that it has had, and false while
// that is not known.
func (p Progress) Left() (time.Duration, bool) {
	left, known := time.Duration(0), false
	if p.Asked > 0 && p.Done > 0 {
		left, known = time.Duration(float64(p.Wall)/float64(p.Done)*float64(p.Asked-p.Done)), true
	}
	if p.Budget > 0 {
		if rest := max(0, p.Budget-p.Wall); !known || rest < left {
			left, known = rest, true
		}
	}
	return left, known
}

// tell tells how far the run is.
func (r *run) tell(over bool) {
	if r.o.Progress == nil {
		return
	}
	p := Progress{
		Done: r.summary.Matches, Asked: r.summary.Asked, Wall: time.Since(r.start), Budget: r.o.Budget,
		Simulated: r.summary.All.Simulated, Failed: r.summary.Failed, Over: over,
	}
	r.o.Progress(p)
}
