package detour

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
)

const (
	// maxWaiting and maxWaitingBytes bound the messages of one direction of a link that
	// the other end has not received yet, wherever they are.
	maxWaiting      = 128
	maxWaitingBytes = 4 * transport.MaxReliable
	// takenEvery and takenEveryBytes are how much is received before the sender is told.
	takenEvery      = maxWaiting / 4
	takenEveryBytes = maxWaitingBytes / 4
)

// way is a link by a detour.
type way struct {
	via       driftback.Peer
	id        [idSize]byte
	out, in   seals
	messages  uint64 // sealed, of both the games' and the link's own
	datagrams uint64
	expected  uint64 // the message that comes next
	seen      window

	// Messages sent and not yet known to be received, and their sizes.
	sizes        [maxWaiting]int
	oldest, sent uint64
	waiting      int // bytes
	// Messages received, and what the sender has been told.
	got, told uint64
	untold    int // bytes
	owesTaken bool
	tail      tail
	halves    halves
	silent    int  // rounds in which something was sent, since something was heard
	sentSince bool // something was sent since the last round
	asked     bool // the other end has been asked for a word since something was heard
}

// seal makes the envelope of the next message and queues it with the one in between.
func (d *Transport) seal(to driftback.Peer, w *way, inner byte, b []byte) error {
	const at = headSize + idSize
	d.out = append(head(d.out[:0], kindMessage, d.cfg.Self, to), w.id[:]...)
	d.out = append(append(d.out, inner), b...)
	d.out = w.out.aead.Seal(d.out[:at], w.out.at(nonceMessage, w.messages), d.out[at:], d.out[:at])
	err := d.below.SendReliable(w.via, d.out)
	if err != nil {
		// Nothing has left this machine, so the nonce may be used for something else.
		return err
	}
	w.messages++
	w.sentSince = true
	d.stats.Sealed++
	return nil
}

// sealMessage sends a message of whoever is above.
func (d *Transport) sealMessage(to driftback.Peer, w *way, b []byte) error {
	if w.sent-w.oldest == maxWaiting || w.waiting > 0 && w.waiting+len(b) > maxWaitingBytes || !d.flushSealed(to, w) {
		return fmt.Errorf("detour: %w: peer %d", transport.ErrFull, to)
	}
	inner, first := innerData, b
	if len(b) > maxSealed {
		inner, first = innerHalf, b[:maxSealed]
	}
	if err := d.seal(to, w, inner, first); err != nil {
		if !errors.Is(err, transport.ErrFull) {
			err = transport.ErrNoLink // to the one in between; its Down is on its way
		}
		return fmt.Errorf("detour: %w: peer %d", err, to)
	}
	w.sizes[w.sent%maxWaiting] = len(b)
	w.sent++
	w.waiting += len(b)
	if inner == innerHalf {
		w.tail.keep(b[maxSealed:])
		d.flushSealed(to, w)
	}
	return nil
}

// flushSealed sends the second half of a message, and says whether none is left.
func (d *Transport) flushSealed(to driftback.Peer, w *way) bool {
	if w.tail.n > 0 && d.seal(to, w, innerData, w.tail.b[:w.tail.n]) == nil {
		w.tail.n = 0
	}
	return w.tail.n == 0
}

func (d *Transport) sealDatagram(to driftback.Peer, w *way, b []byte) {
	d.out = binary.LittleEndian.AppendUint64(head(d.out[:0], kindDatagram, d.cfg.Self, to), w.datagrams)
	d.out = w.out.aead.Seal(d.out, w.out.at(nonceDatagram, w.datagrams), b, d.out)
	w.datagrams++
	w.sentSince = true
	d.stats.Sealed++
	d.below.Send(w.via, d.out)
}

// openDatagram returns what a datagram carries; false for one that is altered or comes again.
func (d *Transport) openDatagram(w *way, b []byte) ([]byte, bool) {
	const at = headSize + 8
	n := binary.LittleEndian.Uint64(b[headSize:])
	if !w.seen.fresh(n) {
		d.stats.Repeated++
		return nil, false
	}
	plain, err := w.in.aead.Open(d.plain[:0], w.in.at(nonceDatagram, n), b[at:], b[:at])
	if err != nil {
		d.stats.Altered++
		return nil, false
	}
	w.seen.note(n)
	d.heard(w)
	return plain, true
}

// openMessage returns what the message that comes next is and carries, or an error if
// these bytes are not it.
func (d *Transport) openMessage(w *way, b []byte) (inner byte, plain []byte, err error) {
	const at = headSize + idSize
	plain, err = w.in.aead.Open(d.plain[:0], w.in.at(nonceMessage, w.expected), b[at:], b[:at])
	if err != nil {
		return 0, nil, err
	}
	w.expected++
	d.heard(w)
	return plain[0], plain[1:], nil
}

func (d *Transport) heard(w *way) {
	d.stats.Opened++
	w.silent, w.asked = 0, false
}

// takeInner does what an opened message asks for, and returns it if it is one for whoever
// is above. What makes no sense was sealed by the other end, which harms its own link alone.
func (d *Transport) takeInner(from driftback.Peer, w *way, inner byte, b []byte) ([]byte, bool) {
	switch {
	case inner == innerData || inner == innerHalf:
		if whole, ok, err := w.halves.take(b, inner == innerHalf, maxSealed); err == nil {
			if ok {
				d.noteTaken(from, w, len(whole))
			}
			return whole, ok
		}
	case inner == innerReady && len(b) == 0:
		return nil, false
	case inner == innerTaken && len(b) == takenSize:
		if n := binary.LittleEndian.Uint64(b); n >= w.oldest && n <= w.sent {
			for ; w.oldest < n; w.oldest++ {
				w.waiting -= w.sizes[w.oldest%maxWaiting]
			}
			return nil, false
		}
	case inner == innerAsk && len(b) == 0:
		w.owesTaken = true
		d.flushTaken(from, w)
		return nil, false
	case inner == innerBye && len(b) == 1 && b[0] >= byeClosed && b[0] <= byeBroken:
		d.lose(from, reasonOf(b[0]), b[0] == byeSilent || b[0] == byeBroken)
		return nil, false
	}
	d.stats.Refused++
	return nil, false
}

// noteTaken counts a message that is being received, and tells the sender now and then.
func (d *Transport) noteTaken(from driftback.Peer, w *way, size int) {
	w.got++
	if w.untold += size; w.got-w.told >= takenEvery || w.untold >= takenEveryBytes {
		w.owesTaken = true
		d.flushTaken(from, w)
	}
}

// flushTaken tells the other end how many of its messages have been received.
func (d *Transport) flushTaken(to driftback.Peer, w *way) {
	if !w.owesTaken || !d.flushSealed(to, w) {
		return
	}
	var b [takenSize]byte
	binary.LittleEndian.PutUint64(b[:], w.got)
	if d.seal(to, w, innerTaken, b[:]) == nil {
		w.owesTaken, w.told, w.untold = false, w.got, 0
	}
}

// sayGoodbye tells the other end that the link is over, if there is room for that; without
// it the other end finds out by itself, later.
func (d *Transport) sayGoodbye(to driftback.Peer, w *way, why byte) {
	if d.flushSealed(to, w) {
		_ = d.seal(to, w, innerBye, []byte{why})
	}
}

func reasonOf(why byte) error {
	switch why {
	case byeClosed:
		return ErrPeerClosed
	case byeDirect:
		return ErrDirect
	case byeSilent:
		return ErrSilent
	default:
		return ErrBroken
	}
}
