package layout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/layout"
)

// Three states of about 64 KiB: one whose memory is canonical as it lies, one
// with floats to look at, one with padding in every element.
type (
	dense struct {
		Tick     int64
		Entities [2047]struct {
			X, Y   int32
			HP     int16
			Alive  bool
			Facing uint8
			Flags  uint32
			Score  int64
			Owner  [8]uint8
		}
	}
	floating struct {
		Entities [4096]struct{ X, Y, Z, W float32 }
	}
	padded struct {
		Entities [4096]struct {
			Alive bool
			X, Y  int32
			HP    int16
		}
	}
)

func BenchmarkAppendBesideCopy(b *testing.B) {
	b.Run("dense", benchmarkAppend[dense])
	b.Run("floating", benchmarkAppend[floating])
	b.Run("padded", benchmarkAppend[padded])
	b.Run("plain copy of 64 KiB", func(b *testing.B) {
		from, to := make([]byte, 64<<10), make([]byte, 64<<10)
		b.SetBytes(64 << 10)
		for b.Loop() {
			copy(to, from)
		}
	})
}

func benchmarkAppend[T any](b *testing.B) {
	l, err := layout.Of[T]()
	require.NoError(b, err)
	v := new(T)
	buf := l.Append(nil, v)
	b.SetBytes(int64(l.Size()))
	b.ReportAllocs()
	for b.Loop() {
		buf = l.Append(buf[:0], v)
	}
}

func BenchmarkView(b *testing.B) {
	b.Run("dense", benchmarkView[dense])
	b.Run("floating", benchmarkView[floating])
}

func benchmarkView[T any](b *testing.B) {
	l, err := layout.Of[T]()
	require.NoError(b, err)
	v := new(T)
	b.SetBytes(int64(l.Size()))
	b.ReportAllocs()
	for b.Loop() {
		if _, inPlace := l.View(nil, v); !inPlace {
			b.Fatal("the state was copied")
		}
	}
}

func BenchmarkParse(b *testing.B) {
	l, err := layout.Of[dense]()
	require.NoError(b, err)
	v := new(dense)
	buf := l.Append(nil, v)
	b.SetBytes(int64(l.Size()))
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Parse(buf, v); err != nil {
			b.Fatal(err)
		}
	}
}
