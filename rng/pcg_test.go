package rng_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/rng"
)

var _ rand.Source = (*rng.PCG)(nil)

// The numbers are part of every game's golden fingerprints: they never change.
func TestTheSequenceIsTheSameOnEveryArchitecture(t *testing.T) {
	for name, c := range map[string]struct {
		seed, stream uint64
		want         [4]uint64
	}{
		"the zero value":   {0, 0, [4]uint64{0x38ffff682123e08a, 0xacfc572dc29cb1fd, 0x57ec35105c35c2db, 0x70cf668abad6ac57}},
		"two small seeds":  {1, 2, [4]uint64{0xc4f5a58656eef510, 0x9dcec3ad077dec6c, 0xc8d04605312f8088, 0xcbedc0dcb63ac19a}},
		"two large seeds":  {math.MaxUint64, math.MaxUint64 - 1, [4]uint64{0xf233571c0d2ec60, 0x9723e3c130f97774, 0xc41024f9981cbd84, 0x6c0a8bbfcfe200cb}},
		"the first stream": {0x0123456789abcdef, 0, [4]uint64{0xeed2bc90f62008fc, 0x1b22ed7eb8b5c817, 0x4500942dfb62b66e, 0x893cbc36638beb95}},
		"the next stream":  {0x0123456789abcdef, 1, [4]uint64{0x1605bbd11129c54e, 0x2eefa0ce7363a218, 0xd45fc96cc065ad27, 0x1c0c3945226c61bc}},
	} {
		t.Run(name, func(t *testing.T) {
			p := rng.New(c.seed, c.stream)
			var got [4]uint64
			for i := range got {
				got[i] = p.Uint64()
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestTheSequenceIsTheStandardLibrarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, stream := rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "stream")
		var p rng.PCG
		p.Seed(seed, stream)
		theirs := rand.NewPCG(seed, stream)
		for i := range 64 {
			require.Equal(t, theirs.Uint64(), p.Uint64(), "draw %d", i)
		}
	})
}

func TestACopyContinuesFromTheSamePlace(t *testing.T) {
	p := rng.New(7, 7)
	for range 100 {
		p.Uint64()
	}
	saved := p
	var first [8]int
	for i := range first {
		first[i] = p.IntN(1000)
	}
	require.NotEqual(t, saved, p)
	p = saved
	for i := range first {
		require.Equal(t, first[i], p.IntN(1000))
	}
}

func TestBoundedDrawsStayInTheirRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rng.New(rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "stream"))
		n := rapid.Uint64Min(1).Draw(t, "n")
		require.Less(t, p.Uint64n(n), n)
		n32 := rapid.Uint32Min(1).Draw(t, "n32")
		require.Less(t, p.Uint32n(n32), n32)
		i := rapid.IntMin(1).Draw(t, "i")
		got := p.IntN(i)
		require.GreaterOrEqual(t, got, 0)
		require.Less(t, got, i)
	})
}

func TestAnEmptyRangeGivesZeroAndStillDraws(t *testing.T) {
	for name, draw := range map[string]func(p *rng.PCG) int{
		"Uint64n of 0":         func(p *rng.PCG) int { return int(p.Uint64n(0)) },
		"Uint32n of 0":         func(p *rng.PCG) int { return int(p.Uint32n(0)) },
		"IntN of 0":            func(p *rng.PCG) int { return p.IntN(0) },
		"IntN of a negative":   func(p *rng.PCG) int { return p.IntN(-5) },
		"IntN of the smallest": func(p *rng.PCG) int { return p.IntN(math.MinInt) },
	} {
		t.Run(name, func(t *testing.T) {
			p := rng.New(3, 4)
			after := p
			after.Uint64()
			require.Zero(t, draw(&p))
			require.Equal(t, after, p)
		})
	}
}

// The bounds are just above a power of two, where taking a remainder, or
// forgetting to draw again, is off by up to a factor of two.
func TestBoundedDrawsAreUnbiased(t *testing.T) {
	t.Run("small bounds are even by a chi-square test", func(t *testing.T) {
		for _, n := range []int{2, 3, 7, 10, 64} {
			p := rng.New(11, uint64(n))
			const draws = 64_000
			counts := make([]int64, n)
			for range draws {
				counts[p.IntN(n)]++
			}
			chi := new(big.Rat)
			for _, c := range counts {
				d := new(big.Rat).Sub(big.NewRat(c, 1), big.NewRat(draws, int64(n)))
				chi.Add(chi, d.Mul(d, d).Mul(d, big.NewRat(int64(n), draws)))
			}
			// The mean is n−1 and the variance twice that; six deviations are generous.
			got, _ := chi.Float64()
			require.Less(t, got, float64(n-1)+6*math.Sqrt(2*float64(n)), "bound %d: %v", n, counts)
		}
	})
	t.Run("a bound of three quarters of the range fills each third alike", func(t *testing.T) {
		const n = 3 << 62
		p := rng.New(5, 5)
		var thirds [3]int
		for range 30_000 {
			thirds[p.Uint64n(n)>>62]++
		}
		for _, c := range thirds {
			require.InDelta(t, 10_000, c, 500, "%v", thirds)
		}
	})
}

func TestAChanceComesUpAsOftenAsItSays(t *testing.T) {
	for name, c := range map[string]struct {
		num, den uint32
		want     int // of 10,000
	}{
		"never":              {0, 5, 0},
		"a quarter":          {1, 4, 2500},
		"nine tenths":        {9, 10, 9000},
		"always":             {5, 5, 10_000},
		"more than always":   {6, 5, 10_000},
		"out of nothing":     {0, 0, 0},
		"one out of nothing": {1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := rng.New(9, 1)
			got := 0
			for range 10_000 {
				if p.Chance(c.num, c.den) {
					got++
				}
			}
			if c.want == 0 || c.want == 10_000 {
				require.Equal(t, c.want, got)
			}
			require.InDelta(t, c.want, got, 200)
		})
	}
}

func TestDrawingDoesNotAllocate(t *testing.T) {
	p := rng.New(1, 1)
	sum := 0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		sum += p.IntN(6)
		if p.Chance(1, 2) {
			sum++
		}
	}))
	require.Positive(t, sum)
}

func BenchmarkIntN(b *testing.B) {
	p := rng.New(1, 1)
	for b.Loop() {
		p.IntN(6)
	}
}
