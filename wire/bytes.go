package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/driftback/driftback"
)

var (
	// ErrMalformed is wrapped by every error about bytes that are not a message of
	// this version. Drop them and count them.
	ErrMalformed = errors.New("wire: malformed")
	// ErrUnsendable is wrapped by every error about a message that breaks a bound
	// and therefore was not appended.
	ErrUnsendable = errors.New("wire: cannot be sent")
)

func checkStride(kind error, stride int) error {
	if stride < 1 || stride > MaxStride {
		return fmt.Errorf("%w: an input of %d bytes, and 1 to %d are allowed", kind, stride, MaxStride)
	}
	return nil
}

// reader reads a message from its first byte. At the first fault it keeps what was
// wrong in err and forgets the bytes that are left, so that from there on it
// returns zeros.
type reader struct {
	b   []byte
	at  int
	err error
	// base is the first tick of the packet, once based: the others are differences.
	base  driftback.Tick
	based bool
	saves int // how many bytes shorter the inputs so far are as changes
}

func (r *reader) refuse(format string, args ...any) {
	if r.err == nil {
		r.fail(fmt.Errorf("%w: byte %d: %s", ErrMalformed, r.at, fmt.Sprintf(format, args...)))
	}
}

func (r *reader) fail(err error) { r.err, r.b = err, r.b[:r.at] }

// end returns what was wrong, which may be that not everything was read.
func (r *reader) end() error {
	if r.err == nil && r.at < len(r.b) {
		r.refuse("%d bytes follow the end", len(r.b)-r.at)
	}
	return r.err
}

// take returns the next n bytes, borrowed, or nil when they are not there.
func (r *reader) take(n int) []byte {
	if left := len(r.b) - r.at; n > left {
		r.refuse("cut short: %d bytes are needed and %d are left", n, left)
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

func (r *reader) byte() byte {
	if r.at == len(r.b) {
		r.take(1) // says so
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// number reads a uvarint that is at most limit. what names it in an error.
func (r *reader) number(what string, limit uint64) uint64 {
	v, n := binary.Uvarint(r.b[r.at:])
	switch {
	case n == 0:
		r.refuse("cut short: %s does not end", what)
	case n < 0:
		r.refuse("%s does not fit 64 bits", what)
	case n > 1 && r.b[r.at+n-1] == 0:
		r.refuse("%s is written longer than it need be", what)
	case v > limit:
		r.refuse("%s is %d, and at most %d is allowed", what, v, limit)
	default:
		r.at += n
		return v
	}
	return 0
}

// tick reads a tick of a packet: the first as it is, the others as differences
// from it, since what one packet speaks of lies close together.
func (r *reader) tick() driftback.Tick {
	if !r.based {
		r.based = true
		r.base = driftback.Tick(r.number("a tick", uint64(MaxTick)))
		return r.base
	}
	z := r.number("a difference of ticks", 1<<64-1)
	// A sum that overflows is negative, since the base is at most half the range.
	return r.near(driftback.Tick(int64(z>>1) ^ -int64(z&1)))
}

// near returns the tick that lies so far from the packet's first.
func (r *reader) near(d driftback.Tick) driftback.Tick {
	t := r.base + d
	if !r.based {
		r.refuse("a tick relative to the first one, and there is none")
		return 0
	}
	if t < 0 || t > MaxTick {
		r.refuse("a tick that is not between 0 and %d", MaxTick)
		return 0
	}
	return t
}

// head reads the byte that a run or an acknowledgement begins with. previous is
// the participant of the one before, or -1; above are its three highest bits.
func (r *reader) head(previous int) (p driftback.Participant, more bool, above byte) {
	b := r.byte()
	return r.participant(b&0x0f, previous), b&moreFollow != 0, b >> formShift
}

func (r *reader) participant(b byte, previous int) driftback.Participant {
	if b >= driftback.MaxParticipants {
		r.refuse("participant %d, and at most %d is allowed", b, driftback.MaxParticipants-1)
	} else if int(b) <= previous {
		r.refuse("participant %d after participant %d: they must ascend", b, previous)
	}
	return driftback.Participant(b)
}

// writer appends a message. After the first fault err keeps what was wrong, and
// what has been appended is worthless.
type writer struct {
	b     []byte
	err   error
	base  driftback.Tick
	based bool
}

func (w *writer) refuse(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: %s", ErrUnsendable, fmt.Sprintf(format, args...))
	}
}

func (w *writer) uvarint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }

func (w *writer) uint64(v uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, v) }

func (w *writer) number(what string, v, limit uint64) {
	if v > limit {
		w.refuse("%s is %d, and at most %d is allowed", what, v, limit)
		return
	}
	w.uvarint(v)
}

func (w *writer) tick(t driftback.Tick) {
	if t < 0 || t > MaxTick {
		w.refuse("tick %d is not between 0 and %d", t, MaxTick)
		return
	}
	if !w.based {
		w.based, w.base = true, t
		w.uvarint(uint64(t))
		return
	}
	d := int64(t - w.base)
	w.uvarint(uint64(d)<<1 ^ uint64(d>>63))
}

func (w *writer) head(p driftback.Participant, previous int, more bool, above byte) {
	if p >= driftback.MaxParticipants {
		w.refuse("participant %d, and at most %d is allowed", p, driftback.MaxParticipants-1)
	} else if int(p) <= previous {
		w.refuse("participant %d after participant %d: they must ascend", p, previous)
	}
	b := byte(p) | above
	if more {
		b |= moreFollow
	}
	w.b = append(w.b, b)
}
