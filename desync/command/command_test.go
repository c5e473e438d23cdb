package command

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/desync"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/internal/cmdline"
	"github.com/driftback/driftback/layout"
)

var rewrite = flag.Bool("rewrite", false, "write testdata anew")

type state struct{ X, Speed int32 }

type input struct {
	Left  bool
	Power uint8
}

func step(s *state, in []input, _ *driftback.Pass) {
	s.Speed += int32(in[0].Power)
	s.X += s.Speed
}

// reported writes the report of a peer that had a speed of 3 where the other one had 7, and returns its file.
func reported(t *testing.T, change func(r *desync.Report)) string {
	t.Helper()
	states, err := layout.Of[state]()
	require.NoError(t, err)
	inputs, err := layout.OfInput[input]()
	require.NoError(t, err)
	sum := func(s state) uint64 { return xxh3.Hash(states.Append(nil, &s)) }
	r := &desync.Report{
		Game: "race, to the end", Platform: "linux/amd64, go1.26.0", Self: 0, Peer: 1, Players: []driftback.Peer{0, 1},
		Agreed: 8, Found: 9, Tick: 9, Exact: true,
		Ours: fingerprint.Sum(sum(state{3, 3})), Theirs: fingerprint.Sum(sum(state{3, 7})),
		Repeats: [2]dispute.Repeats{dispute.Same, dispute.Different},
		Roots:   []dispute.RootPair{{Tick: 9, OursKnown: true, Ours: sum(state{3, 3}), TheirsKnown: true, Theirs: sum(state{3, 7})}},
		At:      9, Compared: true, OursSize: 8, TheirsSize: 8, Fields: []fingerprint.Difference{{Path: "Speed", A: "3", B: "7"}},
		InputSize: inputs.Size(), InputLayout: inputs.Hash(), StateLayout: states.Hash(),
		Inputs: []desync.Inputs{{Tick: 8, Speed: 8, Given: []desync.Given{
			{Input: inputs.Append(nil, &input{Power: 3})}, {Input: inputs.Append(nil, &input{Left: true}), Status: driftback.Absent},
		}}},
		Start: 8, End: 9, Before: states.Append(nil, &state{}), After: states.Append(nil, &state{3, 3}),
	}
	if change != nil {
		change(r)
	}
	b, err := r.Append(nil)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "race.desync")
	require.NoError(t, os.WriteFile(name, b, 0o644))
	return name
}

// call is one call of the command, which knows the race and another game.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return callWith(t.Context(), []Game{Of("race", step), Of("other", step)}, args...)
}

