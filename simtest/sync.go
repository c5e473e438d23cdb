package simtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fingerprint"
)

// Mistake is one kind of mistake in a game that keeps its step from being rewound, in a
// sentence.
type Mistake string

// The mistakes that [SyncTest] tells apart.
const (
	MistakeInput   Mistake = "the workload is not pure: Game.Input, asked again for the same tick, answers something else"
	MistakeImpure  Mistake = "the step is not pure: a second run from the start, with the same inputs, comes to something else"
	MistakeKept    Mistake = "the step keeps its inputs or its pass beyond the call"
	MistakeUnsaved Mistake = "an unsaved field: what a snapshot brings back is not what was saved"
	MistakeShared  Mistake = "shared memory: what one world writes changes another world or a snapshot"
	MistakePanics  Mistake = "the step panics"
	MistakeOutside Mistake = "the step uses something outside the snapshot: a whole run repeats, but a tick that is run again after later ones does not"
)

// Mistakes lists every mistake.
var Mistakes = [...]Mistake{MistakeInput, MistakePanics, MistakeImpure, MistakeKept, MistakeUnsaved, MistakeShared, MistakeOutside}

// Finding is a mistake that was found.
type Finding struct {
	Mistake Mistake
	// Tick is the one that does not repeat, or whose beginning was saved.
	Tick driftback.Tick
	// Policy is by what snapshots were made, if that matters.
	Policy string
	// Detail says what was found, and Look what usually is behind it.
	Detail, Look string
	// Difference is the first field that differs, where Different: A as it should be
	// and B as it is.
	Different  bool
	Difference fingerprint.Difference
	// Field is that of a [Violation].
	Field string
}

// Error returns a few lines: the mistake, what was found, and what to look for.
func (f *Finding) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "simtest: %s\n  tick %d: %s", f.Mistake, f.Tick, f.Detail)
	if f.Policy != "" {
		fmt.Fprintf(&b, " (saved by %s)", f.Policy)
	}
	if d := f.Difference; f.Different {
		fmt.Fprintf(&b, "\n  %s: %s and then %s%s", firstThat(d), d.A, d.B, andField(f.Field))
	}
	if f.Look != "" {
		fmt.Fprintf(&b, "\n  look for: %s", f.Look)
	}
	return b.String()
}

// SyncReport is what [SyncTest] did.
type SyncReport struct {
	// Finding is the first mistake, or nil.
	Finding *Finding
	// Ticks is the length of a whole run, and Changed how many of its ticks changed the
	// state: a workload under which none does proves nothing.
	Ticks, Changed int
	// Rewinds counts loads of an earlier state from which the ticks were run again,
	// Resimulated those ticks.
	Rewinds, Resimulated int
	// Policies says in which ways snapshots were made.
	Policies []string
	// LeftOut has the exported fields, without indices, that change in play while the bytes of the
	// state's AppendBinary never change with them: two worlds that differ there have equal
	// fingerprints. That is no Finding, since it may be meant, for what follows from the rest.
	LeftOut []string
}

// SyncTest runs a game's step alone, without peers, and looks for what would keep it from
// being rewound. It runs the scenario's workload from the start several times; then
// once more, with every tick saved as a session would save it, and after every tick an earlier
// one is loaded, from 1 to the scenario's window of ticks back, and run again
// with the same inputs. What comes of it is compared field by field, effects included.
// Of the scenario only the seed, the ticks, the peers' participants and input delays, Hold,
// and Window mean anything.
//
// Snapshots are made by Game.Save or, where that is nil, as snapshot.For would, and by the state's
// AppendBinary and UnmarshalBinary as well if it has these beside a CopyTo. An error means that
// there was nothing to run, or that a state could not be saved, loaded or hashed.
func SyncTest[S any, I comparable](g Game[S, I], s Scenario) (SyncReport, error) {
	r, err := newRehearsal(g, s)
	if err != nil {
		return SyncReport{}, err
	}
	r.report.Finding, err = r.survive()
	if err == nil {
		err = r.hasher.Err()
	}
	if err != nil {
		return SyncReport{}, fmt.Errorf("simtest: %w", err)
	}
	return r.report, nil
}

// survive is run, but makes a finding of a panic of the step.
func (r *rehearsal[S, I]) survive() (f *Finding, err error) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case stepPanic:
			f, err = why.finding(len(r.all)), nil
		default:
			panic(why)
		}
	}()
	return r.run()
}

