package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/examples/internal/arena"
	"github.com/driftback/driftback/examples/internal/arenatest"
	"github.com/driftback/driftback/examples/internal/command"
)

// Processes die at the worst moments, others are started in their place, and both sides end in
// the same world.
func TestAKilledProcessRejoinsTheMatchAndBothEndEqual(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kill func(p *command.Process)
		died int
	}{
		"the left one in the middle of it": {func(p *command.Process) {
			p.Says(arenatest.Played)
			p.Seats(2).Kill(0)
		}, 1},
		"the right one in the middle of it": {func(p *command.Process) {
			p.Says(arenatest.Played)
			p.Seats(2).Kill(1)
		}, 1},
		"one after the other": {func(p *command.Process) {
			p.Says(arenatest.Played)
			s := p.Seats(2)
			s.Kill(1)
			s.Again(1)
			p.Says(`killed[^|]*\n(.*\n)*` + arenatest.Together)
			s.Kill(0)
		}, 2},
		"the left one again and again, while it comes back": {func(p *command.Process) {
			p.Says(arenatest.Played)
			p.Seats(2).KillEach(0)
		}, 3},
		"the right one again and again, while it comes back": {func(p *command.Process) {
			p.Says(arenatest.Played)
			p.Seats(2).KillEach(1)
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "-headless", "-ticks", "600", "-rate", "100", "-seed", "3", "-link", "latency=20ms,jitter=5ms,loss=2%")
			c.kill(p)
			arenatest.RequireAllEnd(t, p, 2, 600)
			require.Equal(t, c.died, strings.Count(p.Stdout.String(), "signal: killed, and another is started"), "the control: %s", p.Stdout)
			requireOneMatch(t, p)
		})
	}
}

func TestAProcessThatIsKilledBeforeTheMatchBeginsIsReplaced(t *testing.T) {
	t.Parallel()
	for seat := range 2 {
		for _, wait := range []time.Duration{100 * time.Millisecond * time.Duration(seat), 300 * time.Millisecond} {
			t.Run(strconv.Itoa(seat)+" after "+wait.String(), func(t *testing.T) {
				t.Parallel()
				p := start(t, "-headless", "-ticks", "120", "-rate", "100", "-link", "latency=20ms")
				s := p.Seats(2)
				time.Sleep(wait)
				s.Kill(seat)
				arenatest.RequireAllEnd(t, p, 2, 120)
				require.Contains(t, p.Stdout.String(), "another is started", "the control")
			})
		}
	}
}

// Both have lost the match, and so play one that is new.
func TestWhenBothAreKilledAnotherMatchBegins(t *testing.T) {
	t.Parallel()
	p := start(t, "-headless", "-ticks", "240", "-rate", "100", "-link", "latency=20ms")
	p.Says(arenatest.Played)
	s := p.Seats(2)
	s.Kill(0)
	s.Kill(1)
	arenatest.RequireAllEnd(t, p, 2, 240)
}

func TestAProcessThatDiesAgainAndAgainEndsTheMatchInOneSentence(t *testing.T) {
	t.Parallel()
	p := start(t, "-headless", "-ticks", "900", "-wait", "2s", "-link", "latency=20ms")
	p.Says(arenatest.Played)
	s := p.Seats(2)
	for range 4 {
		s.Kill(1)
		s.Again(1)
	}
	s.Kill(1)
	require.Equal(t, arena.ExitFailed, p.End())
	p.OneSentence("fighter", "not everybody finished: the left player: the match ended at tick ")
	require.Contains(t, p.Stderr.String(), "a peer is lost")
	require.Contains(t, p.Stderr.String(), "signal: killed")
}

func TestAPlayerWithAKeyComesBackToTheHostAndTheHostToThePlayer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"-headless", "-ticks", "700", "-rate", "100"}
	host := start(t, append([]string{"host", "-addr", "127.0.0.1:0", "-key", dir + "/host"}, args...)...)
	invitation := strings.Fields(host.Says(`(?m)^(\S+ \S+ \S+)$`))
	join := append(append([]string{"join", "-key", dir + "/guest"}, args...), invitation...)
	guest := start(t, join...)
	guest.Says(arenatest.Played)
	require.NoError(t, guest.Cmd.Process.Kill())
	require.Equal(t, -1, guest.End())
	guest = start(t, join...) // the invitation has been used, and the key is known

	guest.Says(arenatest.Played)
	back := strings.Fields(host.Says(`(?m)^If this process dies: go run ./examples/fighter (host .*)$`))
	require.NoError(t, host.Cmd.Process.Kill())
	require.Equal(t, -1, host.End())
	host = start(t, append(back, "-headless")...)
	require.Zero(t, guest.End(), "stderr: %s", guest.Stderr)
	require.Zero(t, host.End(), "stderr: %s", host.Stderr)
	finished := `finished: tick 700 is confirmed with fingerprint ([0-9a-f]{16})`
	require.Equal(t, host.Says(finished), guest.Says(finished))
	tick, err := strconv.Atoi(host.Says(`(?m)^tick ([0-9]+)`))
	require.NoError(t, err)
	require.Greater(t, tick, 150, "the control: it is the match that went on")
}

// requireOneMatch requires that what the survivors have confirmed never falls: all that was
// played is one match.
func requireOneMatch(t *testing.T, p *command.Process) {
	t.Helper()
	newest := 0
	for _, line := range regexp.MustCompile(`(?m)^tick .* \| confirmed ([0-9]+)`).FindAllStringSubmatch(p.Stdout.String(), -1) {
		confirmed, err := strconv.Atoi(line[1])
		require.NoError(t, err)
		require.GreaterOrEqual(t, confirmed, newest, p.Stdout.String())
		newest = confirmed
	}
	require.Greater(t, newest, 100)
}
