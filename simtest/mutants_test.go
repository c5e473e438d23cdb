package simtest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	plant "github.com/driftback/driftback/internal/mutant"
	"github.com/driftback/driftback/simtest"
)

var (
	mutantsFlag = flag.String("mutants", "", "`which` planted engine faults are looked for: all, or names with commas; empty: those that must be found")
	mutantSeeds = flag.Int("mutants.seeds", 1000, "how many seeds each is looked for in")
	keepMutants = flag.Bool("mutants.keep", false, "write what was shrunk to testdata/kept")
)

// mutant is a fault that is planted in the engine by changing its source: in a copy, which
// the go command compiles in the file's place.
type mutant struct {
	says   string // what it does wrong
	misses string // why no seed finds it; empty: one does
	comes  bool   // it is looked for where peers come back
	adapts bool   // it is looked for where input delays adapt and peers keep pace
	plant.Mutant
}

// mustBeFound are the faults that other engines of this kind have had. Each has to be
// found and shrunk whatever else changes.
var mustBeFound = []string{
	"acknowledges-one-more", "guess-recomputed-on-read", "snapshot-after-the-step",
	"watermark-retracts", "early-fingerprint-dropped", "redundancy-of-four",
}

// mustBeFoundAmongSeveral are those of peers that go on without one that is lost: it takes
// three at least.
var mustBeFoundAmongSeveral = []string{
	"cuts-at-ticks-of-its-own", "cuts-what-is-confirmed", "the-cut-go-on", "half-is-a-majority",
}

// mustBeFoundWatching are those of what others are shown.
var mustBeFoundWatching = []string{"watch-delay-forgotten", "who-watches-draws"}

// mustBeFoundAdapting are those of input delays that adapt and of pacing.
var mustBeFoundAdapting = []string{"delay-never-rests", "left-out-in-every-turn"}

// readMutants reads testdata/mutants. In what a mutant's text says, "missed:" goes before
// why no seed finds it.
func readMutants(t *testing.T) (list []mutant) {
	t.Helper()
	names, err := filepath.Glob("testdata/mutants/*.txt")
	require.NoError(t, err)
	for _, name := range names {
		for _, text := range plant.Read(t, name) {
			m := mutant{comes: filepath.Base(name) == "return.txt", adapts: filepath.Base(name) == "adapt.txt", Mutant: text}
			m.says, m.misses, _ = strings.Cut(text.Says, "missed: ")
			list = append(list, m)
		}
	}
	return list
}

// huntReport is what testdata/hunt says.
type huntReport struct {
	Kept         []huntBroke
	Found        bool
	Seed         uint64
	First        huntBroke
	Whole, Small simtest.Scenario
	Shrunk       huntBroke
	took         time.Duration
}

type huntBroke struct {
	Rule  simtest.Rule
	Event int
	Says  string
}

func keptFile(name string) string { return filepath.Join("testdata", "kept", name+".json") }

// hunt compiles the engine with m in it and looks for it.
func (m mutant) hunt(t *testing.T) (r huntReport) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "hunt.exe")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-overlay", m.Overlay(t, "..", dir), "-o", binary, "./testdata/hunt")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s: %s", m.Name, out)
	args := []string{"-seeds", fmt.Sprint(*mutantSeeds), fmt.Sprint("-returns=", m.comes), fmt.Sprint("-adapt=", m.adapts)}
	if _, err := os.Stat(keptFile(m.Name)); err == nil && !*keepMutants {
		args = append(args, "-kept", keptFile(m.Name))
	}
	var stdout, stderr bytes.Buffer
	play := exec.Command(binary, args...)
	play.Stdout, play.Stderr = &stdout, &stderr
	begun := time.Now()
	if err = play.Run(); err != nil && strings.HasPrefix(stderr.String(), "panic: ") {
		line, _, _ := strings.Cut(stderr.String(), "\n")
		return huntReport{Found: true, First: huntBroke{Rule: simtest.Rule(line)}}
	}
	require.NoError(t, err, "%s: %s", m.Name, stderr.String())
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &r))
	r.took = time.Since(begun)
	return r
}

