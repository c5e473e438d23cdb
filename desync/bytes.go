package desync

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/wire"
)

// reader reads a file's body. At the first fault it keeps what was wrong in err and forgets the
// bytes that are left, so that from there on it returns zeros.
type reader struct {
	b   []byte
	at  int
	err error
}

func (r *reader) refuse(format string, args ...any) {
	if r.err == nil {
		r.err, r.b = fmt.Errorf("byte %d: %s", headSize+r.at, fmt.Sprintf(format, args...)), r.b[:r.at]
	}
}

func (r *reader) left() int { return len(r.b) - r.at }

// take returns the next n bytes, borrowed, or nil when they are not there.
func (r *reader) take(n int) []byte {
	if n > r.left() {
		r.refuse("%d bytes are needed and %d are left", n, r.left())
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// flags reads a byte of which only some bits may be set.
func (r *reader) flags(what string, may byte) byte {
	b := r.byte()
	if b&^may != 0 {
		r.refuse("the flags of %s are %#02x, and %#02x are known", what, b, may)
		return 0
	}
	return b
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// number reads a uvarint that is at most limit.
func (r *reader) number(what string, limit uint64) uint64 {
	v, n := binary.Uvarint(r.b[r.at:])
	switch {
	case n == 0:
		r.refuse("%s does not end", what)
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

// count reads how many of something follow, of which each has at least so many bytes: no more
// than the bytes that are left can hold, so that nothing is allocated for what is not there.
func (r *reader) count(what string, limit, least int) int {
	n := int(r.number("the number of "+what, uint64(limit)))
	if n*least > r.left() {
		r.refuse("%d %s are said to follow in %d bytes", n, what, r.left())
		return 0
	}
	return n
}

func (r *reader) tick(what string) driftback.Tick {
	return driftback.Tick(r.number(what, uint64(wire.MaxTick)))
}

func (r *reader) peer(what string) driftback.Peer {
	return driftback.Peer(r.number(what, driftback.MaxPeers-1))
}

func (r *reader) text(what string, limit int) string {
	s := string(r.take(int(r.number("the length of "+what, uint64(limit)))))
	if why := illText(s); why != "" {
		r.refuse("%s %s", what, why)
		return ""
	}
	return s
}

// bytes returns a copy.
func (r *reader) bytes(what string, limit int) []byte {
	return append([]byte{}, r.take(int(r.number("the length of "+what, uint64(limit))))...)
}

func (r *reader) differences(what string) []fingerprint.Difference {
	n := r.count(what, MaxFields, 3)
	list := slices.Grow([]fingerprint.Difference(nil), n)
	for range n {
		list = append(list, fingerprint.Difference{
			Path: r.text("a path", MaxText), A: r.text("a value", MaxText), B: r.text("a value", MaxText),
		})
	}
	return list
}

// illText says why a text may not be shown to people as it is.
func illText(s string) string {
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	for _, c := range s {
		if c < 0x20 || c >= 0x7f && c <= 0x9f {
			return fmt.Sprintf("holds the control character %U", c)
		}
	}
	return ""
}

// short returns a text with no more than MaxText bytes.
func short(s string) string {
	const ellipsis = "…"
	if len(s) <= MaxText {
		return s
	}
	n := MaxText - len(ellipsis)
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + ellipsis
}

func appendNumber[N ~int | ~int64 | ~uint8](b []byte, n N) []byte {
	return binary.AppendUvarint(b, uint64(n))
}

func appendText(b []byte, s string) []byte {
	s = short(s)
	return append(appendNumber(b, len(s)), s...)
}

func appendDifferences(b []byte, list []fingerprint.Difference) []byte {
	b = appendNumber(b, len(list))
	for _, d := range list {
		b = appendText(appendText(appendText(b, d.Path), d.A), d.B)
	}
	return b
}
