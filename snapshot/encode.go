package snapshot

import (
	goencoding "encoding"
	"fmt"
)

type binary interface {
	goencoding.BinaryAppender
	goencoding.BinaryUnmarshaler
}

// Binary is a *S that has bytes of its own. func (s *State) AppendBinary(b []byte)
// ([]byte, error) appends all of the state to b and returns the longer slice;
// func (s *State) UnmarshalBinary(b []byte) error makes the receiver equal to what was appended, whatever
// it held before, and keeps nothing of the bytes.
type Binary[S any] interface {
	*S
	binary
}

// Encode saves by the state's own bytes, at most [MaxEncoded] of them.
func Encode[S any, P Binary[S]](places int) (Store[S], error) {
	return encoding(places, func(s *S) binary { return P(s) })
}

func encoding[S any](places int, of func(*S) binary) (Store[S], error) {
	h, err := newHeld(places)
	if err != nil {
		return nil, err
	}
	return &encoded[S]{held: h, bytes: make([][]byte, places), of: of}, nil
}

type encoded[S any] struct {
	held  held
	bytes [][]byte // each reused by the next state in its place
	of    func(*S) binary
}

func (e *encoded[S]) Save(i int, from *S) error {
	if err := e.held.check(i, false); err != nil {
		return err
	}
	e.held[i] = false
	b, err := e.of(from).AppendBinary(e.bytes[i][:0])
	if err != nil {
		return fmt.Errorf("snapshot: the state's AppendBinary, for place %d: %w", i, err)
	}
	if len(b) > MaxEncoded {
		return fmt.Errorf("%w: %d bytes, and at most %d are kept", ErrTooLarge, len(b), MaxEncoded)
	}
	e.bytes[i], e.held[i] = b, true
	return nil
}

func (e *encoded[S]) Load(i int, into *S) error {
	if err := e.held.check(i, true); err != nil {
		return err
	}
	if err := e.of(into).UnmarshalBinary(e.bytes[i]); err != nil {
		return fmt.Errorf("snapshot: the state's UnmarshalBinary, for place %d: %w", i, err)
	}
	return nil
}
