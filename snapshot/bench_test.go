package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/snapshot"
)

type big struct{ Cells [8 << 10]uint64 }

func BenchmarkSaveBesideCopy(b *testing.B) {
	store, err := snapshot.For[big](8)
	require.NoError(b, err)
	s := new(big)
	b.Run("save of 64 KiB", func(b *testing.B) {
		b.SetBytes(64 << 10)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			if err := store.Save(i&7, s); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
	b.Run("plain assignment", func(b *testing.B) {
		b.SetBytes(64 << 10)
		states := make([]big, 8)
		i := 0
		for b.Loop() {
			states[i&7] = *s
			i++
		}
	})
}
