package fingerprint

import (
	"errors"
	"fmt"
)

// View returns the bytes of which Sum is the hash: where the state's memory is
// canonical they are that memory, otherwise a buffer of the hasher's. They are to be
// read only, and valid until s changes or the hasher is used again. ok is false where
// the state's own AppendBinary fails: see Err.
func (h *Hasher[S]) View(s *S) (b []byte, ok bool) {
	if h.layout == nil {
		h.buf, ok = h.encode(h.buf[:0], s)
		return h.buf, ok
	}
	b, inPlace := h.layout.View(h.buf, s)
	if !inPlace {
		h.buf = b
	}
	return b, true
}

// AppendBytes appends the bytes of which Sum is the hash to b and returns the longer
// slice, the caller's. ok is false, and b as it was, where the state's own AppendBinary
// fails: see Err.
func (h *Hasher[S]) AppendBytes(b []byte, s *S) (longer []byte, ok bool) {
	if h.layout == nil {
		return h.encode(b, s)
	}
	return h.layout.Append(b, s), true
}

// encode appends the state's own bytes to b, or keeps the error and returns ok == false.
func (h *Hasher[S]) encode(b []byte, s *S) (longer []byte, ok bool) {
	longer, err := h.own(s).AppendBinary(b)
	if err == nil {
		switch n := len(longer) - len(b); {
		case n < 0:
			err = errors.New("it took bytes away from those that it was to append to")
		case n > MaxEncoded:
			err = fmt.Errorf("it made %d bytes, and at most %d are allowed", n, MaxEncoded)
		}
	}
	if err != nil {
		if h.err == nil {
			h.err = fmt.Errorf("fingerprint: the state's AppendBinary: %w", err)
		}
		return b, false
	}
	return longer, true
}
