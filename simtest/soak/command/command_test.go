package command

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/internal/cmdline"
	"github.com/driftback/driftback/internal/commit"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/simtest/soak"
	"github.com/driftback/driftback/snapshot"
)

var rewrite = flag.Bool("rewrite", false, "write testdata anew")

func TestMain(m *testing.M) {
	_ = os.Setenv(commit.Variable, "1234abcd")
	os.Exit(m.Run())
}

// broken is a game whose snapshots forget a field in all matches but those that are
// rehearsed.
func broken() simtest.Game[simtest.WitnessState, simtest.WitnessInput] {
	g := simtest.Witness()
	g.Name = "broken"
	start := g.Start
	g.Start = func(seed uint64, s *simtest.WitnessState) {
		if start(seed, s); seed > 2 {
			s.Held[driftback.MaxParticipants-1] = 1
		}
	}
	g.Save = func(slots int) (snapshot.Store[simtest.WitnessState], error) {
		s, err := snapshot.Assign[simtest.WitnessState](slots)
		return forgetful{s}, err
	}
	return g
}

type forgetful struct {
	snapshot.Store[simtest.WitnessState]
}

func (f forgetful) Load(slot int, into *simtest.WitnessState) error {
	count := into.Count
	err := f.Store.Load(slot, into)
	if into.Held[driftback.MaxParticipants-1] != 0 {
		into.Count = count
	}
	return err
}

// call is one call of the command.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cmdline.Run(t.Context(), Sim(Of(simtest.Witness()), Of(broken()), called(impure(0), "impure")), append([]string{"sim"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func called(g Game, name string) Game {
	g.name = name
	return g
}

// failure makes a failure and returns the file of its whole scenario.
func failure(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	code, _, errs := call(t, "-seeds", "3", "-game", "broken", "-dir", dir, "-budget", "0")
	require.Equal(t, cmdline.Found, code, errs)
	return filepath.Join(dir, "whole-simtest-broken-3.json")
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&v), text)
	_, err := d.Token()
	require.ErrorIs(t, err, io.EOF, "it is one object")
	return v
}

func TestManySeedsAreSummedUpInSentences(t *testing.T) {
	for _, dashes := range []string{"-", "--"} {
		code, out, errs := call(t, dashes+"seeds", "2:6", dashes+"parallel=2")
		require.Zero(t, code, errs)
		require.NotContains(t, errs, "\r", "there is no terminal to write over a line on")
		require.Contains(t, out, "4 matches of witness, each played twice, 2 at once, commit 1234abcd: seeds 2 to 5.\n")
		require.Contains(t, out, "No two matches were the same.\n")
		require.Contains(t, out, "No rule was broken.\n")
	}
	code, out, _ := call(t, "-seeds", "5", "-once")
	require.Zero(t, code)
	require.Contains(t, out, "1 match of witness, each played once, ")
	require.Contains(t, out, ": seed 5.\n")
	code, out, _ = call(t, "-seeds", "5", "-once", "-players", "5", "-ticks", "600")
	require.Zero(t, code)
	require.Contains(t, out, "1 match of witness with 5 players and at least 600 ticks, each played once, ")
	code, out, _ = call(t, "-seeds", "1:3", "-once", "-adapt")
	require.Zero(t, code)
	require.Contains(t, out, "2 matches of witness with delays that adapt or peers that keep pace, each played once, ")
	require.Regexp(t, `Input delays adapted [1-9]\d* times, \d+ ticks were left out and \d+ added for pace, and in \d match`, out)
}

func TestAFailureAmongManyPlayersIsReplayedFromItsFile(t *testing.T) {
	dir := t.TempDir()
	code, out, _ := call(t, "-seeds", "3", "-game", "broken", "-players", "5", "-ticks", "600", "-dir", dir, "-budget", "20", "-json")
	require.Equal(t, cmdline.Found, code)
	r := decode[SimResult](t, out)
	require.Equal(t, 5, r.Players)
	require.Equal(t, 600, r.Ticks)
	f := r.Failures[0]
	s, err := read(f.Whole)
	require.NoError(t, err)
	require.Equal(t, simtest.Shape{Players: 5, Ticks: 600}.Generate(3), s)
	code, out, _ = call(t, "-game", "broken", "-replay", f.Whole, "-json")
	require.Equal(t, cmdline.Found, code)
	again := decode[ReplayResult](t, out)
	require.Equal(t, f.Trace, again.Play.Trace)
	require.Equal(t, f.Violation, again.Violation)

	// Where it cannot be kept, what is said plays the same match.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	_, out, _ = call(t, "-seeds", "3", "-game", "broken", "-players", "5", "-ticks", "600", "-dir", filepath.Join(dir, "file"))
	require.Contains(t, out, "not kept; -seeds 3 -players 5 -ticks 600 plays it again")
}

