package nattest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// latency is how long a packet is on its way between any two lines.
const latency = 10 * time.Millisecond

// internet is what is between the routers and the servers: it carries IP packets from
// line to line, each as late as the next, since not every kernel has a way to be slow
// (netem).
type internet struct {
	latency time.Duration
	mu      sync.Mutex
	lines   map[netip.Addr]*line
	dark    atomic.Bool // nothing arrives
	dark6   atomic.Bool // nothing of IPv6 does
	// loss is how many of a hundred packets are lost, and lost how many were.
	loss, lost atomic.Int32
	running    sync.WaitGroup
	ended      chan struct{}
	// straight counts QUIC's packets from one home to the other: checks are tried there
	// whether or not they are let in.
	straight atomic.Int64
}

func newInternet(latency time.Duration) *internet {
	return &internet{latency: latency, lines: map[netip.Addr]*line{}, ended: make(chan struct{})}
}

// line is an end of the internet: an interface whose packets this process has.
type line struct {
	name  string
	file  *os.File
	queue chan packet
}

type packet struct {
	due  time.Time
	data []byte
}

// lineHolds is how many packets may be on their way to one line; what is more is lost.
const lineHolds = 4096

// openLine makes an interface, which is gone when the file is closed.
func openLine() (*line, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("no interfaces of our own can be made (/dev/net/tun): %w", err)
	}
	request, err := unix.NewIfreq("driftback%d") // the kernel counts
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("no interface of our own can be made: %w", err)
	}
	return &line{name: request.Name(), file: os.NewFile(uintptr(fd), "tun"), queue: make(chan packet, lineHolds)}, nil
}

// lead has what is for some addresses go to a line. An IPv6 one stands for all that begin with the
// same 64 bits.
func (n *internet) lead(l *line, addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, addr := range addrs {
		n.lines[network(netip.MustParseAddr(addr))] = l
	}
}

// connect begins to carry what comes from a line, and to it what is for its addresses.
func (n *internet) connect(l *line, addrs ...string) {
	n.lead(l, addrs...)
	n.running.Go(func() { n.carry(l) })
	n.running.Go(func() { n.deliver(l) })
}

// carry takes what comes from a line, until it is closed.
func (n *internet) carry(l *line) {
	b := make([]byte, 1<<16)
	for {
		size, err := l.file.Read(b)
		if err != nil {
			return
		}
		from, to, payload := read(b[:size])
		if payload == nil || n.dark.Load() || from.Is6() && n.dark6.Load() {
			continue
		}
		n.mu.Lock()
		other := n.lines[network(to)]
		n.mu.Unlock()
		if other == nil {
			continue
		}
		if isQUIC(payload) && isHome(from) && isHome(to) {
			n.straight.Add(1)
		}
		if rand.Int32N(100) < n.loss.Load() {
			n.lost.Add(1)
			continue
		}
		select {
		case other.queue <- packet{time.Now().Add(n.latency), bytes.Clone(b[:size])}:
		default:
		}
	}
}

// network returns what lines are known by: an IPv4 address itself, and the first 64 bits of an IPv6 one.
func network(a netip.Addr) netip.Addr {
	if a.Is4() {
		return a
	}
	return netip.PrefixFrom(a, 64).Masked().Addr()
}

// Sizes in bytes of headers, where there are no options, and the protocol's number.
const ip4Header, ip6Header, udpHeader, udpProtocol = 20, 40, 8, 17

// read returns where a packet is from and is sent to, and what it says to there if it is UDP, or else nothing. Of
// what is no packet payload is nil.
func read(b []byte) (from, to netip.Addr, payload []byte) {
	var protocol byte
	switch {
	case len(b) >= ip4Header && b[0]>>4 == 4:
		from, to = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
		protocol, payload = b[9], b[min(int(b[0]&0xf)*4, len(b)):]
	case len(b) >= ip6Header && b[0]>>4 == 6:
		from, to = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
		protocol, payload = b[6], b[ip6Header:]
	default:
		return from, to, nil
	}
	if protocol != udpProtocol || len(payload) < udpHeader {
		return from, to, []byte{}
	}
	return from, to, payload[udpHeader:]
}

// isQUIC reports whether something is not a message to or from a STUN server or of a check, which begins with two
// zero bits.
func isQUIC(b []byte) bool { return len(b) > 0 && b[0]&0xc0 != 0 }

// isHome reports whether an address is one that a router may have, or a home with IPv6.
func isHome(a netip.Addr) bool {
	return a.Is6() || slices.ContainsFunc(outsideAddrs[:], func(of [2]string) bool { return slices.Contains(of[:], a.String()) })
}

// deliver hands a line what is for it when it is due.
func (n *internet) deliver(l *line) {
	for {
		select {
		case <-n.ended:
			return
		case p := <-l.queue:
			select {
			case <-n.ended:
				return
			case <-time.After(time.Until(p.due)):
				_, _ = l.file.Write(p.data) // an interface that is down takes nothing
			}
		}
	}
}

// close closes all lines, whose interfaces are gone then.
func (n *internet) close() {
	close(n.ended)
	n.mu.Lock()
	for _, l := range n.lines {
		_ = l.file.Close() // more than once, where a line has several addresses
	}
	n.mu.Unlock()
	n.running.Wait()
}
