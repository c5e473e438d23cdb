package identity

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"fmt"
)

// Pin is what a peer is known by: the SHA-256 of its public key in the form that
// a certificate carries it in (SubjectPublicKeyInfo), so that it outlives any
// certificate. It is no secret, but it must come from somewhere trusted. The zero
// Pin is nobody's.
type Pin [sha256.Size]byte

// pinOf returns the pin of a certificate's key.
func pinOf(c *x509.Certificate) Pin { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

// String returns the pin as 52 lower-case letters and digits, which [ParsePin]
// reads back.
func (p Pin) String() string { return alphabet.EncodeToString(p[:]) }

// Short returns the first eight characters of [Pin.String]: enough for a log
// line, too few to trust.
func (p Pin) Short() string { return p.String()[:8] }

// IsZero says whether the pin is nobody's.
func (p Pin) IsZero() bool { return p == Pin{} }

// Equal says whether two pins are the same, and takes the same time whether or
// not they are.
func (p Pin) Equal(q Pin) bool { return subtle.ConstantTimeCompare(p[:], q[:]) == 1 }

// Compare orders pins as bytes: −1, 0 or 1. Of two peers that could call each
// other, the one with the lower pin does.
func (p Pin) Compare(q Pin) int { return bytes.Compare(p[:], q[:]) }

// ParsePin reads what [Pin.String] returned. It takes capitals, and skips blanks
// and hyphens, so that a pin may be typed in groups.
func ParsePin(s string) (Pin, error) {
	var p Pin
	if err := parseText(p[:], s); err != nil {
		return Pin{}, fmt.Errorf("identity: this is not a pin: %w", err)
	}
	return p, nil
}
