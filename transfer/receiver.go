package transfer

import (
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback/wire"
)

// ReceiverConfig says what a receiver takes.
type ReceiverConfig struct {
	// MaxState and MaxLog are the largest sizes in bytes of what is taken; 0 is what
	// package wire allows, which is the most.
	MaxState, MaxLog int
	// Want is asked about an offer that is not too large; its error refuses it. It is
	// where the fingerprint that the peers have agreed on is compared. nil wants all.
	Want func(o wire.TransferOffer) error
}

// Receiver is handed one blob by one peer. While that has not arrived, another may take
// its place; once it is over, no other is taken.
type Receiver struct {
	cfg ReceiverConfig

	phase    Phase
	err      error
	up       bool
	known    bool // there has been an offer
	offered  bool // on the channel that is up
	offer    wire.TransferOffer
	owesTake bool
	owesAck  bool
	owesStop bool
	stop     wire.TransferStop
	blob     *Blob
	released bool
	hasher   *xxh3.Hasher
}

// NewReceiver returns a receiver whose channel is not up yet.
func NewReceiver(c ReceiverConfig) (*Receiver, error) {
	if c.MaxState == 0 {
		c.MaxState = wire.MaxTransferState
	}
	if c.MaxLog == 0 {
		c.MaxLog = wire.MaxTransferLog
	}
	if c.MaxState < 1 || c.MaxState > wire.MaxTransferState || c.MaxLog < 0 || c.MaxLog > wire.MaxTransferLog {
		return nil, fmt.Errorf("transfer: MaxState is %d bytes and MaxLog %d: 1 to %d and 0 to %d are allowed",
			c.MaxState, c.MaxLog, wire.MaxTransferState, wire.MaxTransferLog)
	}
	return &Receiver{cfg: c, blob: &Blob{}, hasher: xxh3.New()}, nil
}

// Phase returns how far the transfer is.
func (r *Receiver) Phase() Phase { return r.phase }

// Err returns why the transfer has failed, or nil.
func (r *Receiver) Err() error { return r.err }

// Offer returns the newest offer; ok is false before there has been one.
func (r *Receiver) Offer() (o wire.TransferOffer, ok bool) { return r.offer, r.known }

// Have returns how many bytes have arrived.
func (r *Receiver) Have() int { return r.blob.size }

// Blob returns what has arrived; ok is false until all of it has, and its checksum was
// right, and again once it is released. It is the caller's to keep.
func (r *Receiver) Blob() (b *Blob, ok bool) {
	if r.phase != Done || r.released {
		return nil, false
	}
	return r.blob, true
}

// Release lets go of the blob, so that it takes memory only for as long as whoever was
// given it keeps it. Before all of it has arrived there is nothing to release.
func (r *Receiver) Release() {
	if r.phase == Done {
		r.blob, r.released = &Blob{size: r.blob.size}, true
	}
}

// Up says that the channel is up, or up again.
func (r *Receiver) Up() {
	r.Down()
	r.up = true
}

// Down says that the channel is down. What has arrived is kept, for when the same blob
// is offered again.
func (r *Receiver) Down() {
	r.up, r.offered, r.owesTake, r.owesAck, r.owesStop = false, false, false, false, false
	if !r.phase.Over() {
		r.phase = Waiting
	}
}

// Stop gives up, and lets go of what has arrived. The other side is told at the next
// Poll.
func (r *Receiver) Stop() {
	if !r.phase.Over() {
		r.fail(fmt.Errorf("%w: the receiver's owner stopped it", ErrWithdrawn))
	}
}

func (r *Receiver) fail(err error) {
	r.finish(Failed, err)
	r.conclude(reasonOf(err))
}

// finish ends the transfer on this side.
func (r *Receiver) finish(p Phase, err error) {
	r.phase, r.err, r.owesTake, r.owesAck = p, err, false, false
	if p == Failed {
		r.blob = &Blob{}
	}
}

// conclude owes the other side the end of it.
func (r *Receiver) conclude(reason uint8) {
	r.stop = wire.TransferStop{ID: r.offer.ID, Reason: reason}
	r.owesStop = r.offered
}

// Poll sends what is owed. send hands a message to the channel and reports whether that
// took it; what it did not take comes again.
func (r *Receiver) Poll(send func(wire.Control) bool) {
	if !r.up {
		return
	}
	if r.owesTake {
		r.owesTake = !send(wire.TransferTake{ID: r.offer.ID, Have: r.blob.size})
	} else if r.owesAck {
		r.owesAck = !send(wire.TransferAck{ID: r.offer.ID, Have: r.blob.size})
	}
	if r.owesStop {
		r.owesStop = !send(r.stop)
	}
}

