package natpunch

import (
	"encoding/binary"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/pion/stun/v4"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
)

// siege is a match that is played while packets of any kind come to the sockets of both.
type siege struct {
	m                *match
	g                *game
	stranger, proven *net.UDPConn
	forger           *net.UDPConn
	victim           *forged
	calls            [][]byte
	now              time.Duration // of the match, which stands still between two inputs
	goroutines       int
}

func newSiege(f *testing.F) *siege {
	f.Helper()
	m := newMatch(f, 2)
	s := &siege{m: m, stranger: listenHere(f), proven: listenHere(f), calls: initials(f, 4)}
	m.open(m.config(0))
	s.victim, s.forger = newForged(f)
	c := m.config(1)
	c.conn = s.victim
	m.open(c)
	s.g = m.begin()
	s.advance(f)
	m.prove(s.proven)
	s.goroutines = runtime.NumGoroutine()
	return s
}

// advance plays on until both know eight more ticks for certain.
func (s *siege) advance(t testing.TB) {
	t.Helper()
	s.g.t = t
	to := s.g.check() + 8
	began, last := time.Now(), time.Now()
	for ; s.g.check() < to; pause() {
		now := time.Now()
		require.Less(t, now.Sub(began), patience, "the match stalls")
		s.now += min(now.Sub(last), time.Second/60)
		last = now
		for i := range s.g.peers {
			s.g.tick(i, s.now)
		}
	}
}

// Packets are written one after the other: a byte that says whose and what it is, one that says how
// many follow, and these.
const (
	entryHeader = 2
	maxEntries  = 32
)

// senders are who sends, and to which peer: the first two bits of an entry.
const (
	stranger   = iota // to the first
	proven            // from an address that has proved to be the second's, to the first
	inDisguise        // in the first one's name, to the second
	another           // a stranger too, to the second
	senders
)

// kinds are what a packet is made from: the next two bits. The rest is a number.
const (
	asItIs   = iota // the bytes are the packet
	repeated        // what the second has heard, changed
	calling         // the beginning of a call, changed
	checking        // a check with the bytes for attributes, signed with the round's password
	kinds
)

// entry writes a packet down.
func entry(sender, kind, number int, b []byte) []byte {
	b = b[:min(len(b), 255)]
	return append([]byte{byte(sender | kind<<2 | number<<4), byte(len(b))}, b...)
}

// send sends what an entry says.
func (s *siege) send(t testing.TB, head byte, b []byte) {
	t.Helper()
	sender, number := int(head)%senders, int(head>>4)
	victim := sender / inDisguise
	var packet []byte
	switch int(head>>2) % kinds {
	case asItIs:
		packet = b
	case repeated:
		packet = changed(s.victim.heard(number*5), b)
	case calling:
		packet = changed(slices.Clone(s.calls[number%len(s.calls)]), b)
	case checking:
		packet = s.m.credentials(victim).check(t, attributes(b))
	}
	from := s.stranger
	switch sender {
	case proven:
		from = s.proven
	case inDisguise:
		from, packet = s.forger, inName(canonical(s.m.ends[0].LocalAddr().(*net.UDPAddr).AddrPort()), packet)
	}
	_, err := from.WriteTo(packet, s.m.ends[victim].LocalAddr())
	require.NoError(t, err)
}

// changed changes as many bytes of a packet as three bytes each say where and how; a rest of two
// says where it ends.
func changed(b, by []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	for ; len(by) >= 3; by = by[3:] {
		b[int(binary.BigEndian.Uint16(by))%len(b)] ^= by[2]
	}
	if len(by) == 2 {
		b = b[:int(binary.BigEndian.Uint16(by))%(len(b)+1)]
	}
	return b
}

// attributes are some of a STUN message: the type, the size and the value of each.
type attributes []byte

// AddTo adds all but those that end a message, which follow.
func (a attributes) AddTo(m *stun.Message) error {
	for len(a) >= 3 {
		size := min(int(a[2]), len(a)-3)
		switch typ := stun.AttrType(binary.BigEndian.Uint16(a)); typ {
		case stun.AttrMessageIntegrity, stun.AttrMessageIntegritySHA256, stun.AttrFingerprint:
		default:
			m.Add(typ, a[3:3+size])
		}
		a = a[3+size:]
	}
	return nil
}

// Whatever comes to the sockets of a match and in whoever's name, the match goes on as a plain loop does, its link and
// its path stay, and nothing piles up.
func FuzzGameSocket(f *testing.F) {
	s := newSiege(f)
	for sender := range senders {
		for _, b := range junk(f) {
			f.Add(entry(sender, asItIs, 0, b))
		}
		for number := range 16 {
			f.Add(entry(sender, repeated, number, nil))
			f.Add(entry(sender, repeated, number, []byte{0, 20, 1, 0, 3, 0x80, 0, 200}))
		}
		f.Add(entry(sender, calling, 0, nil))
		f.Add(entry(sender, calling, 1, []byte{0, 1, 1, 0, 5, 0x12})) // another version, and a longer name
		useCandidate, controlling := []byte{0, 0x25, 0}, []byte{0x80, 0x2a, 8, 1, 2, 3, 4, 5, 6, 7, 8}
		f.Add(slices.Concat(entry(sender, checking, 0, useCandidate), entry(sender, checking, 0, controlling)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for n := 0; len(b) >= entryHeader && n < maxEntries; n++ {
			size := min(int(b[1]), len(b)-entryHeader)
			s.send(t, b[0], b[entryHeader:entryHeader+size])
			b = b[entryHeader+size:]
		}
		s.advance(t)
		for i, end := range s.m.ends {
			stats, _ := end.Stats(driftback.Peer(1 - i))
			require.Equal(t, 1, stats.Ups, "the link is the first one")
			require.Equal(t, canonical(s.m.ends[1-i].LocalAddr().(*net.UDPAddr).AddrPort()), stats.Path.Remote, "the path leads where it did")
		}
		require.Less(t, runtime.NumGoroutine(), s.goroutines+200)
	})
}
