package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/driftback/driftback/internal/signaltest"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/examples/internal/arena"
	"github.com/driftback/driftback/examples/internal/arenatest"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/signalling/server"
)

// code matches the code of a room that a host prints.
const code = `(?m)^([0-9a-z]{4}(?:-[0-9a-z]{4}){3})$`

func TestAHostAndAJoinerMeetInARoomAndPlay(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{})
	host := start(t, "host", "-signal", s.URL(), "-addr", "127.0.0.1:0", "-headless", "-ticks", "120", "-rate", "120")
	guest := start(t, "join", host.Says(code), "-signal", s.URL(), "-addr", "127.0.0.1:0", "-headless", "-ticks", "120", "-rate", "120")
	require.Zero(t, guest.End(), "stderr: %s", guest.Stderr)
	require.Zero(t, host.End(), "stderr: %s", host.Stderr)
	finished := `finished: tick 120 is confirmed with fingerprint ([0-9a-f]{16})`
	require.Equal(t, host.Says(finished), guest.Says(finished))
	s.Await(0) // both have left
}

func TestAWrongCodeIsOneSentence(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{})
	host := start(t, "host", "-signal", s.URL(), "-headless")
	host.Says(code)
	guest := start(t, "join", "-signal", s.URL(), "-headless", "-wait", "300ms", identity.NewCode().String())
	require.Equal(t, arena.ExitFailed, guest.End())
	guest.OneSentence("fighter", "there is no room with this code at "+s.URL()+": it is wrong, or the host is not there, for 300ms now")
}

func TestACodeWithoutAServerIsOneSentence(t *testing.T) {
	t.Parallel()
	p := start(t, "join", identity.NewCode().String())
	require.Equal(t, arena.ExitUsage, p.End())
	p.OneSentence("fighter", "-signal URL has to say on which server")
}

// The server restarts in the middle of the match; then the guest's process dies, which finds the host through
// the room that has been made again, and then the host's.
func TestPlayersWithKeysComeBackThroughARoomThatIsThereAgain(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{})
	dir := t.TempDir()
	args := []string{"-signal", s.URL(), "-addr", "127.0.0.1:0", "-headless", "-ticks", "900", "-rate", "100"}
	host := start(t, append([]string{"host", "-key", dir + "/host"}, args...)...)
	join := append([]string{"join", "-key", dir + "/guest", host.Says(code)}, args...)
	guest := start(t, join...)
	guest.Says(arenatest.Played)
	s.Restart()
	s.Await(2)

	require.NoError(t, guest.Cmd.Process.Kill())
	require.Equal(t, -1, guest.End())
	guest = start(t, join...)
	guest.Says(arenatest.Played)
	require.NotContains(t, guest.Stdout.String(), "trying again", "the host is there")
	back := strings.Fields(host.Says(`(?m)^If this process dies: go run ./examples/fighter (host .*)$`))
	require.NoError(t, host.Cmd.Process.Kill())
	require.Equal(t, -1, host.End())
	host = start(t, append(back, "-headless")...)

	require.Zero(t, guest.End(), "stdout: %s\nstderr: %s", guest.Stdout, guest.Stderr)
	require.Zero(t, host.End(), "stdout: %s\nstderr: %s", host.Stdout, host.Stderr)
	finished := `finished: tick 900 is confirmed with fingerprint ([0-9a-f]{16})`
	require.Equal(t, host.Says(finished), guest.Says(finished))
	tick, err := strconv.Atoi(host.Says(`(?m)^tick ([0-9]+)`))
	require.NoError(t, err)
	require.Greater(t, tick, 150, "the control: it is the match that went on")
}
