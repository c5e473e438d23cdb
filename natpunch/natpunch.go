package natpunch

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/logging"
	iface "github.com/pion/transport/v5"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/quic"
)

var (
	// ErrNoSignal means that nothing has been heard from the peer through the [Signal].
	ErrNoSignal = errors.New("nothing has come from it through the signal")
	// ErrVersion means that what comes from the peer through the [Signal] is of another
	// version of this package's messages.
	ErrVersion = errors.New("it speaks another version of the signals")
	// ErrNoPath means that the peer's addresses are known, and that none has answered.
	ErrNoPath = errors.New("no path to it works")
)

// RouteError says why there is no path to a peer.
type RouteError struct {
	Peer driftback.Peer
	Err  error
}

// Error names the peer and the reason.
func (e *RouteError) Error() string {
	return fmt.Sprintf("natpunch: no path to peer %d: %v", e.Peer, e.Err)
}

// Unwrap returns the reason.
func (e *RouteError) Unwrap() error { return e.Err }

// Config says who this peer is, whom it has links with, and how they find each other.
type Config struct {
	// Self is the number of this peer in the match.
	Self driftback.Peer
	// Identity is this peer's key.
	Identity *identity.Identity
	// Peers are the other peers of the match. Nobody else is let in.
	Peers []Remote
	// Signal carries messages to and from them until there is a path. It is the
	// caller's to close, after the transport: as long as it works, a path that is lost can
	// be found anew.
	Signal Signal
	// Servers are STUN servers, which say how a router is seen from outside, and TURN
	// servers, which relay what no router lets through. Without any, only peers in one
	// network, and those that have public addresses, find each other.
	Servers []Server
	// Renew, if not nil, gives other servers in place of those, before the first of their
	// passwords ends (see [Server]), when a path is looked for and it was not asked for 5 s, and at once
	// if Servers is empty. It is called from a goroutine of its own, one call at a time, at most once a second; what
	// fails is tried again ever more seldom, down to once a minute. It may wait for a network: it is
	// given 10 s, and returns early when ctx ends, as Close waits for it. What it returns stays its own.
	//
	// A match that a relay carries then goes over to one with the new password, while the old one still
	// carries it. Without Renew it is lost when the password ends.
	Renew func(ctx context.Context) ([]Server, error)
	// Addr is the UDP address to listen on; "" is any port on every interface. Peers on
	// loopback addresses find each other only where it is one.
	Addr string
	// IdleTimeout is how long nothing may be heard from a peer before its link is
	// Down: 500 ms to 5 min; 0 is 5 s. The shorter of the two sides' counts.
	IdleTimeout time.Duration
	// Logger is told about links, paths and refusals, never about messages; nil is
	// silence.
	Logger *slog.Logger

	// For tests: network and conn stand in for the system's.
	network  iface.Net
	conn     net.PacketConn
	loopback bool // use loopback addresses whatever Addr is
	// relayOnly uses no address of our own but a relay's.
	relayOnly bool
	// roots certify relays over TLS; nil is the system's.
	roots *x509.CertPool
	// better is used for betterAfter, if it is not nil.
	better []time.Duration
}

// Remote is another peer of the match.
//
//	Pin           both sides know each other's
//	Pin and Code  the code lets us in
//	Code          the first key to present the code is pinned
type Remote struct {
	Peer driftback.Peer
	// Pin is the pin of its key.
	Pin identity.Pin
	// Code is a one-time code, as above.
	Code identity.Code
}

// Transport is a [transport.Transport] that finds its peers behind NATs.
type Transport struct {
	self     driftback.Peer
	signal   Signal
	log      *slog.Logger
	idle     time.Duration
	network  iface.Net
	roots    *x509.CertPool
	loopback bool
	kinds    []ice.CandidateType
	better   []time.Duration
	quiet    logging.LoggerFactory
	instance uint64

	renew     func(context.Context) ([]Server, error) // nil if servers never change
	peers     int
	servers   atomic.Pointer[servers]
	search    chan struct{}             // holds a token when a round begins
	unrenewed atomic.Pointer[error]     // why the last question for servers was in vain
	switched  atomic.Pointer[time.Time] // when a round last began for the sake of new passwords

	links  *quic.Transport
	socket *socket
	mux    *ice.UniversalUDPMuxDefault
	routes [driftback.MaxPeers]*route
	counts counts

	cancel  context.CancelFunc
	serving sync.WaitGroup // what could begin a round
	running sync.WaitGroup // what closes one
	once    sync.Once
	closed  error
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Explainer = (*Transport)(nil)
)

const defaultIdle = 5 * time.Second