// Receive takes a wire.TransferOffer, TransferChunk, TransferEnd or TransferStop of the
// other side. It copies a chunk's bytes. What belongs to another blob than the one on
// offer, or is on its way when the transfer has failed, is ignored. It returns an error
// when the message has ended the transfer without success, or has come after its end.
func (r *Receiver) Receive(c wire.Control) error {
	var id uint64
	switch c := c.(type) {
	case wire.TransferOffer:
		return r.offerCame(c)
	case wire.TransferChunk:
		id = c.ID
	case wire.TransferEnd:
		id = c.ID
	case wire.TransferStop:
		id = c.ID
	default:
		return fmt.Errorf("transfer: %T is no message to a receiver", c)
	}
	switch {
	case !r.known || id != r.offer.ID || r.phase == Failed:
		return nil
	case r.phase == Done:
		return against("%T after the end of the transfer", c)
	}
	if stop, ok := c.(wire.TransferStop); ok && stop.Reason != stopVerified {
		r.finish(Failed, told("sender", stop.Reason))
		return r.err
	}
	if err := r.moved(c); err != nil {
		r.fail(err)
		return err
	}
	return nil
}

// moved handles a message that is only allowed while chunks move.
func (r *Receiver) moved(c wire.Control) error {
	if r.phase != Moving || r.owesTake {
		return against("%T before the blob was taken", c)
	}
	switch c := c.(type) {
	case wire.TransferChunk:
		return r.append(c)
	case wire.TransferEnd:
		return r.verify(c.Sum)
	}
	return against("the sender has verified what it sent itself")
}

// offerCame begins a transfer, or goes on with one.
func (r *Receiver) offerCame(o wire.TransferOffer) error {
	if !r.up {
		return nil
	}
	same := r.known && o.ID == r.offer.ID
	again := r.offered
	r.offered = true
	switch {
	case r.phase.Over() && !same:
		r.stop, r.owesStop = wire.TransferStop{ID: o.ID, Reason: stopUnwanted}, true
		return nil
	case r.phase.Over() && same:
		// The verdict was lost on its way.
		r.owesStop = true
		return nil
	case same && again:
		return r.refuse(against("the same blob was offered twice"))
	case same && o != r.offer:
		return r.refuse(against("blob %016x was offered as %+v, and is now %+v", o.ID, r.offer, o))
	case same:
		r.phase, r.owesTake = Moving, true
		return nil
	}
	r.known, r.offer, r.owesAck = true, o, false
	r.blob = &Blob{state: o.State}
	r.hasher.Reset()
	if o.State > r.cfg.MaxState || o.Log > r.cfg.MaxLog {
		return r.refuse(fmt.Errorf("%w: the offer is of a state of %d bytes with a log of %d, and at most %d and %d are taken",
			ErrTooLarge, o.State, o.Log, r.cfg.MaxState, r.cfg.MaxLog))
	}
	if r.cfg.Want != nil {
		if err := r.cfg.Want(o); err != nil {
			return r.refuse(fmt.Errorf("%w: %w", ErrUnwanted, err))
		}
	}
	r.phase, r.owesTake = Moving, true
	return nil
}

func (r *Receiver) refuse(err error) error {
	r.fail(err)
	return err
}

// append takes the next chunk, and no other.
func (r *Receiver) append(c wire.TransferChunk) error {
	n, size := len(c.Bytes), r.offer.Size()
	switch {
	case c.At != r.blob.size:
		return against("a chunk begins at byte %d, and %d have arrived", c.At, r.blob.size)
	case n == 0 || n > r.offer.Chunk:
		return against("a chunk has %d bytes, and 1 to %d were offered", n, r.offer.Chunk)
	case n > size-c.At:
		return against("a chunk leads to byte %d of %d", c.At+n, size)
	}
	_, _ = r.hasher.Write(c.Bytes) // never fails
	r.blob.append(c.Bytes, size)
	r.owesAck = true
	return nil
}

// verify compares the checksum of the whole.
func (r *Receiver) verify(sum uint64) error {
	if size := r.offer.Size(); r.blob.size != size {
		return against("the end after %d bytes of %d", r.blob.size, size)
	}
	if ours := r.hasher.Sum64(); ours != sum {
		return fmt.Errorf("%w: of %d bytes it is %016x, and %016x was sent", ErrChecksum, r.blob.size, ours, sum)
	}
	r.finish(Done, nil)
	r.conclude(stopVerified)
	return nil
}
