package nattest

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// command is a command of driftback's in a namespace, and all that it has written.
type command struct {
	t    testing.TB
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
	err  error

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
	c.cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	require.NoError(w.t, c.cmd.Start())
	go func() {
		defer close(c.over)
		c.err = c.cmd.Wait()
	}()
	w.t.Cleanup(c.kill)
	return c
}

func (c *command) kill() {
	_ = c.cmd.Process.Kill()
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

// built is where the commands are that the tests of rooms run.
func built(t *testing.T) (fighter, driftback string) {
	t.Helper()
	dir := t.TempDir()
	fighter, driftback = filepath.Join(dir, "fighter"), filepath.Join(dir, "driftback")
	for path, of := range map[string]string{fighter: "./examples/fighter", driftback: "./cmd/driftback"} {
		out, err := exec.Command("go", "build", "-C", "../..", "-o", path, of).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return fighter, driftback
}

// What a player types: the host's command prints a code, and the guest's plays with it, through two routers and the
// server and the relay of a third command.
func TestTheFightersCommandsMeetInARoomThroughRouters(t *testing.T) {
	for name, c := range map[string]struct {
		kinds [2]router
		path  string
	}{
		"cone and cone":           {[2]router{cone, cone}, `direct, 198\.51\.100\.`},
		"symmetric and symmetric": {[2]router{symmetric, symmetric}, `through a relay, 198\.51\.100\.`},
	} {
		t.Run(name, func(t *testing.T) {
			needRouters(t)
			fighter, driftback := built(t)
			w := newWorld(t, c.kinds)
			serving := w.command(w.public, driftback, "signal", "-addr", signalAddr+":80", "-turn", turnAddr+":3478", "-turn-host", turnAddr)
			serving.says("msg=serving")
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
			require.NotContains(t, strings.ToLower(host.text()+guest.text()), "waiting up to 1m0s for the other player\nwaiting", "they found each other soon")
		})
	}
}
