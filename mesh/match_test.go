package mesh

import (
	"bytes"
	"errors"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// frame is the time between two turns of a seat.
const frame = 16 * time.Millisecond

// A match is some meshes around one table: what one sends lies in the other's
// inbox at once, unless the test loses it, holds it back or changes it.
type match struct {
	t     rapid.TB
	now   time.Duration
	seats []*seat
}

// A seat is one peer: its mesh, and the transport under it.
type seat struct {
	match  *match
	self   driftback.Peer
	config Config
	mesh   *Mesh
	state  uint64 // the start state's fingerprint

	inbox []transport.Message
	room  int // MaxDatagram
	// refuses is what SendReliable returns.
	refuses error
	// why is why there is no link to any peer, and hopeless that none will come up.
	why      error
	hopeless bool
	// lose says which of this seat's datagrams never arrive; nil: none.
	lose func(to *seat, p *wire.Packet) bool
	// closed: nothing arrives from this seat any more, as if it had crashed.
	closed bool
	// apart are those to which nothing gets from this seat.
	apart map[driftback.Peer]bool
	log   []sent
	// wrong is the tick from which on the seat's states differ; 0: none.
	wrong driftback.Tick

	read      []driftback.Tick // by participant: inputs below are compared with the script
	confirmed driftback.Tick
}

// sent is something that a seat sent: a packet or a control message.
type sent struct {
	to      driftback.Peer
	size    int
	packet  *wire.Packet
	control wire.Control
}

// newMatch returns n peers that play one participant each and do not know each
// other yet. change may change each one's config before its mesh is made.
func newMatch(t rapid.TB, n int, change func(c *Config)) *match {
	t.Helper()
	m := &match{t: t}
	for i := range n {
		c := Config{
			Self: driftback.Peer(i), Stride: 2, Window: 8, FingerprintEvery: None, Match: 7, Nonce: uint64(i + 1),
			PeerTimeout: time.Second, JoinTimeout: 10 * time.Second,
		}
		for q := range n {
			c.Players = append(c.Players, driftback.Peer(q))
		}
		if change != nil {
			change(&c)
		}
		s := &seat{match: m, self: c.Self, room: 1200}
		s.open(c)
		m.seats = append(m.seats, s)
	}
	return m
}

// open gives the seat a new mesh, as if its process had been started again.
func (s *seat) open(c Config) {
	c.Transport = s
	s.config = c
	var err error
	s.mesh, err = New(c)
	require.NoError(s.match.t, err)
	s.read = make([]driftback.Tick, len(c.Players))
	s.confirmed = 0
	s.inbox = nil
}

// connect brings up the link between every two seats.
func (m *match) connect() {
	for _, a := range m.seats {
		for _, b := range m.seats {
			if a != b {
				a.up(b)
			}
		}
	}
}

func (s *seat) up(of *seat) {
	s.inbox = append(s.inbox, transport.Message{Kind: transport.Up, From: of.self})
}

func (s *seat) down(of *seat, why string) {
	s.inbox = append(s.inbox, transport.Message{Kind: transport.Down, From: of.self, Err: errors.New(why)})
}

// begin connects the seats and turns them until all play.
func (m *match) begin() {
	m.t.Helper()
	m.connect()
	for range 10 {
		m.turn()
	}
	for _, s := range m.seats {
		require.Equal(m.t, Playing, s.mesh.Phase(), "peer %d: %v", s.self, s.mesh.Err())
	}
}

// playing returns n peers in the middle of the first tick.
func playing(t rapid.TB, n int, change func(c *Config)) *match {
	t.Helper()
	m := newMatch(t, n, change)
	m.begin()
	for _, s := range m.seats {
		s.log = nil
	}
	return m
}

// turn lets a frame pass and gives every seat a turn.
func (m *match) turn() { m.turns(1) }

func (m *match) turns(n int) {
	m.t.Helper()
	for range n {
		m.now += frame
		for _, s := range m.seats {
			s.turn()
		}
	}
}

// turn polls, says from which state it starts when it is time, and flushes.
func (s *seat) turn() {
	s.match.t.Helper()
	if s.closed {
		return
	}
	s.mesh.Poll(s.match.now)
	if s.mesh.Phase() == Agreeing && !s.mesh.start.ready {
		require.NoError(s.match.t, s.mesh.Begin(s.state, true))
	}
	s.check()
	s.mesh.Flush()
}

// check holds what the mesh holds against the script.
func (s *seat) check() {
	s.match.t.Helper()
	for p := range s.config.Players {
		p := driftback.Participant(p)
		for held := s.mesh.Held(p); s.read[p] < held; s.read[p]++ {
			t := s.read[p]
			want := make([]byte, s.config.Stride)
			if t >= driftback.Tick(s.mesh.Delay(p)) {
				want = scripted(p, t, s.config.Stride)
			}
			if got := s.mesh.Input(p, t); !bytes.Equal(got, want) {
				s.match.t.Fatalf("peer %d holds %x as participant %d's input for tick %d, and it was %x", s.self, got, p, t, want)
			}
		}
	}
	if c := s.mesh.Confirmed(); c < s.confirmed {
		s.match.t.Fatalf("peer %d confirmed tick %d after tick %d", s.self, c, s.confirmed)
	} else {
		s.confirmed = c
	}
}

// scripted is the input of participant p for tick t: something held for a few
// ticks at a time.
func scripted(p driftback.Participant, t driftback.Tick, stride int) []byte {
	in := make([]byte, stride)
	x := uint64(t/3+1)*0x9e3779b97f4a7c15 + uint64(p)*0xbf58476d1ce4e5b9
	for i := range in {
		x ^= x >> 29
		x *= 0x94d049bb133111eb
		in[i] = byte(x >> 56)
	}
	return in
}

// publish publishes the script's next n inputs of every participant of the seat.
func (s *seat) publish(n int) {
	s.match.t.Helper()
	for _, p := range s.mesh.own {
		for range n {
			t := s.mesh.Held(p)
			require.NoError(s.match.t, s.mesh.Publish(p, t, scripted(p, t, s.config.Stride)))
		}
	}
}

// packets returns what the seat has sent as datagrams, and forgets the log.
func (s *seat) packets() []*wire.Packet {
	var list []*wire.Packet
	for _, m := range s.log {
		if m.packet != nil {
			list = append(list, m.packet)
		}
	}
	s.log = nil
	return list
}

// controls returns what the seat has sent reliably, and forgets the log.
func (s *seat) controls() []wire.Control {
	var list []wire.Control
	for _, m := range s.log {
		if m.control != nil {
			list = append(list, m.control)
		}
	}
	s.log = nil
	return list
}

// give puts a control message into the seat's inbox, as if from had sent it.
func (s *seat) give(from *seat, c wire.Control) {
	b, err := wire.AppendControl(nil, c)
	require.NoError(s.match.t, err)
	s.inbox = append(s.inbox, transport.Message{Kind: transport.Reliable, From: from.self, Data: b})
}

// forge puts a packet into the seat's inbox, as if from had sent it.
func (s *seat) forge(from *seat, p wire.Packet) {
	p.Tag = s.mesh.tag
	b, err := p.Append(nil, s.config.Stride)
	require.NoError(s.match.t, err)
	s.inbox = append(s.inbox, transport.Message{Kind: transport.Datagram, From: from.self, Data: b})
}

// events returns the events of the seat's last Poll as text.
func (s *seat) events() []string {
	var list []string
	for _, e := range s.mesh.Events() {
		list = append(list, e.Kind.String())
	}
	return list
}

// seat is a transport.

func (s *seat) seatOf(p driftback.Peer) *seat {
	for _, other := range s.match.seats {
		if other.self == p {
			return other
		}
	}
	return nil
}

func (s *seat) Send(to driftback.Peer, b []byte) {
	require.LessOrEqual(s.match.t, len(b), s.room, "a datagram is larger than the transport carries")
	p := &wire.Packet{}
	require.NoError(s.match.t, p.Parse(b, s.config.Stride))
	s.log = append(s.log, sent{to: to, size: len(b), packet: p})
	far := s.seatOf(to)
	if far == nil || far.closed || s.apart[to] || s.lose != nil && s.lose(far, p) {
		return
	}
	far.inbox = append(far.inbox, transport.Message{Kind: transport.Datagram, From: s.self, Data: bytes.Clone(b)})
}

func (s *seat) SendReliable(to driftback.Peer, b []byte) error {
	if s.refuses != nil {
		return s.refuses
	}
	c, err := wire.ParseControl(b)
	require.NoError(s.match.t, err)
	s.log = append(s.log, sent{to: to, size: len(b), control: c})
	if far := s.seatOf(to); far != nil && !far.closed && !s.apart[to] {
		far.inbox = append(far.inbox, transport.Message{Kind: transport.Reliable, From: s.self, Data: bytes.Clone(b)})
	}
	return nil
}

func (s *seat) Receive() (transport.Message, bool) {
	if len(s.inbox) == 0 {
		return transport.Message{}, false
	}
	m := s.inbox[0]
	s.inbox = s.inbox[1:]
	return m, true
}

func (s *seat) Why(driftback.Peer) (final bool, err error) { return s.hopeless, s.why }

func (s *seat) MaxDatagram() int { return s.room }
func (s *seat) Close() error     { return nil }

// everything loses every datagram.
func everything(*seat, *wire.Packet) bool { return true }
