package identity

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
)

// CodeSize is the size of a [Code] in bytes. Nobody guesses 80 random bits over
// a network.
const CodeSize = 10

// Code is a one-time secret that one person reads to another: whoever presents
// it first is the peer that was meant, and its key is pinned. Whether it was used
// is for the one that asks for it to remember. The zero Code is no code.
type Code [CodeSize]byte

// NewCode draws a code.
func NewCode() Code {
	var c Code
	_, _ = rand.Read(c[:]) // never fails, by its own documentation
	return c
}

// String returns the code as four groups of four letters and digits, which
// [ParseCode] reads back. It is the secret itself, so it does not belong in a log.
func (c Code) String() string {
	s := alphabet.EncodeToString(c[:])
	return s[0:4] + "-" + s[4:8] + "-" + s[8:12] + "-" + s[12:16]
}

// IsZero says whether there is no code.
func (c Code) IsZero() bool { return c == Code{} }

// Equal says whether two codes are the same, and takes the same time whether or
// not they are. No code equals no code.
func (c Code) Equal(d Code) bool { return subtle.ConstantTimeCompare(c[:], d[:]) == 1 }

// ParseCode reads what [Code.String] returned. It takes capitals, reads o as 0
// and i and l as 1, which nobody tells apart on paper, and skips blanks and
// hyphens.
func ParseCode(s string) (Code, error) {
	var c Code
	if err := parseText(c[:], s); err != nil {
		return Code{}, fmt.Errorf("identity: this is not a code: %w", err)
	}
	if c.IsZero() {
		return Code{}, fmt.Errorf("identity: this is not a code: it is all zeros")
	}
	return c, nil
}
