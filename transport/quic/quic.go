// Package quic carries the engine's messages over UDP: one QUIC connection for
// each pair of peers, with datagrams for what may be lost and one stream for what
// must arrive.
//
// It owns a socket, the links over it, and who is let in: each side proves that
// it holds the key that the other has pinned (package identity), and nothing is
// resumed or sent early. A stranger's key is pinned only when it presents a
// one-time code. The package refuses to own the protocol of a match, and to find
// peers behind a NAT: it calls the addresses that it is given.
//
// A [Transport] runs goroutines of its own and hands nothing over until Receive
// asks. Send, SendReliable, Receive and Close are called from the goroutine that
// owns the session; Stats, Counts, Pin and LocalAddr from any. None but Close
// waits for the network, and no send ever waits for another peer or for a full
// queue: what cannot go is dropped or refused and counted.
//
// Whoever is refused is told why, and so is this side: see [Transport.Why].
//
// A link is Up for the game once a message has come back through it, since a peer
// that refuses us is dialled without an error. When it goes Down the peer that
// dialled it dials again, until Close, and each Up starts afresh.
//
// quic-go prints one line to the standard log when the system grants a smaller
// socket buffer than it would like. The buffer is large enough for a game; a
// command can silence the line by setting QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING
// in its environment.
package quic

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	quicgo "github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
)

// MaxDatagram is the size in bytes of the largest datagram. A QUIC packet of 1200
// bytes passes every path that QUIC works on at all, and carries this much.
const MaxDatagram = 1163

// Bounds on what the network can make a transport hold or do.
const (
	// maxPending bounds the connections that have not yet said who they are.
	maxPending = 32
	// retryAbove is how many of them there may be before a new one has to show that
	// its address is its own.
	retryAbove = 4
	// outboxDatagrams is how many datagrams wait for each peer, which is more than one
	// tick's. The oldest goes.
	outboxDatagrams = 64
	// inboxDatagrams is how many datagrams of one peer wait for Receive. The oldest
	// goes.
	inboxDatagrams = 256
	// queueMessages and queueBytes bound the reliable messages that wait for each
	// peer, and those of one peer that wait for Receive.
	queueMessages = 64
	queueBytes    = 4 * transport.MaxReliable
)

// Times. The network's part of each is small; they are how patient we are.
const (
	// defaultIdle is how long nothing may be heard before a link is down.
	defaultIdle = 5 * time.Second
	minIdle     = 500 * time.Millisecond
	maxIdle     = 5 * time.Minute
	// greetTimeout bounds each of a handshake's two halves: TLS, and the exchange
	// that follows.
	greetTimeout = 3 * time.Second
	// headStart is how long a peer with the higher pin leaves the call to the other,
	// which may not have our address. Two calls at once do no harm (see admit).
	headStart  = 150 * time.Millisecond
	minBackoff = 100 * time.Millisecond
	maxBackoff = 2 * time.Second
	// linger bounds how long Close waits for the other sides to take what is queued.
	linger = 500 * time.Millisecond
)

// protocol names this package's messages to TLS, so that another version of them
// is refused in the handshake.
const protocol = "driftback/1"

// Config says who this peer is and whom it has links with.
type Config struct {
	// Self is the number of this peer in the match.
	Self driftback.Peer
	// Identity is this peer's key.
	Identity *identity.Identity
	// Addr is the UDP address to listen on; "" is any port on every interface.
	Addr string
	// Conn is used in place of a socket on Addr, if it is not nil. The transport
	// takes it over and closes it.
	Conn net.PacketConn
	// Describe says what to call the address of a peer in errors, logs and Stats, for
	// a Conn whose addresses are not those of the network; nil is Addr.String.
	Describe func(net.Addr) string
	// Peers are the other peers of the match. Nobody else is let in.
	Peers []Remote
	// IdleTimeout is how long nothing may be heard from a peer before its link is
	// Down: 500 ms to 5 min; 0 is 5 s. The shorter of the two sides' counts.
	IdleTimeout time.Duration
	// Logger is told about links and refusals, never about messages; nil is silence.
	Logger *slog.Logger

	// tamper changes what this side says of itself, for tests.
	tamper func(*tls.Config)
}

