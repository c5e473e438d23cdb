package desync_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/desync"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/fingerprint"
)

// TestTheTextReadsAsItDid compares a report's text with what it was when it was written down;
// -rewrite writes it anew.
func TestTheTextReadsAsItDid(t *testing.T) {
	good, bad := play(t, step, nil), play(t, step, spoilt)
	r := reported(t, bad, good)
	r.Repeats = [2]dispute.Repeats{dispute.Different, dispute.Same}
	r.Unrepeated = []fingerprint.Difference{{Path: "Karts[1].X", A: "89", B: "57"}, {Path: "Karts[1].Speed", A: "28", B: "12"}}
	file := filepath.Join("testdata", "race.txt")
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(r.Text(nil)), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), r.Text(nil))
}

func TestAReportIsOneSentenceToo(t *testing.T) {
	r := reported(t, play(t, step, nil), play(t, step, spoilt))
	require.Equal(t, "race: peers 0 and 1 differ as tick 6 began: Karts[1].Speed is 9 at peer 0 and 25 at peer 1", r.String())
	r.Exact, r.Game = false, ""
	r.Fields = append(r.Fields, fingerprint.Difference{Path: "X", A: "1", B: "2"})
	r.MoreFields = true
	require.Equal(t, "a game without a name: peers 0 and 1 differ as tick 6 began, or before: Karts[1].Speed is 9 at peer 0 and 25 at peer 1, X is 1 at peer 0 and 2 at peer 1, and more", r.String())
}

func TestTheTextSaysWhatIsNotKnown(t *testing.T) {
	r := reported(t, play(t, step, nil), play(t, step, spoilt))
	r.Exact = false
	require.Contains(t, r.Text(nil), "They part in one of the ticks 0 to 5: as tick 6 began they differ already, and some tick since 0 could not be compared.")
	r.Tick = 8
	require.Contains(t, r.Text(nil), "They part in one of the ticks 0 to 7: as tick 0 began they were alike, as tick 8 began they were not")
	r.Fields = nil
	require.Contains(t, r.Text(nil), "No field that differs as tick 6 began was found")
	r.OursSize++
	r.MoreFields = true
	require.Contains(t, r.Text(nil), "As tick 6 began (the states have 23 and 22 bytes):")
	require.Contains(t, r.Text(nil), "\n  and more\n")
	r.Compared = false
	require.Contains(t, r.Text(nil), "The states were not compared")
	r.Inputs, r.Build = nil, ""
	require.Contains(t, r.Text(nil), "\nINPUTS\nThey are not known.\n")
	require.Regexp(t, `\n  build +not known\n`, r.Text(nil))
	require.NotContains(t, (&desync.Report{}).Text(nil), "FINGERPRINTS", "and of nothing at all there is a text too")
}

func TestAnInputIsShownAsTheGameShowsIt(t *testing.T) {
	r := reported(t, play(t, step, nil), play(t, step, spoilt))
	text := r.Text(func(b []byte) string { return "button " + string('0'+b[0]) })
	require.Contains(t, text, "> tick 5, at 4/8 of the speed\n    participant 0: button 1, entry: resume\n    participant 1: button 5\n")
	require.Contains(t, text, "  tick 4, paused: the step was not called\n    participant 0: button 1, entry: pause\n")
	require.Contains(t, text, "participant 1: button 6, replaced\n")
}

func TestOfManyTicksTheTextHasThoseAround(t *testing.T) {
	r := reported(t, play(t, step, nil), play(t, step, spoilt))
	const agreed = 100_000
	r.Agreed, r.Found, r.Tick, r.At, r.Start, r.End = agreed, agreed+3000, agreed+2000, agreed+2000, agreed, agreed+2000
	r.Inputs, r.Roots = nil, nil
	for at := r.Agreed - 1000; at < r.Found; at++ {
		in := given(7)
		in.Tick = at
		r.Inputs = append(r.Inputs, in)
		if at >= r.Found-2000 {
			r.Roots = append(r.Roots, dispute.RootPair{Tick: at, Ours: 1, OursKnown: true})
		}
	}
	text := r.Text(nil)
	require.Less(t, len(strings.Split(text, "\n")), 400)
	require.Contains(t, text, "\n  tick 99999\n")
	require.Contains(t, text, "\n> tick 100000\n")
	require.Contains(t, text, "The file has those of 3928 more.\n")
	require.Contains(t, text, "not compared\n")
	require.Contains(t, text, "102008")
	require.NotContains(t, text, "102020")
}

func TestWhatItMeansFollowsFromWhoRepeats(t *testing.T) {
	r := reported(t, play(t, step, nil), play(t, step, spoilt))
	for repeats, says := range map[[2]dispute.Repeats]string{
		{dispute.Same, dispute.Same}:           "Both repeat themselves, so each step does the same again on its own machine",
		{dispute.Same, dispute.Different}:      "Peer 1 cannot repeat itself, so what it had",
		{dispute.Different, dispute.Same}:      "Peer 0 cannot repeat itself, so what it had",
		{dispute.Different, dispute.Different}: "Neither peer can repeat itself, so what it had",
		{dispute.Untried, dispute.Different}:   "Peer 1 cannot repeat itself",
		{dispute.Different, dispute.Untried}:   "Peer 0 cannot repeat itself",
		{dispute.Same, dispute.Untried}:        "Peer 0 repeats itself. Whether peer 1 does is not known.",
		{dispute.Untried, dispute.Same}:        "Peer 1 repeats itself. Whether peer 0 does is not known.",
		{dispute.Untried, dispute.Untried}:     "Whether they repeat themselves is not known.",
	} {
		r.Repeats = repeats
		text := r.Text(nil)
		require.Contains(t, text, "\n"+says)
		require.Equal(t, 1, strings.Count(text, "What to do: "))
	}
}

// The page about reports quotes one, and must not quote what none says.
func TestThePageAboutReportsQuotesOne(t *testing.T) {
	good, bad := play(t, step, nil), play(t, step, spoilt)
	r := reported(t, bad, good)
	o, err := desync.Rerun(r, step)
	require.NoError(t, err)
	golden, err := os.ReadFile(filepath.Join("testdata", "race.txt"))
	require.NoError(t, err)
	text := string(golden) + "HERE\n" + strings.ReplaceAll(o.Text(r), desync.Platform(), "linux/amd64, go1.26.0")
	page, err := os.ReadFile(filepath.Join("..", "docs", "desync.md"))
	require.NoError(t, err)
	quoted := 0
	for line := range strings.Lines(string(page)) {
		if said, ok := strings.CutPrefix(line, "    "); ok && !strings.HasPrefix(said, "go run ") {
			require.Contains(t, text, "\n"+said)
			quoted++
		}
	}
	require.Greater(t, quoted, 20)
}
