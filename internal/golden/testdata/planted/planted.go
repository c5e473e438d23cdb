// Package planted is functions that give other bits on other architectures, for the check
// of goldens to fail on.
package planted

import (
	"math"
	"unsafe"
)

// Fused adds to a product that nothing rounds: one instruction on arm64 and with GOAMD64=v3,
// two on others.
func Fused(x, y, z float64) float64 { return x*y + z }

// Platform is assembly on amd64 and Go on 386 and wasm.
func Platform(x float64) float64 { return math.Exp(x) }

// state has an int, whose size differs, and gaps. Since it is a variable these are zero;
// in one on a stack they would be anything.
var state struct {
	Alive bool
	Score int
	X, Y  float64
}

// Memory is a number of what a state is in memory.
func Memory(x, y float64) float64 {
	state.Alive, state.Score, state.X, state.Y = x > 0, 1, x, y
	sum := 0.0
	for i, b := range unsafe.Slice((*byte)(unsafe.Pointer(&state)), unsafe.Sizeof(state)) {
		sum += float64(i * int(b))
	}
	return sum
}
