package simtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
)

func TestRunPlaysManySeeds(t *testing.T) {
	simtest.Run(t, simtest.Witness(), simtest.Options{Seeds: 20, First: 1000})
}

// recorder is a test that can fail without failing this one.
type recorder struct {
	testing.TB
	name   string
	log    strings.Builder
	failed bool
}

func (r *recorder) Helper()                         {}
func (r *recorder) Name() string                    { return r.name }
func (r *recorder) Logf(format string, args ...any) { fmt.Fprintf(&r.log, format+"\n", args...) }
func (r *recorder) Fatal(args ...any)               { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Logf(format, args...)
	r.failed = true
	panic(r)
}

// record runs what would fail.
func record(t *testing.T, run func(t testing.TB)) (r *recorder) {
	r = &recorder{TB: t, name: "TestX/of a game"}
	defer func() {
		if e := recover(); e != nil && e != any(r) {
			panic(e)
		}
	}()
	run(r)
	return r
}

func set[T any](t *testing.T, flag *T, v T) {
	had := *flag
	*flag = v
	t.Cleanup(func() { *flag = had })
}

// broken is a game with a step that differs at one peer.
func broken() game { return planted["a step that differs at one peer"].game() }

func TestRunFailsWithTheRuleTheSeedAFileAndACommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	o := simtest.Options{Seeds: 12, First: 3, Dir: dir, Budget: 60}
	r := record(t, func(t testing.TB) { simtest.Run(t, broken(), o) })
	require.True(t, r.failed)
	said := r.log.String()
	file := filepath.Join(dir, "simtest-TestX_of_a_game-3.json")
	require.Contains(t, said, string(simtest.RuleState))
	require.Contains(t, said, "the first field that differs is Count[1]")
	require.Contains(t, said, "seed 3: "+filepath.Join(dir, "whole-simtest-TestX_of_a_game-3.json"))
	require.Contains(t, said, "shrunk:  "+file+" (70 ticks, 2 peers, 0 faults)")
	require.Contains(t, said, "replay:  "+simtest.Command("TestX/of a game", file))
	require.Regexp(t, `\n  commit \S+`, said)

	whole, err := os.ReadFile(filepath.Join(dir, "whole-simtest-TestX_of_a_game-3.json"))
	require.NoError(t, err)
	require.Equal(t, string(simtest.Generate(3).JSON()), string(whole))

	// What was kept is played first, and goes on failing until the game is mended.
	r = record(t, func(t testing.TB) { simtest.Run(t, broken(), o) })
	require.True(t, r.failed)
	require.Contains(t, r.log.String(), "scenario "+file)
	o.Seeds = 12
	r = record(t, func(t testing.TB) { simtest.Run(t, simtest.Witness(), o) })
	require.False(t, r.failed, "%s", r.log.String())
	require.Contains(t, r.log.String(), file+" breaks no rule")
	require.Contains(t, r.log.String(), "simtest: 12 seeds of")
}

func TestTheFlagsPlayOneFileOrMoreSeeds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "one.json")
	require.NoError(t, os.WriteFile(file, two().JSON(), 0o644))
	set(t, simtest.ScenarioFlag, file)
	r := record(t, func(t testing.TB) { simtest.Run(t, simtest.Witness(), simtest.Options{}) })
	require.False(t, r.failed, r.log.String())
	require.Equal(t, 1, strings.Count(r.log.String(), "\n"), "it plays nothing else: %s", r.log.String())
	require.Contains(t, r.log.String(), "one.json breaks no rule, trace ")

	*simtest.ScenarioFlag = file + "x"
	r = record(t, func(t testing.TB) { simtest.Run(t, simtest.Witness(), simtest.Options{}) })
	require.True(t, r.failed)
	require.NoError(t, os.WriteFile(file+"x", []byte("{}"), 0o644))
	r = record(t, func(t testing.TB) { simtest.Run(t, simtest.Witness(), simtest.Options{}) })
	require.True(t, r.failed)
	require.Contains(t, r.log.String(), "version 0")

	*simtest.ScenarioFlag = ""
	set(t, simtest.SeedsFlag, 3)
	r = record(t, func(t testing.TB) { simtest.Run(t, simtest.Witness(), simtest.Options{Seeds: 1000}) })
	require.Contains(t, r.log.String(), "simtest: 3 seeds of")
}

func TestRunFailsWhenTheMatchesProveLittle(t *testing.T) {
	g := simtest.Witness()
	g.Input = func(*rng.PCG, driftback.Participant, driftback.Tick) input { return input{} }
	r := record(t, func(t testing.TB) { simtest.Run(t, g, simtest.Options{Seeds: 20}) })
	require.True(t, r.failed, "%s", r.log.String())
	require.Contains(t, r.log.String(), "nothing was rolled back in 20 matches")

	first := uint64(0)
	for first < 500 {
		r, err := simtest.Check(g, first)
		require.NoError(t, err)
		if len(r.Vacuous) > 0 {
			break
		}
		first++
	}
	r = record(t, func(t testing.TB) { simtest.Run(t, g, simtest.Options{Seeds: 1, First: first}) })
	require.True(t, r.failed, "%s", r.log.String())
	require.Contains(t, r.log.String(), fmt.Sprintf("1 of 1 matches prove little: seed %d: ", first))
}

// TestReplayTarget is what the command of a failure runs; alone it is a sound game.
func TestReplayTarget(t *testing.T) {
	g := simtest.Witness()
	if os.Getenv("SIMTEST_BROKEN") != "" {
		g = broken()
	}
	t.Run("of a game", func(t *testing.T) {
		simtest.Run(t, g, simtest.Options{Seeds: 2, Dir: os.Getenv("SIMTEST_BROKEN"), Budget: 60})
	})
}

func TestTheCommandThatAFailurePrintsReplaysItInAnotherProcess(t *testing.T) {
	play := func(args ...string) string {
		c := exec.Command(os.Args[0], args...)
		c.Env = append(os.Environ(), "SIMTEST_BROKEN="+t.TempDir())
		out, err := c.CombinedOutput()
		require.Error(t, err, "%s", out)
		return string(out)
	}
	first := play("-test.run", "^TestReplayTarget$")
	_, command, ok := strings.Cut(first, "replay:  go test ")
	require.True(t, ok, first)
	var run, file string
	_, err := fmt.Sscanf(strings.ReplaceAll(command, "'", ""), "-run %s . -simtest.scenario=%s", &run, &file)
	require.NoError(t, err)
	second := play("-test.run", run, "-simtest.scenario="+file)
	_, rest, ok := strings.Cut(second, "simtest: broken")
	require.True(t, ok, second)
	sentence, _, _ := strings.Cut(rest, "\n")
	require.Contains(t, first, sentence, "the replay breaks the same rule at the same event")
}
