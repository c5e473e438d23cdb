package turnserver

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/stun/v4"
	"github.com/pion/turn/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback/internal/waittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "a secret of the tests"

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// A relay on a port of its own choice, as a signalling server starts it.
func Example() {
	r, err := Listen(Config{Addr: "127.0.0.1:0", PublicIP: netip.MustParseAddr("192.0.2.1"), Secret: "0123456789abcdef"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Counts().Allocations, r.Close())
	// Output: 0 <nil>
}

// open opens a relay on this machine, and closes it when the test ends.
func open(t testing.TB, c Config) *Relay {
	t.Helper()
	if c.Secret = secret; !c.PublicIP.IsValid() {
		c.Addr, c.PublicIP = "127.0.0.1:0", loopback
	}
	r, err := Listen(c)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, r.Close())
		waittest.Until(t, "all is given back", func() bool { return r.Counts().Allocations == 0 })
		require.Empty(t, r.of)
	})
	return r
}

// client is a user of a relay.
func client(t testing.TB, r *Relay, user, with string, holds time.Duration) *turn.Client {
	t.Helper()
	name, password, err := turn.GenerateLongTermTURNRESTCredentials(with, user, holds)
	require.NoError(t, err)
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	quiet := logging.NewDefaultLoggerFactory()
	quiet.DefaultLogLevel = logging.LogLevelDisabled
	c, err := turn.NewClient(&turn.ClientConfig{
		TURNServerAddr: r.Addr().String(), STUNServerAddr: r.Addr().String(), Conn: conn, Username: name, Password: password, LoggerFactory: quiet,
	})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close(); _ = conn.Close() })
	require.NoError(t, c.Listen())
	return c
}

// allocate gets a port of the relay.
func allocate(t testing.TB, c *turn.Client) net.PacketConn {
	t.Helper()
	conn, err := c.Allocate()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(waittest.Patience)))
	return conn
}

// between carries b from one to the other.
func between(t testing.TB, a, b net.PacketConn, text string) {
	t.Helper()
	_, err := b.WriteTo([]byte("open"), a.LocalAddr()) // so that b admits a
	require.NoError(t, err)
	_, err = a.WriteTo([]byte(text), b.LocalAddr())
	require.NoError(t, err)
	buf := make([]byte, 1500)
	n, from, err := b.ReadFrom(buf)
	for err == nil && string(buf[:n]) == "open" { // of the other way round
		n, from, err = b.ReadFrom(buf)
	}
	require.NoError(t, err)
	require.Equal(t, text, string(buf[:n]))
	require.Equal(t, a.LocalAddr().String(), from.String())
}

// A machine with several addresses answers from the one that was asked.
func TestARelayThatIsReachedByOneOfSeveralAddressesUsesThatOne(t *testing.T) {
	second := netip.MustParseAddr("127.0.0.2")
	if conn, err := net.ListenPacket("udp", "127.0.0.2:0"); err != nil {
		t.Skip("this machine has no second address on its loopback, as darwin has not")
	} else {
		require.NoError(t, conn.Close())
	}
	r := open(t, Config{Addr: ":0", PublicIP: second, AllowPrivate: true})
	require.Equal(t, second, netip.MustParseAddrPort(r.Addr().String()).Addr())
	a, b := allocate(t, client(t, r, "a", secret, time.Hour)), allocate(t, client(t, r, "b", secret, time.Hour))
	between(t, a, b, "hello")
	require.Equal(t, second, netip.MustParseAddrPort(a.LocalAddr().String()).Addr())
	require.Equal(t, netip.IPv4Unspecified(), home(netip.MustParseAddr("192.0.2.1")), "that is a router's")
}

