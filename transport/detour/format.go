package detour

import (
	"encoding/binary"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
)

// The first byte of every message below. FORMAT.md says what follows.
const (
	kindData     byte = 1 // from neighbour to neighbour
	kindHalf     byte = 2 // the same, and the message goes on in the next
	kindReach    byte = 3
	kindCall     byte = 4 // from here on: an envelope
	kindAnswer   byte = 5
	kindConfirm  byte = 6
	kindNoWay    byte = 7
	kindMessage  byte = 8
	kindDatagram byte = 9
)

// What a sealed message is, its first byte once it is opened.
const (
	innerReady byte = 1
	innerData  byte = 2
	innerHalf  byte = 3
	innerTaken byte = 4
	innerAsk   byte = 5
	innerBye   byte = 6
)

// Why an end takes a link down.
const (
	byeClosed byte = 1
	byeDirect byte = 2
	byeSilent byte = 3
	byeBroken byte = 4
)

const (
	version     = 1
	secretSize  = 32 // of an X25519 key, public or private
	tagSize     = 16 // of AES-GCM
	idSize      = 4
	headSize    = 3 // kind, from, to
	callSize    = headSize + 1 + secretSize
	answerSize  = headSize + 2*secretSize + identity.KeySize + identity.SignatureSize
	confirmSize = headSize + secretSize + identity.KeySize + identity.SignatureSize
	reachSize   = 1 + 8
	takenSize   = 8

	// sealedDatagram and sealedMessage are what an envelope adds, in bytes.
	sealedDatagram = headSize + 8 + tagSize
	sealedMessage  = headSize + idSize + 1 + tagSize
	// A longer message goes in two: maxTail is the most that the second can be left with.
	maxSealed = transport.MaxReliable - sealedMessage
	maxDirect = transport.MaxReliable - 1
	maxTail   = transport.MaxReliable - maxSealed
)

// head begins an envelope.
func head(dst []byte, kind byte, from, to driftback.Peer) []byte {
	return append(dst, kind, byte(from), byte(to))
}

// parties returns the two ends that an envelope names; false for two that cannot be.
func parties(b []byte) (from, to driftback.Peer, ok bool) {
	from, to = driftback.Peer(b[1]), driftback.Peer(b[2])
	return from, to, from < driftback.MaxPeers && to < driftback.MaxPeers && from != to
}

// wellFormed says whether a message has a size that its kind can have, and came as
// messages of its kind are sent.
func wellFormed(as transport.Kind, b []byte) bool {
	if len(b) == 0 || b[0] != kindData && (b[0] == kindDatagram) != (as == transport.Datagram) {
		return false
	}
	switch b[0] {
	case kindData:
		return as == transport.Datagram || len(b) <= 1+maxDirect
	case kindHalf:
		return len(b) == 1+maxDirect
	case kindReach:
		return len(b) == reachSize
	case kindCall:
		return len(b) == callSize && b[headSize] == version
	case kindAnswer:
		return len(b) == answerSize
	case kindConfirm:
		return len(b) == confirmSize
	case kindNoWay:
		return len(b) == headSize
	case kindMessage:
		return len(b) >= sealedMessage && len(b) <= transport.MaxReliable
	case kindDatagram:
		return len(b) >= sealedDatagram
	}
	return false
}

// mask is a set of peers.
type mask uint64

func bit(p driftback.Peer) mask { return 1 << p }

func (m mask) has(p driftback.Peer) bool { return m&bit(p) != 0 }

func appendReach(dst []byte, m mask) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, kindReach), uint64(m))
}

// halves puts messages together that went in two.
type halves struct {
	first []byte
	open  bool
}

// take returns the message that b ends, borrowed until the next call. Half a message has
// as many bytes as fit, so that there is one way to send each.
func (h *halves) take(b []byte, more bool, fit int) (whole []byte, ok bool, err error) {
	switch {
	case more && (h.open || len(b) != fit), h.open && (len(b) == 0 || len(h.first)+len(b) > transport.MaxReliable):
		h.open = false
		return nil, false, errMalformed
	case more:
		h.first, h.open = append(h.first[:0], b...), true
		return nil, false, nil
	case h.open:
		h.first, h.open = append(h.first, b...), false
		return h.first, true, nil
	}
	return b, true, nil
}

// tail is the second half of a message whose first has been queued.
type tail struct {
	b [maxTail]byte
	n int
}

func (t *tail) keep(b []byte) { t.n = copy(t.b[:], b) }
