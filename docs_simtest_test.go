package driftback_test

import (
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/simtest/soak/command"
	"github.com/driftback/driftback/snapshot"
)

// page is docs/simtest.md.
func page(t *testing.T) string {
	b, err := os.ReadFile("docs/simtest.md")
	require.NoError(t, err)
	return string(b)
}

// block returns the n-th block of a language.
func block(t *testing.T, language string, n int) string {
	blocks := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(page(t), -1)
	require.Greater(t, len(blocks), n, "the page lacks block %d of %s", n, language)
	return blocks[n][1]
}

// column returns the first cells of the table whose head begins so, below a heading.
func column(t *testing.T, heading, head string) (cells []string) {
	_, below, ok := strings.Cut(page(t), "\n"+heading+"\n")
	require.True(t, ok, "the page lacks %q", heading)
	_, table, ok := strings.Cut(below, "\n| "+head+" |")
	require.True(t, ok, "below %q there is no table of %ss", heading, head)
	for _, row := range strings.Split(table, "\n")[2:] {
		if !strings.HasPrefix(row, "|") {
			break
		}
		cells = append(cells, strings.Trim(strings.Split(row, "|")[1], " `"))
	}
	return cells
}

func TestTheSimtestPageHasEveryFieldKindRuleAndMistake(t *testing.T) {
	for heading, of := range map[string]reflect.Type{
		"### The scenario": reflect.TypeFor[simtest.Scenario](),
		"### A peer":       reflect.TypeFor[simtest.Peer](),
		"### A link":       reflect.TypeFor[simtest.Link](),
		"### A fault":      reflect.TypeFor[simtest.Fault](),
		"### A cut":        reflect.TypeFor[simtest.Cut](),
		"### A watcher":    reflect.TypeFor[simtest.Watcher](),
	} {
		var fields []string
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			fields = append(fields, name)
		}
		require.ElementsMatch(t, fields, column(t, heading, "field"), "docs/simtest.md, %q", heading)
	}
	require.ElementsMatch(t, texts(simtest.Kinds[:]), column(t, "### Kinds of faults", "kind"))
	require.ElementsMatch(t, texts(simtest.Rules[:]), column(t, "## What matches are held to", "rule"))
	require.ElementsMatch(t, texts(simtest.Mistakes[:]), column(t, "## What the step is held to alone", "it says"))
}

func texts[S ~string](list []S) (texts []string) {
	for _, s := range list {
		texts = append(texts, string(s))
	}
	return texts
}

// What a kind needs, as the page says, is what makes a valid fault of it, and all of it.
func TestTheSimtestPageSaysWhatEachKindNeeds(t *testing.T) {
	returns := []simtest.Kind{simtest.Restart, simtest.Reopen, simtest.Return}
	valid := func(f simtest.Fault) error {
		return simtest.Scenario{
			Version: simtest.Version, Ticks: 100, Frame: 16_667, Hold: 1, PeerTimeout: simtest.MinPeerTimeout,
			PlayOn: slices.Contains(returns, f.Kind), Rejoin: slices.Contains(returns, f.Kind),
			Peers:  []simtest.Peer{{Plays: []int{0}}, {Plays: []int{1}}, {Plays: []int{2}}},
			Faults: []simtest.Fault{f},
		}.Validate()
	}
	for _, kind := range simtest.Kinds {
		row := regexp.MustCompile("(?m)^\\| `" + string(kind) + "` \\|.*\\| (.*) \\|$").FindStringSubmatch(page(t))
		require.NotNil(t, row, "%s has no row", kind)
		faulty := func(without string) simtest.Fault {
			f := simtest.Fault{Kind: kind}
			for _, need := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(row[1], -1) {
				if need[1] == without {
					continue
				}
				switch need[1] {
				case "for":
					f.For = simtest.Second
				case "share":
					f.Share = 0.5
				case "by":
					f.By = simtest.Millisecond
				case "every":
					f.Every = simtest.MinFaultEvery
				case "skew":
					f.Skew = -1000
				case "rate":
					f.Rate = simtest.MinRate
				case "from":
					f.From = []int{1}
				case "to":
					f.To = []int{2}
				case "tick":
					f.Tick = 50
				default:
					require.Fail(t, "a fault has no such field", "%s needs %s", kind, need[1])
				}
			}
			return f
		}
		require.NoError(t, valid(faulty("")), "with all that the page says it needs")
		for _, name := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(row[1], -1) {
			if name[1] != "tick" { // 0 is a tick
				require.Error(t, valid(faulty(name[1])), "%s without %s", kind, name[1])
			}
		}
	}
}

func TestTheSimtestPageLinksToWhatExists(t *testing.T) {
	prose := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(page(t), "")
	links := regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(prose, -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		if !strings.Contains(link[1], "://") {
			_, err := os.Stat(filepath.Join("docs", link[1]))
			require.NoError(t, err, "docs/simtest.md links to %s", link[1])
		}
	}
}

