package planted

import (
	"math"
	"testing"
)

// What plain amd64 gives, on a processor that can fuse (which math.Exp asks it).
func TestThePlantedFunctionsGiveTheSameOnEveryArchitecture(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(x, y, z float64) float64
		want uint64
	}{
		"product":  {Fused, 0xba8990098d4d9b2f},
		"memory":   {func(x, y, _ float64) float64 { return Memory(x, y) }, 0x195c21b000000000},
		"math.Exp": {func(x, _, _ float64) float64 { return Platform(x) }, 0x40146df78689292f},
	} {
		t.Run(name, func(t *testing.T) {
			state, sum := uint64(2026), uint64(0)
			draw := func() float64 { // from −4 to 4
				state ^= state << 13
				state ^= state >> 7
				state ^= state << 17
				return float64(int64(state)) * 0x1p-61
			}
			for range 1 << 14 {
				sum = sum*0x9e3779b97f4a7c15 + math.Float64bits(c.of(draw(), draw(), draw()))
			}
			if sum != c.want {
				t.Errorf("the results differ: %#x", sum)
			}
		})
	}
}
