package fingerprint_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback/layout"
)

// What fingerprints of states of several kinds cost, beside the plain hash of the bytes that
// they are of. Those of about 64 KiB are of mixed fields without padding, of floats, and of
// mixed fields with padding in every element.
type (
	// entity has no padding.
	entity struct {
		X, Y   int32
		HP     int16
		Alive  bool
		Facing uint8
		Flags  uint32
		Score  int64
		Owner  [8]uint8
	}
	dense struct {
		Tick     int64
		Entities [2047]entity
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
	// small has 256 bytes in many fields.
	small struct {
		Tick, Seed, Score, Stage uint64
		Fighters                 [2]entity
		Wind, Rain, Snow, Heat   int32
		Camera                   [8]int64
		Round, Wins, Draws, Left int16
		Spare                    [13]int64
	}
	// world has a megabyte, in fields of all sizes.
	world struct {
		Tick     int64
		Random   [2]uint64
		Fighters [4]entity
		Entities [4096]entity
		Heights  [128 << 10]uint16
		Tiles    [640 << 10]uint8
	}
)

// BenchmarkFingerprint has x-xxh3, which is how many times as long it takes as the plain hash
// of all of the state's bytes does, measured in turns.
func BenchmarkFingerprint(b *testing.B) {
	b.Run("dense", benchmark[dense])
	b.Run("floating", benchmark[floating])
	b.Run("padded", benchmark[padded])
	b.Run("small", benchmark[small])
	b.Run("world", benchmark[world])
}

func benchmark[S any](b *testing.B) {
	h, s := hasher[S](b), new(S)
	l, err := layout.Of[S]()
	require.NoError(b, err)
	plain := l.Append(nil, s)
	require.EqualValues(b, xxh3.Hash(plain), h.Sum(s))
	row, next := h.Row(nil, s), uint64(0)

	beside := func(name string, once func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			var ours, theirs time.Duration
			for left := b.N; left > 0; left -= inTurns {
				n := min(left, inTurns)
				ours += took(n, once)
				b.StopTimer()
				theirs += took(n, func() { sink = xxh3.Hash(plain) })
				b.StartTimer()
			}
			b.ReportMetric(float64(ours)/float64(theirs), "x-xxh3")
		})
	}
	beside("sum", func() { h.Sum(s) })
	beside("row", func() { row = h.Row(row[:0], s) })
	beside("root", func() { h.Root(row) })
	beside("one", func() { h.SumOne(next, s); next++ })
}

// inTurns is how many calls of one are followed by as many of the other.
const inTurns = 100

var sink uint64

func took(n int, once func()) time.Duration {
	start := time.Now()
	for range n {
		once()
	}
	return time.Since(start)
}

// BenchmarkSmallFields says what is gained by hashing small neighbours together.
func BenchmarkSmallFields(b *testing.B) {
	l, err := layout.Of[small]()
	require.NoError(b, err)
	s := new(small)
	for _, least := range []int{0, 16, 32, 64, 128, 256} {
		b.Run(strconv.Itoa(least), func(b *testing.B) {
			parts := l.Parts(least, 1<<20)
			for b.Loop() {
				for i := range parts {
					bytes, _ := parts[i].View(nil, s)
					sink += xxh3.Hash(bytes)
				}
			}
			b.ReportMetric(float64(len(parts)), "parts")
		})
	}
}
