package detour_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/driftback/driftback/transport"
)

// byDocument is a second reader, written from FORMAT.md alone: it shares nothing with the
// package. It hears every message of three peers, knows the keys that the ends draw, and says
// in text what each message means. It stands in for a program of somebody else's.
type byDocument struct {
	label string
	pins  map[int][]byte
	drawn map[string][]byte // private keys by public ones

	caller, answerer, via int
	call, answer          []byte
	number                []byte
	link                  map[int]*sealing // by sender
	rest                  map[[2]int]int   // how much a Half left, by sender and receiver
}

// sealing is one direction of a link.
type sealing struct {
	aead cipher.AEAD
	next uint64
	rest int
}

// refusal is what the reader panics with and read recovers.
type refusal struct{ error }

func refuse(why string) { panic(refusal{errors.New(why)}) }

func newByDocument(label string) *byDocument {
	return &byDocument{label: label, pins: map[int][]byte{}, drawn: map[string][]byte{}, rest: map[[2]int]int{}}
}

// reader takes bytes apart.
type reader struct{ rest []byte }

func (r *reader) bytes(n int) []byte {
	if n > len(r.rest) {
		refuse("short")
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) u8() int { return int(r.bytes(1)[0]) }

func (r *reader) u64() uint64 {
	v := uint64(0)
	for i, c := range r.bytes(8) {
		v += uint64(c) << (8 * i)
	}
	return v
}

func (r *reader) peer() int {
	p := r.u8()
	if p > 63 {
		refuse("no peer")
	}
	return p
}

func (r *reader) end() {
	if len(r.rest) > 0 {
		refuse("something follows")
	}
}

// read says what a message from one neighbour to another means.
func (d *byDocument) read(from, to int, as transport.Kind, b []byte) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			why, ok := r.(refusal)
			if !ok {
				panic(r)
			}
			text, err = "", why.error
		}
	}()
	r := &reader{b}
	first := r.u8()
	if first != 1 && (first == 9) != (as == transport.Datagram) {
		refuse("sent otherwise")
	}
	if as == transport.Reliable && len(b) > 65536 {
		refuse("long")
	}
	switch first {
	case 1:
		return d.data(from, to, as, r.rest), nil
	case 2:
		if len(b) != 65536 {
			refuse("half")
		}
		if d.rest[[2]int{from, to}] > 0 {
			delete(d.rest, [2]int{from, to})
			refuse("a half where a rest is due")
		}
		d.rest[[2]int{from, to}] = 1
		return "Half", nil
	case 3:
		set := r.u64()
		r.end()
		text = "Reach"
		for p := range 64 {
			if set>>p&1 == 1 && p != from && p != to {
				text += fmt.Sprint(" ", p)
			}
		}
		return text, nil
	}
	if first == 0 || first > 9 {
		refuse("first byte")
	}
	maker, goal := r.peer(), r.peer()
	if maker == goal {
		refuse("to itself")
	}
	return fmt.Sprintf("from %d to %d: ", maker, goal) + d.envelope(first, maker, goal, from, goal == to, b, r), nil
}

func (d *byDocument) data(from, to int, as transport.Kind, b []byte) string {
	if due := d.rest[[2]int{from, to}]; as == transport.Reliable && due > 0 {
		delete(d.rest, [2]int{from, to})
		if len(b) != due {
			refuse("rest")
		}
		return "Data, the rest"
	}
	return fmt.Sprintf("Data %q", b)
}

// envelope says what an envelope holds. What is there is checked wherever it is; what only
// an end can know, where it arrives.
func (d *byDocument) envelope(first, maker, goal, via int, arrives bool, all []byte, r *reader) string {
	switch first {
	case 4:
		if r.u8() != 1 {
			refuse("version")
		}
		key := r.bytes(32)
		r.end()
		if arrives {
			d.caller, d.answerer, d.via, d.call, d.link = maker, goal, via, key, nil
		}
		return fmt.Sprintf("Call, key %x", key)
	case 5:
		call, key, proof := r.bytes(32), r.bytes(32), r.bytes(96)
		r.end()
		if arrives {
			if maker != d.answerer || goal != d.caller || via != d.via || !bytes.Equal(call, d.call) {
				refuse("an answer to nothing")
			}
			d.answer = key
			d.prove(maker, proof, 1)
			d.makeKeys()
		}
		return fmt.Sprintf("Answer, key %x", key)
	case 6:
		answer, proof := r.bytes(32), r.bytes(96)
		r.end()
		if arrives {
			if maker != d.caller || goal != d.answerer || via != d.via || !bytes.Equal(answer, d.answer) {
				refuse("a confirmation of nothing")
			}
			d.prove(maker, proof, 2)
		}
		return "Confirm"
	case 7:
		r.end()
		return "No way"
	case 8:
		number, sealed := r.bytes(4), r.rest
		if len(sealed) < 17 {
			refuse("short")
		}
		if !arrives {
			return "Sealed message"
		}
		if d.link == nil || via != d.via || !bytes.Equal(number, d.number) {
			refuse("of no link")
		}
		l := d.link[maker]
		plain := l.open(0, l.next, sealed, all[:7])
		l.next++
		return fmt.Sprintf("sealed %d, ", l.next-1) + l.message(plain)
	default:
		n, sealed := r.u64(), r.rest
		if len(sealed) < 16 {
			refuse("short")
		}
		if !arrives {
			return "Sealed datagram"
		}
		if d.link == nil || via != d.via {
			refuse("of no link")
		}
		return fmt.Sprintf("sealed datagram %d, %q", n, d.link[maker].open(1, n, sealed, all[:11]))
	}
}