func TestTwoBehindTheRelayReachEachOther(t *testing.T) {
	r := open(t, Config{})
	a, b := allocate(t, client(t, r, "a", secret, time.Hour)), allocate(t, client(t, r, "b", secret, time.Hour))
	between(t, a, b, "hello")
	between(t, b, a, "and back")
	c := r.Counts()
	require.Equal(t, 2, c.Allocations)
	require.EqualValues(t, 2, c.Allocated)
	require.Positive(t, c.Carried)
	require.Positive(t, c.Bytes)
	seen, err := client(t, r, "c", secret, time.Hour).SendBindingRequest()
	require.NoError(t, err, "it is a STUN server too")
	require.Contains(t, seen.String(), "127.0.0.1:")
}

func TestPasswordsThatHaveExpiredOrAreOfAnotherSecretAreRefused(t *testing.T) {
	r := open(t, Config{})
	for name, c := range map[string]*turn.Client{
		"expired":        client(t, r, "a", secret, -time.Second),
		"another secret": client(t, r, "a", "some other secret", time.Hour),
	} {
		_, err := c.Allocate()
		require.Error(t, err, name)
		require.ErrorContains(t, err, "401", name)
	}
	require.Positive(t, r.Counts().Unknown)
	require.Zero(t, r.Counts().Allocated)
	allocate(t, client(t, r, "a", secret, time.Second*2))
}

func TestAllocationsAreBoundedByUserAndAltogether(t *testing.T) {
	r := open(t, Config{MaxAllocations: 3, AllocationsPerUser: 2})
	first := allocate(t, client(t, r, "a", secret, time.Hour))
	allocate(t, client(t, r, "a", secret, 2*time.Hour)) // another password of the same member
	_, err := client(t, r, "a", secret, time.Hour).Allocate()
	require.ErrorContains(t, err, "486")
	allocate(t, client(t, r, "b", secret, time.Hour))
	_, err = client(t, r, "c", secret, time.Hour).Allocate()
	require.ErrorContains(t, err, "486")
	require.EqualValues(t, 2, r.Counts().Full)
	require.NoError(t, first.Close())
	waittest.Until(t, "it is given back", func() bool { return r.Counts().Allocations == 2 })
	allocate(t, client(t, r, "c", secret, time.Hour))

	// A stranger with a key for each.
	r = open(t, Config{AllocationsPerAddress: 2})
	first = allocate(t, client(t, r, "a", secret, time.Hour))
	allocate(t, client(t, r, "b", secret, time.Hour))
	_, err = client(t, r, "c", secret, time.Hour).Allocate()
	require.ErrorContains(t, err, "486")
	require.NoError(t, first.Close())
	waittest.Until(t, "it is given back", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.from[owner(&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})] == 1
	})
	allocate(t, client(t, r, "c", secret, time.Hour))
}

func TestOnlyPublicAddressesAndTheRelaysOwnAreCarriedTo(t *testing.T) {
	r := &Relay{c: Config{PublicIP: netip.MustParseAddr("198.51.100.7")}}
	open := &Relay{c: Config{AllowPrivate: true}}
	for addr, want := range map[string]bool{
		"198.51.100.7": true, "8.8.8.8": true, "2001:4860:4860::8888": true, "100.128.0.1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"0.1.2.3": false, "198.18.0.1": false, "240.0.0.1": false, "::1": false, "fd00::1": false, "fe80::1": false, "::127.0.0.1": false,
		"64:ff9b::a01:203": false, "2002:a01:203::1": false, "2001:0:1::1": false,
	} {
		a := netip.MustParseAddr(addr)
		require.Equal(t, want, r.reaches(a), addr)
		require.True(t, open.reaches(a), addr)
	}
	for _, addr := range []string{"224.0.0.1", "ff02::1", "0.0.0.0", "::", "255.255.255.255"} {
		require.False(t, r.reaches(netip.MustParseAddr(addr)), addr)
		require.False(t, open.reaches(netip.MustParseAddr(addr)), addr)
	}
}