// run looks for one mistake after the other, each in a game that is known to be free
// of those before, so that what is found has one name.
func (r *rehearsal[S, I]) run() (*Finding, error) {
	if f := r.tabulate(); f != nil {
		return f, nil
	}
	if f := r.repeats(); f != nil {
		return f, nil
	}
	for _, p := range policies(&r.game) {
		r.report.Policies = append(r.report.Policies, p.name)
		if f, err := r.rewinds(p); f != nil || err != nil {
			return f, err
		}
	}
	r.report.LeftOut = r.leavesOut()
	return nil, nil
}

// What Sync runs: few ticks, because a mistake of this sort shows at once or not
// without its cause.
const (
	syncSeeds = 3
	syncTicks = 240
)

// Sync is [SyncTest] as a test: it runs the workloads of a few seeds, in well under a
// second for most games, and fails with the first mistake in words. [Run] begins with it.
func Sync[S any, I comparable](t testing.TB, g Game[S, I]) {
	t.Helper()
	sum, seed, err := Rehearse(g)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Finding != nil {
		t.Fatalf("%v\n  (the workload of seed %d; nothing of it needs a network)", sum.Finding, seed)
	}
	if sum.Changed == 0 {
		t.Fatalf("simtest: none of %d ticks changed the state: does the workload press anything?", sum.Ticks)
	}
	t.Logf("simtest: the step can be rewound: %d times over %d ticks, saved by %s",
		sum.Rewinds, sum.Resimulated, strings.Join(sum.Policies, " and "))
	if len(sum.LeftOut) > 0 {
		t.Logf("simtest: AppendBinary leaves out %s, which changes and the fingerprint does not: a mistake if the step reads it, and fine for what follows from the rest",
			strings.Join(sum.LeftOut, ", "))
	}
}

// Rehearse is [Sync] as a value: what SyncTest did with the workloads of all its seeds
// together, or up to the first in which it found a mistake, which is seed.
func Rehearse[S any, I comparable](g Game[S, I]) (sum SyncReport, seed uint64, err error) {
	for seed = range uint64(syncSeeds) {
		r, err := SyncTest(g, rehearsed(g.Scenario(seed)))
		if err != nil {
			return sum, seed, err
		}
		sum.Ticks += r.Ticks
		sum.Changed += r.Changed
		sum.Rewinds += r.Rewinds
		sum.Resimulated += r.Resimulated
		sum.Policies = r.Policies
		for _, field := range r.LeftOut {
			if !slices.Contains(sum.LeftOut, field) {
				sum.LeftOut = append(sum.LeftOut, field)
			}
		}
		if sum.Finding = r.Finding; sum.Finding != nil {
			break
		}
	}
	return sum, seed, nil
}

// rehearsed is a scenario without what needs a network.
func rehearsed(s Scenario) Scenario {
	s.Links, s.Faults = nil, nil
	s.Ticks, s.Window = syncTicks, 0
	return s
}

// Explain returns what [SyncTest] finds in the first of some scenarios in which it finds
// something, or nil. It is for what stands below a violation, since a mistake of the game's may
// break any rule; so it never panics, whatever the game's functions do.
func Explain[S any, I comparable](g Game[S, I], scenarios ...Scenario) *Finding {
	for _, s := range scenarios {
		if f := rehearse(g, s); f != nil {
			return f
		}
	}
	return nil
}

func rehearse[S any, I comparable](g Game[S, I], s Scenario) (f *Finding) {
	defer func() {
		if why := recover(); why != nil {
			f = &Finding{Mistake: MistakePanics, Detail: fmt.Sprintf("another of the game's functions panicked at %s: %v", culprit(), why)}
		}
	}()
	r, err := SyncTest(g, s)
	if err != nil {
		return nil
	}
	return r.Finding
}

// explained is [Explain] as the end of a text.
func explained[S any, I comparable](g Game[S, I], scenarios ...Scenario) string {
	if f := Explain(g, scenarios...); f != nil {
		return fmt.Sprintf("\n  without a network: %v", f)
	}
	return ""
}

// playable returns an error that says why a game cannot be played in a scenario.
func (g *Game[S, I]) playable(s *Scenario) error {
	if err := s.Validate(); err != nil {
		return err
	}
	switch {
	case g.Step == nil:
		return errors.New("simtest: Game.Step is nil: it must be the game's step function")
	case g.Input == nil:
		return errors.New("simtest: Game.Input is nil: somebody must press something")
	}
	return g.seats(s)
}