func TestAFailureIsShownWithAllThatReplaysIt(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := call(t, "-seeds", "3:9", "-game", "broken", "-dir", dir, "-budget", "40")
	require.Equal(t, cmdline.Found, code, errs)
	file := filepath.Join(dir, "simtest-broken-3.json")
	require.Contains(t, out, "1 match of broken")
	require.Contains(t, out, "seed 3 of 6, then a rule was broken.\n")
	require.Contains(t, out, "\nSeed 3, commit 1234abcd, trace ")
	require.Contains(t, out, "rule:      "+string(simtest.RuleState))
	require.Contains(t, out, "differs:   Count[")
	require.Contains(t, out, "scenario:  "+filepath.Join(dir, "whole-simtest-broken-3.json"))
	require.Contains(t, out, "shrunk to: "+file)
	require.Contains(t, out, "-game broken -replay '"+file+"'\n")

	require.Contains(t, out, "  without a network: simtest: "+string(simtest.MistakeUnsaved))

	_, out, _ = call(t, "-seeds", "3:5", "-game", "broken", "-dir", dir, "-budget", "0", "-keepgoing")
	require.Contains(t, out, "2 seeds failed.\n")
	require.Contains(t, out, "not shrunk: it was not asked for")
}

func TestAReplayBreaksTheSameRuleAtTheSameEvent(t *testing.T) {
	dir := t.TempDir()
	code, out, _ := call(t, "-seeds", "3", "-game", "broken", "-dir", dir, "-budget", "40", "-json")
	require.Equal(t, cmdline.Found, code)
	found := decode[SimResult](t, out).Failures[0]

	code, out, _ = call(t, "-replay", found.Whole, "-game", "broken", "-json")
	require.Equal(t, cmdline.Found, code)
	again := decode[ReplayResult](t, out)
	require.Equal(t, found.Violation, again.Violation)
	require.Equal(t, found.Trace, again.Play.Trace)

	code, out, _ = call(t, "-replay", found.Shrunk, "-game", "broken", "-json")
	require.Equal(t, cmdline.Found, code)
	again = decode[ReplayResult](t, out)
	require.Equal(t, found.ShrunkViolation, again.Violation)
	require.Equal(t, *found.Small, again.Size)

	code, out, _ = call(t, "-replay", found.Shrunk, "-game", "broken")
	require.Equal(t, cmdline.Found, code)
	v := again.Violation
	require.Contains(t, out, fmt.Sprintf("at:        event %d, %v, peer %d, tick %d\n", v.Event, time.Duration(v.Seconds*1e9).Round(1), v.Peer, v.Tick))
	require.Contains(t, out, "found:     "+v.Detail)
	require.Contains(t, out, "without a network: simtest: "+string(simtest.MistakeUnsaved))
	require.Equal(t, simtest.MistakeUnsaved, again.Alone.Mistake)
	require.Contains(t, out, "differs:   "+v.Difference.Field+", which is "+v.Difference.Truth+" in truth and "+v.Difference.Here+" here")

	// Control: a sound game breaks nothing in it.
	code, out, _ = call(t, "-replay", found.Whole)
	require.Zero(t, code)
	require.Contains(t, out, "breaks no rule.\nIn it: ")
}

// impure is a game whose step, from a tick on, adds what it has counted outside the state.
func impure(from driftback.Tick) Game {
	g := simtest.Witness()
	step, runs := g.Step, int64(0)
	g.Step = func(s *simtest.WitnessState, in []simtest.WitnessInput, pass *driftback.Pass) {
		if step(s, in, pass); pass.Tick() >= from {
			runs++
			s.Count[0] += runs
		}
	}
	return Of(g)
}

func TestAStepThatShowsAMistakeAloneIsNotPlayed(t *testing.T) {
	var out, errs bytes.Buffer
	code := cmdline.Run(t.Context(), Sim(impure(0)), []string{"sim", "-seeds", "3"}, &out, &errs)
	require.Equal(t, cmdline.Found, code, errs.String())
	require.Contains(t, out.String(), "No match of witness was played, because its step, alone, shows a mistake, commit 1234abcd:\nsimtest: "+string(simtest.MistakeImpure))
	require.Contains(t, out.String(), "\n  (the workload of seed 0; nothing of it needs a network)\n")

	out.Reset()
	code = cmdline.Run(t.Context(), Sim(impure(0)), []string{"sim", "-seeds", "3", "-json"}, &out, &errs)
	require.Equal(t, cmdline.Found, code)
	r := decode[SimResult](t, out.String())
	require.Equal(t, simtest.MistakeImpure, r.Alone.Mistake)
	require.Zero(t, r.Matches)

	// What it shows later is added to what broke, and to a replay that breaks nothing.
	dir := t.TempDir()
	out.Reset()
	code = cmdline.Run(t.Context(), Sim(impure(241)), []string{"sim", "-seeds", "0:20", "-parallel", "1", "-dir", dir, "-budget", "20"}, &out, &errs)
	require.Equal(t, cmdline.Found, code)
	require.Contains(t, out.String(), "\n  without a network: simtest: "+string(simtest.MistakeImpure))
	require.Contains(t, (&job{game: impure(0)}).replayText("f", &simtest.Scenario{}, &simtest.Report{}, &simtest.Finding{Mistake: simtest.MistakeOutside}),
		"breaks no rule.\nBut its step, alone, shows a mistake, and another play may break one:\n  without a network: simtest: "+string(simtest.MistakeOutside))
}

