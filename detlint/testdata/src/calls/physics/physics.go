// Package physics is another package than the step's.
package physics

import (
	"math"
	"time"
)

var Table = table()

func table() (t [4]float64) {
	for i := range t {
		t[i] = math.Sin(float64(i))
	}
	return t
}

type Body interface{ Weight() int64 }

type Clocked struct{}

func (Clocked) Weight() int64 { return time.Now().Unix() }

func now() int64 { return time.Now().Unix() }

func Sweep(n int64) int64 { return deep(n) }

func deep(n int64) int64 { return n + now() }

func Known(n int64) int64 {
	//detlint:ignore clock nobody keeps what it returns
	return now() + n
}

func Mul(a, b float64) float64 { return a * b }

func Rounded(a, b float64) float64 { return float64(a * b) }

func Pure(n int64) int64 { return n * n }

func Raise(n *int64) { *n++ }
