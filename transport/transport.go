// Package transport says what the engine asks of whatever carries its messages:
// datagrams that may be lost, and messages that arrive in order or not at all.
//
// It owns the interface and refuses to own a socket. [loopback] is a transport
// without a network, [quic] one over UDP; transporttest is the suite that both
// pass and that anybody's transport can be held to.
//
// Every method is called from the one goroutine that owns the session, and none
// of them blocks, but that Close may take a moment. A transport may run goroutines of its own, but hands a message
// over only when Receive asks for it, so nothing arrives in the middle of a step.
//
// [loopback]: https://pkg.go.dev/github.com/driftback/driftback/transport/loopback
// [quic]: https://pkg.go.dev/github.com/driftback/driftback/transport/quic
package transport

import (
	"errors"

	"github.com/driftback/driftback"
)

// Kind says what a [Message] is.
type Kind uint8

const (
	// Datagram: data that may be lost, repeated or overtaken.
	Datagram Kind = iota + 1
	// Reliable: data that arrives once and in the order it was sent.
	Reliable
	// Up: the link to From works in both directions. It comes before any other
	// message of that link.
	Up
	// Down: the link to From is gone, and with it whatever had not arrived. Err
	// says why. An Up may follow, and starts afresh.
	Down
)

// String returns the kind as one lower-case word.
func (k Kind) String() string {
	switch k {
	case Datagram:
		return "datagram"
	case Reliable:
		return "reliable"
	case Up:
		return "up"
	case Down:
		return "down"
	}
	return "unknown kind"
}

// MaxReliable is the size in bytes of the largest reliable message that every
// transport must take.
const MaxReliable = 64 << 10

var (
	// ErrFull means that the reliable queue to this peer has no room now. Nothing
	// was queued; try again at a later tick.
	ErrFull = errors.New("transport: the reliable queue is full")
	// ErrNoLink means that there is no link to this peer: none has come up yet, or
	// it went down.
	ErrNoLink = errors.New("transport: no link to this peer")
	// ErrTooLong means that a reliable message is longer than [MaxReliable].
	ErrTooLong = errors.New("transport: the message is too long")
	// ErrClosed means that the transport itself has been closed.
	ErrClosed = errors.New("transport: closed")
)

// Message is one thing that a transport has to tell.
type Message struct {
	Kind Kind
	// From is the peer at the other end of the link. A transport names the peer it
	// authenticated, never one that the data claims.
	From driftback.Peer
	// Data is set for Datagram and Reliable, and borrowed until the next Receive.
	Data []byte
	// Err is set for Down.
	Err error
}

// Explainer is a [Transport] that knows why a link has not come up. Down tells only
// of links that were up, so a caller that waits for one can ask here; a transport
// that cannot say need not implement it.
type Explainer interface {
	// Why returns why there is no link to this peer now: nil if there is one, or if
	// nothing is known. final means that none will come up.
	Why(to driftback.Peer) (final bool, err error)
}

// Transport carries messages between this peer and the others.
type Transport interface {
	// Send sends b to a peer as a datagram. It copies b. The message may be lost,
	// and is when there is no link or b is longer than MaxDatagram. A queue must
	// have room for 64 datagrams sent in a row.
	Send(to driftback.Peer, b []byte)
	// SendReliable queues b for a peer. It copies b. Once it has returned nil the
	// message arrives, after those queued before it, or the link goes Down. It
	// returns ErrFull, ErrNoLink, ErrTooLong or ErrClosed and then has queued
	// nothing.
	SendReliable(to driftback.Peer, b []byte) error
	// Receive returns the next message that has arrived, or ok == false when there
	// is none now.
	Receive() (m Message, ok bool)
	// MaxDatagram returns the size in bytes of the largest datagram that Send
	// carries. It does not change.
	MaxDatagram() int
	// Close ends every link and releases what the transport holds. What was
	// queued before it is still delivered where the other side can be reached
	// within a short, bounded time. The other side sees Down. Closing twice is
	// closing once.
	Close() error
}
