package session

import (
	"testing"

	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/transfer"
)

// BenchmarkALargeState is what a state of 64 MiB costs in single calls of Tick: in the one
// in which it is copied to be handed over, in those in which its bytes are made, and in
// those in which its fingerprint is due.
func BenchmarkALargeState(b *testing.B) {
	type large struct{ Land [8 << 20]uint64 }
	bytes, _ := newStateBytes[large]()
	s := &large{}
	for i := range s.Land {
		s.Land[i] = uint64(i)
	}
	bytes.ready(s)
	h := bytes.room
	b.Run("copied", func(b *testing.B) {
		b.SetBytes(64 << 20)
		for b.Loop() {
			if _, _, err := bytes.source(h, s, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("a slice of it made", func(b *testing.B) {
		b.SetBytes(transfer.DefaultSlice)
		if _, _, err := bytes.source(h, s, nil); err != nil {
			b.Fatal(err)
		}
		dst, at := make([]byte, transfer.DefaultSlice), 0
		for b.Loop() {
			if n, err := h.Slice(dst, at); n < len(dst) || err != nil {
				b.Fatal(n, err)
			}
			at = (at + len(dst)) % (64 << 20)
		}
	})
	b.Run("fingerprinted", func(b *testing.B) {
		b.SetBytes(64 << 20)
		hasher, err := fingerprint.New[large]()
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			hasher.Sum(s)
		}
	})
}