// Listen opens the socket and starts to look for the peers. It returns without
// waiting for any. When ctx ends it looks no further; links that are up stay until
// Close, which must be called.
func Listen(ctx context.Context, c Config) (*Transport, error) {
	if c.Signal == nil {
		return nil, errors.New("natpunch: Config.Signal is nil: without it no peer can be found")
	}
	servers, err := newServers(c.Servers, len(c.Peers), time.Now())
	if err != nil {
		return nil, err
	}
	quiet := logging.NewDefaultLoggerFactory()
	quiet.DefaultLogLevel = logging.LogLevelDisabled
	t := &Transport{
		self: c.Self, signal: c.Signal, log: c.Logger, idle: c.IdleTimeout,
		network: c.network, roots: c.roots, quiet: quiet, instance: randomInstance(),
		renew: c.Renew, peers: len(c.Peers), search: make(chan struct{}, 1),
		kinds:  []ice.CandidateType{ice.CandidateTypeHost, ice.CandidateTypeServerReflexive, ice.CandidateTypeRelay},
		better: betterAfter,
	}
	if c.Renew != nil && len(c.Servers) == 0 {
		servers.due = time.Now()
	}
	t.servers.Store(servers)
	if c.better != nil {
		t.better = c.better
	}
	if c.relayOnly {
		t.kinds = t.kinds[2:]
	}
	if t.network == nil {
		if t.network, err = newSystemNet(); err != nil {
			return nil, fmt.Errorf("natpunch: the machine's interfaces cannot be read: %w", err)
		}
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if t.idle == 0 {
		t.idle = defaultIdle
	}
	if err := t.open(c); err != nil {
		return nil, err
	}
	links := quic.Config{
		Self: c.Self, Identity: c.Identity, IdleTimeout: c.IdleTimeout, Logger: c.Logger,
		Conn: t.socket, Describe: t.describe,
	}
	if t.socket.udp != nil {
		links.Conn = systemConn(t.socket)
	}
	for _, p := range c.Peers {
		remote := quic.Remote{Peer: p.Peer, Pin: p.Pin, Code: p.Code}
		if int(p.Peer) < len(t.routes) && p.Peer != c.Self { // or quic.Listen says what is wrong
			r := newRoute(t, p.Peer)
			r.fail(ErrNoSignal)
			t.routes[p.Peer] = r
			if !p.Pin.IsZero() {
				remote.Addr, remote.Ready = r.virtual.String(), r.wait
			}
		}
		links.Peers = append(links.Peers, remote)
	}
	if t.links, err = quic.Listen(ctx, links); err != nil {
		return nil, errors.Join(err, t.socket.Close())
	}
	t.mux = ice.NewUniversalUDPMuxDefault(ice.UniversalUDPMuxParams{
		UDPConn: checkConn{t.socket}, Net: t.network, Logger: quiet.NewLogger("ice"),
		// Each round asks anew: the router may have forgotten us.
		XORMappedAddrCacheTTL: time.Nanosecond,
	})
	// Paths that are in use are kept when ctx has ended, and so this goes on till Close.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.cancel = cancel
	t.serving.Go(func() { t.listen(serving) })
	if t.renew != nil {
		t.serving.Go(func() { t.renewing(serving) })
	}
	for _, r := range t.routes {
		if r != nil {
			t.serving.Go(func() { r.run(serving) })
			t.serving.Go(func() { r.tell(serving) })
		}
	}
	return t, nil
}

func randomInstance() uint64 {
	var seed [8]byte
	for {
		_, _ = rand.Read(seed[:]) // never fails, by its own documentation
		if n := binary.LittleEndian.Uint64(seed[:]); n != 0 {
			return n
		}
	}
}

// open opens the socket.
func (t *Transport) open(c Config) error {
	conn := c.conn
	if conn == nil {
		local := &net.UDPAddr{}
		if c.Addr != "" {
			var err error
			if local, err = net.ResolveUDPAddr("udp", c.Addr); err != nil {
				return fmt.Errorf("natpunch: Config.Addr is %q: %w", c.Addr, err)
			}
		}
		udp, err := net.ListenUDP("udp", local)
		if err != nil {
			return fmt.Errorf("natpunch: no socket on %q: %w", c.Addr, err)
		}
		conn = udp
	}
	udp, ok := conn.LocalAddr().(*net.UDPAddr)
	t.loopback = c.loopback || ok && udp.IP.IsLoopback()
	t.socket = newSocket(conn, &t.routes, &t.counts)
	t.socket.self = t.self
	return nil
}

// Send is [quic.Transport.Send].
func (t *Transport) Send(to driftback.Peer, b []byte) { t.links.Send(to, b) }

// SendReliable is [quic.Transport.SendReliable].
func (t *Transport) SendReliable(to driftback.Peer, b []byte) error {
	return t.links.SendReliable(to, b)
}

// Receive is [quic.Transport.Receive].
func (t *Transport) Receive() (transport.Message, bool) { return t.links.Receive() }

// MaxDatagram returns [quic.MaxDatagram].
func (t *Transport) MaxDatagram() int { return t.links.MaxDatagram() }

// LocalAddr returns the address of the socket.
func (t *Transport) LocalAddr() net.Addr { return t.socket.LocalAddr() }

// Pin is [quic.Transport.Pin].
func (t *Transport) Pin(peer driftback.Peer) (identity.Pin, bool) { return t.links.Pin(peer) }

// Why implements [transport.Explainer]. While there is no path to a peer the error is
// a [*RouteError]; with one it is that of the link, as [quic.Transport.Why] has it.
func (t *Transport) Why(to driftback.Peer) (final bool, err error) {
	final, err = t.links.Why(to)
	if int(to) >= len(t.routes) || t.routes[to] == nil || final || t.routes[to].path.Load() != nil {
		return final, err
	}
	if trouble := t.routes[to].trouble.Load(); trouble != nil {
		why := *trouble
		if unrenewed := t.unrenewed.Load(); unrenewed != nil {
			why = fmt.Errorf("%w, and there are no new servers: %w", why, *unrenewed)
		}
		return false, &RouteError{Peer: to, Err: why}
	}
	return false, err
}

// Close ends every link, as [quic.Transport.Close] does, and then all else.
func (t *Transport) Close() error {
	t.once.Do(func() {
		t.closed = t.links.Close() // while there are paths for its last words
		t.cancel()
		t.serving.Wait()
		for _, r := range t.routes {
			if r != nil {
				t.running.Go(r.end)
			}
		}
		t.running.Wait()
		_ = t.mux.Close()
	})
	return t.closed
}