func callWith(ctx context.Context, games []Game, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = cmdline.Run(ctx, Desync(games...), append([]string{"desync"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestTheTickOfAGameThatIsKnownIsRunAgain(t *testing.T) {
	code, out, errs := call(t, reported(t, nil))
	require.Equal(t, cmdline.Done, code, errs)
	require.Contains(t, out, "Tick 8 is where they part")
	require.Contains(t, out, "Speed  3       7\n")
	require.Contains(t, out, "participant 1: {Left:true Power:0}, absent\n", "an input is shown as the game's type shows it")
	require.Contains(t, out, "\nHERE\nTick 8 run again here (")
	require.Contains(t, out, "They come to what peer 0 had.")

	// The other one's program.
	code, out, errs = call(t, reported(t, func(r *desync.Report) {
		r.Self, r.Peer, r.Ours, r.Theirs, r.After[4] = 1, 0, r.Theirs, r.Ours, 7
		r.Roots[0].Ours, r.Roots[0].Theirs = r.Roots[0].Theirs, r.Roots[0].Ours
	}))
	require.Equal(t, cmdline.Found, code, errs)
	require.Empty(t, errs)
	require.Contains(t, out, "They come to what peer 0 had, and not to what peer 1 had")
}

func TestAStepThatIsNotPureIsFoundOut(t *testing.T) {
	chance := Of("race", func(s *state, in []input, pass *driftback.Pass) { step(s, in, pass); s.X = rand.Int32() })
	code, out, _ := callWith(t.Context(), []Game{chance}, reported(t, nil))
	require.Equal(t, cmdline.Found, code)
	require.Contains(t, out, "The runs do not come to the same: the step is not pure")
}

func TestOfAGameThatIsNotKnownTheReportIsShownAndHowItPlugsIn(t *testing.T) {
	for _, games := range [][]Game{nil, {Of("racer", step)}, {Of("ra", step), Of("fighter", step)}} {
		code, out, errs := callWith(t.Context(), games, reported(t, nil))
		require.Equal(t, cmdline.Done, code, errs)
		require.Contains(t, out, "Speed  3       7\n")
		require.Contains(t, out, `this program does not know the game "race, to the end"`)
		require.Contains(t, out, `os.Exit(command.Main(command.Of("race", sim.Step)))`)
	}
	_, out, _ := callWith(t.Context(), []Game{Of("ra", step), Of("fighter", step)}, reported(t, nil))
	require.Contains(t, out, "(it knows ra and fighter)")
	_, out, _ = callWith(t.Context(), nil, reported(t, nil))
	require.Contains(t, out, "(it knows none)")
	require.Contains(t, out, "participant 0: 0003\n", "an input is its bytes")
}

func TestAGameCanBeNamed(t *testing.T) {
	file := reported(t, func(r *desync.Report) { r.Game = "something else" })
	code, out, _ := call(t, file)
	require.Zero(t, code)
	require.Contains(t, out, "were not run again")
	code, out, _ = call(t, "-game", "other", file)
	require.Zero(t, code)
	require.Contains(t, out, "They come to what peer 0 had.")
	code, _, errs := call(t, "-game", "third", file)
	require.Equal(t, cmdline.Usage, code)
	require.Equal(t, "desync: -game is \"third\": there is race and other.\n", errs)
}

func TestTicksThatCannotBeRunAreAnErrorBesideTheReport(t *testing.T) {
	code, out, errs := call(t, reported(t, func(r *desync.Report) { r.StateLayout++; r.Build = "v7" }))
	require.Equal(t, cmdline.Usage, code)
	require.Contains(t, out, "Speed  3       7\n")
	require.Contains(t, out, "The ticks were not run again; why not is said below.\n")
	require.Regexp(t, `^desync: \S+: desync: the ticks cannot be run again: the state of this program has other fields: [^\n]+ use the program of build "v7"\.\n$`, errs)
	code, out, _ = call(t, "-json", reported(t, func(r *desync.Report) { r.StateLayout++ }))
	require.Equal(t, cmdline.Usage, code)
	require.Contains(t, out, `"here":null,"notRun":"desync: the ticks cannot be run again: the state of this program has other fields`)
}

func TestWhatIsWrongOnTheCommandLineIsOneSentence(t *testing.T) {
	dir := t.TempDir()
	text, cut := filepath.Join(dir, "text"), filepath.Join(dir, "cut")
	require.NoError(t, os.WriteFile(text, []byte("hello"), 0o644))
	b, err := os.ReadFile(reported(t, nil))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cut, b[:60], 0o644))
	for _, c := range []struct{ args, says string }{
		{"", "desync opens one file, and was given 0"},
		{"a b", "desync opens one file, and was given 2"},
		{filepath.Join(dir, "nowhere"), "the report cannot be read: open "},
		{text, text + ": desync: no report: the file is something else: it does not begin as a report does"},
		{cut, cut + ": desync: no report: the file is cut short, or damaged: it has 60 bytes, and says that it had "},
		{"-jason x", "there is no flag -jason"},
	} {
		code, out, errs := call(t, strings.Fields(c.args)...)
		require.Equal(t, cmdline.Usage, code, c.args)
		require.Empty(t, out)
		require.Contains(t, errs, "desync: "+c.says)
		require.Equal(t, 1, strings.Count(errs, "\n"))
	}
}

func TestAStepThatDoesNotComeToAnEndIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	stuck := Of("race", func(*state, []input, *driftback.Pass) { cancel(); <-release })
	code, out, errs := callWith(ctx, []Game{stuck}, reported(t, nil))
	require.Equal(t, cmdline.Interrupted, code)
	require.Empty(t, out)
	require.Equal(t, "desync: interrupted, so nothing was found out.\n", errs)
}

// TestTheJSONKeepsItsNames compares what -json prints with what it was when it was written down;
// -rewrite writes it anew.
func TestTheJSONKeepsItsNames(t *testing.T) {
	file := reported(t, func(r *desync.Report) {
		r.Unrepeated = []fingerprint.Difference{{Path: "X", A: "1", B: "2"}}
		r.Roots[0].Ours, r.Roots[0].OursKnown = 0, false
	})
	code, out, errs := call(t, file, "-json")
	require.Zero(t, code, errs)
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	var r Result
	require.NoError(t, d.Decode(&r))
	_, err := d.Token()
	require.ErrorIs(t, err, io.EOF, "it is one object")
	require.Equal(t, int64(8), *r.Start)
	require.True(t, r.Here.Ours)
	require.False(t, *r.Here.Theirs)

	out = strings.ReplaceAll(out, file, "FILE")
	out = regexp.MustCompile(`"here":\{"platform":"[^"]+"`).ReplaceAllString(out, `"here":{"platform":"HERE"`)
	golden := filepath.Join("testdata", "json.txt")
	if *rewrite {
		require.NoError(t, os.WriteFile(golden, []byte(out), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out)

	// What is not known is null or empty.
	_, out, _ = callWith(t.Context(), nil, "-json", reported(t, func(r *desync.Report) {
		r.Before, r.After, r.Start, r.End, r.Inputs, r.Players, r.Roots, r.Fields = nil, nil, 0, 0, nil, nil, nil, nil
	}))
	for _, name := range []string{`"players":[]`, `"inputs":[]`, `"roots":[]`, `"fields":[]`, `"settings":{}`, `"start":null`, `"end":null`, `"here":null`, `"notRun":"this program does not know the game"`} {
		require.Contains(t, out, name)
	}
}

func TestAnInputThatIsNoneIsShownAsItsBytes(t *testing.T) {
	require.Equal(t, "{Left:true Power:2}", show[input]([]byte{1, 2}))
	require.Equal(t, "0902", show[input]([]byte{9, 2}))
	require.Equal(t, "0902", show[float64]([]byte{9, 2}))
}
