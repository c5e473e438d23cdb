package fingerprint_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
)

// States of about 64 KiB: mixed fields without padding, floats, and mixed fields
// with padding in every element.
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

// BenchmarkSum reports how many times as long a sum takes as the plain hash of
// bytes that are canonical already.
func BenchmarkSum(b *testing.B) {
	b.Run("dense", benchmarkSum[dense])
	b.Run("floating", benchmarkSum[floating])
	b.Run("padded", benchmarkSum[padded])
}

func benchmarkSum[S any](b *testing.B) {
	h, err := fingerprint.New[S]()
	require.NoError(b, err)
	l, err := layout.Of[S]()
	require.NoError(b, err)
	s := new(S)
	plain := l.Append(nil, s)
	require.EqualValues(b, xxh3.Hash(plain), h.Sum(s))

	b.SetBytes(int64(len(plain)))
	b.ReportAllocs()
	for b.Loop() {
		h.Sum(s)
	}
	ours := b.Elapsed()
	b.StopTimer()
	start := time.Now()
	for range b.N {
		xxh3.Hash(plain)
	}
	b.ReportMetric(float64(ours)/float64(time.Since(start)), "x-plain-xxh3")
}
