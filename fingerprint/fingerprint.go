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
// A sum is of all of a state, and says that two differ. Between that and the fields there is
// a row: one sum for each subsystem, which are the fields at the top, found once by
// reflection. [Hasher.Row] hashes all of them, [Hasher.SumOne] one of them at a time, for
// worlds that are too large to be hashed at once, and [Hasher.Root] is one sum of a row. A
// state with bytes of its own may name what they are: see [Parted].
//
// A [Hasher] reuses a buffer and belongs to one goroutine.
package fingerprint

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback/layout"
)

// Sum is the fingerprint of one state.
type Sum uint64

// String returns 16 hexadecimal digits.
func (s Sum) String() string { return fmt.Sprintf("%016x", uint64(s)) }

// MaxEncoded is how many bytes a state's AppendBinary may make.
const MaxEncoded = layout.MaxSize

// Hasher makes fingerprints of states of type S.
type Hasher[S any] struct {
	layout *layout.Layout[S]                // nil: the state has bytes of its own
	own    func(*S) encoding.BinaryAppender // set if layout is nil
	parts  []layout.Part[S]                 // the subsystems of a state with a layout
	names  []string                         // of the subsystems
	named  []Part                           // of a state with bytes of its own, as named last
	buf    []byte
	other  []byte // the second state of Diff
	err    error
}

// New returns a hasher for S: by its canonical layout if it has one, otherwise by
// its method func (s *State) AppendBinary(b []byte) ([]byte, error). If S has neither, the error names the field that has
// no canonical bytes and wraps the [*layout.RefusedError].
func New[S any]() (*Hasher[S], error) {
	l, err := layout.Of[S]()
	if err == nil {
		h := &Hasher[S]{layout: l, parts: partsOf(l)}
		for i := range h.parts {
			h.names = append(h.names, orWhole(h.parts[i].Path))
		}
		return h, nil
	}
	if _, ok := any((*S)(nil)).(encoding.BinaryAppender); !ok {
		return nil, refuse(err, "or give the state "+method[S]())
	}
	if field, ok := layout.Embedded[S, encoding.BinaryAppender](); ok {
		return nil, refuse(err, "the embedded "+field+" has an AppendBinary method, which stands for that field alone: give it a name")
	}
	if err := partedErr[S](); err != nil {
		return nil, err
	}
	h := &Hasher[S]{own: func(s *S) encoding.BinaryAppender { return any(s).(encoding.BinaryAppender) }}
	if _, ok := any((*S)(nil)).(Parted); !ok {
		h.names = []string{whole}
	}
	return h, nil
}

// whole is the path of all of a state.
const whole = "(state)"

// orWhole returns a path of the layout's, which is empty for all of the state.
func orWhole(path string) string {
	if path == "" {
		return whole
	}
	return path
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
	b, ok := h.View(s)
	if !ok {
		return 0
	}
	return Sum(xxh3.Hash(b))
}

// Err returns the first error of the state's AppendBinary, or nil. A state with
// a layout never has one.
func (h *Hasher[S]) Err() error { return h.err }
