package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/examples/internal/arena"
	"github.com/driftback/driftback/examples/internal/arenatest"
	"github.com/driftback/driftback/examples/internal/command"
)

// program is the command, built once for all tests of this package.
var program string

func TestMain(m *testing.M) { os.Exit(command.Main(m, &program)) }

func start(t *testing.T, args ...string) *command.Process { return command.Start(t, program, args...) }

func TestFourInAnotherProcessRaceToTheLastTickAndAgree(t *testing.T) {
	// At twice the speed a countdown and the first bends, in which bots steer.
	p := start(t, "-headless", "-ticks", "420", "-rate", "120", "-seed", "3", "-link", "latency=30ms,jitter=5ms,loss=5%")
	require.Zero(t, p.End(), "stderr: %s", p.Stderr)
	require.Empty(t, p.Stderr.String())
	sums := regexp.MustCompile(`kart ([1-4]) +finished: tick 420 is confirmed with fingerprint ([0-9a-f]{16})\n`).FindAllStringSubmatch(p.Stdout.String(), -1)
	require.Len(t, sums, 4, p.Stdout.String())
	for i, sum := range sums {
		require.Equal(t, string(rune('1'+i)), sum[1])
		require.Equal(t, sums[0][2], sum[2])
	}
	require.Contains(t, p.Stdout.String(), "The 4 agree.")
	require.Regexp(t, `rollbacks [^0]`, p.Stdout.String(), "the links were bad enough for rollbacks")
	require.Contains(t, p.Stdout.String(), "racing", "it was more than a countdown")
	require.NotContains(t, p.Stdout.String(), "through")
}

func TestEightInAnotherProcessMeetInAFullMesh(t *testing.T) {
	p := start(t, "-headless", "-karts", "8", "-ticks", "60", "-link", "latency=10ms")
	require.Zero(t, p.End(), "stderr: %s", p.Stderr)
	require.Contains(t, p.Stdout.String(), "The 8 agree.")
	require.Equal(t, 8, strings.Count(p.Stdout.String(), "finished: tick 60"))
}

func TestAHostAndAJoinerInAnotherProcessRace(t *testing.T) {
	host := start(t, "host", "-addr", "127.0.0.1:0", "-headless", "-ticks", "120", "-rate", "120")
	pasted := strings.Fields(host.Says(`The other player runs: go run ./examples/racer (join.*)\n`))
	guest := start(t, append([]string{"join", "-headless"}, pasted[1:]...)...)
	require.Zero(t, guest.End(), "stderr: %s", guest.Stderr)
	require.Zero(t, host.End(), "stderr: %s", host.Stderr)
	finished := `finished: tick 120 is confirmed with fingerprint ([0-9a-f]{16})`
	require.Equal(t, host.Says(finished), guest.Says(finished))
}

func TestABadCommandLineInAnotherProcessIsOneSentence(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"too few karts":   {[]string{"-karts", "1"}, "-karts is 1; 2 to 8 are allowed"},
		"too many karts":  {[]string{"-karts", "9"}, "-karts is 9; 2 to 8 are allowed"},
		"nobody between":  {[]string{"-karts", "2", "-block", "1-2"}, `-block "1-2": nobody has a direct link with both 1 and 2`},
		"block of a host": {[]string{"host", "-block", "1-2"}, "-block"},
		"karts of a host": {[]string{"host", "-karts", "4"}, "-karts"},
		"relay of a host": {[]string{"host", "-relay"}, "-relay"},
		"no direct link":  {[]string{"-relay", "-block", "1-2"}, "-relay and -block: through a relay no two players have a direct link"},
		"back to a relay": {[]string{"-relay", "-back"}, "-relay and -back: through a relay nobody comes back to a match yet"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, c.args...)
			require.Equal(t, arena.ExitUsage, p.End())
			p.OneSentence("racer", c.want)
			require.Empty(t, p.Stdout.String())
		})
	}
}

func TestAnInterruptInAnotherProcessLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signal os.Signal
		status int
		more   []string
	}{
		"interrupted":          {os.Interrupt, arena.ExitInterrupted, []string{"-karts", "5"}},
		"killed":               {os.Kill, -1, []string{"-karts", "5"}},
		"interrupted, relayed": {os.Interrupt, arena.ExitInterrupted, []string{"-relay"}},
		"killed, relayed":      {os.Kill, -1, []string{"-relay"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append([]string{"-headless"}, c.more...)...)
			p.Says(arenatest.Played)
			pids := p.Children()
			require.Len(t, pids, 5)
			require.NoError(t, p.Cmd.Process.Signal(c.signal))
			require.Equal(t, c.status, p.End())
			for _, pid := range pids {
				require.Eventually(t, func() bool { return !command.Running(pid) }, 5*time.Second, 10*time.Millisecond)
			}
			if c.signal == os.Interrupt {
				p.OneSentence("racer", "interrupted")
			}
		})
	}
}

func TestTheOthersInAnotherProcessRaceOnWithoutAKilledKart(t *testing.T) {
	t.Parallel()
	p := start(t, "-headless", "-karts", "3", "-ticks", "480", "-rate", "120", "-link", "latency=20ms", "-back=false")
	p.Says(arenatest.Played)
	pids := p.Children()
	require.Len(t, pids, 3)
	victim, err := os.FindProcess(pids[1])
	require.NoError(t, err)
	require.NoError(t, victim.Kill())
	require.Equal(t, arena.ExitFailed, p.End())
	p.OneSentence("racer", "not everybody finished: the kart 2: its process ended: signal: killed")
	sums := regexp.MustCompile(`kart ([13]) +finished: tick 480 is confirmed with fingerprint ([0-9a-f]{16})\n`).FindAllStringSubmatch(p.Stdout.String(), -1)
	require.Len(t, sums, 2, p.Stdout.String())
	require.Equal(t, sums[0][2], sums[1][2])
	require.Contains(t, p.Stdout.String(), "The 2 that are left agree.")
	require.Regexp(t, `(?m)^tick [^0].* \| 1 not heard$`, p.Stdout.String(), "they have waited for it")
	require.Regexp(t, `(?m)^tick [^0].* \| 1 gone$`, p.Stdout.String())
}

func TestOneThatIsLeftOfTwoInAnotherProcessDoesNotRaceOn(t *testing.T) {
	t.Parallel()
	p := start(t, "-headless", "-karts", "2", "-back=false")
	p.Says(arenatest.Played)
	pids := p.Children()
	require.Len(t, pids, 2)
	victim, err := os.FindProcess(pids[1])
	require.NoError(t, err)
	require.NoError(t, victim.Kill())
	require.Equal(t, arena.ExitFailed, p.End())
	p.OneSentence("racer", "signal: killed")
}
