// Package arenatest reads in tests what a command of package arena writes about its match.
//
// It is for tests alone, and refuses to know what is played.
package arenatest

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/examples/internal/command"
)

const (
	// Played matches a line about a match that is played, and Together one in which nobody is
	// missing.
	Played   = `(?m)^tick [^0]`
	Together = `tick [^|]*\|[^|]*\|[^|]*\|[^|]*\|[^|]*\|[^|]*\|[^|]*\n`
)

// RequireAllEnd waits for a command's end and requires that all its players have ended at a tick,
// in the same world, and that nobody has complained.
func RequireAllEnd(t *testing.T, p *command.Process, players, tick int) {
	t.Helper()
	require.Zero(t, p.End(), "stdout: %s\nstderr: %s", p.Stdout, p.Stderr)
	require.Empty(t, p.Stderr.String())
	RequireAlike(t, p.Stdout.String(), players, tick)
	all := strconv.Itoa(players)
	if players == 2 {
		all = "two"
	}
	require.Contains(t, p.Stdout.String(), "The "+all+" agree.")
}

// RequireAlike requires that so many players have ended at a tick, in the same world.
func RequireAlike(t testing.TB, written string, players, tick int) {
	t.Helper()
	ends := regexp.MustCompile(`(?m)^(\S.*\S) +finished: tick (\d+) is confirmed with fingerprint ([0-9a-f]{16})$`).FindAllStringSubmatch(written, -1)
	require.Len(t, ends, players, written)
	names := map[string]bool{}
	for _, end := range ends {
		names[end[1]] = true
		require.Equal(t, strconv.Itoa(tick), end[2], written)
		require.Equal(t, ends[0][3], end[3], written)
	}
	require.Len(t, names, players, "one for each: %s", written)
}
