package identity

import (
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
)

// letters leaves out i, l, o and u: the first three look like digits, the last
// makes words.
const letters = "0123456789abcdefghjkmnpqrstvwxyz"

var alphabet = base32.NewEncoding(letters).WithPadding(base32.NoPadding)

// parseText fills dst from s, which must spell exactly dst's length and in the
// one way in which it is written.
func parseText(dst []byte, s string) error {
	want := alphabet.EncodedLen(len(dst))
	plain := make([]byte, 0, want)
	for _, c := range strings.ToLower(s) {
		switch c {
		case ' ', '-', '\t', '\r', '\n':
			continue
		case 'o':
			c = '0'
		case 'i', 'l':
			c = '1'
		}
		if !strings.ContainsRune(letters, c) {
			return fmt.Errorf("it has the character %q", c)
		}
		if len(plain) == want {
			return fmt.Errorf("it has more than %d characters", want)
		}
		plain = append(plain, byte(c))
	}
	if len(plain) < want {
		return fmt.Errorf("it has %d characters and should have %d", len(plain), want)
	}
	if _, err := alphabet.Decode(dst, plain); err != nil {
		return err // every character was checked above
	}
	if alphabet.EncodeToString(dst) != string(plain) {
		return errors.New("no such text ends in its last character")
	}
	return nil
}
