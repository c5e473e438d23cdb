package nattest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// prefix begins the names of all namespaces that these tests make; the number of the
// process that made them follows.
const prefix = "driftback-"

// commandPatience bounds every command that sets something up.
const commandPatience = 10 * time.Second

// run runs a command with some text as its input.
func run(input string, words ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandPatience)
	defer cancel()
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Stdin = strings.NewReader(input)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, out)
	}
	return nil
}

// in returns a command that runs in a namespace.
func in(namespace string, words ...string) []string {
	return append([]string{"ip", "netns", "exec", namespace}, words...)
}

// unable is why there can be no routers here, or nil.
func unable() error {
	if os.Geteuid() != 0 {
		return errors.New("namespaces are root's to make, and this is another user")
	}
	for program, from := range map[string]string{"ip": "iproute2", "nft": "nftables", "conntrack": "conntrack"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s is not installed (apt-get install %s): %w", program, from, err)
		}
	}
	probe := fmt.Sprintf("%s%d-probe", prefix, os.Getpid())
	if err := run("", "ip", "netns", "add", probe); err != nil {
		return fmt.Errorf("no network namespaces: %w", err)
	}
	defer func() { _ = run("", "ip", "netns", "delete", probe) }()
	if err := run(fullCone.rules("192.0.2.1"), in(probe, "nft", "-f", "-")...); err != nil {
		return fmt.Errorf("no nftables in the kernel: %w", err)
	}
	if err := run(symmetric.rules(""), in(probe, "nft", "-f", "-")...); err != nil {
		return fmt.Errorf("no nftables in the kernel: %w", err)
	}
	if err := run("", in(probe, "conntrack", "-F")...); err != nil {
		return fmt.Errorf("what routers have noted cannot be deleted: %w", err)
	}
	line, err := openLine()
	if err != nil {
		return err
	}
	return line.file.Close()
}

// sweep deletes what processes have left behind that were killed.
func sweep() error {
	names, err := filepath.Glob("/run/netns/" + prefix + "*")
	if err != nil {
		return err
	}
	for _, name := range names {
		name = filepath.Base(name)
		pid, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "-")
		n, err := strconv.Atoi(pid)
		if err != nil || n == os.Getpid() || !errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			continue
		}
		if err := run("", "ip", "netns", "delete", name); err != nil {
			return err
		}
	}
	return nil
}

var worlds atomic.Int32

// The addresses in public, and those in both homes: that they are the same ones is how
// it is with most people.
const (
	stunAddr, turnAddr, signalAddr = "198.51.100.1", "198.51.100.2", "198.51.100.3"
	serverPort                     = 3478
	insideAddr, insideRouter       = "192.168.1.10", "192.168.1.1"
)

// outsideAddrs are each router's: the second is the one that it is given later.
var outsideAddrs = [2][2]string{{"198.51.100.10", "198.51.100.11"}, {"198.51.100.20", "198.51.100.21"}}

// world is two homes, their routers, and the servers between them.
type world struct {
	t        testing.TB
	internet *internet
	public   string // namespaces
	routers  [2]string
	homes    [2]string
	lines    [2]*line // the routers'
	kinds    [2]router
	relay    string // its role
	over     string // how it is spoken to, of relayURLs
	// certificate is the file with the relay's, if it speaks TLS.
	certificate string
}

// newWorld makes a world that is gone when the test ends.
func newWorld(t testing.TB, kinds [2]router) *world {
	t.Helper()
	name := fmt.Sprintf("%s%d-%d-", prefix, os.Getpid(), worlds.Add(1))
	w := &world{
		t: t, internet: newInternet(latency), kinds: kinds, relay: "turn", over: "UDP", public: name + "public",
		routers: [2]string{name + "router0", name + "router1"}, homes: [2]string{name + "home0", name + "home1"},
	}
	all := append([]string{w.public}, append(w.routers[:], w.homes[:]...)...)
	t.Cleanup(func() {
		w.internet.close()
		for _, namespace := range all {
			require.NoError(t, run("", "ip", "netns", "delete", namespace))
		}
	})
	for _, namespace := range all {
		require.NoError(t, run("", "ip", "netns", "add", namespace))
		w.ip(namespace, "link set lo up")
	}
	w.connect(w.public, stunAddr, turnAddr, signalAddr)
	for i := range 2 {
		w.lines[i] = w.connect(w.routers[i], outsideAddrs[i][:]...)
		w.ip(w.routers[i], "address delete "+outsideAddrs[i][1]+"/24 dev wan")
		w.furnish(i)
	}
	return w
}

// ip configures the network of a namespace, a line at a time.
func (w *world) ip(namespace string, lines ...string) {
	w.t.Helper()
	require.NoError(w.t, run(strings.Join(lines, "\n"), "ip", "-netns", namespace, "-batch", "-"))
}

// connect gives a namespace an interface to the public network.
func (w *world) connect(namespace string, addrs ...string) *line {
	w.t.Helper()
	line, err := openLine()
	require.NoError(w.t, err)
	w.internet.connect(line, addrs...)
	require.NoError(w.t, run("", "ip", "link", "set", line.name, "netns", namespace, "name", "wan"))
	w.ip(namespace, "link set wan up")
	for _, addr := range addrs {
		w.ip(namespace, "address add "+addr+"/24 dev wan")
	}
	return line
}

// furnish connects a home with its router, which begins to translate.
func (w *world) furnish(i int) {
	w.t.Helper()
	home, outside := w.homes[i], w.routers[i]
	require.NoError(w.t, run("", "ip", "link", "add", "lan", "netns", outside, "type", "veth", "peer", "name", "lan", "netns", home))
	w.ip(outside, "address add "+insideRouter+"/24 dev lan", "link set lan up")
	w.ip(home, "address add "+insideAddr+"/24 dev lan", "link set lan up", "route add default via "+insideRouter)
	require.NoError(w.t, run("1", in(outside, "tee", "/proc/sys/net/ipv4/ip_forward")...))
	w.nft(outside, w.kinds[i].rules(insideAddr))
}

// nft changes the rules of a namespace.
func (w *world) nft(namespace, rules string) {
	w.t.Helper()
	require.NoError(w.t, run(rules, in(namespace, "nft", "-f", "-")...))
}
