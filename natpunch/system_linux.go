package natpunch

import (
	"encoding/binary"
	"errors"
	"net"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// fastSocket is a socket on Linux. With control messages beside each packet QUIC
// learns of congestion before packets are lost (ECN), and hands over several packets
// in one call where there is much to send (GSO).
type fastSocket struct{ systemSocket }

// systemConn returns the system's socket in the form in which QUIC makes the most of it.
func systemConn(s *socket) net.PacketConn { return fastSocket{systemSocket{s}} }

// LocalAddr returns an address that is not the socket's. Of one on every interface QUIC
// would ask which of them a packet came through, and answer through the same, which is
// wrong once the path has changed.
func (s fastSocket) LocalAddr() net.Addr { return virtual(s.self) }

// ReadBatch returns one QUIC packet of a peer, and what the system says of it. There is
// seldom more than one at the rates of a game, and x/net allocates for each.
func (s fastSocket) ReadBatch(messages []ipv4.Message, _ int) (int, error) {
	m := &messages[0]
	for {
		select {
		case p := <-s.relayed:
			m.N, m.NN, m.Flags, m.Addr = copy(m.Buffers[0], p.data), 0, 0, p.from.virtual
			return 1, nil
		default:
		}
		n, control, flags, from, err := s.udp.ReadMsgUDPAddrPort(m.Buffers[0], m.OOB)
		if err != nil {
			if s.woken(err) {
				continue
			}
			return 0, err
		}
		if r := s.sort(m.Buffers[0][:n], canonical(from)); r != nil {
			m.N, m.NN, m.Flags, m.Addr = n, control, flags, r.virtual
			return 1, nil
		}
	}
}

// ReadMsgUDP is not used by QUIC, which has ReadBatch.
func (s fastSocket) ReadMsgUDP(_, _ []byte) (n, control, flags int, from *net.UDPAddr, err error) {
	return 0, 0, 0, nil, errors.ErrUnsupported
}

// WriteMsgUDP sends QUIC packets to the peer whose constant address is given, as
// WriteTo does. It may change the control messages.
func (s fastSocket) WriteMsgUDP(b, control []byte, to *net.UDPAddr) (n, controlled int, err error) {
	r := s.routeTo(to)
	if r == nil {
		return len(b), len(control), nil
	}
	p := r.path.Load()
	switch {
	case p == nil:
	case p.relayed:
		size := segmentSize(control)
		for rest := b; len(rest) > 0; {
			next := rest
			if size > 0 && size < len(rest) {
				next = rest[:size]
			}
			_, _ = p.round.conn.Write(next)
			rest = rest[len(next):]
		}
	default:
		if p.remote.Addr().Is4() {
			markIPv4(control)
		}
		_, _, err = s.udp.WriteMsgUDPAddrPort(b, control, p.remote)
		// EIO is how a network card says that it cannot take several packets at once,
		// which QUIC wants to know.
		if errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EIO) {
			return 0, 0, err
		}
	}
	return len(b), len(control), nil
}

// segmentSize returns the size of each packet where there are several, and else 0.
func segmentSize(control []byte) int {
	for len(control) > 0 {
		header, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return 0
		}
		if header.Level == unix.IPPROTO_UDP && header.Type == unix.UDP_SEGMENT && len(data) >= 2 {
			return int(binary.NativeEndian.Uint16(data))
		}
		control = rest
	}
	return 0
}

// markIPv4 turns the mark of congestion that QUIC meant for IPv6, since a peer's
// constant address is one, into that of IPv4. Both may hold an int.
func markIPv4(control []byte) {
	for len(control) > 0 {
		header, _, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return
		}
		if header.Level == unix.IPPROTO_IPV6 && header.Type == unix.IPV6_TCLASS {
			// The header ends in the level and the type, an int32 each.
			binary.NativeEndian.PutUint32(control[unix.SizeofCmsghdr-8:], unix.IPPROTO_IP)
			binary.NativeEndian.PutUint32(control[unix.SizeofCmsghdr-4:], unix.IP_TOS)
		}
		control = rest
	}
}