func TestAPeerInsideTheRelaysNetworkIsNotReached(t *testing.T) {
	private := &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 9}
	r := open(t, Config{})
	c := client(t, r, "a", secret, time.Hour)
	conn := allocate(t, c)
	require.Error(t, c.CreatePermission(private))
	require.EqualValues(t, 1, r.Counts().Forbidden)

	// Nor a service of the relay's own machine, unless that is asked for.
	service, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer func() { require.NoError(t, service.Close()) }()
	if port := service.LocalAddr().(*net.UDPAddr).Port; port >= 49152 { // where the system draws from there
		t.Skip("the service got a port that is the relay's")
	}
	_, err = conn.WriteTo([]byte("psst"), service.LocalAddr())
	require.NoError(t, err)
	waittest.Until(t, "it is dropped", func() bool { return r.Counts().Dropped == 1 })

	allowed := open(t, Config{AllowPrivate: true})
	conn = allocate(t, client(t, allowed, "a", secret, time.Hour))
	_, err = conn.WriteTo([]byte("psst"), service.LocalAddr())
	require.NoError(t, err)
	require.NoError(t, service.SetReadDeadline(time.Now().Add(waittest.Patience)))
	buf := make([]byte, 10)
	n, _, err := service.ReadFrom(buf)
	require.NoError(t, err)
	require.Equal(t, "psst", string(buf[:n]))
}

func TestWhatIsTooMuchForOneAllocationIsDropped(t *testing.T) {
	r := open(t, Config{BytesPerSecond: 10_000})
	a, b := allocate(t, client(t, r, "a", secret, time.Hour)), allocate(t, client(t, r, "b", secret, time.Hour))
	between(t, a, b, "hello")
	for range 100 {
		_, err := a.WriteTo(make([]byte, 1000), b.LocalAddr())
		require.NoError(t, err)
	}
	waittest.Until(t, "most is dropped", func() bool { return r.Counts().Dropped > 70 })
}

func TestAFloodOfRequestsIsDroppedAndChannelsAreNot(t *testing.T) {
	r := open(t, Config{RequestsPerSecond: 20})
	a, b := allocate(t, client(t, r, "a", secret, time.Hour)), allocate(t, client(t, r, "b", secret, time.Hour))
	between(t, a, b, "hello")
	stranger, err := net.Dial("udp4", r.Addr().String())
	require.NoError(t, err)
	defer func() { require.NoError(t, stranger.Close()) }()
	ask, err := stun.Build(stun.TransactionID, stun.BindingRequest)
	require.NoError(t, err)
	for r.Counts().Requests < 100 {
		_, err := stranger.Write(ask.Raw)
		require.NoError(t, err)
		_, err = stranger.Write([]byte(strings.Repeat("\x00", 30)))
		require.NoError(t, err)
	}
	_, err = stranger.Write([]byte("\x40\x00\x00\x04junk")) // of a channel that nobody has
	require.NoError(t, err)
	require.Equal(t, 2, r.Counts().Allocations)
}

func TestAConfigurationThatMakesNoSenseIsRefusedInASentence(t *testing.T) {
	good := Config{Addr: "127.0.0.1:0", PublicIP: loopback, Secret: secret}
	for want, change := range map[string]func(c *Config){
		"Config.PublicIP is invalid IP":             func(c *Config) { c.PublicIP = netip.Addr{} },
		"Config.PublicIP is 0.0.0.0":                func(c *Config) { c.PublicIP = netip.IPv4Unspecified() },
		"Config.Secret has 5 bytes, and 16":         func(c *Config) { c.Secret = "short" },
		"Config.MinPort and MaxPort are 9 and 8":    func(c *Config) { c.MinPort, c.MaxPort = 9, 8 },
		"Config.MaxAllocations is -1: 1 to 60000":   func(c *Config) { c.MaxAllocations = -1 },
		`turnserver: Config.Addr is "nonsense": `:   func(c *Config) { c.Addr = "nonsense" },
		"Config.BytesPerSecond is -1: 1 to 1073741": func(c *Config) { c.BytesPerSecond = -1 },
	} {
		c := good
		change(&c)
		_, err := Listen(c)
		require.ErrorContains(t, err, want)
	}
}
