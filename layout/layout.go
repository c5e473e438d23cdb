// Package layout knows where every field of a game's state or input lies and
// what its canonical bytes are: the bytes that two machines must agree on
// before anything else can be compared.
//
// It walks a type once, when [Of] is called, and owns that walk, the field
// paths, the canonical encoding and every use of package unsafe. It refuses to
// own hashing and storing of states: [fingerprint] hashes the bytes, [snapshot]
// puts states away.
//
// The canonical bytes of a value are its fields in declared order, unexported
// ones included, without padding and little-endian. An int or uint takes 8
// bytes on every architecture, a bool is 0 or 1, every NaN is the one quiet NaN
// with a clear payload, and −0 stays apart from 0. Blank fields (_) and types of
// size zero contribute nothing. What has no meaning outside its own process is
// refused with a [*RefusedError] that names the field: pointers, slices, maps,
// strings, interfaces, channels, functions, uintptr.
//
// A [Layout] never changes after Of has returned, so any goroutine may use it;
// the values handed to it belong to the caller, who must not change them during
// a call.
//
// [fingerprint]: https://pkg.go.dev/github.com/driftback/driftback/fingerprint
// [snapshot]: https://pkg.go.dev/github.com/driftback/driftback/snapshot
package layout

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

const (
	// MaxSize is the largest canonical size of a type, in bytes.
	MaxSize = 1 << 26
	// MaxInputSize is the largest canonical size of an input, in bytes.
	MaxInputSize = 256
	// MaxDepth is how many structs and arrays may lie inside one another.
	MaxDepth = 64
	// MaxFields bounds the walk over a type: its fields, those of the structs in
	// it included. An array counts as one element, however long it is.
	MaxFields = 1 << 14
)

// ErrMalformed means that bytes given to [Layout.Parse] are not the canonical
// bytes of any value.
var ErrMalformed = errors.New("layout: malformed bytes")

// Layout is the canonical encoding of T.
type Layout[T any] struct{ plan *plan }

// Of returns the layout of T, or a [*RefusedError].
func Of[T any]() (*Layout[T], error) {
	p, err := planOf(reflect.TypeFor[T](), hostIsBigEndian())
	if err != nil {
		return nil, err
	}
	return &Layout[T]{plan: p}, nil
}

// OfInput returns the layout of an input. It is stricter than [Of], so that two
// inputs are equal under == exactly when their bytes are: it refuses floating
// point as well, and it refuses a type without bytes or with more than
// [MaxInputSize].
func OfInput[T comparable]() (*Layout[T], error) {
	l, err := Of[T]()
	if err != nil {
		return nil, err
	}
	root := rootName(reflect.TypeFor[T]())
	for _, f := range l.Fields() {
		if f.Kind >= reflect.Float32 && f.Kind <= reflect.Complex128 {
			return nil, &RefusedError{
				Path: under(root, f.Path), What: "a " + f.Kind.String() + ", which can be equal to another and have other bytes",
				Remedy: "quantise it to an integer such as int16",
			}
		}
	}
	switch size := l.Size(); {
	case size == 0:
		return nil, &RefusedError{Path: root, What: "an input without any bytes", Remedy: "give it a field such as uint8"}
	case size > MaxInputSize:
		return nil, &RefusedError{
			Path: root, What: fmt.Sprintf("an input of %d bytes, more than %d", size, MaxInputSize),
			Remedy: "send what the player pressed and let the step work out the rest",
		}
	}
	return l, nil
}

// Size returns the length of the canonical bytes, the same for every value.
func (l *Layout[T]) Size() int { return l.plan.size }

// Append appends the canonical bytes of v to b and returns the longer slice. It
// allocates only where b lacks capacity for Size more bytes.
func (l *Layout[T]) Append(b []byte, v *T) []byte {
	at := len(b)
	b = slices.Grow(b, l.plan.size)[:at+l.plan.size]
	l.plan.encode(b[at:], memory(v))
	return b
}

// View returns the canonical bytes of v without copying them where v's memory
// is canonical as it lies; otherwise it builds them in buf, from its beginning
// and growing it if need be, and returns that. In either case they are to be
// read only, and valid until v or buf changes. inPlace says which it was: only
// when it is false does the result own what was buf.
func (l *Layout[T]) View(buf []byte, v *T) (b []byte, inPlace bool) {
	mem := memory(v)
	if b, ok := l.plan.inPlace(mem); ok {
		return b, true
	}
	b = slices.Grow(buf[:0], l.plan.size)[:l.plan.size]
	l.plan.encode(b, mem)
	return b, false
}

// Parse sets every field of v but blank ones from its canonical bytes, which it
// does not keep. It accepts exactly what Append can produce: Size bytes, every
// bool 0 or 1, every NaN the canonical one, and every int and uint within the
// range that this architecture has. Anything else is an [ErrMalformed] that
// names the field, and leaves v as it was.
func (l *Layout[T]) Parse(b []byte, v *T) error {
	if len(b) != l.plan.size {
		return l.plan.wrongSize(int64(len(b)))
	}
	if at := l.plan.fault(b); at >= 0 {
		return l.plan.malformed(b, 0, at)
	}
	l.plan.decode(b, memory(v))
	return nil
}

func (p *plan) wrongSize(size int64) error {
	return fmt.Errorf("%w: %d bytes for %s, which takes %d", ErrMalformed, size, p.root.name, p.size)
}

// malformed says what is wrong at an offset, which is in b. The first byte of b is at lo.
func (p *plan) malformed(b []byte, lo, offset int) error {
	f := p.at(offset)
	from := f.Offset - lo
	return fmt.Errorf("%w: %s is % x, which is no %s here", ErrMalformed, under(p.root.name, f.Path), b[from:from+f.Size], f.Kind)
}

// Fields returns every field that holds a value, in canonical order. A field
// inside an array appears once, for the whole array: see [Field]. The slice is
// the caller's.
func (l *Layout[T]) Fields() []Field { return l.plan.fields() }

// At returns the one field whose canonical bytes include the byte at offset,
// with the index of every array on the way in its Path. offset is from 0 to
// below Size.
func (l *Layout[T]) At(offset int) (Field, error) {
	if offset < 0 || offset >= l.plan.size {
		return Field{}, fmt.Errorf("layout: no field at byte %d of %s, which takes %d bytes", offset, l.plan.root.name, l.plan.size)
	}
	return l.plan.at(offset), nil
}

// Hash returns a hash of the paths, kinds and order of all fields and of the
// lengths of all arrays. It is alike on every architecture and in every
// process, and does not depend on the names of types.
func (l *Layout[T]) Hash() uint64 { return l.plan.hash }

// Memory returns the bytes that v occupies, with the padding between its fields: borrowed, and only to be overwritten by what
// was read from the Memory of another T.
func (l *Layout[T]) Memory(v *T) []byte { return memory(v) }

// memory returns the bytes that v occupies. It is the one place where the
// package steps outside Go's types, and it is sound because a type that has a
// layout holds no pointer.
func memory[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

func hostIsBigEndian() bool {
	one := uint16(1)
	return memory(&one)[0] == 0
}
