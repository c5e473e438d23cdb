package pacing_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/pacing"
)

func newRegulator(t require.TestingT) *pacing.Regulator {
	r, err := pacing.New(68)
	require.NoError(t, err)
	return r
}

// hold gives a regulator the same for so many calls and returns the last advice, and how often
// each skip was advised.
func hold(r *pacing.Regulator, calls int, s pacing.Sample, others ...pacing.Report) (a pacing.Advice, skips map[pacing.Skip]int) {
	skips = map[pacing.Skip]int{}
	for range calls {
		a = r.Tick(s, others)
		skips[a.Skip]++
	}
	return a, skips
}

func TestALimitThatCannotBeIsRefused(t *testing.T) {
	_, err := pacing.New(0)
	require.EqualError(t, err, "pacing: a limit of 0 ticks: at least 1 is allowed")
}

func TestTheOneBehindSpeedsUpByTwiceAsMuchAsTheOneAheadSlowsDown(t *testing.T) {
	for apart := 1; apart < 40; apart++ {
		behind, ahead := newRegulator(t), newRegulator(t)
		b, _ := hold(behind, 1, pacing.Sample{Lead: 5}, pacing.Report{Lead: float64(5 + apart)})
		a, _ := hold(ahead, 1, pacing.Sample{Lead: 5 + apart}, pacing.Report{Lead: 5})
		require.Greater(t, b.Rate, 1.0)
		require.Less(t, a.Rate, 1.0)
		require.InDelta(t, 2*(1-a.Rate), b.Rate-1, 1e-9, "%d ticks apart", apart)
	}
}

func TestEqualLeadsAskForNothing(t *testing.T) {
	for _, others := range [][]pacing.Report{nil, {{Lead: 7}}, {{Lead: 7}, {Lead: 7}, {Lead: 7}}} {
		a, skips := hold(newRegulator(t), 6000, pacing.Sample{Lead: 7}, others...)
		require.Equal(t, pacing.Advice{Rate: 1}, a)
		require.Equal(t, map[pacing.Skip]int{pacing.Keep: 6000}, skips)
	}
}

func TestWhoeverHasNotSpokenForLongIsNotCounted(t *testing.T) {
	fresh, old := pacing.Report{Lead: 30, Load: 2, Age: time.Second}, pacing.Report{Lead: 30, Load: 2, Age: 3 * time.Second}
	a, _ := hold(newRegulator(t), 60, pacing.Sample{Lead: 7}, old)
	require.Equal(t, 1.0, a.Rate)
	a, _ = hold(newRegulator(t), 60, pacing.Sample{Lead: 7}, fresh)
	require.NotEqual(t, 1.0, a.Rate)
}

func TestSkipsAreSpreadOutAndNeverComeFromACallThatStalled(t *testing.T) {
	far := pacing.Report{Lead: 60}
	r, last, n := newRegulator(t), -12, 0
	for i := range 1200 {
		if a := r.Tick(pacing.Sample{Lead: 0}, []pacing.Report{far}); a.Skip != pacing.Keep {
			require.Equal(t, pacing.RunExtra, a.Skip)
			require.GreaterOrEqual(t, i-last, 12)
			last, n = i, n+1
		}
	}
	require.InDelta(t, 100, n, 1)
	_, skips := hold(newRegulator(t), 1200, pacing.Sample{Lead: 60}, pacing.Report{})
	require.InDelta(t, 1200*(1-pacing.MinCorrection), skips[pacing.LeaveOut], 5)
	_, skips = hold(newRegulator(t), 1200, pacing.Sample{Lead: 60, Stalled: true}, pacing.Report{})
	require.Equal(t, map[pacing.Skip]int{pacing.Keep: 1200}, skips)
}

func TestALoadBeyondTheBudgetSlowsWhoeverHearsOfIt(t *testing.T) {
	for load, want := range map[float64]float64{0: 1, 0.5: 1, 0.9: 1, 1.2: 0.75, 1.8: 0.5, 3: 0.5, 1e9: 0.5, math.Inf(1): 0.5, math.NaN(): 1, -1: 1} {
		a, _ := hold(newRegulator(t), 2, pacing.Sample{Lead: 7}, pacing.Report{Lead: 7, Load: load})
		require.InDelta(t, want, a.Rate, 1e-9, "a load of %v", load)
	}
	// Its own too; and it is not asked to run faster although it is behind.
	r := newRegulator(t)
	a, skips := hold(r, 600, pacing.Sample{Lead: 0, Load: 1.2}, pacing.Report{Lead: 60})
	require.InDelta(t, 0.75, a.Rate, 1e-9)
	require.Zero(t, skips[pacing.RunExtra])
	require.InDelta(t, 1.2, r.Load(), 1e-6)
}

func TestAdviceStaysWithinItsBoundsWhateverIsClaimed(t *testing.T) {
	any := func(t *rapid.T, name string) float64 {
		return rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), 511.98, -512, 3.98})).Draw(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := newRegulator(t)
		for range rapid.IntRange(1, 100).Draw(t, "calls") {
			s := pacing.Sample{Lead: rapid.IntRange(-400, 400).Draw(t, "lead"), Load: any(t, "load"), Stalled: rapid.Bool().Draw(t, "stalled")}
			others := make([]pacing.Report, rapid.IntRange(0, 5).Draw(t, "others"))
			for i := range others {
				others[i] = pacing.Report{Lead: any(t, "their lead"), Load: any(t, "their load"), Age: time.Duration(rapid.Int64().Draw(t, "age"))}
			}
			a := r.Tick(s, others)
			if !(a.Rate >= pacing.MinRate && a.Rate <= pacing.MaxRate) {
				t.Fatalf("a rate of %v", a.Rate)
			}
			if a.Skip < pacing.Keep || a.Skip > pacing.RunExtra {
				t.Fatalf("skip %d", a.Skip)
			}
			if math.IsNaN(r.Lead()) || math.IsNaN(r.Load()) {
				t.Fatalf("a mean lead of %v and a load of %v", r.Lead(), r.Load())
			}
		}
		// It forgets it, too.
		a, _ := hold(r, 40_000, pacing.Sample{Lead: 3}, pacing.Report{Lead: 3})
		if math.Abs(a.Rate-1) > 0.001 {
			t.Fatalf("a rate of %v long after", a.Rate)
		}
	})
}

func TestARegulatorAllocatesNothing(t *testing.T) {
	r, others := newRegulator(t), []pacing.Report{{Lead: 9}, {Lead: 3, Load: 1.1}}
	require.Zero(t, testing.AllocsPerRun(100, func() { r.Tick(pacing.Sample{Lead: 4, Load: 0.3}, others) }))
}

func TestSkipsHaveNames(t *testing.T) {
	for s, name := range map[pacing.Skip]string{pacing.Keep: "keep", pacing.LeaveOut: "leave out", pacing.RunExtra: "run extra", 9: "unknown advice"} {
		require.Equal(t, name, s.String())
	}
}
