package transfer

import (
	"fmt"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback/wire"
)

// What the zero values of a [SenderConfig] mean, in bytes.
const (
	DefaultChunk  = 16 << 10
	DefaultWindow = 128 << 10
	DefaultSlice  = 64 << 10
)

// Unlimited is a rate without a bound.
const Unlimited = -1

// Source has the bytes of a blob, and gives them away a little at a time, so that
// whoever makes them from a large state need not stop for it.
type Source interface {
	// Slice fills dst with the bytes of the blob from at on and returns how many it
	// has filled: fewer, or none, if the others are not made yet, and then it is asked
	// again at the next Poll. It is asked for ascending places, but after the channel
	// went down for earlier ones again, and must then give the same. An error ends
	// the transfer. dst is borrowed.
	Slice(dst []byte, at int) (n int, err error)
}

// Bytes is a [Source] of a blob that is there already.
type Bytes []byte

// Slice copies.
func (b Bytes) Slice(dst []byte, at int) (int, error) { return copy(dst, b[at:]), nil }

// SenderConfig says what a sender hands over, and in what portions.
type SenderConfig struct {
	// Offer is what the other side is told. An ID must not be used for two blobs: draw it
	// at random. Chunk 0 is [DefaultChunk].
	Offer wire.TransferOffer
	// Source has its bytes.
	Source Source
	// Window is how many bytes may be on their way, sent and not acknowledged; 0 is
	// [DefaultWindow]. Other messages of the channel wait behind that many. Slice is
	// how many bytes one Poll asks the source for and sends at most; 0 is
	// [DefaultSlice]. Both hold a chunk at least, and the largest blob at most.
	Window, Slice int
}

// Sender hands one blob over to one peer.
type Sender struct {
	offer  wire.TransferOffer
	source Source
	window int
	slice  int

	phase     Phase
	err       error
	up        bool
	offered   bool // on the channel that is up
	ended     bool // the end has been sent, on this channel or an earlier one
	owesStop  bool
	gaveUp    bool // it failed on this side, so that the other has to be told
	sent      int  // bytes that the channel has taken, counted from where the other side began
	acked     int  // of these
	reached   int  // the most that any channel has taken
	chunk     []byte
	chunkAt   int // where the bytes in chunk belong
	allowance bucket
	hasher    *xxh3.Hasher // of the bytes below hashed
	hashed    int
}

// NewSender returns a sender whose channel is not up yet. A blob that is larger than
// package wire allows is [ErrTooLarge].
func NewSender(c SenderConfig) (*Sender, error) {
	orDefault := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	orDefault(&c.Offer.Chunk, DefaultChunk)
	orDefault(&c.Window, max(DefaultWindow, c.Offer.Chunk))
	orDefault(&c.Slice, max(DefaultSlice, c.Offer.Chunk))
	const most = wire.MaxTransferState + wire.MaxTransferLog
	switch {
	case c.Offer.State > wire.MaxTransferState || c.Offer.Log > wire.MaxTransferLog:
		return nil, fmt.Errorf("%w: a state of %d bytes with a log of %d, and at most %d and %d are allowed",
			ErrTooLarge, c.Offer.State, c.Offer.Log, wire.MaxTransferState, wire.MaxTransferLog)
	case c.Source == nil:
		return nil, fmt.Errorf("transfer: Source is nil: it must have the bytes of the blob")
	case c.Window < c.Offer.Chunk || c.Window > most:
		return nil, fmt.Errorf("transfer: Window is %d bytes: it must be %d, a chunk, to %d", c.Window, c.Offer.Chunk, most)
	case c.Slice < c.Offer.Chunk || c.Slice > most:
		return nil, fmt.Errorf("transfer: Slice is %d bytes: it must be %d, a chunk, to %d", c.Slice, c.Offer.Chunk, most)
	}
	if _, err := wire.AppendControl(nil, c.Offer); err != nil {
		return nil, fmt.Errorf("transfer: Offer: %w", err)
	}
	return &Sender{
		offer: c.Offer, source: c.Source, window: c.Window, slice: c.Slice,
		chunk: make([]byte, 0, c.Offer.Chunk), hasher: xxh3.New(),
	}, nil
}

// Phase returns how far the transfer is.
func (s *Sender) Phase() Phase { return s.phase }

// Err returns why the transfer has failed, or nil.
func (s *Sender) Err() error { return s.err }

// Offer returns what is offered.
func (s *Sender) Offer() wire.TransferOffer { return s.offer }

// Acked returns how many bytes the other side is known to have.
func (s *Sender) Acked() int { return s.acked }

// Up says that the channel is up, or up again: nothing of what was sent before arrives
// any more, and the blob is offered anew.
func (s *Sender) Up() {
	s.Down()
	s.up, s.owesStop = true, s.gaveUp
}

// Down says that the channel is down. What has arrived is asked for when it is up again.
func (s *Sender) Down() {
	s.up, s.offered = false, false
	if !s.phase.Over() {
		s.phase = Waiting
	}
}

