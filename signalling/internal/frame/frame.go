// Package frame is the bytes that a member of a room and the room's server say to each
// other: one frame is one binary WebSocket message.
//
// It owns the layout, and refuses frames that are not exactly one. It refuses to own who
// may say what. Big-endian, the first byte says which frame it is:
//
//	1 hello    server  1 version, 32 nonce
//	2 enter    member  1 version, 1 flags (1: make the room if there is none),
//	                   1 peer, 32 key, 32 proof, 64 signature
//	3 welcome  server  4 seconds for which the relays' passwords hold, 1 number of servers,
//	                   and for each three texts: URL, user name, password;
//	                   a text is 1 its length, and its bytes
//	4 member   server  1 peer, 32 key, 32 proof
//	5 gone     server  1 peer
//	6 message  both    1 peer (to whom; from whom), up to 2048 bytes
//	7 leave    member
//
// The server speaks first. A member that enters signs, with its key and for the purpose
// [Purpose], what [Entry] returns. Its proof is for the other members: the server hands it on
// and cannot tell a good one from a bad one. After its welcome a member is told of every other
// member, and again whenever one comes or comes back. It is welcomed anew, with other passwords, each time
// that half of the time is over for which the last ones hold.
//
// Frame is what both ends use; its fields mean something in the kinds that have them.
package frame

import (
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
)

// Version is of this layout.
const Version = 1

// Sizes in bytes, and numbers, of the largest.
const (
	MaxData    = 2048
	MaxServers = 8
	MaxText    = 255
	// Max is the largest frame: a welcome.
	Max = 1 + 4 + 1 + MaxServers*3*(1+MaxText)
	// MaxFromMember is the largest frame of a member: a message.
	MaxFromMember = 2 + MaxData
	NonceSize     = 32
	ProofSize     = 32
)

// Purpose is what the signature of an enter frame is for.
const Purpose = "driftback signalling: enter a room"

// Kind is the first byte of a frame.
type Kind uint8

// Kinds.
const (
	Hello Kind = iota + 1
	Enter
	Welcome
	Member
	Gone
	Message
	Leave
)

// Nonce is drawn by the server for one connection.
type Nonce [NonceSize]byte

// Proof says to the other members that its sender knew the room's secret.
type Proof [ProofSize]byte

// Server is one of the servers that a welcome names.
type Server struct{ URL, Username, Password string }

// Frame is any of the frames.
type Frame struct {
	Kind      Kind
	Version   uint8
	Nonce     Nonce
	Make      bool
	Peer      driftback.Peer
	Key       identity.Key
	Proof     Proof
	Signature [identity.SignatureSize]byte
	Seconds   uint32
	Servers   []Server
	Data      []byte
}

// ErrMalformed means that some bytes are no frame.
var ErrMalformed = errors.New("malformed frame")

// Append appends the frame to b. A frame with too much in it is a mistake of the caller's,
// and is cut short.
func (f *Frame) Append(b []byte) []byte {
	b = append(b, byte(f.Kind))
	switch f.Kind {
	case Hello:
		return append(append(b, f.Version), f.Nonce[:]...)
	case Enter:
		flags := byte(0)
		if f.Make {
			flags = 1
		}
		b = append(b, f.Version, flags, byte(f.Peer))
		b = append(append(b, f.Key[:]...), f.Proof[:]...)
		return append(b, f.Signature[:]...)
	case Welcome:
		b = binary.BigEndian.AppendUint32(b, f.Seconds)
		servers := f.Servers[:min(len(f.Servers), MaxServers)]
		b = append(b, byte(len(servers)))
		for _, s := range servers {
			for _, text := range []string{s.URL, s.Username, s.Password} {
				text = text[:min(len(text), MaxText)]
				b = append(append(b, byte(len(text))), text...)
			}
		}
		return b
	case Member:
		b = append(b, byte(f.Peer))
		return append(append(b, f.Key[:]...), f.Proof[:]...)
	case Gone:
		return append(b, byte(f.Peer))
	case Message:
		b = append(b, byte(f.Peer))
		return append(b, f.Data[:min(len(f.Data), MaxData)]...)
	case Leave:
	}
	return b
}

// Parse reads the frame that fills b. Its data is b's.
func (f *Frame) Parse(b []byte) error {
	*f = Frame{}
	if len(b) == 0 || len(b) > Max {
		return fmt.Errorf("%w: %d bytes", ErrMalformed, len(b))
	}
	f.Kind = Kind(b[0])
	r := reader{b: b[1:]}
	switch f.Kind {
	case Hello:
		f.Version = r.byte()
		r.fill(f.Nonce[:])
	case Enter:
		f.Version = r.byte()
		flags := r.byte()
		f.Make, r.bad = flags == 1, r.bad || flags > 1
		f.Peer = r.peer()
		r.fill(f.Key[:])
		r.fill(f.Proof[:])
		r.fill(f.Signature[:])
	case Welcome:
		f.Seconds = binary.BigEndian.Uint32(r.take(4))
		n := int(r.byte())
		if r.bad = r.bad || n > MaxServers; r.bad {
			break
		}
		for range n {
			f.Servers = append(f.Servers, Server{r.text(), r.text(), r.text()})
		}
	case Member:
		f.Peer = r.peer()
		r.fill(f.Key[:])
		r.fill(f.Proof[:])
	case Gone:
		f.Peer = r.peer()
	case Message:
		f.Peer = r.peer()
		if f.Data, r.b = r.b, nil; len(f.Data) > MaxData {
			r.bad = true
		}
	case Leave:
	default:
		return fmt.Errorf("%w: no frame is of kind %d", ErrMalformed, b[0])
	}
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w of kind %d, with %d bytes", ErrMalformed, b[0], len(b))
	}
	return nil
}

// Entry returns what a member signs to enter a room.
func Entry(nonce Nonce, room Room, peer driftback.Peer) []byte {
	b := make([]byte, 0, NonceSize+RoomSize+1)
	b = append(append(b, nonce[:]...), room[:]...)
	return append(b, byte(peer))
}

// RoomSize is the size of the name of a room in bytes. At least 80 bits of it are drawn by chance.
const RoomSize = 20

// Room is the name of a room, which whoever is to enter must know.
type Room [RoomSize]byte

// The alphabet of package identity.
var alphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// RoomChars is the number of characters of a room's name.
const RoomChars = RoomSize / 5 * 8

// String returns the name as 32 lower-case letters and digits.
func (r Room) String() string { return alphabet.EncodeToString(r[:]) }

// Short returns the first eight characters of [Room.String]: enough for a log, too few to enter.
func (r Room) Short() string { return r.String()[:8] }

// ParseRoom reads what [Room.String] returned, and nothing else.
func ParseRoom(s string) (r Room, err error) {
	if len(s) != RoomChars {
		return Room{}, fmt.Errorf("the name of a room has %d characters, and this has %d", RoomChars, len(s))
	}
	if _, err = alphabet.Decode(r[:], []byte(s)); err != nil {
		return Room{}, fmt.Errorf("this is not the name of a room: %w", err)
	}
	return r, nil
}

// reader takes fields off the front of b. Once there was too little it is bad, and all
// that it returns is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || len(r.b) < n {
		r.bad = true
		return make([]byte, n)
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) fill(dst []byte) { copy(dst, r.take(len(dst))) }

func (r *reader) byte() byte { return r.take(1)[0] }

func (r *reader) text() string { return string(r.take(int(r.byte()))) }

func (r *reader) peer() driftback.Peer {
	p := driftback.Peer(r.byte())
	r.bad = r.bad || int(p) >= driftback.MaxPeers
	return p
}
