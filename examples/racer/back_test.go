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

func TestAKilledKartRejoinsTheRaceAndAllEndEqual(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kill func(p *command.Process)
		died int
	}{
		"the first, whom all others call": {func(p *command.Process) {
			p.Says(arenatest.Played)
			p.Seats(4).Kill(0)
		}, 1},
		"one again and again, while it comes back": {func(p *command.Process) {
			p.Says(arenatest.Played)
			p.Seats(4).KillEach(2)
		}, 3},
		"one after the other": {func(p *command.Process) {
			p.Says(arenatest.Played)
			s := p.Seats(4)
			s.Kill(3)
			s.Again(3)
			p.Says(`killed[^|]*\n(.*\n)*` + arenatest.Together)
			s.Kill(1)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "-headless", "-ticks", "720", "-rate", "100", "-seed", "3", "-link", "latency=20ms,jitter=5ms,loss=1%")
			c.kill(p)
			arenatest.RequireAllEnd(t, p, 4, 720)
			require.Equal(t, c.died, strings.Count(p.Stdout.String(), "signal: killed, and another is started"), "the control: %s", p.Stdout)
			newest := 0
			for _, line := range regexp.MustCompile(`(?m)^tick ([0-9]+)`).FindAllStringSubmatch(p.Stdout.String(), -1) {
				tick, err := strconv.Atoi(line[1])
				require.NoError(t, err)
				require.GreaterOrEqual(t, tick, newest, "it is one race: %s", p.Stdout)
				newest = tick
			}
		})
	}
}

func TestAKartThatIsKilledBeforeTheRaceBeginsIsReplaced(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, 200 * time.Millisecond} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, "-headless", "-ticks", "120", "-rate", "100", "-link", "latency=20ms")
			s := p.Seats(4)
			time.Sleep(wait)
			s.Kill(1)
			arenatest.RequireAllEnd(t, p, 4, 120)
			require.Contains(t, p.Stdout.String(), "another is started", "the control")
		})
	}
}

// Two of four are no majority, so that those who are left do not go on; and who was killed has
// nothing to come back to.
func TestWhenHalfTheKartsAreKilledTheRaceIsOver(t *testing.T) {
	t.Parallel()
	p := start(t, "-headless", "-ticks", "3000", "-link", "latency=20ms")
	p.Says(arenatest.Played)
	s := p.Seats(4)
	s.Kill(1)
	s.Kill(2)
	require.Equal(t, arena.ExitFailed, p.End())
	p.OneSentence("racer", "not everybody finished: the kart 1: the match ended at tick ")
	require.Contains(t, p.Stderr.String(), "a peer is lost")
	require.Equal(t, 2, strings.Count(p.Stderr.String(), "its process ended: signal: killed"), "%s", p.Stderr)
	require.NotContains(t, p.Stdout.String(), "finished")
}
