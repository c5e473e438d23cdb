package frame

import (
	"encoding/binary"

	"github.com/driftback/driftback"
)

// Note is what the instances of a fleet tell each other about one room, over a bus that they
// trust. Layout:
//
//	8  instance that says so, random
//	1  kind: 1 who is there, 2 present, 3 gone, 4 message
//	   present: 1 peer, 32 key, 32 proof, 8 when it came, in milliseconds since 1970
//	   gone:    1 peer
//	   message: 1 from, 1 to, up to 2048 bytes
type Note struct {
	Instance uint64
	Kind     NoteKind
	Peer     driftback.Peer
	To       driftback.Peer
	Since    int64
	Member   Frame // its Key and Proof
	Data     []byte
}

// NoteKind says what a note is about.
type NoteKind uint8

// Kinds of notes.
const (
	NoteWho NoteKind = iota + 1
	NotePresent
	NoteGone
	NoteMessage
)

// MaxNote is the size of the largest note in bytes.
const MaxNote = 8 + 1 + 2 + MaxData

// Append appends the note to b.
func (n *Note) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, n.Instance)
	b = append(b, byte(n.Kind))
	switch n.Kind {
	case NotePresent:
		b = append(b, byte(n.Peer))
		b = append(append(b, n.Member.Key[:]...), n.Member.Proof[:]...)
		return binary.BigEndian.AppendUint64(b, uint64(n.Since))
	case NoteGone:
		return append(b, byte(n.Peer))
	case NoteMessage:
		b = append(b, byte(n.Peer), byte(n.To))
		return append(b, n.Data[:min(len(n.Data), MaxData)]...)
	case NoteWho:
	}
	return b
}

// Parse reads the note that fills b. Its data is b's.
func (n *Note) Parse(b []byte) error {
	*n = Note{}
	r := reader{b: b, bad: len(b) > MaxNote}
	n.Instance = binary.BigEndian.Uint64(r.take(8))
	n.Kind = NoteKind(r.byte())
	switch n.Kind {
	case NoteWho:
	case NotePresent:
		n.Peer = r.peer()
		r.fill(n.Member.Key[:])
		r.fill(n.Member.Proof[:])
		n.Since = int64(binary.BigEndian.Uint64(r.take(8)))
	case NoteGone:
		n.Peer = r.peer()
	case NoteMessage:
		n.Peer, n.To = r.peer(), r.peer()
		n.Data, r.b = r.b, nil
	default:
		return ErrMalformed
	}
	if r.bad || len(r.b) > 0 {
		return ErrMalformed
	}
	return nil
}
