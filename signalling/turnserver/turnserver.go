// Package turnserver is a small TURN relay, for peers that no router lets through to each other: it
// carries their packets, which it cannot read. It is what the -turn flag of cmd/driftback signal
// runs; who has many players runs coturn in its place, with the same secret.
//
// Whom it serves is said by passwords that a signalling server makes (package signalling/server) and
// that hold for some hours. What anybody may have of it is bounded: allocations altogether and by
// user, their life, the rate of each, and requests by address. It carries to public addresses and to
// itself, and not into the network that it stands in, unless it is asked to. It answers STUN too.
//
// The package owns the bounds and what may be reached. The protocol is pion/turn's.
package turnserver

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/logging"
	"github.com/pion/turn/v5"

	"github.com/driftback/driftback/signalling/internal/limit"
)

// Config says where a relay is, and bounds it.
type Config struct {
	// Addr is the UDP address to listen on; "" is ":3478". Without a host it is PublicIP where this machine has
	// that, and otherwise all that it has: who has several gives one, since an answer from another is not taken.
	Addr string
	// PublicIP is the address that peers on the internet reach this machine by. It has to be given.
	PublicIP netip.Addr
	// Secret is what passwords are made from, 16 bytes at least.
	Secret string
	// MinPort and MaxPort are the ports that are given to peers; 0 and 0 are 49152 and 65535.
	MinPort, MaxPort uint16
	// MaxAllocations is how many peers' ports there may be at a time; 0 is 1,000.
	MaxAllocations int
	// AllocationsPerUser is how many of them one member of a signalling server may have; 0 is
	// 16, as a peer has one for each other one, and one more while it looks for something better.
	AllocationsPerUser int
	// AllocationsPerAddress is how many may be asked for from one address, whoever asks: a stranger can make
	// as many keys as it likes. 0 is 64.
	AllocationsPerAddress int
	// BytesPerSecond is how much goes through one allocation in each direction, and as much at once; more is
	// dropped. 0 is 262,144.
	BytesPerSecond int
	// RequestsPerSecond is how many requests one address may make, twice as many at once; what is carried through
	// channels does not count. More are dropped. 0 is 200.
	RequestsPerSecond int
	// AllowPrivate carries to private, local and loopback addresses too: whoever has a password
	// then reaches whatever this machine does.
	AllowPrivate bool
	// Logger is told of refusals and of what begins and ends; nil is silence.
	Logger *slog.Logger
}

const (
	realm = "driftback"
	// allocationLife is how long an allocation lasts that is not asked for again.
	allocationLife = 10 * time.Minute
	maxAddresses   = 20_000
	minSecret      = 16
)

// Relay is a TURN relay.
type Relay struct {
	c        Config
	log      *slog.Logger
	server   *turn.Server
	addr     net.Addr
	relays   *turn.RelayAddressGeneratorPortRange
	requests *limit.Keyed
	counts   counts

	mu   sync.Mutex
	of   map[string]int       // allocations by user
	from map[netip.Prefix]int // and by who asked for them
	all  int
	once sync.Once
	err  error
}

type counts struct{ allocated, full, forbidden, unknown, requests, bytes, carried, dropped atomic.Uint64 }

// Counts say what a relay did, and what it dropped and refused, since it was made.
type Counts struct {
	// Allocations are there now; Allocated counts all that were made.
	Allocations int
	Allocated   uint64
	// Full counts allocations that were refused because there were too many, and Forbidden
	// addresses that are not carried to.
	Full, Forbidden uint64
	// Unknown counts requests whose user name or time was wrong.
	Unknown uint64
	// Requests counts those that were dropped because too many came from their address.
	Requests uint64
	// Carried and Bytes count packets through allocations, in both directions, and Dropped those that were too
	// many, or to where nothing is carried.
	Carried, Bytes, Dropped uint64
}

// Counts returns the counts of now.
func (r *Relay) Counts() Counts {
	k := &r.counts
	r.mu.Lock()
	defer r.mu.Unlock()
	return Counts{
		Allocations: r.all, Allocated: k.allocated.Load(), Full: k.full.Load(), Forbidden: k.forbidden.Load(), Unknown: k.unknown.Load(),
		Requests: k.requests.Load(), Carried: k.carried.Load(), Bytes: k.bytes.Load(), Dropped: k.dropped.Load(),
	}
}