func TestAFileIsShrunkIntoAnother(t *testing.T) {
	whole := failure(t)
	code, out, _ := call(t, "-shrink", whole, "-game", "broken", "-budget", "40", "-json")
	require.Equal(t, cmdline.Found, code)
	r := decode[ShrinkResult](t, out)
	require.Equal(t, strings.TrimSuffix(whole, ".json")+".shrunk.json", r.Shrunk)
	require.Less(t, r.To.Ticks, r.From.Ticks)
	small, err := read(r.Shrunk)
	require.NoError(t, err)
	require.Equal(t, r.To, size(&small))

	other := filepath.Join(t.TempDir(), "other.json")
	code, out, _ = call(t, "-shrink", whole, "-game", "broken", "-budget", "40", "-o", other)
	require.Equal(t, cmdline.Found, code)
	require.Contains(t, out, fmt.Sprintf("was %d ticks, %d peers", r.From.Ticks, r.From.Peers))
	require.Contains(t, out, fmt.Sprintf("is now %d tick", r.To.Ticks))
	require.FileExists(t, other)

	code, out, _ = call(t, "-shrink", whole, "-budget", "40", "-o", other+"2")
	require.Zero(t, code)
	require.Contains(t, out, "nothing to shrink")
	require.NoFileExists(t, other+"2")
}

func TestWhatIsWrongOnTheCommandLineIsOneSentence(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.json")
	require.NoError(t, os.WriteFile(text, []byte("hello"), 0o644))
	for _, c := range []struct{ args, says string }{
		{"-seeds x", `-seeds is "x": give FIRST:END, such as 0:10000 for the seeds 0 to 9999, or one seed`},
		{"-seeds 1:x", `-seeds is "1:x": give FIRST:END`},
		{"-seeds 18446744073709551615: -minutes 1", `-seeds is "18446744073709551615:", which is no seed at all`},
		{"-seeds 5:5", `-seeds is "5:5", which is no seed at all`},
		{"-seeds 5:", "-seeds 5: has no end, so -minutes must say when to stop"},
		{"-minutes -1", "-minutes is -1: more than 0"},
		{"-minutes NaN", "-minutes is NaN: more than 0"},
		{"-players 17", "-players and -ticks: simtest: the number of players is 17: from 2 to 16 are allowed, or 0 for what a seed gives"},
		{"-ticks -1", "-players and -ticks: simtest: the least number of ticks is -1: from 0 to 10000 are allowed"},
		{"-parallel 0", "-parallel is 0: from 1 to 1024 are allowed"},
		{"-parallel x", `invalid value "x" for flag -parallel; sim -help lists the flags`},
		{"-budget -1", "-budget is -1 plays"},
		{"-sedes 3", "there is no flag -sedes; sim -help lists the flags"},
		{"-seeds", "flag needs an argument: -seeds"},
		{"more", `"more" is one argument too many`},
		{"-game chess", `-game is "chess": it is one of witness or broken or impure`},
		{"-replay a -shrink b", "-replay and -shrink are two things"},
		{"-o a", "there is no -shrink"},
		{"-replay a -seeds 3", "-seeds means nothing beside -replay"},
		{"-shrink a -minutes 3", "-minutes means nothing beside -shrink"},
		{"-replay " + text + "x", "the scenario cannot be read: open "},
		{"-replay " + text, "the scenario is not JSON"},
	} {
		code, out, errs := call(t, strings.Fields(c.args)...)
		require.Equal(t, cmdline.Usage, code, c.args)
		require.Empty(t, out)
		require.Regexp(t, `^sim: [^\n]+\.\n$`, errs, c.args)
		require.Contains(t, errs, c.says)
	}
	code, out, errs := call(t, "-help")
	require.Zero(t, code)
	require.Empty(t, errs)
	require.Contains(t, out, "-seeds")
}

