// Package detour is a transport over a transport: two peers that cannot reach each other
// still play when a third reaches both.
//
// Behind some routers no link between two players ever comes up, while each of them has
// one with somebody else in the match. A [Transport] sends what is meant for the one out
// of reach through the one in between, and whoever is above, the session, does not know.
// Every peer tells its neighbours, the peers that it has a direct link with, which others
// it has one with; of those that both ends have as a neighbour the one with the lowest
// number stands in between, and another one when that is lost.
//
// The two ends make keys with each other through the one in between: each signs an X25519
// key drawn for this one link with its identity, whose pin the other has from elsewhere.
// Everything is encrypted and authenticated with them, so the one in between can drop,
// delay and repeat, and can neither read nor alter nor forge. A datagram that comes altered
// or again is dropped and counted. A reliable message that comes altered, again, out of
// order or not at all takes the link Down as soon as one behind it arrives.
//
// A link by a detour is Up at either end once that end has heard the other prove, with a
// signature or a sealed message, that it hears this one. The direct link is preferred as soon as it is Up: what
// went by a detour is Down, then Up. That loses what was on its way and is what the
// contract of package transport says of a Down; moving a live link from one way to another without
// a Down would need the messages of both ways put in order.
//
// The package owns who stands between whom, the keys, and what is sent on for others.
// It refuses to own a socket, a clock, and more than one peer in between: what comes
// through a neighbour is never sent on to another. It counts patience in rounds: a call of Receive that
// finds nothing is one.
//
// Every peer of a match has a Transport of this package, or none has, since it puts a byte
// before each message. FORMAT.md beside this file gives every byte. A Transport
// belongs to the goroutine that owns the session, starts none, and allocates nothing when
// it sends and receives datagrams.
package detour

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
)

const (
	// DefaultPatience is the Patience of a Config that has none.
	DefaultPatience = 128
	// maxOps bounds the signatures made and checked, a tenth of a millisecond each, between
	// two rounds: a neighbour may ask for as many as it likes.
	maxOps = 4
	// minDatagram is the least that is worth offering as MaxDatagram.
	minDatagram = 64
)

// Config says who this peer is and how it knows the others.
type Config struct {
	// Self is the number of this peer in the match.
	Self driftback.Peer
	// Identity is this peer's key.
	Identity *identity.Identity
	// Pin returns the pin of a peer's key, and false for a peer without one or that this
	// peer wants no detour to; it may come to know more. The method Pin of a transport
	// over QUIC is one, and over a map of pins this is
	//
	//	func(p driftback.Peer) (identity.Pin, bool) { pin, ok := pins[p]; return pin, ok }
	Pin func(driftback.Peer) (identity.Pin, bool)
	// Label is what both ends must agree on to be linked, such as the name of the match:
	// 0 to 255 bytes.
	Label string
	// Patience is for how many rounds a neighbour may leave a link that comes up without
	// an answer, or a link that is up without anything heard although something is sent,
	// before another neighbour is tried. 0 is DefaultPatience, two seconds at 60 ticks a
	// second. A link that is up and has no other way is kept.
	Patience int
	// Random is where keys are drawn from; nil is crypto/rand. Equal bytes make equal
	// keys, which only a simulation wants.
	Random io.Reader
}

// Transport links this peer with others directly, over the transport below it, and by
// detours.
type Transport struct {
	below    transport.Transport
	cfg      Config
	ops      int    // signatures left until the next round
	answered uint64 // calls
	first    int    // the peer whose turn comes first in the next round

	peers  [driftback.MaxPeers]peer
	direct mask // those with a link below
	live   mask // those with a link by a detour
	mine   mask // those with a pin of whom a neighbour says that it reaches them, and that have no direct link
	busy   mask // neighbours with something in store, see peer.inStore
	events events
	out    []byte // a message being made; nothing in it is kept
	plain  []byte // what the last Receive returned, if that was sealed
	script []byte // what is signed
	closed bool
	told   mask // those told in this round that there is no link
	stats  Stats
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Explainer = (*Transport)(nil)
)

