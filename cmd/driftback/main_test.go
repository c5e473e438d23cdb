package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/internal/cmdline"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/simtest/soak/command"
	"github.com/driftback/driftback/snapshot"
)

// The tests start this binary again as the command itself, with a game more that is
// broken and one that says when it is being played.
func TestMain(m *testing.M) {
	if os.Getenv("DRIFTBACK_TEST") == "" {
		os.Exit(m.Run())
	}
	c := root()
	c.Commands[0] = command.Sim(command.Of(simtest.Witness()), command.Of(fighter()), command.Of(broken()), command.Of(loud()))
	os.Exit(cmdline.Main(c))
}

func TestTheUsageIsWhatIsTyped(t *testing.T) {
	for line := range strings.Lines(simCommand().UsageText) {
		require.Regexp(t, "^driftback sim -|^driftback sim \\[-", line)
	}
}

type game = simtest.Game[simtest.WitnessState, simtest.WitnessInput]

// broken has snapshots that forget a field in all matches but those that are rehearsed.
func broken() game {
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

func loud() game {
	g := simtest.Witness()
	g.Name = "loud"
	g.Initial = func() (s simtest.WitnessState) { fmt.Println("playing"); return s }
	return g
}

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), "DRIFTBACK_TEST=1")
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run()
	require.NotNil(t, c.ProcessState)
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestTheExitCodeSaysWhetherARuleWasBrokenInAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := run(t, "sim", "-seeds", "0:2")
	require.Zero(t, code, errs)
	require.Contains(t, out, "No rule was broken.")
	require.NotContains(t, errs, "\r", "a line that is written over is for terminals")

	code, out, errs = run(t, "sim", "-seeds", "3", "-game", "broken", "-dir", dir, "-budget", "30")
	require.Equal(t, 1, code, errs)
	require.Contains(t, out, "commit ")
	file := filepath.Join(dir, "simtest-broken-3.json")
	_, line, ok := strings.Cut(out, "replay:    ")
	require.True(t, ok, out)
	line, _, _ = strings.Cut(line, "\n")
	require.True(t, strings.HasSuffix(line, " sim -game broken -replay '"+file+"'"), line)

	code, out, _ = run(t, "sim", "-game", "broken", "-replay", file)
	require.Equal(t, 1, code)
	require.Contains(t, out, string(simtest.RuleState))
	require.Contains(t, out, "without a network: simtest: "+string(simtest.MistakeUnsaved))
	code, _, _ = run(t, "sim", "-replay", file)
	require.Zero(t, code)

	code, out, errs = run(t, "sim", "-replay", file+"x")
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Regexp(t, `^driftback: the scenario cannot be read: [^\n]+\.\n$`, errs)
	code, _, errs = run(t)
	require.Equal(t, 2, code)
	require.Equal(t, "driftback: say which command: sim, desync, relay, signal, version; driftback -help says more.\n", errs)
	code, _, errs = run(t, "simm")
	require.Equal(t, 2, code)
	require.Contains(t, errs, `there is no command "simm"`)
}

func TestAnInterruptEndsARunWithItsSummaryInAnotherProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside")
	}
	var errs bytes.Buffer
	c := exec.CommandContext(t.Context(), os.Args[0], "sim", "-game", "loud", "-minutes", "5")
	c.Env = append(os.Environ(), "DRIFTBACK_TEST=1")
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	text := make([]byte, len("playing"))
	_, err = out.Read(text)
	require.NoError(t, err)
	require.Equal(t, "playing", string(text))
	require.NoError(t, c.Process.Signal(os.Interrupt))
	begun := time.Now()
	var rest bytes.Buffer
	_, err = rest.ReadFrom(out)
	require.NoError(t, err)
	_ = c.Wait()
	require.Equal(t, 130, c.ProcessState.ExitCode(), "%s", &errs)
	require.Contains(t, rest.String(), "cut short by an interrupt")
	require.Less(t, time.Since(begun), time.Minute)
}

func TestVersionSaysTheCommit(t *testing.T) {
	t.Setenv("DRIFTBACK_COMMIT", "1234abcd")
	var out, errs bytes.Buffer
	require.Zero(t, cmdline.Run(t.Context(), root(), []string{"driftback", "version"}, &out, &errs))
	require.Regexp(t, `^driftback \S+, commit 1234abcd, go\S+, plays scenarios of version \d+\n$`, out.String())
	require.Equal(t, 2, cmdline.Run(t.Context(), root(), []string{"driftback", "version", "x"}, &out, &errs))
}

func TestEveryCommandSaysWhatItIs(t *testing.T) {
	for _, c := range root().Commands {
		require.NotEmpty(t, c.Usage, c.Name)
		require.IsType(t, &cli.Command{}, c)
		var out, errs bytes.Buffer
		require.Zero(t, cmdline.Run(t.Context(), root(), []string{"driftback", c.Name, "-help"}, &out, &errs))
		require.Contains(t, out.String(), c.Usage)
		require.Empty(t, errs.String())
	}
}

// A workload whose fighters never met would prove nothing of what they do to each other.
func TestWhoeverIsAtTheButtonsOfTheFighterFights(t *testing.T) {
	g := fighter()
	kinds := map[uint32]int{}
	for seed := range uint64(10) {
		r := rng.New(seed, 0)
		s := sim.New(seed)
		held := make([]sim.Input, sim.Sides)
		var pass driftback.Pass
		for tick := range driftback.Tick(500) {
			if tick%7 == 0 {
				for p := range held {
					held[p] = g.Input(&r, driftback.Participant(p), tick)
					require.True(t, held[p].Valid())
				}
			}
			pass.Begin(tick, nil)
			g.Step(&s, held, &pass)
			for _, e := range pass.Raised() {
				kinds[e.Kind]++
			}
		}
	}
	t.Log(kinds)
	require.Greater(t, kinds[sim.KindHit], 30)
	require.Positive(t, kinds[sim.KindBlock])
	require.Positive(t, kinds[sim.KindThrow])
}
