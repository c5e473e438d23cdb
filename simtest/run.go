package simtest

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/driftback/driftback/internal/commit"
	"github.com/driftback/driftback/internal/files"
)

// What go test is told beside its own flags.
var (
	scenarioFlag = flag.String("simtest.scenario", "", "play this scenario's `file` and nothing else")
	seedsFlag    = flag.Int("simtest.seeds", 0, "play so many seeds instead of those that a test asks for")
)

// DefaultSeeds is how many seeds Run plays, and with -short a fifth of them; DefaultBudget
// how many plays it spends on shrinking.
const (
	DefaultSeeds  = 100
	DefaultBudget = 400
)

// Options says what Run does. The zero value is fine.
type Options struct {
	// Seeds is how many seeds are played; 0: DefaultSeeds, and with -short a fifth of
	// them. -simtest.seeds comes before it. First is the first one.
	Seeds int
	First uint64
	// Shape is what all of them are to have in common.
	Shape Shape
	// Dir is where the scenario of a seed that breaks a rule is written, and where those
	// that were kept are played first: all files simtest-*.json. Empty: the system's
	// folder for temporary files, where none are looked for.
	Dir string
	// Budget is how many plays are spent on shrinking one; 0: DefaultBudget.
	Budget int
}

// Run begins with [Sync], which names the commonest mistakes best. Then it plays the
// matches of many seeds, each twice, and fails the test at the first that breaks a rule:
// with the rule, the seed, the file of its scenario and that of a smaller one that breaks
// the same rule, the command that replays it, and the commit. It also fails if
// more than half of the matches are vacuous, or if ten and more rolled nothing back.
//
// -simtest.scenario=FILE plays that file and nothing else.
func Run[S any, I comparable](t testing.TB, g Game[S, I], o Options) {
	t.Helper()
	if err := o.Shape.Validate(); err != nil {
		t.Fatal(err)
	}
	if *scenarioFlag != "" {
		runFile(t, g, *scenarioFlag)
		return
	}
	Sync(t, g)
	if o.Dir != "" {
		kept, err := filepath.Glob(filepath.Join(o.Dir, "simtest-*.json"))
		if err != nil {
			t.Fatalf("simtest: %v", err)
		}
		for _, name := range kept {
			runFile(t, g, name)
		}
	}
	n := o.Seeds
	if n == 0 {
		if n = DefaultSeeds; testing.Short() {
			n /= 5
		}
	}
	if *seedsFlag > 0 {
		n = *seedsFlag
	}
	var sum Report
	faults := map[Kind]int{}
	vacuous, why := 0, "" // of the first
	buggified, forced, guessed := 0, uint64(0), uint64(0)
	for seed := o.First; seed < o.First+uint64(n); seed++ {
		r, err := CheckScenario(g, g.Shaped(seed, o.Shape))
		if err != nil {
			t.Fatal(err)
		}
		if r.Violation != nil {
			fail(t, g, seed, o)
			return
		}
		if len(r.Vacuous) > 0 {
			if vacuous++; vacuous == 1 {
				why = fmt.Sprintf("seed %d: %s", seed, strings.Join(r.Vacuous, "; "))
			}
		}
		for _, f := range r.Faults {
			faults[f.Kind] += f.Happened
		}
		if len(r.Buggified) > 0 {
			buggified++
		}
		forced += r.forced()
		sum.Simulated += r.Simulated
		sum.Events += r.Events
		sum.Rollbacks += r.Rollbacks
		if r.Views == 0 { // otherwise ticks were run again because somebody was cut
			guessed += r.Rollbacks
		}
		sum.Stalls += r.Stalls
	}
	var happened strings.Builder
	for _, k := range Kinds {
		fmt.Fprintf(&happened, ", %d %s", faults[k], k)
	}
	first := ""
	if vacuous > 0 {
		first = ", the first is that of " + why
	}
	t.Logf("simtest: %d seeds of %v together: %d events, %d rollbacks, %d stalls%s, rare paths forced %d times in %d of the matches; %d vacuous%s",
		n, sum.Simulated.Round(time.Second), sum.Events, sum.Rollbacks, sum.Stalls, happened.String(), forced, buggified, vacuous, first)
	if n >= 10 && guessed == 0 {
		t.Fatalf("simtest: nothing was rolled back in %d matches: does the workload press anything?", n)
	}
	if 2*vacuous > n {
		t.Fatalf("simtest: %d of %d matches prove little: %s", vacuous, n, why)
	}
}

