package fingerprint

import (
	"encoding"
	"fmt"
	"io"

	"github.com/driftback/driftback/layout"
)

// Fillable reports whether a state of type S can be made of its bytes: by its layout if it has
// one, otherwise by its method func (s *State) UnmarshalBinary(b []byte) error.
func Fillable[S any]() bool {
	if _, err := layout.Of[S](); err == nil {
		return true
	}
	_, reads := any((*S)(nil)).(encoding.BinaryUnmarshaler)
	return reads
}

// Fill makes s of the bytes of which its fingerprint is taken, which are all that r has. By its
// layout a state is made out of r itself, and malformed bytes leave s as it was; see
// [layout.Layout.ParseFrom]. A state's own UnmarshalBinary needs its bytes in one piece, which are s's from then on.
func Fill[S any](r *io.SectionReader, s *S) error {
	if l, err := layout.Of[S](); err == nil {
		return l.ParseFrom(r, s)
	}
	own, ok := any(s).(encoding.BinaryUnmarshaler)
	if !ok {
		return fmt.Errorf("fingerprint: a %T cannot be made of its bytes: it needs a method func (s *State) UnmarshalBinary(b []byte) error", *s)
	}
	b := make([]byte, r.Size())
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	return own.UnmarshalBinary(b)
}
