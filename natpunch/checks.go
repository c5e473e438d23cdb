package natpunch

import (
	"io"
	"net"
	"net/netip"
	"time"
)

// checkConn is the socket as ICE sees it: checks and nothing else.
type checkConn struct{ *socket }

// ReadFromAddrPort returns the next check.
func (c checkConn) ReadFromAddrPort(b []byte) (int, netip.AddrPort, error) {
	select {
	case p := <-c.checks:
		return copy(b, p.data), p.from, nil
	case <-c.ended:
		return 0, netip.AddrPort{}, io.EOF
	}
}

// ReadFrom returns the next check.
func (c checkConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromAddrPort(b)
	if err != nil {
		return 0, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// WriteToAddrPort sends a check, and remembers it if it asks for an answer.
func (c checkConn) WriteToAddrPort(b []byte, to netip.AddrPort) (int, error) {
	to = canonical(to)
	c.questions.asked(b, to)
	return c.send(b, to)
}

// WriteTo sends a check.
func (c checkConn) WriteTo(b []byte, to net.Addr) (int, error) {
	udp, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, net.InvalidAddrError("natpunch: not a UDP address")
	}
	return c.WriteToAddrPort(b, udp.AddrPort())
}

// SetReadDeadline must not reach the real socket: QUIC reads that.
func (c checkConn) SetReadDeadline(time.Time) error { return nil }

// SetDeadline neither.
func (c checkConn) SetDeadline(time.Time) error { return nil }

// SetWriteDeadline is how ICE gives up a write; none blocks for long.
func (c checkConn) SetWriteDeadline(time.Time) error { return nil }

// Close ends ICE's reader and leaves the socket open.
func (c checkConn) Close() error {
	c.once.Do(func() { close(c.ended) })
	return nil
}
