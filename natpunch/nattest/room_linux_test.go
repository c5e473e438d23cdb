package nattest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// command is a command of driftback's in a namespace, and all that it has written.
type command struct {
	t     testing.TB
	cmd   *exec.Cmd
	input io.Closer
	over  chan struct{} // closed when it has ended
	err   error

	mu   sync.Mutex
	said bytes.Buffer
}

// Write is for the process.
func (c *command) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.Write(b)
}

func (c *command) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.String()
}

// command starts a command, which is gone when the test is over.
func (w *world) command(namespace string, words ...string) *command {
	w.t.Helper()
	words = in(namespace, words...)
	c := &command{t: w.t, cmd: exec.Command(words[0], words[1:]...), over: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = c, c
	var err error
	c.input, err = c.cmd.StdinPipe()
	require.NoError(w.t, err)
	require.NoError(w.t, c.cmd.Start())
	go func() {
		defer close(c.over)
		c.err = c.cmd.Wait()
	}()
	w.t.Cleanup(c.stop)
	return c
}

// server starts a command that would go on for ever. It ends when its input does, which it does at the latest
// when this process is gone.
func (w *world) server(namespace string, words ...string) *command {
	w.t.Helper()
	return w.command(namespace, append([]string{"sh", "-c", `"$@" & cat; kill $!; wait`, "sh"}, words...)...)
}

// stop ends a command's input, and kills it if that does not help.
func (c *command) stop() {
	_ = c.input.Close()
	kill := time.AfterFunc(patience/4, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	<-c.over
	if c.t.Failed() {
		c.t.Logf("%v: %s", c.cmd.Args, c.text())
	}
}

// says waits until a command has written what the pattern matches, and returns its last group.
func (c *command) says(pattern string) string {
	c.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-look.C {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(c.text()); found != nil {
			return found[len(found)-1]
		}
	}
	require.FailNow(c.t, "it has not written this", "%s", pattern)
	return ""
}

// ends waits until a command has ended well.
func (c *command) ends() {
	c.t.Helper()
	select {
	case <-c.over:
		require.NoError(c.t, c.err)
	case <-time.After(patience):
		require.NoError(c.t, errors.New("it has not ended"))
	}
}

// commandsVariable names the folder that has the commands, where root has no compiler; without it they are built.
const commandsVariable = "DRIFTBACK_COMMANDS"

// built returns the commands that the test of rooms runs. Where it will be skipped they are not needed.
func built(t *testing.T) (fighter, driftback string) {
	t.Helper()
	dir, found := os.LookupEnv(commandsVariable)
	if !found {
		dir = t.TempDir()
	}
	fighter, driftback = filepath.Join(dir, "fighter"), filepath.Join(dir, "driftback")
	if found || unable() != nil && os.Getenv("DRIFTBACK_NAMESPACES") == "" {
		return fighter, driftback
	}
	for path, of := range map[string]string{fighter: "./examples/fighter", driftback: "./cmd/driftback"} {
		out, err := exec.Command("go", "build", "-C", "../..", "-o", path, of).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return fighter, driftback
}

// What players type: the host's command prints a code, and the guest's plays with it, through both their routers and
// with the server and the relay that a third command runs.
func TestTheFightersCommandsMeetInARoomThroughRouters(t *testing.T) {
	fighter, driftback := built(t)
	for name, c := range map[string]struct {
		kinds [2]router
		path  string
	}{
		"cone and cone":           {[2]router{cone, cone}, `direct, 198\.51\.100\.[12]0:`},
		"symmetric and symmetric": {[2]router{symmetric, symmetric}, `through a relay, 198\.51\.100\.`},
	} {
		t.Run(name, func(t *testing.T) {
			needRouters(t)
			w := newWorld(t, c.kinds)
			// The first of the machine's addresses, from which what is carried goes out.
			w.server(w.public, driftback, "signal", "-addr", signalAddr+":80", "-turn", stunAddr+":3478", "-turn-host", stunAddr).says("msg=serving")
			args := []string{"-signal", "http://" + signalAddr, "-headless", "-ticks", "300"}
			host := w.command(w.homes[0], append([]string{fighter, "host"}, args...)...)
			code := host.says(`(?m)^([0-9a-z]{4}(?:-[0-9a-z]{4}){3})$`)
			guest := w.command(w.homes[1], append([]string{fighter, "join", code}, args...)...)
			for _, p := range []*command{host, guest} {
				p.says("the path to the other player is " + c.path)
				p.ends()
			}
			finished := `finished: (tick 300 is confirmed with fingerprint [0-9a-f]{16})\n`
			require.Equal(t, host.says(finished), guest.says(finished))
		})
	}
}
