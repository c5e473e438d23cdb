// Package snapshot puts a game's state away and takes it back.
//
// A [Store] has a fixed number of places, each of which holds one state; a
// [Policy] makes a Store. The package owns how a state is copied: by plain
// assignment ([Assign]), by the game's own copying ([Copy]), by its own bytes
// ([Encode]), part by part ([Part], [Join]), or where it was written to ([Pages]). [For] picks one of the first three. It refuses to own
// when to save and which tick a place stands for: that is the rewind loop's.
//
// Under every policy a state that is loaded has the same canonical bytes as when
// it was saved, provided that the game's own methods hold everything.
//
// A store belongs to one goroutine. Saving and loading allocate nothing once
// every place has been used, as far as the game's own methods do not.
package snapshot

import (
	goencoding "encoding"
	"errors"
	"fmt"
	"reflect"

	"github.com/driftback/driftback/layout"
)

const (
	// MaxPlaces is how many states one store may hold.
	MaxPlaces = 1 << 16
	// MaxBytes is how much memory the states of one store may take by themselves,
	// in bytes: places times the size of the type.
	MaxBytes = 1 << 30
	// MaxEncoded is how many bytes one state of an [Encode] store may take.
	MaxEncoded = layout.MaxSize
)

var (
	// ErrNoPlace means that the store has no place of that number.
	ErrNoPlace = errors.New("snapshot: no such place")
	// ErrEmpty means that nothing is held in that place.
	ErrEmpty = errors.New("snapshot: nothing saved here")
	// ErrTooLarge means that the game's AppendBinary made more than [MaxEncoded]
	// bytes of one state.
	ErrTooLarge = errors.New("snapshot: the encoded state is too large")
)

// Store holds states in numbered places.
type Store[S any] interface {
	// Save copies the state at from into place i, from 0 to below the number of
	// places, over whatever was there. from is not kept. After an error the place
	// holds nothing.
	Save(i int, from *S) error
	// Load copies what place i holds to into. It may be loaded again. After an
	// error from the game's own method, into may hold part of it.
	Load(i int, into *S) error
}

// Policy makes a store with the given number of places, 1 to [MaxPlaces].
type Policy[S any] func(places int) (Store[S], error)

// held knows which places of a store hold something.
type held []bool

func newHeld(places int) (held, error) {
	if places < 1 || places > MaxPlaces {
		return nil, fmt.Errorf("snapshot: %d places; from 1 to %d are possible", places, MaxPlaces)
	}
	return make(held, places), nil
}

// newHeldOf is newHeld for a store whose places have the memory of a state each.
func newHeldOf[S any](places int) (held, error) {
	if size := reflect.TypeFor[S]().Size(); size > 0 && places > MaxBytes/int(size) {
		return nil, fmt.Errorf("snapshot: %d places of %d bytes; together they may take %d", places, size, MaxBytes)
	}
	return newHeld(places)
}

// newStates makes the places of a store that holds states as they are.
func newStates[S any](places int) ([]S, held, error) {
	h, err := newHeldOf[S](places)
	if err != nil {
		return nil, nil, err
	}
	return make([]S, places), h, nil
}

// check returns an error unless i is a place, and one that holds something if
// it is to be loaded.
func (h held) check(i int, load bool) error {
	switch {
	case i < 0 || i >= len(h):
		return fmt.Errorf("%w: %d, of %d", ErrNoPlace, i, len(h))
	case load && !h[i]:
		return fmt.Errorf("%w: place %d", ErrEmpty, i)
	}
	return nil
}

