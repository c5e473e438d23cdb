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

// Slices of states of 4 MiB, from the first to the last and over again, beside copies of
// as many bytes out of as much memory.
type (
	denseWorld    struct{ Parts [64]dense }
	floatingWorld struct{ Parts [64]floating }
	paddedWorld   struct{ Parts [96]padded }
	nestedWorld   struct {
		Rows [1024]struct {
			On    bool
			Cells [170]struct {
				Kind  uint8
				Force float64
				Owner [3]struct {
					Side  uint8
					Share uint32
				}
			}
		}
	}
)

const sliceBytes = 64 << 10

func BenchmarkSlice(b *testing.B) {
	b.Run("plain copy", func(b *testing.B) {
		from := make([]byte, 4<<20)
		benchmarkSlices(b, len(from), func(dst []byte, at int) int { return copy(dst, from[at:]) })
	})
	b.Run("dense", benchmarkSlice[denseWorld])
	b.Run("floating", benchmarkSlice[floatingWorld])
	b.Run("padded", benchmarkSlice[paddedWorld])
	b.Run("nested", benchmarkSlice[nestedWorld])
}

func benchmarkSlice[T any](b *testing.B) {
	l, err := layout.Of[T]()
	require.NoError(b, err)
	v := new(T)
	benchmarkSlices(b, l.Size(), func(dst []byte, at int) int { return l.Slice(dst, v, at) })
}

func benchmarkSlices(b *testing.B, size int, slice func(dst []byte, at int) int) {
	dst, at, made := make([]byte, sliceBytes), 0, 0
	for at < size { // so that all of the memory is there
		at += slice(dst, at)
	}
	b.ReportAllocs()
	b.SetBytes(sliceBytes)
	for b.Loop() {
		if at+sliceBytes > size {
			at = 1 // in the middle of a field
		}
		n := slice(dst, at)
		at, made = at+n, made+n
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(made)*sliceBytes, "ns/64KiB")
}
