package natpunch

import (
	"encoding/binary"
	"net/netip"
	"sync"
)

// What the socket must know of STUN (RFC 8489) to keep strangers' packets from the
// library that does the rest. Of the TURN protocol nothing comes through this socket.
const (
	stunHeader    = 20
	stunCookie    = 0x2112a442
	stunRequest   = 0x0001 // the method Binding with each of its classes
	stunSuccess   = 0x0101
	stunError     = 0x0111
	stunUsername  = 0x0006
	maxAttributes = 32
	// maxCheck is the size of the largest check that is passed on. A usual one has 100 bytes.
	maxCheck = 548
)

// looksLikeSTUN tells STUN from QUIC by the first byte, as RFC 9443 has it.
func looksLikeSTUN(b []byte) bool { return len(b) > 0 && b[0]&0xc0 == 0 }

type transaction [12]byte

// parseSTUN returns the type, the transaction and the user name of a well-formed
// STUN message.
func parseSTUN(b []byte) (typ uint16, id transaction, username []byte, ok bool) {
	if len(b) < stunHeader || len(b) > maxCheck || !looksLikeSTUN(b) ||
		int(binary.BigEndian.Uint16(b[2:])) != len(b)-stunHeader ||
		binary.BigEndian.Uint32(b[4:]) != stunCookie {
		return 0, id, nil, false
	}
	typ = binary.BigEndian.Uint16(b)
	copy(id[:], b[8:])
	rest := b[stunHeader:]
	for n := 0; len(rest) > 0; n++ {
		if len(rest) < 4 || n == maxAttributes {
			return 0, id, nil, false
		}
		size := int(binary.BigEndian.Uint16(rest[2:]))
		padded := 4 + (size+3)&^3
		if padded > len(rest) {
			return 0, id, nil, false
		}
		if binary.BigEndian.Uint16(rest) == stunUsername && username == nil {
			username = rest[4 : 4+size]
		}
		rest = rest[padded:]
	}
	return typ, id, username, true
}

// questions are the STUN requests that were sent and not yet answered, the newest
// maxQuestions of them.
type questions struct {
	mu    sync.Mutex
	sent  map[transaction]netip.AddrPort
	order [maxQuestions]transaction
	next  int
}

const maxQuestions = 2048

// asked remembers a request that is being sent. Anything else it ignores.
func (q *questions) asked(b []byte, to netip.AddrPort) {
	typ, id, _, ok := parseSTUN(b)
	if !ok || typ != stunRequest {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, again := q.sent[id]; !again {
		delete(q.sent, q.order[q.next])
		q.order[q.next] = id
		q.next = (q.next + 1) % maxQuestions
	}
	q.sent[id] = to
}

// answered says whether an answer is one to a request of ours, sent to where it
// comes from, and forgets the request.
func (q *questions) answered(id transaction, from netip.AddrPort) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if to, ok := q.sent[id]; !ok || to != from {
		return false
	}
	delete(q.sent, id)
	return true
}
