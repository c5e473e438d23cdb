package nattest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/turn/v5"
	"go.uber.org/goleak"

	"github.com/driftback/driftback/signalling/server"
)

// roleVariable names what this program is when it has been started by itself, in a
// namespace: a player or a server. Each tells what there is to tell in lines of JSON, and
// ends when its input does.
const roleVariable = "DRIFTBACK_NATTEST_ROLE"

var roles = map[string]func() error{
	"player": play,
	"stun":   func() error { return serveTURN(stunAddr, 0, untilEnd) },
	"turn":   serveRelay,
	"signal": func() error { return serveSignalling(signalAddr) },
	// A relay that is quick to forget whoever has no good password any more.
	"strict": func() error { return serveTURN(turnAddr, strictLife, untilEnd) },
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := roles[role](); err != nil {
			fmt.Fprintln(os.Stderr, role+":", err)
			os.Exit(1)
		}
		return
	}
	if err := sweep(); err != nil {
		fmt.Fprintln(os.Stderr, "what an earlier run has left cannot be deleted:", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// say tells the test something.
func say(what any) { _ = json.NewEncoder(os.Stdout).Encode(what) }

// untilEnd waits for the input to end.
func untilEnd() { <-inputEnds() }

// inputEnds is closed when the input ends.
func inputEnds() <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	return ended
}

// The password of players that have no other, what the signalling server makes others from, and how long these hold.
const (
	username, password = "player", "secret"
	restSecret         = "0123456789abcdef"
	restLife           = 4 * time.Second
	// strictLife is how long allocations last that are not asked for again.
	strictLife = 2 * time.Second
)

// serveRelay is a TURN server over UDP, TCP and TLS. A line of input makes it deaf.
func serveRelay() error {
	var deaf atomic.Bool
	listeners, err := streams(turnAddr, &deaf)
	if err != nil {
		return err
	}
	told := func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			deaf.Store(true)
		}
	}
	return serveTURN(turnAddr, 0, told, listeners...)
}

// serveTURN is a STUN and TURN server until wait returns. Allocations last for life if they are not asked for again; 0 is 10 min.
func serveTURN(addr string, life time.Duration, wait func(), listeners ...net.Listener) error {
	conn, err := net.ListenPacket("udp4", fmt.Sprintf("%s:%d", addr, serverPort))
	if err != nil {
		return err
	}
	quiet := logging.NewDefaultLoggerFactory()
	quiet.DefaultLogLevel = logging.LogLevelDisabled
	generator := &turn.RelayAddressGeneratorStatic{RelayAddress: net.ParseIP(addr), Address: addr}
	var streams []turn.ListenerConfig
	for _, l := range listeners {
		streams = append(streams, turn.ListenerConfig{Listener: l, RelayAddressGenerator: generator})
	}
	rest := turn.LongTermTURNRESTAuthHandler(restSecret, quiet.NewLogger("turn"))
	relay, err := turn.NewServer(turn.ServerConfig{
		Realm: "driftback", LoggerFactory: quiet, AllocationLifetime: life,
		AuthHandler: func(a *turn.RequestAttributes) (string, []byte, bool) {
			if strings.Contains(a.Username, ":") {
				return rest(a)
			}
			return a.Username, turn.GenerateAuthKey(a.Username, a.Realm, password), a.Username == username
		},
		PacketConnConfigs: []turn.PacketConnConfig{{PacketConn: conn, RelayAddressGenerator: generator}},
		ListenerConfigs:   streams,
	})
	if err != nil {
		return err
	}
	say(status{})
	wait()
	return relay.Close()
}

// serveSignalling is a signalling server.
func serveSignalling(addr string) error {
	listener, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", addr, serverPort))
	if err != nil {
		return err
	}
	rooms, err := server.New(server.Config{Servers: server.Servers{
		TURN: []string{relayURLs["UDP"]}, Secret: restSecret, PasswordLifetime: restLife,
	}})
	if err != nil {
		return err
	}
	served := &http.Server{Handler: rooms, ReadHeaderTimeout: time.Second}
	go func() { _ = served.Serve(listener) }() // until it is closed
	say(status{})
	untilEnd()
	return errors.Join(rooms.Close(), served.Close())
}