// Stop gives up. The other side is told at the next Poll.
func (s *Sender) Stop() {
	if !s.phase.Over() {
		s.fail(fmt.Errorf("%w: the sender's owner stopped it", ErrWithdrawn))
	}
}

func (s *Sender) fail(err error) {
	s.phase, s.err, s.owesStop, s.gaveUp = Failed, err, true, true
}

// Poll sends what may be sent now. now is the time since any fixed moment, and
// bytesPerSecond how fast chunks go: [Unlimited], or any number from 0, which is not at
// all. send hands a message to the channel and reports whether that took it; what it did
// not take comes again. A chunk's bytes are borrowed until send returns.
//
// One Poll asks the source for at most a slice and sends at most that; of a limited rate
// no more than that is saved up.
func (s *Sender) Poll(now time.Duration, bytesPerSecond int, send func(wire.Control) bool) {
	s.allowance.fill(now, bytesPerSecond, s.slice)
	if !s.up {
		return
	}
	switch {
	case s.phase == Waiting && !s.offered:
		s.offered = send(s.offer)
	case s.phase == Moving:
		s.move(send)
	}
	if s.owesStop {
		s.owesStop = !send(wire.TransferStop{ID: s.offer.ID, Reason: reasonOf(s.err)})
	}
}

// move sends chunks, and the end after the last.
func (s *Sender) move(send func(wire.Control) bool) {
	size := s.offer.Size()
	for s.sent < size {
		n := min(s.offer.Chunk, size-s.sent)
		if s.sent+n-s.acked > s.window || !s.allowance.has(n) {
			return
		}
		whole := s.fill(n)
		if len(s.chunk) == 0 || !send(wire.TransferChunk{ID: s.offer.ID, At: s.sent, Bytes: s.chunk}) {
			return
		}
		s.allowance.take(len(s.chunk))
		s.sent += len(s.chunk)
		s.reached = max(s.reached, s.sent)
		s.chunk = s.chunk[:0]
		if !whole {
			return
		}
	}
	if send(wire.TransferEnd{ID: s.offer.ID, Sum: s.hasher.Sum64()}) {
		s.phase, s.ended = Sealed, true
	}
}

// fill makes the next chunk, unless the channel refused it before, and reports whether
// the source had all of its n bytes.
func (s *Sender) fill(n int) (whole bool) {
	if len(s.chunk) > 0 && s.chunkAt == s.sent {
		return len(s.chunk) == n
	}
	s.chunk, s.chunkAt = s.chunk[:0], s.sent
	got, err := s.source.Slice(s.chunk[:n:n], s.sent)
	switch {
	case err != nil:
		s.fail(fmt.Errorf("%w: the source failed at byte %d: %w", ErrWithdrawn, s.sent, err))
		return false
	case got < 0 || got > n:
		s.fail(fmt.Errorf("%w: the source says that it filled %d bytes of %d", ErrWithdrawn, got, n))
		return false
	}
	s.chunk = s.chunk[:got]
	// What is sent a second time is in the hash already; if the source now says
	// something else, the other side will find out.
	if end := s.sent + got; end > s.hashed {
		_, _ = s.hasher.Write(s.chunk[s.hashed-s.sent:]) // never fails
		s.hashed = end
	}
	return got == n
}

// Receive takes a wire.TransferTake, TransferAck or TransferStop of the other side. One
// of another blob, or after the end, is ignored. It returns an error when the message
// has ended the transfer without success.
func (s *Sender) Receive(c wire.Control) error {
	var err error
	switch c := c.(type) {
	case wire.TransferTake:
		if c.ID != s.offer.ID || s.phase.Over() {
			return nil
		}
		err = s.take(c.Have)
	case wire.TransferAck:
		if c.ID != s.offer.ID || s.phase.Over() {
			return nil
		}
		switch {
		case s.phase == Waiting:
			err = against("an acknowledgement before the blob was taken")
		case c.Have < s.acked || c.Have > s.sent:
			err = against("the receiver has %d bytes; it had %d, and %d were sent", c.Have, s.acked, s.sent)
		default:
			s.acked = c.Have
		}
	case wire.TransferStop:
		if c.ID != s.offer.ID || s.phase.Over() {
			return nil
		}
		switch {
		case c.Reason != stopVerified:
			s.phase, s.err = Failed, told("receiver", c.Reason)
			return s.err
		case !s.ended || s.phase == Moving || !s.offered:
			err = against("the receiver has verified what was not sent to its end")
		default:
			s.phase, s.acked = Done, s.offer.Size()
		}
	default:
		return fmt.Errorf("transfer: %T is no message to a sender", c)
	}
	if err != nil {
		s.fail(err)
	}
	return err
}

// take begins to send at the byte that the receiver asks for.
func (s *Sender) take(have int) error {
	switch {
	case s.phase != Waiting || !s.offered:
		return against("the blob was taken when it was not on offer")
	case have > s.reached:
		return against("the receiver has %d bytes, and %d were ever sent", have, s.reached)
	}
	s.phase, s.sent, s.acked = Moving, have, have
	return nil
}
