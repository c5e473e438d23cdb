package wire

import "github.com/driftback/driftback"

// Bounds of what a transfer carries. The longest TransferChunk fits a reliable message
// of every transport, and leaves room for others.
const (
	MaxTransferState = 64 << 20 // bytes of a state
	MaxTransferLog   = 16 << 20 // bytes of the log that follows it
	MaxTransferChunk = 32 << 10 // bytes of a TransferChunk
)

// TransferOffer says that the sender would hand over a blob: a state's bytes, and a
// log's right after them.
type TransferOffer struct {
	// ID tells this blob from others. An offer with the ID of one that was interrupted
	// is of the same bytes.
	ID uint64
	// Tick is the one that the state begins, and Sum the state's fingerprint.
	Tick driftback.Tick
	Sum  uint64
	// State and Log are their sizes in bytes: 1 to MaxTransferState, and 0 to
	// MaxTransferLog.
	State, Log int
	// Chunk is the size in bytes of the longest chunk: 1 to MaxTransferChunk.
	Chunk int
}

// Size returns the blob's size in bytes.
func (o *TransferOffer) Size() int { return o.State + o.Log }

// TransferTake answers an offer: the blob is wanted, from byte Have on, which is more
// than 0 when a part of it arrived before.
type TransferTake struct {
	ID   uint64
	Have int
}

// TransferChunk is a part of a blob.
type TransferChunk struct {
	ID uint64
	// At is where in the blob it begins.
	At int
	// Bytes are 1 to MaxTransferChunk bytes. ParseControl borrows them from what it
	// was given.
	Bytes []byte
}

// TransferAck says that the blob has arrived up to byte Have.
type TransferAck struct {
	ID   uint64
	Have int
}

// TransferEnd follows the last chunk. Sum is the XXH3 hash of the whole blob.
type TransferEnd struct{ ID, Sum uint64 }

// TransferStop ends a transfer, on either side. Reason means what the protocol above
// says it means.
type TransferStop struct {
	ID     uint64
	Reason uint8
}

func (TransferOffer) control() {}
func (TransferTake) control()  {}
func (TransferChunk) control() {}
func (TransferAck) control()   {}
func (TransferEnd) control()   {}
func (TransferStop) control()  {}

// The first bytes of the messages of a transfer.
const (
	kindTransferOffer = iota + 13
	kindTransferTake
	kindTransferChunk
	kindTransferAck
	kindTransferEnd
	kindTransferStop
)

const maxTransfer = MaxTransferState + MaxTransferLog

// transfer appends a message of a transfer, and says whether c is one.
func (w *writer) transfer(c Control) bool {
	begin := func(kind byte, id uint64) {
		w.b = append(w.b, kind)
		w.uint64(id)
	}
	switch c := c.(type) {
	case TransferOffer:
		begin(kindTransferOffer, c.ID)
		w.tick(c.Tick)
		w.uint64(c.Sum)
		w.size("a state", c.State, 1, MaxTransferState)
		w.size("a log", c.Log, 0, MaxTransferLog)
		w.size("a chunk", c.Chunk, 1, MaxTransferChunk)
	case TransferTake:
		begin(kindTransferTake, c.ID)
		w.size("what there is", c.Have, 0, maxTransfer)
	case TransferChunk:
		begin(kindTransferChunk, c.ID)
		w.size("what comes before a chunk", c.At, 0, maxTransfer-1)
		w.size("a chunk", len(c.Bytes), 1, min(MaxTransferChunk, maxTransfer-c.At))
		w.b = append(w.b, c.Bytes...)
	case TransferAck:
		begin(kindTransferAck, c.ID)
		w.size("what there is", c.Have, 0, maxTransfer)
	case TransferEnd:
		begin(kindTransferEnd, c.ID)
		w.uint64(c.Sum)
	case TransferStop:
		begin(kindTransferStop, c.ID)
		w.b = append(w.b, c.Reason)
	default:
		return false
	}
	return true
}

// transfer reads what follows the first byte of a message of a transfer.
func (r *reader) transfer(kind byte) Control {
	id := r.uint64()
	switch kind {
	case kindTransferOffer:
		return TransferOffer{
			ID: id, Tick: r.tick(), Sum: r.uint64(),
			State: r.size("a state", 1, MaxTransferState), Log: r.size("a log", 0, MaxTransferLog),
			Chunk: r.size("a chunk", 1, MaxTransferChunk),
		}
	case kindTransferTake:
		return TransferTake{ID: id, Have: r.size("what there is", 0, maxTransfer)}
	case kindTransferChunk:
		at := r.size("what comes before a chunk", 0, maxTransfer-1)
		return TransferChunk{ID: id, At: at, Bytes: r.take(r.size("a chunk", 1, min(MaxTransferChunk, maxTransfer-at)))}
	case kindTransferAck:
		return TransferAck{ID: id, Have: r.size("what there is", 0, maxTransfer)}
	case kindTransferEnd:
		return TransferEnd{ID: id, Sum: r.uint64()}
	default:
		return TransferStop{ID: id, Reason: r.byte()}
	}
}

func (w *writer) size(what string, n, least, most int) {
	if n < least || n > most {
		w.refuse("%s has %d bytes, and %d to %d are allowed", what, n, least, most)
		return
	}
	w.uvarint(uint64(n))
}

func (r *reader) size(what string, least, most int) int {
	n := int(r.number("the size of "+what, uint64(most)))
	if n < least {
		r.refuse("%s has %d bytes, and at least %d is needed", what, n, least)
		return 0
	}
	return n
}