func TestFaultsPlantedInTheEngineAreFoundInAnotherProcess(t *testing.T) {
	if *mutantsFlag == "" && !plant.Asked() {
		t.Skip(plant.NotAsked)
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not there to compile a changed engine")
	}
	all := readMutants(t)
	wanted := slices.Concat(mustBeFound, mustBeFoundAmongSeveral, mustBeFoundWatching, mustBeFoundAdapting)
	switch *mutantsFlag {
	case "":
	case "all":
		wanted = nil
		for _, m := range all {
			wanted = append(wanted, m.Name)
		}
	default:
		wanted = strings.Split(*mutantsFlag, ",")
	}
	for _, name := range wanted {
		i := slices.IndexFunc(all, func(m mutant) bool { return m.Name == name })
		require.GreaterOrEqual(t, i, 0, "no mutant is called %s", name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all[i].find(t)
		})
	}
}

// find looks for one mutant, and judges what came of it.
func (m mutant) find(t *testing.T) {
	r := m.hunt(t)
	if !r.Found {
		t.Logf("%s: %s | NOT FOUND in %d seeds | %v", m.Name, m.says, *mutantSeeds, r.took.Round(time.Millisecond))
		require.NotEmpty(t, m.misses, "no seed finds it")
		return
	}
	t.Logf("%s: %s | seed %d: %s | %d ticks, %d peers, %d links, %d faults, %d cuts; from %d, %d, %d, %d | %v\n%s", m.Name, m.says, r.Seed, r.First.Rule,
		r.Small.Ticks, len(r.Small.Peers), len(r.Small.Links), len(r.Small.Faults), len(r.Small.Cuts),
		r.Whole.Ticks, len(r.Whole.Peers), len(r.Whole.Links), len(r.Whole.Faults), r.took.Round(time.Millisecond), r.Shrunk.Says)
	require.Empty(t, m.misses, "it is said to be missed, and is found")
	if r.Shrunk.Rule == "" {
		return // it panicked
	}
	require.Equal(t, r.First.Rule, r.Shrunk.Rule)
	if *keepMutants {
		require.NoError(t, os.WriteFile(keptFile(m.Name), r.Small.JSON(), 0o644))
	}
	if len(r.Kept) > 0 {
		require.Equal(t, r.Kept[0], r.Kept[1], "it breaks the same rule at the same event each time")
		require.Equal(t, r.First.Rule, r.Kept[0].Rule, "the scenario that was kept breaks the rule; if only times have changed, write another with -mutants.keep")
	}
	if slices.Contains(mustBeFound, m.Name) {
		require.LessOrEqual(t, len(r.Small.Peers), 2)
		require.LessOrEqual(t, r.Small.Ticks, r.Whole.Ticks/10)
		require.FileExists(t, keptFile(m.Name))
	}
	if slices.Contains(mustBeFoundAmongSeveral, m.Name) {
		require.Equal(t, simtest.RuleView, r.First.Rule)
		require.Len(t, r.Small.Peers, 3)
		require.FileExists(t, keptFile(m.Name))
	}
}

func TestWhatWasKeptOfPlantedFaultsBreaksNoRuleOfTheSoundEngine(t *testing.T) {
	names, err := filepath.Glob("testdata/kept/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(names), len(mustBeFound)+len(mustBeFoundAmongSeveral))
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		s, err := simtest.Parse(b)
		require.NoError(t, err, name)
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err, name)
		require.Nil(t, r.Violation, "%s: %v", name, r.Violation)
		again, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		require.Equal(t, r, again)
	}
}

// A mutant whose text is not there any more must fail, and not be left out.
func TestEveryPlantedFaultFitsTheSource(t *testing.T) {
	names := map[string]bool{}
	for _, m := range readMutants(t) {
		require.False(t, names[m.Name], "two are called %s", m.Name)
		names[m.Name] = true
		require.NotEmpty(t, m.says, m.Name)
		m.Overlay(t, "..", t.TempDir())
	}
	for _, name := range slices.Concat(mustBeFound, mustBeFoundAmongSeveral, mustBeFoundWatching, mustBeFoundAdapting) {
		require.True(t, names[name], name)
	}
}
