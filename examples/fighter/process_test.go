package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/desync"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/examples/internal/arena"
	"github.com/driftback/driftback/examples/internal/arenatest"
	"github.com/driftback/driftback/examples/internal/command"
	"github.com/driftback/driftback/identity"
)

// program is the command, built once for all tests of this package.
var program string

func TestMain(m *testing.M) { os.Exit(command.Main(m, &program)) }

func start(t *testing.T, args ...string) *command.Process { return command.Start(t, program, args...) }

func TestTwoProcessesPlayToTheLastTickAndAgree(t *testing.T) {
	p := start(t, "-headless", "-ticks", "240", "-rate", "120", "-seed", "3", "-link", "latency=30ms,jitter=5ms,loss=5%")
	require.Zero(t, p.End(), "stderr: %s", p.Stderr)
	require.Empty(t, p.Stderr.String())
	sums := regexp.MustCompile(`(left|right) player +finished: tick 240 is confirmed with fingerprint ([0-9a-f]{16})\n`).FindAllStringSubmatch(p.Stdout.String(), -1)
	require.Len(t, sums, 2, p.Stdout.String())
	require.Equal(t, sums[0][2], sums[1][2])
	require.Contains(t, p.Stdout.String(), "The two agree.")
	require.Regexp(t, `rollbacks [^0]`, p.Stdout.String(), "the link was bad enough for rollbacks")
}

func TestAHostAndAJoinerPlay(t *testing.T) {
	host := start(t, "host", "-addr", "127.0.0.1:0", "-headless", "-ticks", "120", "-rate", "120")
	invitation := strings.Fields(host.Says(`(?m)^(\S+ \S+ \S+)$`))
	pasted := strings.Fields(host.Says(`The other player runs: go run ./examples/fighter (join.*)\n`))
	require.Equal(t, append([]string{"join", "-ticks", "120", "-rate", "120"}, invitation...), pasted)
	guest := start(t, append([]string{"join", "-headless"}, pasted[1:]...)...)
	require.Zero(t, guest.End(), "stderr: %s", guest.Stderr)
	require.Zero(t, host.End(), "stderr: %s", host.Stderr)
	finished := `finished: tick 120 is confirmed with fingerprint ([0-9a-f]{16})`
	require.Equal(t, host.Says(finished), guest.Says(finished))
}

func TestAJoinerWithTheWrongWordsIsToldAtOnce(t *testing.T) {
	host := start(t, "host", "-addr", "127.0.0.1:0", "-headless")
	invitation := strings.Fields(host.Says(`(?m)^(\S+ \S+ \S+)$`))
	stranger, err := identity.Generate()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		words []string
		want  string
	}{
		"a wrong code": {[]string{invitation[0], invitation[1], identity.NewCode().String()}, "it refuses our code"},
		"a wrong pin":  {[]string{invitation[0], stranger.Pin().String(), invitation[2]}, stranger.Pin().Short()},
	} {
		t.Run(name, func(t *testing.T) {
			guest := start(t, append([]string{"join", "-headless", "-wait", "20s"}, c.words...)...)
			from := time.Now()
			require.Equal(t, arena.ExitFailed, guest.End())
			require.Less(t, time.Since(from), 15*time.Second, "it did not wait in vain")
			guest.OneSentence("fighter", c.want)
		})
	}
}

func TestAnInvitationThatHasBeenUsedIsRefusedAtOnce(t *testing.T) {
	host := start(t, "host", "-addr", "127.0.0.1:0", "-headless")
	invitation := strings.Fields(host.Says(`(?m)^(\S+ \S+ \S+)$`))
	words := append([]string{"join", "-headless"}, invitation...)
	guest := start(t, words...)
	guest.Says(arenatest.Played)
	late := start(t, words...)
	from := time.Now()
	require.Equal(t, arena.ExitFailed, late.End())
	require.Less(t, time.Since(from), 15*time.Second, "it did not wait in vain")
	late.OneSentence("fighter", "it does not have our key pinned")
}

func TestAPlayerWhoNeverComesEndsTheWait(t *testing.T) {
	p := start(t, "host", "-addr", "127.0.0.1:0", "-headless", "-wait", "500ms")
	require.Equal(t, arena.ExitFailed, p.End())
	p.OneSentence("fighter", "peer 1 is not connected")
}

func TestATakenPortIsOneSentence(t *testing.T) {
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer udp.Close()
	p := start(t, "host", "-headless", "-addr", udp.LocalAddr().String())
	require.Equal(t, arena.ExitFailed, p.End())
	p.OneSentence("fighter", "address already in use")

	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tcp.Close()
	p = start(t, "host", "-addr", "127.0.0.1:0", "-page", tcp.Addr().String())
	require.Equal(t, arena.ExitFailed, p.End())
	p.OneSentence("fighter", tcp.Addr().String())
}