// For picks how to save an S: by its own [Copier] method if it has one,
// otherwise by assignment if no field of it shares memory with a copy, otherwise
// by its own [Binary] methods. If none of these will do, the error names the
// field that assignment would share.
func For[S any](places int) (Store[S], error) {
	if _, ok := any((*S)(nil)).(copier[S]); ok {
		return copying(places, func(from, to *S) { any(from).(copier[S]).CopyTo(to) })
	}
	path, ok := layout.PointerFree[S]()
	if ok {
		return Assign[S](places)
	}
	if _, ok := any((*S)(nil)).(binary); !ok {
		return nil, fmt.Errorf("snapshot: a copy of %s would share its memory: use a fixed array, or give the state %s", path, methods[S]())
	}
	if field, ok := layout.Embedded[S, binary](); ok {
		return nil, fmt.Errorf("snapshot: the embedded %s has AppendBinary and UnmarshalBinary itself, "+
			"and would be saved in place of the whole state: give the field a name", field)
	}
	return encoding(places, func(s *S) binary { return any(s).(binary) })
}

// methods says which methods would save an S, and what S has of these names but with
// another signature, which is why they do not.
func methods[S any]() string {
	name := reflect.TypeFor[S]().Name()
	if name == "" {
		name = "State"
	}
	text := fmt.Sprintf("func (s *%[1]s) CopyTo(to *%[1]s), or both func (s *%[1]s) AppendBinary(b []byte) ([]byte, error) "+
		"and func (s *%[1]s) UnmarshalBinary(b []byte) error", name)
	s := reflect.New(reflect.TypeFor[S]())
	text += unlike("CopyTo", s.MethodByName("CopyTo"))
	if _, ok := s.Interface().(goencoding.BinaryAppender); !ok {
		text += unlike("AppendBinary", s.MethodByName("AppendBinary"))
	}
	if _, ok := s.Interface().(goencoding.BinaryUnmarshaler); !ok {
		text += unlike("UnmarshalBinary", s.MethodByName("UnmarshalBinary"))
	}
	return text
}

func unlike(name string, has reflect.Value) string {
	if !has.IsValid() {
		return ""
	}
	return fmt.Sprintf("; the %s that it has is %s", name, has.Type())
}

// Assign saves by plain assignment: one copy of the state's memory. It refuses a
// state with a field that a copy would share.
func Assign[S any](places int) (Store[S], error) {
	if path, ok := layout.PointerFree[S](); !ok {
		return nil, fmt.Errorf("snapshot: a copy of %s would share its memory, so assignment cannot save it", path)
	}
	states, h, err := newStates[S](places)
	if err != nil {
		return nil, err
	}
	return &assigned[S]{held: h, states: states}, nil
}

type assigned[S any] struct {
	held   held
	states []S
}

func (a *assigned[S]) Save(i int, from *S) error {
	if err := a.held.check(i, false); err != nil {
		return err
	}
	a.states[i] = *from
	a.held[i] = true
	return nil
}

func (a *assigned[S]) Load(i int, into *S) error {
	if err := a.held.check(i, true); err != nil {
		return err
	}
	*into = a.states[i]
	return nil
}

type copier[S any] interface{ CopyTo(to *S) }

// Copier is a *S that can copy itself, with func (s *State) CopyTo(to *State). It makes *to equal to the receiver and
// shares nothing with it that either may change later; it should reuse the
// memory that *to already has.
type Copier[S any] interface {
	*S
	copier[S]
}

// Copy saves by the state's own CopyTo method.
func Copy[S any, P Copier[S]](places int) (Store[S], error) {
	return copying(places, func(from, to *S) { P(from).CopyTo(to) })
}

func copying[S any](places int, move func(from, to *S)) (Store[S], error) {
	states, h, err := newStates[S](places)
	if err != nil {
		return nil, err
	}
	return &copied[S]{held: h, states: states, move: move}, nil
}

type copied[S any] struct {
	held   held
	states []S
	move   func(from, to *S)
}

func (c *copied[S]) Save(i int, from *S) error {
	if err := c.held.check(i, false); err != nil {
		return err
	}
	c.move(from, &c.states[i])
	c.held[i] = true
	return nil
}

func (c *copied[S]) Load(i int, into *S) error {
	if err := c.held.check(i, true); err != nil {
		return err
	}
	c.move(&c.states[i], into)
	return nil
}