// Remote is another peer of the match.
//
//	Pin and Addr        we call it; it may call us
//	Pin alone           it calls us
//	Pin, Addr and Code  we call it, and the code lets us in
//	Code alone          it calls us: the first key to present the code is pinned
//
// Where both sides have the other's address the one with the lower pin calls, and
// the other only if that call does not come.
type Remote struct {
	Peer driftback.Peer
	// Pin is the pin of its key.
	Pin identity.Pin
	// Addr is its UDP address, "host:port".
	Addr string
	// Code is a one-time code, as above.
	Code identity.Code
	// Ready is for a peer that can be reached at Addr only some of the time, because
	// Conn finds a path to it by and by. Before each call it is waited for; it returns
	// when there is a path or when its context ends. nil does not wait.
	Ready func(context.Context)
}

// Transport is a [transport.Transport] over QUIC.
type Transport struct {
	self     driftback.Peer
	identity *identity.Identity
	log      *slog.Logger
	idle     time.Duration
	describe func(net.Addr) string
	tamper   func(*tls.Config)
	// instance tells this transport from an earlier one with the same key.
	instance uint64

	socket   net.PacketConn
	endpoint *quicgo.Transport
	listener *quicgo.Listener
	ctx      context.Context // ends when the transport closes
	cancel   context.CancelFunc
	running  sync.WaitGroup
	pending  atomic.Int32
	counts   counts

	mu      sync.Mutex // everything below, and what remote and link say it guards
	closed  bool
	remotes []*remote // never changes; each holds what does
	numbers [driftback.MaxPeers]*remote
	turn    int // of remotes: who is asked first by the next Receive
	guesses bucket
	// turnedAway is the newest caller that was refused for a reason.
	turnedAway struct {
		addr string
		err  error
	}
	spentCalls ring[quicgo.ConnectionID]
	done       chan struct{} // closed once the transport has closed
}

var _ transport.Transport = (*Transport)(nil)

