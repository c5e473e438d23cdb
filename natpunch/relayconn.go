package natpunch

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"
)

// asking is what is known of a relay that is asked something, so that questions that are not answered fail soon.
//
// Before it sends anything to an address the relay is asked to let it through, and ICE
// stands still until there is an answer: it checks no other pair meanwhile, be it the
// one that works. One that gives addresses and answers nothing else would hold it up
// until the round is over. So a question that is asked again has failed, and from then on
// so has each one at once, until the relay is heard; ICE goes on, and asks with each check.
// All are sent nevertheless, since an answer was perhaps only lost.
type asking struct {
	mu        sync.Mutex
	opened    time.Time // when the first packet was sent
	roundTrip time.Duration
	asked     transaction // the newest question, which ICE waits for
	askedAt   time.Time
	silent    bool // it was asked again, and nothing has been heard since
}

const (
	// createPermission is the type of the question; it begins the packet.
	createPermission = 0x0008
	// roundTrips is how many of them a question waits for at least.
	roundTrips = 2
)

var errRelaySilent = errors.New("natpunch: the relay does not answer")

// relayConn is a socket to a relay. What others send to it is dropped and counted.
type relayConn struct {
	net.PacketConn
	asking
	counts *counts
	guard  relayGuard // asking's mutex is its own too
}

// relayStream is a connection to a relay, over TCP or TLS, where questions that are not answered are asked
// again as well. Each is written in one call.
type relayStream struct {
	net.Conn
	asking
}

// WriteTo sends a packet to the relay.
func (c *relayConn) WriteTo(b []byte, to net.Addr) (int, error) {
	c.mu.Lock()
	c.guard.sent(b, to)
	c.mu.Unlock()
	n, err := c.PacketConn.WriteTo(b, to)
	if err == nil && c.inVain(b, time.Now()) {
		return 0, errRelaySilent
	}
	return n, err
}

// inVain reports whether nobody should wait for the answer to a packet.
func (c *asking) inVain(b []byte, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened.IsZero() {
		c.opened = now
	}
	// Later it is asked only so that it goes on to let through what it does, with nobody
	// waiting: that has all the time that the protocol gives it.
	if len(b) < stunHeader || binary.BigEndian.Uint16(b) != createPermission || now.Sub(c.opened) > roundPatience {
		return false
	}
	if id := transaction(b[8:]); id != c.asked {
		c.asked, c.askedAt = id, now
		return c.silent
	}
	if now.Sub(c.askedAt) >= roundTrips*c.roundTrip {
		c.silent = true
	}
	return c.silent
}

// ReadFrom returns the next packet of the relay's.
func (c *relayConn) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := c.PacketConn.ReadFrom(b)
		if err != nil {
			return n, from, err
		}
		if c.takes(b[:n], from) {
			c.heard(time.Now())
			return n, from, nil
		}
	}
}

// takes says whether a packet is for the library.
func (c *relayConn) takes(b []byte, from net.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.guard.from(from):
		c.counts.strangers.Add(1)
		return false
	case !c.guard.understood(b):
		c.counts.checks.Add(1)
		return false
	}
	return true
}

func (c *asking) heard(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = false
	if c.roundTrip == 0 && !c.opened.IsZero() {
		c.roundTrip = now.Sub(c.opened)
	}
}

// Write sends something to the relay.
func (c *relayStream) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err == nil && c.inVain(b, time.Now()) {
		return 0, errRelaySilent
	}
	return n, err
}

// Read returns what the relay says.
func (c *relayStream) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.heard(time.Now())
	}
	return n, err
}
