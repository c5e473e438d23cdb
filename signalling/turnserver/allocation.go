package turnserver

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/pion/turn/v5"

	"github.com/driftback/driftback/signalling/internal/limit"
)

// generator opens the sockets of allocations, and counts them. It is the Relay itself in
// another role, so that pion's methods are not the Relay's own.
type generator Relay

var errNoTCP = errors.New("turnserver: nothing is carried over TCP")

// Validate implements turn.RelayAddressGenerator.
func (g *generator) Validate() error { return g.relays.Validate() }

// AllocatePacketConn implements turn.RelayAddressGenerator.
func (g *generator) AllocatePacketConn(c turn.AllocateListenerConfig) (net.PacketConn, net.Addr, error) {
	r := (*Relay)(g)
	if c.RequestedPort != 0 && (c.RequestedPort < int(r.c.MinPort) || c.RequestedPort > int(r.c.MaxPort)) {
		return nil, nil, errors.New("turnserver: a port outside the range")
	}
	conn, addr, err := g.relays.AllocatePacketConn(c)
	if err != nil {
		return nil, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all >= r.c.MaxAllocations || r.of[c.UserID] >= r.c.AllocationsPerUser {
		return nil, nil, errors.Join(errors.New("turnserver: too many allocations"), conn.Close())
	}
	r.all++
	r.of[c.UserID]++
	r.counts.allocated.Add(1)
	return &allocation{PacketConn: conn, r: r, user: c.UserID}, addr, nil
}

// AllocateListener implements turn.RelayAddressGenerator.
func (g *generator) AllocateListener(turn.AllocateListenerConfig) (net.Listener, net.Addr, error) {
	return nil, nil, errNoTCP
}

// AllocateConn implements turn.RelayAddressGenerator.
func (g *generator) AllocateConn(turn.AllocateConnConfig) (net.Conn, error) { return nil, errNoTCP }

// allocation is the socket that other peers speak to one through.
type allocation struct {
	net.PacketConn
	r    *Relay
	user string
	once sync.Once

	mu      sync.Mutex
	in, out limit.Bucket
}

// take says whether n bytes more are within the rate.
func (a *allocation) take(b *limit.Bucket, n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	const unit = 64 // bytes, so that the time of one is some nanoseconds at any rate
	rate := limit.Rate{Every: max(time.Second*unit/time.Duration(a.r.c.BytesPerSecond), 1), Burst: max(a.r.c.BytesPerSecond/unit, 1)}
	now := time.Now()
	if !b.Has(rate, now) {
		a.r.counts.dropped.Add(1)
		return false
	}
	for range n/unit + 1 {
		b.Take(rate, now)
	}
	a.r.counts.carried.Add(1)
	a.r.counts.bytes.Add(uint64(n))
	return true
}

// WriteTo drops what is too much, and what would reach this machine itself elsewhere than at
// another peer's port.
func (a *allocation) WriteTo(b []byte, to net.Addr) (int, error) {
	at, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, net.InvalidAddrError("it is no UDP address")
	}
	ip, port := at.AddrPort().Addr().Unmap(), at.AddrPort().Port()
	if a.r.own(ip) && (port < a.r.c.MinPort || port > a.r.c.MaxPort) {
		a.r.counts.dropped.Add(1)
		return len(b), nil
	}
	if !a.take(&a.out, len(b)) {
		return len(b), nil
	}
	return a.PacketConn.WriteTo(b, to)
}

// own says whether an address is this machine's, where services may listen that believe that
// only they can speak from it.
func (r *Relay) own(ip netip.Addr) bool { return ip == r.c.PublicIP && !r.c.AllowPrivate }

// ReadFrom leaves out what is too much.
func (a *allocation) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := a.PacketConn.ReadFrom(b)
		if err != nil || a.take(&a.in, n) {
			return n, from, err
		}
	}
}

// Close gives the allocation back.
func (a *allocation) Close() error {
	a.once.Do(func() {
		a.r.mu.Lock()
		defer a.r.mu.Unlock()
		a.r.all--
		if a.r.of[a.user]--; a.r.of[a.user] == 0 {
			delete(a.r.of, a.user)
		}
	})
	return a.PacketConn.Close()
}

// door is the socket that requests come in through.
type door struct {
	net.PacketConn
	r *Relay
}

// maxFailed is how many errors in a row are of packets, and not of the socket.
const maxFailed = 1000

// ReadFrom leaves out requests from addresses that make too many. It does not end with an error
// that is of one packet, as some systems have them; pion would.
func (d *door) ReadFrom(b []byte) (int, net.Addr, error) {
	for failed := 0; ; {
		n, from, err := d.PacketConn.ReadFrom(b)
		switch {
		case err == nil && n > 0:
			failed = 0
		case err == nil:
			continue
		case errors.Is(err, net.ErrClosed), failed == maxFailed:
			return n, from, err
		default:
			failed++
			continue
		}
		at, ok := from.(*net.UDPAddr)
		switch {
		case !ok:
		case b[0]&0xc0 == 0x40: // of a channel, which was asked for
			return n, from, nil
		case d.r.requests.Take(at.AddrPort().Addr(), time.Now()):
			return n, from, nil
		default:
			d.r.counts.requests.Add(1)
		}
	}
}