// Listen opens the socket and starts to call and to accept peers. It returns
// without waiting for any. When ctx ends no more calls are made; links that are
// up, and those that others make, stay until Close, which must be called.
func Listen(ctx context.Context, c Config) (*Transport, error) {
	t := &Transport{
		self:     c.Self,
		identity: c.Identity,
		log:      c.Logger,
		idle:     c.IdleTimeout,
		describe: c.Describe,
		tamper:   c.tamper,
		guesses:  bucket{room: guessBurst},
		done:     make(chan struct{}),

		spentCalls: newRing[quicgo.ConnectionID](maxSpent),
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if t.describe == nil {
		t.describe = net.Addr.String
	}
	if t.idle == 0 {
		t.idle = defaultIdle
	}
	if err := t.validate(c); err != nil {
		return nil, err
	}
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails, by its own documentation
	t.instance = binary.LittleEndian.Uint64(seed[:])

	if t.socket = c.Conn; t.socket == nil {
		socket, err := listenUDP(c.Addr)
		if err != nil {
			return nil, err
		}
		t.socket = socket
	}
	t.endpoint = &quicgo.Transport{
		Conn:                t.socket,
		VerifySourceAddress: func(net.Addr) bool { return t.pending.Load() >= retryAbove },
		ConnContext:         t.connecting,
		Tracer:              strays{&t.counts},
	}
	t.ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	t.listener, err = t.endpoint.Listen(t.hostConfig(), t.settings(true))
	if err != nil {
		t.cancel()
		return nil, errors.Join(fmt.Errorf("quic: %w", err), t.endpoint.Close(), t.socket.Close())
	}
	t.running.Go(t.accept)
	for _, r := range t.remotes {
		if r.addr != "" {
			t.running.Go(func() { t.call(ctx, r) })
		}
	}
	return t, nil
}

// validate checks the configuration and fills in the peers.
func (t *Transport) validate(c Config) error {
	if c.Identity == nil {
		return errors.New("quic: Config.Identity is nil: identity.Generate makes one")
	}
	if c.Identity.Pin().IsZero() {
		return errors.New("quic: Config.Identity is empty: identity.Generate makes one")
	}
	if int(c.Self) >= driftback.MaxPeers {
		return fmt.Errorf("quic: Config.Self is %d and must be below %d", c.Self, driftback.MaxPeers)
	}
	if t.idle < minIdle || t.idle > maxIdle {
		return fmt.Errorf("quic: Config.IdleTimeout is %v and must be between %v and %v", t.idle, minIdle, maxIdle)
	}
	for _, p := range c.Peers {
		if int(p.Peer) >= driftback.MaxPeers {
			return fmt.Errorf("quic: Config.Peers holds peer %d, and numbers end at %d", p.Peer, driftback.MaxPeers-1)
		}
		if p.Peer == c.Self {
			return fmt.Errorf("quic: Config.Peers holds peer %d, which is Config.Self", p.Peer)
		}
		if t.numbers[p.Peer] != nil {
			return fmt.Errorf("quic: Config.Peers holds peer %d twice", p.Peer)
		}
		if p.Pin.Equal(c.Identity.Pin()) {
			return fmt.Errorf("quic: the pin of peer %d is that of Config.Identity: every peer needs a key of its own", p.Peer)
		}
		for _, r := range t.remotes {
			if !p.Pin.IsZero() && p.Pin.Equal(r.pin) || p.Pin.IsZero() && p.Code.Equal(r.code) {
				return fmt.Errorf("quic: peers %d and %d have the same pin or code, so nothing tells them apart", r.peer, p.Peer)
			}
		}
		switch {
		case p.Pin.IsZero() && p.Code.IsZero():
			return fmt.Errorf("quic: peer %d has neither a pin nor a code, so anybody could be it", p.Peer)
		case p.Pin.IsZero() && p.Addr != "":
			return fmt.Errorf("quic: peer %d has an address and no pin, so anybody could answer there", p.Peer)
		case !p.Pin.IsZero() && p.Addr == "" && !p.Code.IsZero():
			return fmt.Errorf("quic: peer %d has a pin, a code and no address: a pinned peer that calls us needs no code", p.Peer)
		}
		if p.Addr != "" {
			_, port, err := net.SplitHostPort(p.Addr)
			if err != nil {
				return fmt.Errorf("quic: the address of peer %d must be host:port: %w", p.Peer, err)
			}
			if n, err := net.LookupPort("udp", port); err != nil || n == 0 {
				return fmt.Errorf("quic: the address of peer %d is %q, and its port must be from 1 to 65535", p.Peer, p.Addr)
			}
		}
		r := &remote{peer: p.Peer, pin: p.Pin, addr: p.Addr, code: p.Code, ready: p.Ready}
		t.numbers[p.Peer] = r
		t.remotes = append(t.remotes, r)
	}
	return nil
}

// settings configures a connection, accepted or dialled.
func (t *Transport) settings(accepted bool) *quicgo.Config {
	streams := int64(-1) // none: the peer that dials opens the only one
	var begun func(context.Context, bool, quicgo.ConnectionID) qlogwriter.Trace
	if accepted {
		streams, begun = 1, t.begun
	}
	return &quicgo.Config{
		Tracer:                         begun,
		HandshakeIdleTimeout:           greetTimeout,
		MaxIdleTimeout:                 t.idle,
		KeepAlivePeriod:                min(t.idle/4, time.Second),
		EnableDatagrams:                true,
		InitialPacketSize:              1200,
		DisablePathMTUDiscovery:        true,
		MaxIncomingStreams:             streams,
		MaxIncomingUniStreams:          -1,
		InitialStreamReceiveWindow:     2 * transport.MaxReliable,
		MaxStreamReceiveWindow:         4 * transport.MaxReliable,
		InitialConnectionReceiveWindow: 2 * transport.MaxReliable,
		MaxConnectionReceiveWindow:     4 * transport.MaxReliable,
	}
}

// hostConfig is how callers prove who they are.
func (t *Transport) hostConfig() *tls.Config {
	c := t.identity.ServerConfig(protocol, t.admissible)
	if t.tamper != nil {
		t.tamper(c)
	}
	return c
}

// callConfig is how the peer that is called proves who it is.
func (t *Transport) callConfig(pin identity.Pin) *tls.Config {
	c := t.identity.ClientConfig(protocol, pin)
	if t.tamper != nil {
		t.tamper(c)
	}
	return c
}

func listenUDP(addr string) (*net.UDPConn, error) {
	var local *net.UDPAddr
	if addr != "" {
		var err error
		if local, err = net.ResolveUDPAddr("udp", addr); err != nil {
			return nil, fmt.Errorf("quic: Config.Addr is %q: %w", addr, err)
		}
	}
	socket, err := net.ListenUDP("udp", local)
	if err != nil {
		return nil, fmt.Errorf("quic: no socket on %q: %w", addr, err)
	}
	return socket, nil
}

// resolve returns the addresses behind host:port.
func resolve(ctx context.Context, addr string) ([]netip.AddrPort, error) {
	if literal, err := netip.ParseAddrPort(addr); err == nil {
		return []netip.AddrPort{literal}, nil
	}
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "udp", service)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	list := make([]netip.AddrPort, 0, len(ips))
	for _, ip := range ips {
		list = append(list, netip.AddrPortFrom(ip.Unmap(), uint16(port)))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no address", host)
	}
	return list, nil
}
