// Package planted is two functions that give other bits on other architectures, for the
// check of goldens to fail on.
package planted

import "math"

// Fused adds to a product that nothing rounds: one instruction on arm64 and with GOAMD64=v3,
// two on others.
func Fused(x, y, z float64) float64 { return x*y + z }

// Platform is assembly on amd64 and Go on 386 and wasm.
func Platform(x float64) float64 { return math.Exp(x) }
