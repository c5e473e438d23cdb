package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/rng"
)

const page = "../../docs/bandwidth.md"

// Of each workload a row is played anew, and all that is no figure is written anew. The
// whole takes the command, with -check.
func TestThePageIsWhatIsMeasured(t *testing.T) {
	all := cells()
	some := []cell{all[0], all[8], all[16], all[22]}
	if testing.Short() {
		some = some[:1]
	}
	had, err := read(page)
	require.NoError(t, err)
	measured, err := measureAll(some)
	require.NoError(t, err)
	for i, c := range some {
		require.Contains(t, string(had), tableLine(c, measured[i]), "run go generate ./bench/linkcost: %s inputs of %d bytes", c.workload, c.size)
	}

	// All that is not a row.
	prose := func(page []byte) (lines []string) {
		for line := range strings.Lines(string(page)) {
			if !strings.Contains(line, " ms |") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	require.Equal(t, prose(document(all, make([]figures, len(all)))), prose(had))
	require.Equal(t, len(all), strings.Count(string(had), " ms |"), "rows")
}

func TestAPageThatIsNotCurrentIsNoticed(t *testing.T) {
	some, file := cells()[:1], filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, run(some, file, false, io.Discard))
	var said strings.Builder
	require.NoError(t, run(some, file, true, &said))
	require.Contains(t, said.String(), "page.md is what is measured now")

	b, err := os.ReadFile(file)
	require.NoError(t, err)
	crlf := strings.ReplaceAll(string(b), "\n", "\r\n")
	require.NoError(t, os.WriteFile(file, []byte(crlf), 0o644))
	require.NoError(t, run(some, file, true, io.Discard), "line ends say nothing")
	spoilt := strings.Replace(string(b), "| 60 |", "| 59 |", 1)
	require.NotEqual(t, string(b), spoilt)
	require.NoError(t, os.WriteFile(file, []byte(spoilt), 0o644))
	require.ErrorContains(t, run(some, file, true, io.Discard), "page.md is not what is measured now: line ")
	require.NoError(t, os.WriteFile(file, b[:len(b)-1], 0o644))
	require.ErrorContains(t, run(some, file, true, io.Discard), "lines and should have")
	require.Error(t, run(some, filepath.Join(t.TempDir(), "none.md"), true, io.Discard))
}

func TestAValueIsHeldForThreeToTwelveTicks(t *testing.T) {
	lengths := map[int]int{}
	for b := range uint64(500) {
		n := 0
		var last [4]byte
		for at := range block {
			r := rng.New(b, 0)
			in := press[[4]byte](held, &r, at)
			if at > 0 && in != last {
				lengths[n]++
				n = 0
			}
			last = in
			n++
		}
		lengths[n]++
	}
	for n := range lengths {
		require.True(t, n >= leastHold && n <= mostHold, "%v", lengths)
	}
	require.Len(t, lengths, mostHold-leastHold+1)
	require.InDelta(t, 1/7.5, changes[[4]byte](held), 0.005)
	require.InDelta(t, 1/7.5, changes[[32]byte](buttons), 0.005)
	require.InDelta(t, 1, changes[[4]byte](random), 0.001)
}

func TestWorkloadsChangeAsManyBytesAsTheySay(t *testing.T) {
	for w, want := range map[workload]int{held: 32, buttons: 1, random: 32} {
		differ := [32]bool{}
		var first [32]byte
		for b := range uint64(300) {
			r := rng.New(b, 0)
			in := press[[32]byte](w, &r, 0)
			if b == 0 {
				first = in
			}
			for i := range in {
				differ[i] = differ[i] || in[i] != first[i]
			}
		}
		n := 0
		for _, d := range differ {
			if d {
				n++
			}
		}
		require.Equal(t, want, n, w)
		require.Equal(t, want, w.differ(32))
	}
}
