package layout

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// inspectPlainly is inspectFloat32s and inspectFloat64s, one float after the other. It
// returns how many were NaNs other than the canonical one.
func inspectPlainly(b []byte, wide bool) (mended []byte, faults int) {
	mended = slices.Clone(b)
	for at := 0; at < len(b); {
		if wide {
			v := math.Float64frombits(binary.LittleEndian.Uint64(b[at:]))
			if math.IsNaN(v) && math.Float64bits(v) != nan64 {
				binary.LittleEndian.PutUint64(mended[at:], nan64)
				faults++
			}
			at += 8
			continue
		}
		v := math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))
		if v != v && math.Float32bits(v) != nan32 {
			binary.LittleEndian.PutUint32(mended[at:], nan32)
			faults++
		}
		at += 4
	}
	return mended, faults
}

// requireInspected holds both inspections of a stretch to the plain one.
func requireInspected(t require.TestingT, b []byte, wide bool) (faults int) {
	inspect, unit := inspectFloat32s, 4
	if wide {
		inspect, unit = inspectFloat64s, 8
	}
	want, faults := inspectPlainly(b, wide)
	before := slices.Clone(b)
	at := inspect(check, b)
	require.Equal(t, before, b, "a check wrote")
	require.Equal(t, faults == 0, at == -1)
	if faults > 0 {
		require.NotEqual(t, want[at:at+unit], b[at:at+unit], "there is no fault at %d", at)
	}
	require.Equal(t, -1, inspect(mend, b))
	require.Equal(t, want, b)
	return faults
}

// odd are bits of float32s on either side of what is a NaN.
var odd = []uint32{0, 1 << 31, inf32, inf32 | 1<<31, nan32, nan32 | 1<<31, inf32 + 1, inf32 - 1, math.MaxUint32, 0x7fffffff, 0xff800001}

func TestEveryNaNOfAStretchIsFoundWhereverItIs(t *testing.T) {
	for _, wide := range []bool{false, true} {
		faults := 0
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(0, 80).Draw(t, "words")
			shift := rapid.IntRange(0, 9).Draw(t, "shift") // a stretch may begin at any address
			b := make([]byte, shift+8*n)[shift:]
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			for at := 0; at < len(b); at += 8 {
				binary.LittleEndian.PutUint64(b[at:], random.Uint64())
			}
			for range rapid.IntRange(0, 4).Draw(t, "odd ones") {
				if n > 0 {
					at := 4 * rapid.IntRange(0, 2*n-1).Draw(t, "at")
					binary.LittleEndian.PutUint32(b[at:], rapid.SampledFrom(odd).Draw(t, "bits"))
				}
			}
			if n > 0 && rapid.IntRange(0, 3).Draw(t, "one of either width") > 0 {
				binary.LittleEndian.PutUint32(b[8*rapid.IntRange(0, n-1).Draw(t, "of which")+4:], 0xfff80001)
			}
			faults += requireInspected(t, b, wide)
		})
		require.Positive(t, faults, "nothing was ever at fault")
	}
}

func TestOneNaNIsFoundAtEveryPlaceAmongOrdinaryNumbers(t *testing.T) {
	ordinary := make([]byte, 1024)
	for at := 0; at < len(ordinary); at += 4 {
		binary.LittleEndian.PutUint32(ordinary[at:], math.Float32bits(float32(at)-300.5))
	}
	for _, n := range []int{8, 24, 32, 40, 152, 160, 168, 288, 512, 1000, 1024} {
		for at := 0; at < n; at += 4 {
			b := slices.Clone(ordinary[:n])
			binary.LittleEndian.PutUint32(b[at:], 0xffc00000)
			require.Equal(t, at, inspectFloat32s(check, b))
			require.Equal(t, 1, requireInspected(t, b, false))
			if at%8 == 4 {
				copy(b, ordinary)
				binary.LittleEndian.PutUint32(b[at:], 0xfff80000)
				require.Equal(t, at-4, inspectFloat64s(check, b))
				require.Equal(t, 1, requireInspected(t, b, true))
			}
		}
		require.Equal(t, -1, inspectFloat32s(check, slices.Clone(ordinary[:n])))
	}
}