func (c *Config) validate() error {
	if c.Addr == "" {
		c.Addr = ":3478"
	}
	if c.PublicIP = c.PublicIP.Unmap(); !c.PublicIP.IsValid() || c.PublicIP.IsUnspecified() || c.PublicIP.IsMulticast() {
		return fmt.Errorf("turnserver: Config.PublicIP is %v, and should be the address that peers reach this machine by", c.PublicIP)
	}
	if len(c.Secret) < minSecret {
		return fmt.Errorf("turnserver: Config.Secret has %d bytes, and %d is the least", len(c.Secret), minSecret)
	}
	if c.MinPort == 0 && c.MaxPort == 0 {
		c.MinPort, c.MaxPort = 49152, 65535
	}
	if c.MinPort == 0 || c.MaxPort < c.MinPort {
		return fmt.Errorf("turnserver: Config.MinPort and MaxPort are %d and %d: give a range, or 0 and 0 for 49152 to 65535", c.MinPort, c.MaxPort)
	}
	for _, f := range []struct {
		name        string
		value       *int
		usual, most int
	}{
		{"MaxAllocations", &c.MaxAllocations, 1000, 60_000},
		{"AllocationsPerUser", &c.AllocationsPerUser, 16, 60_000},
		{"AllocationsPerAddress", &c.AllocationsPerAddress, 64, 60_000},
		{"BytesPerSecond", &c.BytesPerSecond, 256 << 10, 1 << 30},
		{"RequestsPerSecond", &c.RequestsPerSecond, 200, 1_000_000},
	} {
		if *f.value == 0 {
			*f.value = f.usual
		}
		if *f.value < 1 || *f.value > f.most {
			return fmt.Errorf("turnserver: Config.%s is %d: 1 to %d are allowed, and 0 for %d", f.name, *f.value, f.most, f.usual)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Listen opens the relay's socket and serves until Close, which must be called.
func Listen(c Config) (*Relay, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	home := home(c.PublicIP)
	if host, port, err := net.SplitHostPort(c.Addr); err == nil && host == "" && !home.IsUnspecified() {
		c.Addr = net.JoinHostPort(home.String(), port)
	}
	r := &Relay{
		c: c, log: c.Logger, of: map[string]int{}, from: map[netip.Prefix]int{}, requests: limit.NewKeyed(limit.Per(c.RequestsPerSecond), maxAddresses),
		relays: &turn.RelayAddressGeneratorPortRange{
			RelayAddress: c.PublicIP.AsSlice(), MinPort: c.MinPort, MaxPort: c.MaxPort, MaxRetries: 50, Address: home.String(),
		},
	}
	conn, err := net.ListenPacket("udp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("turnserver: Config.Addr is %q: %w", c.Addr, err)
	}
	r.addr = conn.LocalAddr()
	quiet := logging.NewDefaultLoggerFactory()
	quiet.DefaultLogLevel = logging.LogLevelDisabled
	known := turn.LongTermTURNRESTAuthHandler(c.Secret, quiet.NewLogger("turn"))
	r.server, err = turn.NewServer(turn.ServerConfig{
		Realm: realm, LoggerFactory: quiet, AllocationLifetime: allocationLife,
		AuthHandler: func(a *turn.RequestAttributes) (string, []byte, bool) {
			user, key, ok := known(a)
			if !ok {
				r.counts.unknown.Add(1)
			}
			return user, key, ok
		},
		QuotaHandler: func(user, _ string, from net.Addr) bool { return r.hasRoom(user, from) },
		EventHandler: turn.EventHandler{
			OnAllocationCreated: func(from, _ net.Addr, _, _, _ string, _ net.Addr, _ int) { r.count(from, 1) },
			OnAllocationDeleted: func(from, _ net.Addr, _, _, _ string) { r.count(from, -1) },
		},
		PacketConnConfigs: []turn.PacketConnConfig{{
			PacketConn: &door{PacketConn: conn, r: r}, RelayAddressGenerator: (*generator)(r),
			PermissionHandler: func(from net.Addr, to net.IP) bool { return r.permits(from, to) },
		}},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("turnserver: %w", err), conn.Close())
	}
	return r, nil
}

// home returns the address of this machine that packets of a public one come to: that itself, or all that it
// has where a router stands before it.
func home(public netip.Addr) netip.Addr {
	if conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(public, 0))); err == nil {
		_ = conn.Close() // it was only to know
		return public
	}
	if public.Is6() {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// Addr returns the address that the relay listens on.
func (r *Relay) Addr() net.Addr { return r.addr }

// Close ends the relay and all that goes through it.
func (r *Relay) Close() error {
	r.once.Do(func() { r.err = r.server.Close() })
	return r.err
}

// hasRoom says whether a user may have one allocation more.
func (r *Relay) hasRoom(user string, from net.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all < r.c.MaxAllocations && r.of[user] < r.c.AllocationsPerUser && r.from[owner(from)] < r.c.AllocationsPerAddress {
		return true
	}
	r.counts.full.Add(1)
	r.log.Warn("no allocation", "user", user, "address", from, "of this user", r.of[user], "of all", r.all)
	return false
}

// owner is whose an address is.
func owner(a net.Addr) netip.Prefix {
	at, ok := a.(*net.UDPAddr)
	if !ok {
		return netip.Prefix{}
	}
	return limit.Owner(at.AddrPort().Addr())
}

// count counts an allocation of an address in, or out.
func (r *Relay) count(from net.Addr, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := owner(from)
	if r.from[key] += n; r.from[key] <= 0 {
		delete(r.from, key)
	}
}

// permits says whether a peer at an address may be spoken with.
func (r *Relay) permits(from net.Addr, to net.IP) bool {
	a, ok := netip.AddrFromSlice(to)
	if ok && r.reaches(a.Unmap()) {
		return true
	}
	r.counts.forbidden.Add(1)
	r.log.Debug("an address that is not carried to", "address", from, "to", to)
	return false
}

// local are ranges, besides those that the standard library knows, that are no place on the
// internet: this network, carriers' inner ones, IETF's, benchmarks', what is reserved, and IPv4 inside IPv6.
var local = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("::/96"), netip.MustParsePrefix("fec0::/10"),
}

// reaches says whether an address is carried to: this relay's own, where a peer's other end may be, and
// public ones.
func (r *Relay) reaches(a netip.Addr) bool {
	switch {
	case a.IsMulticast() || a.IsUnspecified() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return false
	case r.c.AllowPrivate || a == r.c.PublicIP:
		return true
	case !a.IsGlobalUnicast() || a.IsPrivate():
		return false
	}
	for _, p := range local {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