func TestTheSimtestPageShowsATestAScenarioAndCommandsThatWork(t *testing.T) {
	for n, name := range []string{"example_simtest_test.go", "example_simtest_seed_test.go"} {
		file, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, strings.Replace(string(file), "package driftback_test", "package main", 1), block(t, "go", n))
	}

	s, err := simtest.Parse([]byte(block(t, "json", 0)))
	require.NoError(t, err)
	r, err := simtest.Play(simtest.Game[State, Input]{Step: step, Input: press}, s)
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Empty(t, r.Vacuous)

	flags := map[string]bool{}
	for _, f := range command.Sim(command.Of(simtest.Witness()), command.Of(simtest.Witness())).Flags {
		flags["-"+f.Names()[0]] = true
	}
	shown := regexp.MustCompile(` (-[a-z]+)`).FindAllStringSubmatch(block(t, "sh", 0), -1)
	require.NotEmpty(t, shown)
	for _, f := range shown {
		require.True(t, flags[f[1]], "driftback sim has no flag %s", f[1])
	}
}

// The program for a game of one's own is built, with the package that it imports, as files
// of a module of its own would be, and plays.
func TestTheSimtestPagesProgramIsBuiltAndPlaysInAnotherProcess(t *testing.T) {
	const here = "github.com/driftback/driftback/race"
	dir := t.TempDir()
	root, err := os.Getwd()
	require.NoError(t, err)
	over := struct{ Replace map[string]string }{map[string]string{}}
	for n, name := range []string{"race/soak/main.go", "race/sim/sim.go"} {
		code := block(t, "go", 2+n)
		formatted, err := format.Source([]byte(code))
		require.NoError(t, err)
		require.Equal(t, string(formatted), code)
		file := filepath.Join(dir, strconv.Itoa(n)+".go")
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(code, "example.com/race", here)), 0o644))
		over.Replace[filepath.Join(root, filepath.FromSlash(name))] = file
	}
	list, err := json.Marshal(over)
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, list, 0o644))
	program := filepath.Join(dir, "soak.exe")
	out, err := exec.Command("go", "build", "-overlay", overlay, "-o", program, here+"/soak").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(program, "-seeds", "0:3").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "3 matches of race, each played twice")
	require.Contains(t, string(out), "No rule was broken.")
}

// The methods that the page asks of a state are those that are looked for.
func TestTheSimtestPageGivesTheMethodsThatAreLookedFor(t *testing.T) {
	type State struct{ List []int }
	_, err := snapshot.For[State](1)
	require.Error(t, err)
	shown := regexp.MustCompile(`func \(s \*State\)[^/\n]*`).FindAllString(block(t, "text", 0), -1)
	require.Len(t, shown, 3)
	for _, signature := range shown {
		require.Contains(t, err.Error(), strings.TrimSpace(signature))
	}
}

// told is a test that fails without failing this one.
type told struct {
	testing.TB
	log strings.Builder
}

func (t *told) Helper()             {}
func (t *told) Name() string        { return "TestMatches" }
func (t *told) Logf(string, ...any) {}
func (t *told) Fatal(args ...any)   { t.Fatalf("%s", fmt.Sprint(args...)) }
func (t *told) Fatalf(format string, args ...any) {
	fmt.Fprintf(&t.log, format+"\n", args...)
	panic(t)
}

func failing(t *testing.T, g simtest.Game[State, Input], dir string) string {
	out := &told{TB: t}
	func() {
		defer func() {
			if e := recover(); e != nil && e != any(out) {
				panic(e)
			}
		}()
		simtest.Run(out, g, simtest.Options{Dir: dir})
	}()
	return out.log.String()
}

// sure leaves of a text what does not depend on the seeds, the folder and the commit.
func sure(text, dir string) string {
	text = strings.ReplaceAll(text, dir, "testdata")
	text = regexp.MustCompile(`commit .*`).ReplaceAllString(text, "commit")
	text = regexp.MustCompile(`at [0-9.a-zµ]*s:`).ReplaceAllString(text, "at TIME:")
	return regexp.MustCompile(`-?[0-9]+`).ReplaceAllString(text, "N")
}

// What the page shows of failures is what Run prints, but for numbers.
func TestTheSimtestPageShowsRealFailures(t *testing.T) {
	var wind rng.PCG
	g := simtest.Game[State, Input]{Name: "race", Players: 2, Input: press}
	g.Start = func(seed uint64, _ *State) { wind.Seed(seed, 1) }
	g.Step = func(s *State, in []Input, pass *driftback.Pass) {
		step(s, in, pass)
		s.X[0] += int32(wind.IntN(1000))
	}
	dir := t.TempDir()
	require.Equal(t, sure(block(t, "text", 1), dir), sure(failing(t, g, dir), dir), "\n%s", failing(t, g, dir))

	laps := int32(0)
	g.Start = nil
	g.Step = func(s *State, in []Input, pass *driftback.Pass) {
		step(s, in, pass)
		if pass.Tick() >= 245 {
			laps++
			s.X[0] += laps
		}
	}
	said := failing(t, g, dir)
	require.Equal(t, sure(block(t, "text", 2), dir), sure(said, dir), "\n%s", strings.ReplaceAll(said, dir, "testdata"))
}