func (d *byDocument) script(role byte) []byte {
	b := []byte{role, byte(d.caller), byte(d.answerer), byte(d.via)}
	b = append(append(b, d.call...), d.answer...)
	return append(append(b, byte(len(d.label))), d.label...)
}

func (d *byDocument) prove(maker int, proof []byte, role byte) {
	key, signature := proof[:32], proof[32:]
	head, _ := hex.DecodeString("302a300506032b6570032100")
	pin := sha256.Sum256(append(head, key...))
	if !bytes.Equal(pin[:], d.pins[maker]) {
		refuse("pin")
	}
	if ed25519.VerifyWithOptions(key, d.script(role), signature, &ed25519.Options{Context: "driftback detour 1"}) != nil {
		refuse("signature")
	}
}

func (d *byDocument) makeKeys() {
	private, err := ecdh.X25519().NewPrivateKey(d.drawn[string(d.call)])
	if err != nil {
		refuse("the caller's key was not drawn here")
	}
	public, err := ecdh.X25519().NewPublicKey(d.answer)
	if err != nil {
		refuse("key")
	}
	secret, err := private.ECDH(public)
	if err != nil {
		refuse("secret")
	}
	info := append([]byte("driftback detour 1"), d.pins[d.caller]...)
	info = append(append(info, d.pins[d.answerer]...), d.script(0)...)
	keys := hkdf(secret, info, 68)
	d.link = map[int]*sealing{d.caller: newSealing(keys[:32]), d.answerer: newSealing(keys[32:64])}
	d.number = keys[64:]
}

// hkdf is RFC 5869 with SHA-256 and without salt.
func hkdf(secret, info []byte, n int) (keys []byte) {
	sum := func(key []byte, parts ...[]byte) []byte {
		h := hmac.New(sha256.New, key)
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	key, last := sum(make([]byte, 32), secret), []byte(nil)
	for i := byte(1); len(keys) < n; i++ {
		last = sum(key, last, info, []byte{i})
		keys = append(keys, last...)
	}
	return keys[:n]
}

func newSealing(key []byte) *sealing {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return &sealing{aead: aead}
}

func (s *sealing) open(what byte, number uint64, sealed, beside []byte) []byte {
	nonce := []byte{what, 0, 0, 0}
	for i := range 8 {
		nonce = append(nonce, byte(number>>(8*i)))
	}
	plain, err := s.aead.Open(nil, nonce, sealed, beside)
	if err != nil {
		refuse("it does not open")
	}
	return plain
}

// message says what an opened message holds.
func (s *sealing) message(plain []byte) string {
	r := &reader{plain}
	switch r.u8() {
	case 1:
		r.end()
		return "Ready"
	case 2:
		if s.rest > 0 {
			most := s.rest
			s.rest = 0
			if len(r.rest) == 0 || len(r.rest) > most {
				refuse("rest")
			}
			return fmt.Sprintf("Data, the rest of %d", len(r.rest))
		}
		return fmt.Sprintf("Data %q", r.rest)
	case 3:
		if len(r.rest) != 65512 || s.rest > 0 {
			s.rest = 0
			refuse("half")
		}
		s.rest = 24
		return "Half"
	case 4:
		n := r.u64()
		r.end()
		return fmt.Sprintf("Taken %d", n)
	case 5:
		r.end()
		return "Ask"
	case 6:
		why := r.u8()
		r.end()
		if why < 1 || why > 4 {
			refuse("why")
		}
		return fmt.Sprintf("Bye %d", why)
	default:
		refuse("first byte")
		return ""
	}
}