func TestWhatWasFoundIsSaidWhereItCannotBeKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	code, out, errs := call(t, "-seeds", "3:9", "-game", "broken", "-dir", file)
	require.Equal(t, cmdline.Usage, code)
	require.Contains(t, errs, "soak: the scenario of seed 3 cannot be kept: ")
	require.Contains(t, out, "rule:      "+string(simtest.RuleState))
	require.Contains(t, out, "not kept; -seeds 3 plays it again\n")
	_, out, _ = call(t, "-seeds", "3:9", "-game", "broken", "-dir", file, "-json")
	r := decode[SimResult](t, out)
	require.Equal(t, uint64(3), r.Failures[0].Seed)
	require.Empty(t, r.Failures[0].Replay)
}

// A time that rounds to nothing would be no time at all, which is for ever.
func TestTheShortestTimeIsATime(t *testing.T) {
	code, out, errs := call(t, "-minutes", "1e-13")
	require.Zero(t, code, errs)
	require.Contains(t, out, "the time was used up")
}

func TestNoMoreAreSaidToBePlayedAtOnceThanThereAre(t *testing.T) {
	code, out, errs := call(t, "-seeds", "2:4", "-parallel", "1000", "-once")
	require.Zero(t, code, errs)
	require.Contains(t, out, "2 matches of witness, each played once, 2 at once, ")
}

func TestAnInterruptHasACodeOfItsOwn(t *testing.T) {
	whole := failure(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"-seeds", "0:1000000"}, {"-replay", whole}, {"-shrink", whole}} {
		var out, errs bytes.Buffer
		code := cmdline.Run(ctx, Sim(Of(simtest.Witness())), append([]string{"sim"}, args...), &out, &errs)
		require.Equal(t, cmdline.Interrupted, code, "%v: %s", args, &errs)
		require.Contains(t, out.String()+errs.String(), "interrupt")
	}
}

// shape returns the paths of all values of some JSON, with their types.
func shape(v any, path string, lines map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			shape(value, path+"."+name, lines)
		}
	case []any:
		lines[path+"[]"] = true
		for _, value := range v {
			shape(value, path+"[]", lines)
		}
	default:
		lines[fmt.Sprintf("%s %T", path, v)] = true
	}
}

// What others read by name keeps its name: testdata/json.txt is written anew by -rewrite.
func TestTheNamesInJSONStay(t *testing.T) {
	dir := t.TempDir()
	lines := map[string]bool{}
	for _, args := range [][]string{
		{"-seeds", "0:12"}, {"-seeds", "0", "-game", "impure"}, {"-seeds", "3", "-game", "broken", "-budget", "9"}, {"-seeds", "3", "-game", "broken", "-budget", "0"},
		{"-replay", filepath.Join(dir, "whole-simtest-broken-3.json"), "-game", "broken"},
		{"-shrink", filepath.Join(dir, "whole-simtest-broken-3.json"), "-game", "broken", "-budget", "9"},
	} {
		if args[0] == "-seeds" {
			args = append(args, "-dir", dir)
		}
		_, out, _ := call(t, append(args, "-json")...)
		v := decode[map[string]any](t, out)
		shape(v, fmt.Sprint(v["command"]), lines)
	}
	var got strings.Builder
	for _, line := range slices.Sorted(func(yield func(string) bool) {
		for line := range lines {
			if !yield(line) {
				return
			}
		}
	}) {
		got.WriteString(line + "\n")
	}
	file := filepath.Join("testdata", "json.txt")
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

func TestProgressIsALineThatIsWrittenOverOrOneEveryTenSeconds(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	require.False(t, p.terminal)
	second := func(wall time.Duration, done uint64) soak.Progress {
		return soak.Progress{Asked: 200, Done: done, Wall: wall, Simulated: time.Hour, Failed: 1}
	}
	p.show(second(0, 0))
	p.show(second(10*time.Second, 50))
	p.show(second(11*time.Second, 51))
	p.show(second(20*time.Second, 100))
	over := second(30*time.Second, 200)
	over.Over = true
	p.show(over)
	require.Equal(t, "50/200 seeds, 5/s, 1.0 h simulated, 1 failure, 30s left\n"+
		"100/200 seeds, 5/s, 1.0 h simulated, 1 failure, 20s left\n", out.String())

	out.Reset()
	p = newProgress(&out)
	p.terminal = true
	p.show(second(10*time.Second, 50))
	line := "\r[####------------] 50/200 seeds, 5/s, 1.0 h simulated, 1 failure, 30s left"
	require.Equal(t, line, out.String())
	p.show(over)
	require.Equal(t, line+"\r"+strings.Repeat(" ", len(line)-1)+"\r", out.String(), "it is gone in the end")
	require.Less(t, len(line), 80)

	require.Equal(t, "7 seeds, 0/s, 0.0 s simulated, 0 failures, 1m0s left", words(soak.Progress{Done: 7, Budget: time.Minute}))
}
