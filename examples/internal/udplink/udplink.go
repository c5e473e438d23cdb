// Package udplink puts a bad link under real UDP datagrams on one machine: a
// proxy that a joiner dials in place of the host, and that loses, delays,
// reorders and repeats what passes as an [impair.Impairment] says.
//
// It owns sockets, goroutines and the wall clock, which the schedule itself
// refuses to. It refuses to look into a datagram: what runs over it, QUIC say,
// meets a bad network and cannot tell that it is none.
//
// Every method may be called from any goroutine.
package udplink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/driftback/driftback/transport/impair"
)

const (
	// MaxClients bounds the addresses that are served at once. One that has sent
	// nothing for IdleAfter makes room for another.
	MaxClients = 16
	// IdleAfter is how long a client may be silent before it can be forgotten.
	IdleAfter = 30 * time.Second
	// MaxDatagram is the size in bytes of the largest datagram that passes.
	MaxDatagram = 2048
	// MaxWaiting bounds the datagrams, of both directions, that wait for their time.
	MaxWaiting = 4096
)

// Config says what to put where.
type Config struct {
	// Target is where the datagrams of a client go: the host's listener. One that
	// listens on every address is reached at the loopback address.
	Target netip.AddrPort
	// ToTarget and FromTarget are what the two directions do at first.
	ToTarget, FromTarget impair.Impairment
	// Seed decides the schedule: message for message the same for the same seed.
	Seed uint64
}

// Counts is what one direction has done so far.
type Counts struct {
	impair.Counts
	// Passed counts the datagrams, copies included, that were sent on.
	Passed uint64
	// Dropped counts those, copies included, that were longer than MaxDatagram,
	// found MaxWaiting waiting, came from one client too many, or could not be sent.
	Dropped uint64
}

// Link is a running proxy.
type Link struct {
	target netip.AddrPort
	front  *net.UDPConn
	start  time.Time // times of the schedule are counted from here

	stop    context.CancelFunc
	running sync.WaitGroup
	wake    chan struct{} // something has been queued

	mu      sync.Mutex
	ways    [2]way
	clients map[netip.AddrPort]*client
	waiting waiting
	number  uint64 // of the next datagram to wait
	spare   []*datagram
	closed  bool
}

type direction int

const (
	toTarget direction = iota
	fromTarget
)

type way struct {
	link            *impair.Link
	passed, dropped uint64
}

// client is one address that dials the proxy, and the socket from which the
// proxy speaks for it, so that the target can tell clients apart.
type client struct {
	addr  netip.AddrPort
	back  *net.UDPConn
	heard time.Duration
}

// Start listens on the loopback address of the target's family and runs until
// ctx is done or Close is called.
func Start(ctx context.Context, c Config) (*Link, error) {
	if !c.Target.IsValid() || c.Target.Port() == 0 {
		return nil, fmt.Errorf("udplink: target is %v: want an address and a port", c.Target)
	}
	l := &Link{
		target:  netip.AddrPortFrom(c.Target.Addr().Unmap(), c.Target.Port()),
		start:   time.Now(),
		wake:    make(chan struct{}, 1),
		clients: map[netip.AddrPort]*client{},
	}
	for d := range l.ways {
		l.ways[d].link = impair.NewLink(c.Seed, uint64(d))
	}
	if err := l.Set(c.ToTarget, c.FromTarget); err != nil {
		return nil, err
	}
	here := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if l.target.Addr().Is6() {
		here = netip.IPv6Loopback()
	}
	if l.target.Addr().IsUnspecified() {
		l.target = netip.AddrPortFrom(here, l.target.Port())
	}
	front, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(here, 0)))
	if err != nil {
		return nil, fmt.Errorf("udplink: %w", err)
	}
	l.front = front
	ctx, l.stop = context.WithCancel(ctx)
	l.running.Go(l.readClients)
	l.running.Go(func() { l.sendOn(ctx.Done()) })
	l.running.Go(func() {
		<-ctx.Done()
		l.closeSockets() // which ends whatever reads or writes
	})
	return l, nil
}