// New returns a transport over below, which nobody else may use from now on.
func New(below transport.Transport, c Config) (*Transport, error) {
	switch {
	case below == nil:
		return nil, errors.New("detour: there is no transport below")
	case c.Self >= driftback.MaxPeers:
		return nil, fmt.Errorf("detour: Self is %d: it must be below %d", c.Self, driftback.MaxPeers)
	case c.Identity == nil:
		return nil, errors.New("detour: Identity is nil: without a key nobody can tell what this peer sent from what the one in between made up")
	case c.Pin == nil:
		return nil, errors.New("detour: Pin is nil: without pins the one in between could be anybody's other end")
	case len(c.Label) > 255:
		return nil, fmt.Errorf("detour: Label has %d bytes: 255 is the most", len(c.Label))
	case c.Patience < 0:
		return nil, fmt.Errorf("detour: Patience is %d: it must be positive, or 0 for %d", c.Patience, DefaultPatience)
	}
	if n := below.MaxDatagram(); n < minDatagram+sealedDatagram {
		return nil, fmt.Errorf("detour: the transport below carries datagrams of %d bytes: at least %d are needed", n, minDatagram+sealedDatagram)
	}
	if c.Patience == 0 {
		c.Patience = DefaultPatience
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	return &Transport{
		below: below, cfg: c, ops: maxOps,
		out:   make([]byte, 0, transport.MaxReliable),
		plain: make([]byte, 0, transport.MaxReliable),
	}, nil
}

// MaxDatagram returns what the transport below carries less what a detour adds.
func (d *Transport) MaxDatagram() int { return d.below.MaxDatagram() - sealedDatagram }

// Send sends a datagram, as [transport.Transport] says.
func (d *Transport) Send(to driftback.Peer, b []byte) {
	if d.closed || to >= driftback.MaxPeers || len(b) > d.MaxDatagram() {
		return
	}
	switch p := &d.peers[to]; {
	case !p.shown:
	case p.way != nil:
		d.sealDatagram(to, p.way, b)
	default:
		d.out = append(append(d.out[:0], kindData), b...)
		d.below.Send(to, d.out)
	}
}

// SendReliable queues a message, as [transport.Transport] says. By a detour at most 128
// messages and 256 KiB wait to be received by the other end.
func (d *Transport) SendReliable(to driftback.Peer, b []byte) error {
	switch {
	case d.closed:
		return fmt.Errorf("detour: %w", transport.ErrClosed)
	case len(b) > transport.MaxReliable:
		return fmt.Errorf("detour: %w: %d bytes for peer %d, and %d is the most", transport.ErrTooLong, len(b), to, transport.MaxReliable)
	case to >= driftback.MaxPeers || !d.peers[to].shown:
		return fmt.Errorf("detour: %w: peer %d", transport.ErrNoLink, to)
	}
	if p := &d.peers[to]; p.way != nil {
		return d.sealMessage(to, p.way, b)
	}
	return d.sendDirect(to, b)
}

// Receive returns the next message, as [transport.Transport] says.
func (d *Transport) Receive() (transport.Message, bool) {
	for !d.closed {
		if m, ok := d.nextEvent(); ok {
			return m, true
		}
		m, ok := d.below.Receive()
		if !ok {
			d.round()
			if d.events.n == 0 {
				break
			}
			continue
		}
		if m.From >= driftback.MaxPeers || m.From == d.cfg.Self {
			d.stats.Refused++
			continue
		}
		if m, ok = d.take(m); ok {
			return m, true
		}
	}
	return transport.Message{}, false
}

// take does what a message from below asks for, and returns the message for whoever is
// above if it is one.
func (d *Transport) take(m transport.Message) (transport.Message, bool) {
	switch m.Kind {
	case transport.Up:
		d.directUp(m.From)
	case transport.Down:
		d.directDown(m.From, m.Err)
	case transport.Datagram, transport.Reliable:
		if !wellFormed(m.Kind, m.Data) {
			d.stats.Refused++
			return m, false
		}
		switch kind := m.Data[0]; {
		case kind == kindData && m.Kind == transport.Datagram:
			m.Data = m.Data[1:]
			return m, true
		case kind == kindData || kind == kindHalf:
			whole, ok, err := d.peers[m.From].halves.take(m.Data[1:], kind == kindHalf, maxDirect)
			if err != nil {
				d.stats.Refused++
			}
			m.Data = whole
			return m, ok
		case kind == kindReach:
			d.takeReach(m.From, m.Data)
		default:
			return d.takeEnvelope(m)
		}
	}
	return m, false
}

// Close ends every link and closes the transport below. The end of a message of more
// than 65,512 bytes is lost if the transport below had room for its beginning alone.
func (d *Transport) Close() error {
	if d.closed {
		return nil
	}
	for list := d.live; list != 0; list &= list - 1 {
		p := driftback.Peer(bits.TrailingZeros64(uint64(list)))
		d.sayGoodbye(p, d.peers[p].way, byeClosed)
	}
	for list := d.direct; list != 0; list &= list - 1 {
		d.flushTail(driftback.Peer(bits.TrailingZeros64(uint64(list))))
	}
	d.closed = true
	d.events = events{}
	if err := d.below.Close(); err != nil {
		return fmt.Errorf("detour: %w", err)
	}
	return nil
}

// Why implements [transport.Explainer]: why there is no link, as far as the transport
// below can say. Nothing is final while a neighbour reaches the peer.
func (d *Transport) Why(to driftback.Peer) (final bool, err error) {
	if to >= driftback.MaxPeers || d.direct.has(to) || d.live.has(to) {
		return false, nil
	}
	if e, ok := d.below.(transport.Explainer); ok {
		final, err = e.Why(to)
	}
	if err == nil {
		err = d.peers[to].why
	}
	return final && d.between(to) == 0, err
}
