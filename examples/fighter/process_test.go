package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/identity"
)

// program is the command, built once for all tests of this package.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "fighter")
	if err == nil {
		program = filepath.Join(dir, "fighter")
		if runtime.GOOS == "windows" {
			program += ".exe"
		}
		var out []byte
		if out, err = exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the command cannot be built:", err)
		os.Exit(1)
	}
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// process is a running command, whose output can be read while it runs. It is
// killed when the test is over, or after a minute.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout output
	stderr output
}

// output collects what a process writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p := &process{t: t, cmd: exec.CommandContext(ctx, program, args...)}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	require.NoError(t, p.cmd.Start())
	return p
}

// end waits for the process and returns its exit status.
func (p *process) end() int {
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// says waits until the process has written what the pattern matches, and returns
// the first group of it.
func (p *process) says(pattern string) string {
	p.t.Helper()
	var found []string
	require.Eventually(p.t, func() bool {
		found = regexp.MustCompile(pattern).FindStringSubmatch(p.stdout.String())
		return found != nil
	}, 30*time.Second, 10*time.Millisecond, "it has not written %q", pattern)
	return found[len(found)-1]
}

// oneSentence requires that all that the process wrote to stderr is one sentence.
func (p *process) oneSentence(contains string) {
	p.t.Helper()
	text := p.stderr.String()
	require.Regexp(p.t, `^fighter: [^\n]+\.\n$`, text)
	require.Contains(p.t, text, contains)
}

func TestTwoProcessesPlayToTheLastTickAndAgree(t *testing.T) {
	p := start(t, "-headless", "-ticks", "240", "-rate", "120", "-seed", "3", "-link", "latency=30ms,jitter=5ms,loss=5%")
	require.Zero(t, p.end(), "stderr: %s", &p.stderr)
	require.Empty(t, p.stderr.String())
	sums := regexp.MustCompile(`(left|right) +finished: tick 240 is confirmed with fingerprint ([0-9a-f]{16})\n`).FindAllStringSubmatch(p.stdout.String(), -1)
	require.Len(t, sums, 2, p.stdout.String())
	require.Equal(t, sums[0][2], sums[1][2])
	require.Contains(t, p.stdout.String(), "The two agree.")
	require.Regexp(t, `rollbacks [^0]`, p.stdout.String(), "the link was bad enough for rollbacks")
}

func TestTwoWorldsThatPartAreNoticedByTheParent(t *testing.T) {
	var out bytes.Buffer
	players := [2]*player{
		{side: 0, gone: true, ended: &outcome{Tick: 10, Sum: 1}},
		{side: 1, gone: true, ended: &outcome{Tick: 10, Sum: 2}},
	}
	require.ErrorContains(t, judge(&players, &out), "different worlds")
	players[1].ended.Sum = 1
	require.NoError(t, judge(&players, &out))
	players[1].ended = nil
	require.ErrorContains(t, judge(&players, &out), "the right player did not finish")
	players[0].ended = nil
	require.ErrorContains(t, judge(&players, &out), "both players say: its process ended without a word")
}

func TestAHostAndAJoinerPlay(t *testing.T) {
	host := start(t, "host", "-addr", "127.0.0.1:0", "-headless", "-ticks", "120", "-rate", "120")
	invitation := strings.Fields(host.says(`(?m)^(\S+ \S+ \S+)$`))
	pasted := strings.Fields(host.says(`The other player runs: go run ./examples/fighter (join.*)\n`))
	require.Equal(t, append([]string{"join", "-ticks", "120", "-rate", "120"}, invitation...), pasted)
	guest := start(t, append([]string{"join", "-headless"}, pasted[1:]...)...)
	require.Zero(t, guest.end(), "stderr: %s", &guest.stderr)
	require.Zero(t, host.end(), "stderr: %s", &host.stderr)
	finished := `finished: tick 120 is confirmed with fingerprint ([0-9a-f]{16})`
	require.Equal(t, host.says(finished), guest.says(finished))
}

func TestAJoinerWithTheWrongWordsIsToldAtOnce(t *testing.T) {
	host := start(t, "host", "-addr", "127.0.0.1:0", "-headless")
	invitation := strings.Fields(host.says(`(?m)^(\S+ \S+ \S+)$`))
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
			require.Equal(t, exitFailed, guest.end())
			require.Less(t, time.Since(from), 15*time.Second, "it did not wait in vain")
			guest.oneSentence(c.want)
		})
	}
}

