// Package command runs a command of this module in tests, as a player would at a
// terminal: it builds the program, reads what it writes while it runs, and finds its
// children.
//
// It is for tests alone, and refuses to know what the program does.
package command

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Main builds the command in the folder of the package that is tested, runs the tests and
// returns the status to exit with. Where the program is goes to path before they run.
func Main(m *testing.M, path *string) int {
	dir, err := os.MkdirTemp("", "command")
	if err != nil {
		fmt.Fprintln(os.Stderr, "the command cannot be built:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	*path = filepath.Join(dir, "command")
	if runtime.GOOS == "windows" {
		*path += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", *path, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "the command cannot be built: %v: %s", err, out)
		return 1
	}
	flag.Parse()
	// Parallel tests wait for what processes do, and not for a processor.
	if err := flag.Set("test.parallel", strconv.Itoa(max(parallel, runtime.GOMAXPROCS(0)))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// parallel is how many tests run at once that say they may.
const parallel = 8

// Process is a running command, whose output can be read while it runs. It is
// killed when the test is over, or after a minute.
type Process struct {
	Cmd            *exec.Cmd
	Stdout, Stderr *Output
	t              *testing.T
}

// Output collects what a process writes. It may be read while that goes on.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write is for the process.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

// String returns all that has been written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Start starts a program.
func Start(t *testing.T, program string, args ...string) *Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p := &Process{t: t, Cmd: exec.CommandContext(ctx, program, args...), Stdout: &Output{}, Stderr: &Output{}}
	p.Cmd.Stdout, p.Cmd.Stderr = p.Stdout, p.Stderr
	require.NoError(t, p.Cmd.Start())
	return p
}

// End waits for the process and returns its exit status.
func (p *Process) End() int {
	_ = p.Cmd.Wait()
	return p.Cmd.ProcessState.ExitCode()
}

// Says waits until the process has written what the pattern matches, and returns
// the last group of it.
func (p *Process) Says(pattern string) string {
	p.t.Helper()
	var found []string
	require.Eventually(p.t, func() bool {
		found = regexp.MustCompile(pattern).FindStringSubmatch(p.Stdout.String())
		return found != nil
	}, 30*time.Second, 10*time.Millisecond, "it has not written %q", pattern)
	return found[len(found)-1]
}

// OneSentence requires that all that the process wrote to stderr is one sentence, after
// the command's name.
func (p *Process) OneSentence(name, contains string) {
	p.t.Helper()
	text := p.Stderr.String()
	require.Regexp(p.t, `^`+name+`: [^\n]+\.\n$`, text)
	require.Contains(p.t, text, contains)
}
