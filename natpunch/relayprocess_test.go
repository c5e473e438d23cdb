package natpunch

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pion/turn/v5"
	"github.com/stretchr/testify/require"
)

// relayProcess is the variable of the environment that makes this program a STUN and
// TURN server and nothing else, so that what it costs is not a player's.
const relayProcess = "DRIFTBACK_RELAY_PROCESS"

// runRelay prints its address, and serves until its input ends.
func runRelay() {
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := turn.NewServer(serverConfig(conn, relaysHere))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(conn.LocalAddr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = server.Close()
}

// serveApart starts a server in a process of its own, until stop.
func serveApart(t testing.TB) (servers []Server, stop func()) {
	t.Helper()
	relay := exec.Command(os.Args[0])
	relay.Env = append(os.Environ(), relayProcess+"=1")
	relay.Stderr = os.Stderr
	in, err := relay.StdinPipe()
	require.NoError(t, err)
	out, err := relay.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, relay.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return serversAt(strings.TrimSpace(line)), func() {
		_ = in.Close()
		_ = relay.Wait()
	}
}