func TestAnInvitationThatHasBeenUsedIsRefusedAtOnce(t *testing.T) {
	host := start(t, "host", "-addr", "127.0.0.1:0", "-headless")
	invitation := strings.Fields(host.says(`(?m)^(\S+ \S+ \S+)$`))
	words := append([]string{"join", "-headless"}, invitation...)
	guest := start(t, words...)
	guest.says(`(?m)^tick [^0]`)
	late := start(t, words...)
	from := time.Now()
	require.Equal(t, exitFailed, late.end())
	require.Less(t, time.Since(from), 15*time.Second, "it did not wait in vain")
	late.oneSentence("it does not have our key pinned")
}

func TestAPlayerWhoNeverComesEndsTheWait(t *testing.T) {
	p := start(t, "host", "-addr", "127.0.0.1:0", "-headless", "-wait", "500ms")
	require.Equal(t, exitFailed, p.end())
	p.oneSentence("peer 1 is not connected")
}

func TestAPipeThatNobodyReadsHoldsNothingUp(t *testing.T) {
	unread, stdout := io.Pipe()
	defer unread.Close()
	var stderr bytes.Buffer
	status := make(chan int, 1)
	go func() {
		status <- run(t.Context(), []string{"host", "-addr", "127.0.0.1:0", "-headless", "-wait", "100ms"}, nil, stdout, &stderr)
	}()
	select {
	case s := <-status:
		require.Equal(t, exitFailed, s)
		require.Contains(t, stderr.String(), "peer 1 is not connected")
	case <-time.After(20 * time.Second):
		require.Fail(t, "it waits for somebody to read")
	}
}

func TestTheNewestLinesAreKeptForAReaderWhoComesBack(t *testing.T) {
	stopped, stdout := io.Pipe()
	l := newLines(stdout)
	for i := range 10 * maxLines {
		fmt.Fprintln(l, "line", i)
	}
	read := make(chan string)
	go func() {
		b, _ := io.ReadAll(stopped)
		read <- string(b)
	}()
	l.Close()
	require.NoError(t, stdout.Close())
	text := <-read
	require.Contains(t, text, fmt.Sprintln("line", 10*maxLines-1))
	require.LessOrEqual(t, strings.Count(text, "line"), maxLines+1)
}

func TestATakenPortIsOneSentence(t *testing.T) {
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer udp.Close()
	p := start(t, "host", "-headless", "-addr", udp.LocalAddr().String())
	require.Equal(t, exitFailed, p.end())
	p.oneSentence("address already in use")

	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tcp.Close()
	p = start(t, "host", "-addr", "127.0.0.1:0", "-page", tcp.Addr().String())
	require.Equal(t, exitFailed, p.end())
	p.oneSentence(tcp.Addr().String())
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
			require.Equal(t, exitUsage, p.end())
			p.oneSentence(c.want)
			require.Empty(t, p.stdout.String())
		})
	}
}

func TestHelpIsNoError(t *testing.T) {
	p := start(t, "-help")
	require.Zero(t, p.end())
	require.Contains(t, p.stderr.String(), "ADDR PIN CODE")
}

// children returns the process ids of a process's children.
func children(t *testing.T, parent int) (pids []int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("children are found in /proc, which only Linux has")
	}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	require.NoError(t, err)
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(field)
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

func TestAKilledPlayerEndsTheMatchInOneSentence(t *testing.T) {
	p := start(t, "-headless")
	p.says(`(?m)^tick [^0]`)
	pids := children(t, p.cmd.Process.Pid)
	require.Len(t, pids, 2)
	victim, err := os.FindProcess(pids[1])
	require.NoError(t, err)
	require.NoError(t, victim.Kill())
	require.Equal(t, exitFailed, p.end())
	p.oneSentence("signal: killed")
	require.Contains(t, p.stderr.String(), "a peer is lost")
	require.Eventually(t, func() bool { return !running(pids[0]) }, 5*time.Second, 10*time.Millisecond)
}

func TestAnInterruptOrAKilledParentLeavesNothingRunning(t *testing.T) {
	for name, c := range map[string]struct {
		signal os.Signal
		status int
	}{
		"interrupted": {os.Interrupt, exitInterrupted},
		"killed":      {os.Kill, -1},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, "-headless")
			p.says(`(?m)^tick [^0]`)
			pids := children(t, p.cmd.Process.Pid)
			require.Len(t, pids, 2)
			require.NoError(t, p.cmd.Process.Signal(c.signal))
			require.Equal(t, c.status, p.end())
			for _, pid := range pids {
				require.Eventually(t, func() bool { return !running(pid) }, 5*time.Second, 10*time.Millisecond)
			}
			if c.signal == os.Interrupt {
				p.oneSentence("interrupted")
			}
		})
	}
}

func TestAChildWithoutAParentEnds(t *testing.T) {
	p := &process{t: t, cmd: exec.Command(program, "child", "-headless")}
	stdin, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, `"here"`)
	require.NoError(t, stdin.Close())
	_, _ = io.Copy(io.Discard, stdout)
	require.Equal(t, exitFailed, p.end())
}
