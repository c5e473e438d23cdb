// Package fingerprint makes 64 bits of a game's state, the same 64 on every
// machine that holds an equal state, and finds the fields in which two states
// differ.
//
// It owns the hash, XXH3-64 over canonical bytes, and the walk that names
// differences. It refuses to own when a state is hashed and with whom the sum is
// compared. A fingerprint finds accidents; it is no defence against somebody who
// looks for two states with one sum.
//
// The bytes come from package layout where the type has one: padding, blank
// fields and the many patterns of NaN never enter a sum, and −0 differs from 0.
// Otherwise they are what the state's own AppendBinary makes.
//
// A [Hasher] reuses a buffer and belongs to one goroutine.
package fingerprint

import (
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback/layout"
)

// Sum is the fingerprint of one state.
type Sum uint64

// String returns 16 hexadecimal digits.
func (s Sum) String() string { return fmt.Sprintf("%016x", uint64(s)) }

const (
	// MaxDifferences is how many differences one call of [Hasher.Diff] reports.
	MaxDifferences = 64
	// MaxEncoded is how many bytes a state's AppendBinary may make.
	MaxEncoded = layout.MaxSize
)

// Difference is one field in which two states differ.
type Difference struct {
	// Path leads to the field: "Fighters[1].Health". For a state with bytes of its
	// own it is "byte 17", and for one of basic kind "(state)".
	Path string
	// A and B are the values of the field in either state.
	A, B string
}

// String returns "Fighters[1].Health: 30 or 20".
func (d Difference) String() string { return d.Path + ": " + d.A + " or " + d.B }

// Hasher makes fingerprints of states of type S.
type Hasher[S any] struct {
	layout *layout.Layout[S]                // nil: the state has bytes of its own
	own    func(*S) encoding.BinaryAppender // set if layout is nil
	buf    []byte
	other  []byte // for Diff
	err    error
}

// New returns a hasher for S: by its canonical layout if it has one, otherwise by
// its method func (s *State) AppendBinary(b []byte) ([]byte, error). If S has neither, the error names the field that has
// no canonical bytes and wraps the [*layout.RefusedError].
func New[S any]() (*Hasher[S], error) {
	l, err := layout.Of[S]()
	if err == nil {
		return &Hasher[S]{layout: l}, nil
	}
	if _, ok := any((*S)(nil)).(encoding.BinaryAppender); !ok {
		return nil, refuse(err, "or give the state "+method[S]())
	}
	if field, ok := layout.Embedded[S, encoding.BinaryAppender](); ok {
		return nil, refuse(err, "the embedded "+field+" has an AppendBinary method, which stands for that field alone: give it a name")
	}
	return &Hasher[S]{own: func(s *S) encoding.BinaryAppender { return any(s).(encoding.BinaryAppender) }}, nil
}

// method says which method would encode an S, and what S has of that name but with another
// signature.
func method[S any]() string {
	name := reflect.TypeFor[S]().Name()
	if name == "" {
		name = "State"
	}
	text := "func (s *" + name + ") AppendBinary(b []byte) ([]byte, error)"
	if has := reflect.New(reflect.TypeFor[S]()).MethodByName("AppendBinary"); has.IsValid() {
		text += "; the AppendBinary that it has is " + has.Type().String()
	}
	return text
}

// refusal is the error of New.
type refusal struct {
	text  string
	cause error
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.cause }

func refuse(cause error, other string) error {
	text := cause.Error()
	if r := (*layout.RefusedError)(nil); errors.As(cause, &r) {
		text = r.Sentence()
	}
	return &refusal{text: "fingerprint: " + text + ", " + other, cause: cause}
}

// Sum returns the fingerprint of s, which it neither changes nor keeps. It
// allocates nothing once its buffer has grown to the state's size. Where the
// state's own AppendBinary fails there is no sum: it is 0, and Err says why.
func (h *Hasher[S]) Sum(s *S) Sum {
	if h.layout != nil {
		b, inPlace := h.layout.View(h.buf, s)
		if !inPlace {
			h.buf = b
		}
		return Sum(xxh3.Hash(b))
	}
	var ok bool
	if h.buf, ok = h.encode(h.buf, s); !ok {
		return 0
	}
	return Sum(xxh3.Hash(h.buf))
}

// Err returns the first error of the state's AppendBinary, or nil. A state with
// a layout never has one.
func (h *Hasher[S]) Err() error { return h.err }

// Diff appends the fields in which a and b differ to dst, in canonical order,
// and returns the longer slice: at most [MaxDifferences] of them, none if a and b
// have the same canonical bytes. Of states with bytes of their own it reports the
// first byte that differs, and nothing where AppendBinary fails: see Err.
func (h *Hasher[S]) Diff(dst []Difference, a, b *S) []Difference {
	if h.layout == nil {
		return h.diffOwn(dst, a, b)
	}
	h.buf = h.layout.Append(h.buf[:0], a)
	h.other = h.layout.Append(h.other[:0], b)
	found := 0
	for at := 0; at < len(h.buf) && found < MaxDifferences; {
		if h.buf[at] == h.other[at] {
			at++
			continue
		}
		f, err := h.layout.At(at)
		if err != nil {
			return dst // unreachable: at is below the layout's size
		}
		d := Difference{Path: f.Path, A: f.Format(h.buf[f.Offset:][:f.Size]), B: f.Format(h.other[f.Offset:][:f.Size])}
		if d.Path == "" {
			d.Path = "(state)"
		}
		dst = append(dst, d)
		found++
		at = f.Offset + f.Size
	}
	return dst
}

func (h *Hasher[S]) diffOwn(dst []Difference, a, b *S) []Difference {
	var okA, okB bool
	h.buf, okA = h.encode(h.buf, a)
	h.other, okB = h.encode(h.other, b)
	if !okA || !okB {
		return dst
	}
	at := 0
	for at < len(h.buf) && at < len(h.other) && h.buf[at] == h.other[at] {
		at++
	}
	if at == len(h.buf) && at == len(h.other) {
		return dst
	}
	return append(dst, Difference{Path: "byte " + strconv.Itoa(at), A: byteAt(h.buf, at), B: byteAt(h.other, at)})
}

func byteAt(b []byte, at int) string {
	if at >= len(b) {
		return "nothing: it ends after " + strconv.Itoa(len(b)) + " bytes"
	}
	return "0x" + hex.EncodeToString(b[at:at+1])
}

// encode returns the state's own bytes in buf, or ok == false and keeps the error.
func (h *Hasher[S]) encode(buf []byte, s *S) (b []byte, ok bool) {
	b, err := h.own(s).AppendBinary(buf[:0])
	if err == nil && len(b) > MaxEncoded {
		b, err = nil, fmt.Errorf("it made %d bytes, and at most %d are allowed", len(b), MaxEncoded)
	}
	if err != nil {
		if h.err == nil {
			h.err = fmt.Errorf("fingerprint: the state's AppendBinary: %w", err)
		}
		return buf, false
	}
	return b, true
}
