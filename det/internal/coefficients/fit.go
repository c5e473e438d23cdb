package main

import (
	"math/big"

	"github.com/driftback/driftback/internal/bigmath"
)

func num() *big.Float { return new(big.Float).SetPrec(bigmath.Precision) }

// fit returns the coefficients, the constant first, of the polynomial that agrees
// with f at the Chebyshev nodes from low to high. The middle one of an odd number
// of nodes is the middle: where f cannot be computed there, move it a little.
func fit(degree int, low, high *big.Float, f func(x *big.Float) *big.Float) []*big.Float {
	n := degree + 1
	middle, half := num().Add(low, high), num().Sub(high, low)
	middle.SetMantExp(middle, -1)
	half.SetMantExp(half, -1)
	nodes, difference := make([]*big.Float, n), make([]*big.Float, n)
	for j := range n {
		_, cos := bigmath.SinCos(num().Mul(bigmath.Pi(), bigmath.Ratio(int64(2*j+1), int64(2*n))))
		nodes[j] = num().Add(middle, cos.Mul(cos, half))
		difference[j] = f(nodes[j])
	}
	// Newton's divided differences, in place.
	for order := 1; order < n; order++ {
		for j := n - 1; j >= order; j-- {
			up := num().Sub(difference[j], difference[j-1])
			difference[j] = up.Quo(up, num().Sub(nodes[j], nodes[j-order]))
		}
	}
	// Multiplied out, the last factor first.
	coefficients := make([]*big.Float, n)
	for j := range coefficients {
		coefficients[j] = num()
	}
	for j := n - 1; j >= 0; j-- {
		for k := n - 1; k > 0; k-- {
			here := num().Mul(coefficients[k], nodes[j])
			coefficients[k].Sub(coefficients[k-1], here)
		}
		here := num().Mul(coefficients[0], nodes[j])
		coefficients[0].Sub(difference[j], here)
	}
	return coefficients
}

// parts splits x into a float64 with no bit below 2^-lowest, and the float64 that
// is nearest to the rest.
func parts(x *big.Float, lowest int) (hi, lo float64) {
	whole, _ := num().SetMantExp(x, lowest).Int(nil)
	top := num().SetInt(whole)
	top.SetMantExp(top, -lowest)
	hi, _ = top.Float64()
	lo, _ = num().Sub(x, top).Float64()
	return hi, lo
}

// pair is the float64 nearest to x, and the one nearest to the rest.
func pair(x *big.Float) (hi, lo float64) {
	hi, _ = x.Float64()
	lo, _ = num().Sub(x, bigmath.New(hi)).Float64()
	return hi, lo
}