func TestABadCommandLineIsOneSentence(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a flag that does not exist":   {[]string{"-nope"}, "-nope"},
		"a rate too high":              {[]string{"-rate", "900"}, "1 to 240"},
		"ticks below zero":             {[]string{"-ticks", "-1"}, "-ticks is -1"},
		"a delay too long":             {[]string{"-delay", "61"}, "0 to 60"},
		"a window too long":            {[]string{"-window", "257"}, "1 to 256"},
		"no window and no delay":       {[]string{"-window", "-1", "-delay", "0"}, "at least 1 tick"},
		"a link without a unit":        {[]string{"-link", "latency=60"}, "latency=60"},
		"a loss above all":             {[]string{"-link", "loss=101%"}, "101"},
		"a command that is none":       {[]string{"watch"}, `"watch"`},
		"an argument too many":         {[]string{"host", "me"}, `"me"`},
		"an invitation too short":      {[]string{"join", "127.0.0.1:1"}, "ADDR PIN CODE"},
		"a pin that is none":           {[]string{"join", "127.0.0.1:1", "x", "y"}, "not a pin"},
		"a wait of nothing":            {[]string{"host", "-wait", "0s"}, "-wait is 0s"},
		"a link for a match not local": {[]string{"host", "-link", "loss=5%"}, "-link"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, c.args...)
			require.Equal(t, arena.ExitUsage, p.End())
			p.OneSentence("fighter", c.want)
			require.Empty(t, p.Stdout.String())
		})
	}
}

func TestHelpIsNoError(t *testing.T) {
	p := start(t, "-help")
	require.Zero(t, p.End())
	require.Contains(t, p.Stderr.String(), "ADDR PIN CODE")
}

func TestAKilledPlayerWhoMayNotComeBackEndsTheMatchInOneSentence(t *testing.T) {
	t.Parallel()
	p := start(t, "-headless", "-back=false")
	p.Says(arenatest.Played)
	pids := p.Children()
	require.Len(t, pids, 2)
	victim, err := os.FindProcess(pids[1])
	require.NoError(t, err)
	require.NoError(t, victim.Kill())
	require.Equal(t, arena.ExitFailed, p.End())
	p.OneSentence("fighter", "signal: killed")
	require.Contains(t, p.Stderr.String(), "a peer is lost")
	require.Eventually(t, func() bool { return !command.Running(pids[0]) }, 5*time.Second, 10*time.Millisecond)
}

func TestAnInterruptOrAKilledParentLeavesNothingRunning(t *testing.T) {
	for name, c := range map[string]struct {
		signal os.Signal
		status int
	}{
		"interrupted": {os.Interrupt, arena.ExitInterrupted},
		"killed":      {os.Kill, -1},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, "-headless")
			p.Says(arenatest.Played)
			pids := p.Children()
			require.Len(t, pids, 2)
			require.NoError(t, p.Cmd.Process.Signal(c.signal))
			require.Equal(t, c.status, p.End())
			for _, pid := range pids {
				require.Eventually(t, func() bool { return !command.Running(pid) }, 5*time.Second, 10*time.Millisecond)
			}
			if c.signal == os.Interrupt {
				p.OneSentence("fighter", "interrupted")
			}
		})
	}
}

func TestAChildWithoutAParentEnds(t *testing.T) {
	cmd := exec.Command(program, "child", "-headless")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, `"here"`)
	require.NoError(t, stdin.Close())
	_, _ = io.Copy(io.Discard, stdout)
	require.Error(t, cmd.Wait())
	require.Equal(t, arena.ExitFailed, cmd.ProcessState.ExitCode())
}

// One bit of one fighter's hit-stun is another on one side from tick 500 on.
func TestADesyncHaltsBothSidesAndBothReportsNameItsFieldAndTick(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, "-headless", "-ticks", "700", "-rate", "100", "-link", "latency=30ms,jitter=5ms,loss=2%", "-desync", "500", "-reports", dir)
	require.Equal(t, arena.ExitFailed, p.End(), p.Stdout)
	p.OneSentence("fighter", "as tick 501 began the state's fingerprint was ")
	files, err := filepath.Glob(filepath.Join(dir, "fighter-desync-tick-501-*-player-*.report"))
	require.NoError(t, err)
	require.Len(t, files, 2, p.Stderr)
	for side, name := range files { // left, right
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		r, err := desync.Parse(b)
		require.NoError(t, err)
		require.Equal(t, "fighter, to tick 700", r.Game)
		require.EqualValues(t, side, r.Self)
		require.EqualValues(t, 501, r.Tick)
		require.True(t, r.Exact)
		require.Len(t, r.Fields, 1)
		require.Equal(t, "Fighters[0].Stun", r.Fields[0].Path)
		values := [2]string{r.Fields[0].A, r.Fields[0].B}
		right, err := strconv.Atoi(values[1-side])
		require.NoError(t, err)
		left, err := strconv.Atoi(values[side])
		require.NoError(t, err)
		require.Equal(t, 64, left^right, values)
		again, err := desync.Rerun[sim.State, sim.Input](r, sim.Step)
		require.NoError(t, err)
		require.EqualValues(t, [2]driftback.Tick{500, 501}, [2]driftback.Tick{again.Start, again.End})
		require.Equal(t, [2]bool{side == 0, side == 1}, [2]bool{again.Ours, again.Theirs}, "run again, the tick comes to what the left side had")
	}
}