// Addr returns the address to dial in place of the target.
func (l *Link) Addr() netip.AddrPort { return l.front.LocalAddr().(*net.UDPAddr).AddrPort() }

// Set changes what both directions do from now on; what waits keeps its time. An
// error names what is out of range, and then nothing changes.
func (l *Link) Set(to, from impair.Impairment) error {
	if err := from.Validate(); err != nil {
		return fmt.Errorf("udplink: from the target: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ways[toTarget].link.Set(to); err != nil {
		return fmt.Errorf("udplink: to the target: %w", err)
	}
	return l.ways[fromTarget].link.Set(from)
}

// Counts returns what both directions have done so far.
func (l *Link) Counts() (to, from Counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ways[toTarget].counts(), l.ways[fromTarget].counts()
}

func (w *way) counts() Counts {
	return Counts{Counts: w.link.Counts(), Passed: w.passed, Dropped: w.dropped}
}

// Close stops the proxy and waits until its goroutines have ended. What waits is
// not sent on. Closing twice is closing once.
func (l *Link) Close() error {
	l.stop()
	l.running.Wait()
	return nil
}

func (l *Link) closeSockets() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	_ = l.front.Close()
	for _, c := range l.clients {
		_ = c.back.Close()
	}
}

func (l *Link) now() time.Duration { return time.Since(l.start) }

// readClients takes what clients send until the socket is closed.
func (l *Link) readClients() {
	read(l.front, func(b []byte, from netip.AddrPort) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if c := l.client(from); c != nil {
			c.heard = l.now()
			l.offer(toTarget, c, b)
		} else {
			l.ways[toTarget].dropped++
		}
	})
}

// readTarget takes what the target sends to one client.
func (l *Link) readTarget(c *client) {
	read(c.back, func(b []byte, _ netip.AddrPort) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.offer(fromTarget, c, b)
	})
}

// maxFailures is how often in a row a socket may fail before it is taken for dead.
const maxFailures = 1000

// read hands over datagrams until the socket is closed. Other errors are those
// that an earlier send met, such as a target that does not listen yet.
func read(conn *net.UDPConn, take func(b []byte, from netip.AddrPort)) {
	b := make([]byte, MaxDatagram+1) // one more, to tell what does not fit
	for failures := 0; failures < maxFailures; failures++ {
		n, from, err := conn.ReadFromUDPAddrPort(b)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err == nil:
			failures = 0
			take(b[:n], netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))
		}
	}
}

// client returns who sends from an address, which may be somebody new, or nil if
// there is no room for another. The lock is held.
func (l *Link) client(addr netip.AddrPort) *client {
	if c := l.clients[addr]; c != nil {
		return c
	}
	if l.closed || len(l.clients) == MaxClients && !l.forgetOne() {
		return nil
	}
	back, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(l.target))
	if err != nil {
		return nil
	}
	c := &client{addr: addr, back: back}
	l.clients[addr] = c
	l.running.Go(func() { l.readTarget(c) })
	return c
}

// forgetOne makes room by forgetting the client that has been silent longest, if
// that is long enough.
func (l *Link) forgetOne() bool {
	var longest *client
	for _, c := range l.clients {
		if longest == nil || c.heard < longest.heard {
			longest = c
		}
	}
	if l.now()-longest.heard < IdleAfter {
		return false
	}
	_ = longest.back.Close()
	delete(l.clients, longest.addr)
	return true
}

// offer decides what becomes of a datagram and queues its copies. The lock is
// held.
func (l *Link) offer(d direction, c *client, b []byte) {
	w := &l.ways[d]
	if len(b) > MaxDatagram {
		w.dropped++
		return
	}
	fate := w.link.Offer(l.now(), len(b))
	for _, at := range fate.At[:fate.Copies] {
		if len(l.waiting) == MaxWaiting {
			w.dropped++
			continue
		}
		l.queue(d, c, b, at)
	}
	select {
	case l.wake <- struct{}{}:
	default: // sendOn is about to look anyway
	}
}