// Check plays the scenario of a seed twice. The report is that of the first play; its
// violation may be that the second was another.
func Check[S any, I comparable](g Game[S, I], seed uint64) (Report, error) {
	return CheckScenario(g, g.Scenario(seed))
}

// CheckScenario plays a scenario twice, as Check does that of a seed.
func CheckScenario[S any, I comparable](g Game[S, I], s Scenario) (Report, error) {
	first, err := Play(g, s)
	if err != nil || first.Violation != nil {
		return first, err
	}
	return CheckAgain(g, s, first)
}

// CheckAgain plays a scenario once more and holds that against the report of its first
// play, which it returns: its violation may be that the second play was another.
func CheckAgain[S any, I comparable](g Game[S, I], s Scenario, first Report) (Report, error) {
	if len(s.Watchers) > 0 && s.Seed%2 == 1 {
		return checkAloof(g, s, first)
	}
	second, err := Play(g, s)
	switch {
	case err != nil:
		return first, err
	case second.Violation != nil:
		first.Violation = second.Violation
	case first.Trace != second.Trace:
		first.Violation = replayed(first, second)
	}
	return first, nil
}

// runFile plays one scenario that was kept.
func runFile[S any, I comparable](t testing.TB, g Game[S, I], name string) {
	t.Helper()
	b, err := files.Read(name, MaxScenarioSize)
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	s, err := Parse(b)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	r, err := CheckScenario(g, s)
	switch {
	case err != nil:
		t.Fatalf("%s: %v", name, err)
	case r.Violation != nil:
		t.Fatalf("%v\n  scenario %s, trace %016x\n  %s\n  commit %s%s", r.Violation, name, r.Trace, r.String(), commit.Find(), explained(g, s))
	}
	if f := Explain(g, s); f != nil {
		t.Fatalf("%s breaks no rule in this play, trace %016x: %s\n  but without a network: %v", name, r.Trace, r.String(), f)
	}
	t.Logf("%s breaks no rule, trace %016x: %s", name, r.Trace, r.String())
}

// fail shrinks the scenario of a seed, writes it down and fails the test.
func fail[S any, I comparable](t testing.TB, g Game[S, I], seed uint64, o Options) {
	t.Helper()
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	s := g.Shaped(seed, o.Shape)
	small, r, err := Shrink(g, s, o.Budget)
	if err != nil {
		t.Fatal(err)
	}
	if r.Violation == nil {
		t.Fatalf("simtest: seed %d broke a rule, and did not when it was played again: something draws from outside the scenario%s", seed, explained(g, s))
	}
	name := files.Name(t.Name(), seed)
	whole, err := files.Write(o.Dir, "whole-"+name, s.JSON())
	if err != nil {
		t.Fatalf("%v\n  seed %d, and its scenario cannot be kept: %v", r.Violation, seed, err)
	}
	file, err := files.Write(o.Dir, name, small.JSON())
	if err != nil {
		t.Fatalf("%v\n  seed %d, and its scenario cannot be kept: %v", r.Violation, seed, err)
	}
	t.Fatalf("%v\n  seed %d: %s\n  shrunk:  %s (%s, %s, %s)\n  replay:  %s\n  commit %s%s",
		r.Violation, seed, whole, file, count(small.Ticks, "tick"), count(len(small.Peers), "peer"), count(len(small.Faults), "fault"), command(t.Name(), file), commit.Find(),
		explained(g, small, s))
}

// count returns a number and what it counts.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// command returns what a person types to play a scenario under a test.
func command(test, file string) string {
	parts := strings.Split(test, "/")
	for i := range parts {
		parts[i] = "^" + parts[i] + "$"
	}
	return fmt.Sprintf("go test -run '%s' . -simtest.scenario='%s'", strings.Join(parts, "/"), file)
}
