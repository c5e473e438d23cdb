package natpunch

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/driftback/driftback"
)

// Bounds on what waits between the socket and those it serves.
const (
	checksWaiting  = 128
	relayedWaiting = 256
	// maxAddresses bounds the addresses that QUIC is accepted from, for each peer.
	maxAddresses = 16
	// maxPacket is the size of the largest packet that is read: QUIC's are smaller.
	maxPacket = 1452
)

// socket is the one UDP socket of a transport, as QUIC sees it: a [net.PacketConn]
// on which every peer has one address that never changes. QUIC's reader reads the
// real socket too, and hands the checks on as it meets them.
type socket struct {
	conn   net.PacketConn
	udp    *net.UDPConn // conn, if that is what it is: then nothing is allocated
	counts *counts

	self driftback.Peer
	// routes are the peers, by number; nil where there is none.
	routes *[driftback.MaxPeers]*route
	// table is what the reader needs to know; it is replaced, never changed.
	table     atomic.Pointer[table]
	mu        sync.Mutex // held by those who replace it
	questions questions

	checks  chan check   // for ICE
	relayed chan relayed // what relays have brought, for QUIC
	closing atomic.Bool  // QUIC wants its reader to stop
	ended   chan struct{}
	once    sync.Once
}

// check is a STUN message for ICE.
type check struct {
	from netip.AddrPort
	data []byte
}

// relayed is a QUIC packet that came through a relay.
type relayed struct {
	from *route
	data []byte
}

func newSocket(conn net.PacketConn, routes *[driftback.MaxPeers]*route, c *counts) *socket {
	s := &socket{
		conn: conn, counts: c, routes: routes,
		questions: questions{sent: map[transaction]netip.AddrPort{}},
		checks:    make(chan check, checksWaiting),
		relayed:   make(chan relayed, relayedWaiting),
		ended:     make(chan struct{}),
	}
	s.udp, _ = conn.(*net.UDPConn)
	s.table.Store(&table{})
	return s
}

// ReadFrom returns the next QUIC packet of a peer, and the peer's constant address.
func (s *socket) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		select {
		case p := <-s.relayed:
			return copy(b, p.data), p.from.virtual, nil
		default:
		}
		n, from, err := s.read(b)
		if err != nil {
			if s.woken(err) {
				continue
			}
			return 0, nil, err
		}
		if r := s.sort(b[:n], from); r != nil {
			return n, r.virtual, nil
		}
	}
}

// sort says which peer a QUIC packet is from. What is for ICE it hands on, and
// what is for nobody it drops; then it returns nil.
func (s *socket) sort(b []byte, from netip.AddrPort) *route {
	if looksLikeSTUN(b) {
		s.check(b, from)
		return nil
	}
	r := s.table.Load().owners[from]
	if len(b) == 0 || r == nil {
		s.counts.strangers.Add(1)
		return nil
	}
	r.received.Add(1)
	return r
}

func (s *socket) read(b []byte) (n int, from netip.AddrPort, err error) {
	if s.udp != nil {
		n, from, err = s.udp.ReadFromUDPAddrPort(b)
	} else {
		var addr net.Addr
		n, addr, err = s.conn.ReadFrom(b)
		if udp, ok := addr.(*net.UDPAddr); ok {
			from = udp.AddrPort()
		}
	}
	return n, canonical(from), err
}

// canonical is the one form in which an address is compared: IPv4 as IPv4, and
// without a zone, since no link-local address is used.
func canonical(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// woken says whether the reader was only told to look at what relays have brought,
// or met something that reading again mends.
func (s *socket) woken(err error) bool {
	if errors.Is(err, io.ErrShortBuffer) {
		s.counts.strangers.Add(1)
		return true
	}
	if !os.IsTimeout(err) || s.closing.Load() {
		return false
	}
	_ = s.conn.SetReadDeadline(time.Time{})
	if s.closing.Load() { // between the two lines above
		_ = s.conn.SetReadDeadline(past)
	}
	return true
}

var past = time.Unix(1, 0)

// inject hands QUIC a packet that came through a relay. It keeps data.
func (s *socket) inject(r *route, data []byte) {
	r.received.Add(1)
	select {
	case s.relayed <- relayed{r, data}:
		_ = s.conn.SetReadDeadline(past) // the reader waits for the socket
	default:
		s.counts.overflow.Add(1)
	}
}

// check hands ICE a STUN message that is an answer to a question of ours or names a
// round of ours, and drops all others.
func (s *socket) check(b []byte, from netip.AddrPort) {
	typ, id, username, ok := parseSTUN(b)
	t := s.table.Load()
	switch {
	case !ok:
		s.counts.checks.Add(1)
		return
	case typ == stunSuccess || typ == stunError:
		if !s.questions.answered(id, from) {
			s.counts.checks.Add(1)
			return
		}
	case typ == stunRequest && len(username) > ufragSize && username[ufragSize] == ':':
		n := t.rounds[string(username[:ufragSize])]
		if n == nil || !n.takes(from) {
			s.counts.checks.Add(1)
			return
		}
	default:
		s.counts.checks.Add(1)
		return
	}
	select {
	case s.checks <- check{from, slices.Clone(b)}:
	default:
		s.counts.overflow.Add(1)
	}
}

// WriteTo sends a QUIC packet to the peer whose constant address is given, through
// its path. Without one, and where a path fails, the packet is lost, as on any network:
// another path will be found.
func (s *socket) WriteTo(b []byte, to net.Addr) (int, error) {
	r := s.routeTo(to)
	if r == nil {
		return len(b), nil
	}
	p := r.path.Load()
	switch {
	case p == nil:
	case p.relayed:
		_, _ = p.round.conn.Write(b)
	default:
		if _, err := s.send(b, p.remote); errors.Is(err, net.ErrClosed) {
			return 0, err
		}
	}
	return len(b), nil
}

func (s *socket) send(b []byte, to netip.AddrPort) (int, error) {
	if s.udp != nil {
		return s.udp.WriteToUDPAddrPort(b, to)
	}
	return s.conn.WriteTo(b, net.UDPAddrFromAddrPort(to))
}

// SetReadDeadline is how QUIC stops its reader: for good.
func (s *socket) SetReadDeadline(t time.Time) error {
	s.closing.Store(!t.IsZero())
	return s.conn.SetReadDeadline(t)
}

// SetReadBuffer and SetWriteBuffer keep QUIC from complaining.
func (s *socket) SetReadBuffer(size int) error {
	if s.udp == nil {
		return nil
	}
	return s.udp.SetReadBuffer(size)
}

// SetWriteBuffer sets the size of the system's buffer.
func (s *socket) SetWriteBuffer(size int) error {
	if s.udp == nil {
		return nil
	}
	return s.udp.SetWriteBuffer(size)
}

// LocalAddr returns the address of the real socket.
func (s *socket) LocalAddr() net.Addr { return s.conn.LocalAddr() }

// SetDeadline is not used by QUIC.
func (s *socket) SetDeadline(t time.Time) error { return s.SetReadDeadline(t) }

// SetWriteDeadline is not used by QUIC.
func (s *socket) SetWriteDeadline(t time.Time) error { return s.conn.SetWriteDeadline(t) }

// Close closes the real socket.
func (s *socket) Close() error {
	s.once.Do(func() { close(s.ended) })
	return s.conn.Close()
}

// systemSocket is a socket that is the system's, which lets QUIC forbid that its
// packets be taken apart on the way.
type systemSocket struct{ *socket }

// SyscallConn is how QUIC gets at the options of the socket.
func (s systemSocket) SyscallConn() (syscall.RawConn, error) { return s.udp.SyscallConn() }
