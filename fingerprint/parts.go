package fingerprint

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback/layout"
)

// MaxParts is how many parts a state's AppendParts may name.
const MaxParts = 1024

// Parted is what a state with bytes of its own may implement to say what they are: each
// part is a subsystem, as a field at the top is of a state with a layout, and differences
// are named by it.
type Parted interface {
	encoding.BinaryAppender
	// AppendParts appends to dst the parts that AppendBinary's bytes of this very state
	// consist of, in their order, and returns the longer slice. The paths, and how many
	// there are, must be the same whatever the state holds; together the parts must have
	// all the bytes. It must not change the state, and should allocate nothing.
	AppendParts(dst []Part) []Part
}

// Part is a stretch of the bytes that a state's own AppendBinary makes.
type Part struct {
	// Path is what it is called: "Units". No two parts are called alike.
	Path string
	// Size is how many bytes it has. It may have none.
	Size int
	// List says that it consists of Count elements, of the same size each, and that
	// differences name the element, "Units[3]". How many there are may differ from state
	// to state.
	List  bool
	Count int
	// Of names the fields of the part, or of each element of a list: a *layout.Layout of
	// what is written there, if its Append wrote it. Nil: differences name the byte.
	Of Fields
}

// Fields says what canonical bytes consist of. A [layout.Layout] is one.
type Fields interface {
	// Size is how many bytes there are.
	Size() int
	// At returns the field that has the byte at offset, from 0 to below Size.
	At(offset int) (layout.Field, error)
}

// element returns the size of an element of a list, or of a part that is none.
func (p *Part) element() int {
	if p.List {
		return p.Size / max(p.Count, 1)
	}
	return p.Size
}

// partedErr refuses a method AppendParts that would not be called as it was meant.
func partedErr[S any]() error {
	t := reflect.TypeFor[*S]()
	has, ok := t.MethodByName("AppendParts")
	if !ok {
		return nil
	}
	if _, ok := any((*S)(nil)).(Parted); !ok {
		return fmt.Errorf("fingerprint: %s has the method AppendParts as %v: it must be func (s %v) AppendParts(dst []fingerprint.Part) []fingerprint.Part",
			t, has.Type, t)
	}
	if field, ok := layout.Embedded[S, interface{ AppendParts(dst []Part) []Part }](); ok {
		return fmt.Errorf("fingerprint: the embedded %s has an AppendParts method, which stands for that field alone: give it a name", field)
	}
	return nil
}

// partsOwn returns the parts of a state's own bytes in buf, or ok == false and keeps the
// error. Without AppendParts it is one, of all bytes.
func (h *Hasher[S]) partsOwn(buf []Part, s *S, size int) (parts []Part, ok bool) {
	parted, ok := any(s).(Parted)
	if !ok {
		return append(buf[:0], Part{Path: whole, Size: size}), true
	}
	parts = parted.AppendParts(buf[:0])
	err := checkParts(parts, size)
	if err == nil {
		err = h.nameParts(parts)
	}
	if err != nil && h.err == nil {
		h.err = fmt.Errorf("fingerprint: the state's AppendParts: %w", err)
	}
	return parts, err == nil
}

// checkParts returns what is wrong with parts of so many bytes.
func checkParts(parts []Part, size int) error {
	if len(parts) == 0 || len(parts) > MaxParts {
		return fmt.Errorf("it named %d parts: 1 to %d are allowed", len(parts), MaxParts)
	}
	sum := 0
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Path == "":
			return fmt.Errorf("part %d has no Path: say what it holds", i)
		case p.Size < 0 || p.Size > size-sum:
			return fmt.Errorf("part %d, %s, has a Size of %d bytes, and of the %d that AppendBinary made %d are left", i, p.Path, p.Size, size, size-sum)
		case !p.List && p.Count != 0:
			return fmt.Errorf("part %d, %s, has a Count of %d and is no List", i, p.Path, p.Count)
		case p.List && (p.Count < 0 || p.Count == 0 && p.Size > 0 || p.Count > 0 && p.Size%p.Count != 0):
			return fmt.Errorf("part %d, %s, has %d bytes for %d elements, which must all have the same size", i, p.Path, p.Size, p.Count)
		case p.Of != nil && p.Size > 0 && p.Of.Size() != p.element():
			return fmt.Errorf("part %d, %s, has %d bytes, and what it is of has %d", i, p.Path, p.element(), p.Of.Size())
		}
		sum += p.Size
	}
	if sum != size {
		return fmt.Errorf("its parts have %d bytes together, and AppendBinary made %d: every byte must be in one of them", sum, size)
	}
	return nil
}

// nameParts takes the names of the first parts, and holds later ones to them.
func (h *Hasher[S]) nameParts(parts []Part) error {
	if h.names == nil {
		seen, names := map[string]bool{}, make([]string, len(parts))
		for i := range parts {
			if names[i] = parts[i].Path; seen[names[i]] {
				return fmt.Errorf("two parts are called %s", names[i])
			}
			seen[names[i]] = true
		}
		h.names = names
		return nil
	}
	if len(parts) != len(h.names) {
		return fmt.Errorf("it named %d parts, and %d before: how many there are must not depend on what the state holds", len(parts), len(h.names))
	}
	for i := range parts {
		if parts[i].Path != h.names[i] {
			return fmt.Errorf("it called part %d %s, and %s before: paths must not depend on what the state holds", i, strconv.Quote(parts[i].Path), strconv.Quote(h.names[i]))
		}
	}
	return nil
}

// viewOwn makes a state's own bytes and its parts, both borrowed.
func (h *Hasher[S]) viewOwn(s *S) (b []byte, parts []Part, ok bool) {
	if b, ok = h.View(s); !ok {
		return nil, nil, false
	}
	h.named, ok = h.partsOwn(h.named, s, len(b))
	return b, h.named, ok
}

func (h *Hasher[S]) rowOwn(dst []Sum, s *S) []Sum {
	b, parts, ok := h.viewOwn(s)
	if !ok {
		return dst
	}
	for i := range parts {
		dst = append(dst, Sum(xxh3.Hash(b[:parts[i].Size])))
		b = b[parts[i].Size:]
	}
	return dst
}

func (h *Hasher[S]) sumOneOwn(i uint64, s *S) Sum {
	b, parts, ok := h.viewOwn(s)
	if !ok {
		return 0
	}
	n := int(i % uint64(len(parts)))
	for before := range n {
		b = b[parts[before].Size:]
	}
	return Sum(xxh3.Hash(b[:parts[n].Size]))
}
