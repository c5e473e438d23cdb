package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// takeTurns runs so many operations of each of several contenders, a round of each in
// turn, and returns the nanoseconds for one operation: [contender][round]. A round
// is long enough for the clock and short enough that all of one turn see the same
// weather.
func takeTurns(operations, round int, contenders ...func(n int)) [][]float64 {
	rounds := (operations + round - 1) / round
	took := make([][]float64, len(contenders))
	for i, run := range contenders {
		took[i] = make([]float64, 0, rounds)
		run(2 * round) // warm
	}
	for range rounds {
		for i, run := range contenders {
			start := time.Now()
			run(round)
			took[i] = append(took[i], float64(time.Since(start).Nanoseconds())/float64(round))
		}
	}
	return took
}

// median returns the middle one. It sorts what it is given.
func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// minus subtracts the rounds of b from those of a.
func minus(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}

func TestContendersTakeTurns(t *testing.T) {
	var order []string
	contender := func(name string) func(n int) {
		return func(n int) { order = append(order, fmt.Sprint(name, n)) }
	}
	took := takeTurns(17, 5, contender("engine"), contender("bare"))
	want := append([]string{"engine10", "bare10"}, slices.Repeat([]string{"engine5", "bare5"}, 4)...)
	require.Equal(t, want, order, "a warm-up, and then rounds of 5 until 17 are done")
	require.Len(t, took, 2)
	require.Len(t, took[0], 4)
	require.Len(t, took[1], 4)
}

func TestAMedianIsTheMiddleOne(t *testing.T) {
	require.InDelta(t, 3, median([]float64{900, 1, 3}), 0)
	require.Equal(t, []float64{1, -2}, minus([]float64{3, 1}, []float64{2, 3}))
}
