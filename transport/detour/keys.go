package detour

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
)

// purpose names what the signatures and keys are for, and the version of it.
const purpose = "driftback detour 1"

// What a script is for: its first byte.
const (
	roleKeys byte = iota
	roleAnswer
	roleConfirm
)

// pair is the two ends of a link that is being made and who is between them, the same
// at both ends: the caller is the one with the lower number.
type pair struct {
	caller, answerer, via driftback.Peer
	call, answer          [secretSize]byte // their public keys for this link alone
}

// appendScript appends what a signature is over, or what keys are made for.
func (p *pair) appendScript(dst []byte, role byte, label string) []byte {
	dst = append(dst, role, byte(p.caller), byte(p.answerer), byte(p.via))
	dst = append(append(dst, p.call[:]...), p.answer[:]...)
	return append(append(dst, byte(len(label))), label...)
}

// drawKey draws the key of one end for one link. ecdh would not promise to read the same
// number of bytes each time.
func drawKey(random io.Reader) (*ecdh.PrivateKey, error) {
	var b [secretSize]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return nil, fmt.Errorf("detour: no key could be drawn: %w", err)
	}
	return ecdh.X25519().NewPrivateKey(b[:])
}

// sign returns this peer's signature of a script.
func (d *Transport) sign(p *pair, role byte) []byte {
	d.ops--
	d.stats.Signatures++
	d.script = p.appendScript(d.script[:0], role, d.cfg.Label)
	return d.cfg.Identity.Sign(purpose, d.script)
}

// signed says whether the peer that a pin stands for signed a script. proof is a key and
// a signature.
func (d *Transport) signed(p *pair, role byte, pin identity.Pin, proof []byte) bool {
	key, signature := identity.Key(proof[:identity.KeySize]), proof[identity.KeySize:]
	d.ops--
	if !key.Pin().Equal(pin) {
		return false
	}
	d.stats.Signatures++
	d.script = p.appendScript(d.script[:0], role, d.cfg.Label)
	return key.Verify(purpose, d.script, signature)
}

// seals is one direction's cipher and the nonces that have been used.
type seals struct {
	aead  cipher.AEAD
	nonce [12]byte
}

// What a nonce begins with, so that datagrams and messages never share one.
const (
	nonceMessage  = 0
	nonceDatagram = 1
)

func (s *seals) at(kind byte, n uint64) []byte {
	s.nonce[0] = kind
	binary.LittleEndian.PutUint64(s.nonce[4:], n)
	return s.nonce[:]
}

// newSeals makes the ciphers of both directions and the number that a link is known by.
// Both ends have to know each other's pin for them to be the same.
func newSeals(p *pair, private *ecdh.PrivateKey, public []byte, label string, callerPin, answererPin identity.Pin) (call, answer seals, id [idSize]byte, err error) {
	other, err := ecdh.X25519().NewPublicKey(public)
	if err != nil {
		return call, answer, id, err
	}
	secret, err := private.ECDH(other) // refuses a key that would leave no secret
	if err != nil {
		return call, answer, id, err
	}
	info := append([]byte(purpose), callerPin[:]...)
	info = p.appendScript(append(info, answererPin[:]...), roleKeys, label)
	keys, err := hkdf.Key(sha256.New, secret, nil, string(info), 2*secretSize+idSize)
	if err != nil {
		return call, answer, id, err
	}
	if call.aead, err = newAEAD(keys[:secretSize]); err != nil {
		return call, answer, id, err
	}
	if answer.aead, err = newAEAD(keys[secretSize : 2*secretSize]); err != nil {
		return call, answer, id, err
	}
	copy(id[:], keys[2*secretSize:])
	return call, answer, id, nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
