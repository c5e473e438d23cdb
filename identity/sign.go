package identity

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
)

// Sizes of a public key and of a signature in bytes.
const (
	KeySize       = ed25519.PublicKeySize
	SignatureSize = ed25519.SignatureSize
)

// Key is the public half of an identity, as it crosses the network where no
// certificate does. It proves nothing by itself: compare its [Pin] with the one that
// reached you another way.
type Key [KeySize]byte

// Key returns the public half of the identity.
func (id *Identity) Key() (k Key) {
	copy(k[:], id.key.Public().(ed25519.PublicKey))
	return k
}

// Sign signs a message for one purpose, which context names in 1 to 255 bytes, as
// RFC 8032 has it (Ed25519ctx). A signature for one purpose is none for another, nor for
// TLS, so nobody can be led to sign here what counts there. Equal messages have equal
// signatures. It panics on a context of another length.
func (id *Identity) Sign(context string, message []byte) []byte {
	signature, err := id.key.Sign(nil, message, purpose(context))
	if err != nil {
		panic("identity: " + err.Error()) // the length of the context is all that it looks at
	}
	return signature
}

// Verify says whether the holder of the key signed the message for the purpose that
// context names.
func (k Key) Verify(context string, message, signature []byte) bool {
	return ed25519.VerifyWithOptions(k[:], message, signature, purpose(context)) == nil
}

// Pin returns the pin of the key: that of every certificate that carries it.
func (k Key) Pin() Pin {
	return sha256.Sum256(append([]byte(keyHead), k[:]...))
}

// keyHead is what comes before the 32 bytes of an Ed25519 key in a
// SubjectPublicKeyInfo (RFC 8410).
const keyHead = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"

// purpose panics on a context that would make plain Ed25519 of it, which TLS uses.
func purpose(context string) *ed25519.Options {
	if context == "" || len(context) > 255 {
		panic("identity: the context of a signature has 1 to 255 bytes")
	}
	return &ed25519.Options{Hash: crypto.Hash(0), Context: context}
}
