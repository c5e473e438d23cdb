package natpunch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// A message is what one side tells the other through a [Signal]: everything, each
// time, so that the newest one is all that matters. Layout, big-endian:
//
//	1  protocol: 1
//	1  1 if an answer is asked for, else 0
//	8  instance: random, of the sender's transport; never 0
//	4  version of what the sender has to say; rises whenever that changes
//	8  instance of the receiver's that the sender has heard from; 0 for none
//	4  newest version that it has heard from that
//	4  round; 0 for none, and then nothing follows
//	16 name of the sender's end of the round: letters and digits
//	32 password for checks of that end: letters and digits
//	1  number of candidates, and for each
//	   1  kind: 1 host, 2 seen by a server, 3 relay
//	   4  priority
//	   2  port
//	   1  4 or 16, and an IPv4 or IPv6 address of that many bytes
type message struct {
	ask             bool
	instance        uint64
	version         uint32
	heardInstance   uint64
	heardVersion    uint32
	round           uint32
	ufrag, password string
	candidates      [maxCandidates]candidate
	candidateCount  int
}

const (
	messageProtocol = 1
	ufragSize       = 16
	passwordSize    = 32
	// maxCandidates bounds the addresses of one end in one round.
	maxCandidates = 24
	// maxMessage is the size in bytes of the largest message.
	maxMessage = 31 + ufragSize + passwordSize + maxCandidates*(1+4+2+1+16)
	// maxRound bounds the number of a round. One takes a quarter of a second at least.
	maxRound = 1 << 30
)

// candidate is an address at which one end of a round may be reached.
type candidate struct {
	kind     kind
	priority uint32
	addr     netip.AddrPort
}

type kind uint8

const (
	host kind = iota + 1
	reflexive
	relay
)

var errMalformed = errors.New("natpunch: malformed signal")

// bytes returns the message as it is sent.
func (m *message) bytes() []byte {
	b := append(make([]byte, 0, maxMessage), messageProtocol, 0)
	if m.ask {
		b[len(b)-1] = 1
	}
	b = binary.BigEndian.AppendUint64(b, m.instance)
	b = binary.BigEndian.AppendUint32(b, m.version)
	b = binary.BigEndian.AppendUint64(b, m.heardInstance)
	b = binary.BigEndian.AppendUint32(b, m.heardVersion)
	b = binary.BigEndian.AppendUint32(b, m.round)
	if m.round == 0 {
		return b
	}
	b = append(b, m.ufrag...)
	b = append(b, m.password...)
	b = append(b, byte(m.candidateCount))
	for _, c := range m.candidates[:m.candidateCount] {
		b = append(b, byte(c.kind))
		b = binary.BigEndian.AppendUint32(b, c.priority)
		b = binary.BigEndian.AppendUint16(b, c.addr.Port())
		addr := c.addr.Addr().AsSlice()
		b = append(b, byte(len(addr)))
		b = append(b, addr...)
	}
	return b
}

// parse reads a message that fills b. It keeps nothing of b.
func (m *message) parse(b []byte) error {
	*m = message{}
	r := reader{b: b}
	if p := r.byte(); p != messageProtocol {
		return fmt.Errorf("%w, %d, and ours is %d", ErrVersion, p, messageProtocol)
	}
	ask := r.byte()
	m.ask = ask == 1
	m.instance, m.version = r.uint64(), r.uint32()
	m.heardInstance, m.heardVersion = r.uint64(), r.uint32()
	m.round = r.uint32()
	if r.short || ask > 1 || m.instance == 0 || m.round > maxRound {
		return errMalformed
	}
	if m.round > 0 {
		m.ufrag, m.password = string(r.take(ufragSize)), string(r.take(passwordSize))
		n := int(r.byte())
		if r.short || !alphanumeric(m.ufrag) || !alphanumeric(m.password) || n > maxCandidates {
			return errMalformed
		}
		for i := range n {
			if m.candidates[i] = r.candidate(); r.short || !m.candidates[i].valid() {
				return errMalformed
			}
		}
		m.candidateCount = n
	}
	if r.short || len(r.b) > 0 {
		return errMalformed
	}
	return nil
}

// valid says whether an address may be tried at all.
func (c candidate) valid() bool {
	ip := c.addr.Addr()
	return c.kind >= host && c.kind <= relay && c.addr.Port() != 0 &&
		ip.IsValid() && !ip.Is4In6() && ip.Zone() == "" &&
		!ip.IsUnspecified() && !ip.IsMulticast() && !ip.IsLinkLocalUnicast() && ip != broadcast
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

func alphanumeric(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
		default:
			return false
		}
	}
	return true
}

// reader takes fields off the front of b. Once there was too little it is short and
// all that it returns is zero.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if r.short || len(r.b) < n {
		r.short = true
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) candidate() candidate {
	c := candidate{kind: kind(r.byte()), priority: r.uint32()}
	port, size := r.uint16(), int(r.byte())
	if size != 4 && size != 16 {
		r.short = true
	}
	if ip, ok := netip.AddrFromSlice(r.take(size)); ok {
		c.addr = netip.AddrPortFrom(ip, port)
	}
	return c
}
