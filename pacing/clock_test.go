package pacing_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/pacing"
)

const tick = time.Second / 60

func newClock(t require.TestingT) *pacing.Clock {
	c, err := pacing.NewClock(tick, 0)
	require.NoError(t, err)
	return c
}

// run gives a clock frames of a length for a while, and returns how many ticks came.
func run(c *pacing.Clock, frame, span time.Duration, rate float64) (ticks int) {
	for passed := time.Duration(0); passed < span; passed += frame {
		ticks += c.Ticks(frame, rate)
	}
	return ticks
}

func TestAClockThatCannotWorkIsRefused(t *testing.T) {
	_, err := pacing.NewClock(0, 0)
	require.EqualError(t, err, "pacing: ticks of 0s: from 1µs to 1m are allowed")
	_, err = pacing.NewClock(tick, -1)
	require.EqualError(t, err, "pacing: at most -1 ticks at one time: 1 to 1000 are allowed, or 0 for 5")
}

func TestAClockGivesAsManyTicksAsTimeHasPassedWhateverTheFrames(t *testing.T) {
	for _, frame := range []time.Duration{time.Millisecond, 6944 * time.Microsecond, tick, 20 * time.Millisecond, 33 * time.Millisecond, 60 * time.Millisecond} {
		for _, rate := range []float64{1, pacing.MaxRate, pacing.MinCorrection, 0.5, 1.001} {
			c := newClock(t)
			span := 100 * time.Second / frame * frame
			require.InDelta(t, 60*rate*span.Seconds(), run(c, frame, span, rate), 1.1, "frames of %v at %v", frame, rate)
		}
	}
}

func TestAClockCatchesUpByAFewTicksAndForgetsTheRestOfALongGap(t *testing.T) {
	c := newClock(t)
	require.Equal(t, pacing.DefaultCatchUp, c.Ticks(time.Minute, 1))
	require.Less(t, c.Ticks(tick, 1), 3, "nothing is left of it")
	require.Equal(t, 3, c.Ticks(3*tick+time.Microsecond, 1))
}

func TestAClockRunsAtASpeed(t *testing.T) {
	c := newClock(t)
	c.SetSpeed(0.5)
	require.InDelta(t, 300, run(c, tick, 10*time.Second, 1), 1)
	c.SetSpeed(4)
	require.InDelta(t, 2400, run(c, tick, 10*time.Second, 1), 4)
	for speed, want := range map[float64]float64{0: 60 * pacing.MinSpeed, -3: 60 * pacing.MinSpeed, math.NaN(): 60, math.Inf(-1): 60 * pacing.MinSpeed} {
		c = newClock(t)
		c.SetSpeed(speed)
		require.InDelta(t, want*10, run(c, tick, 10*time.Second, 1), 1.5, "a speed of %v", speed)
	}
}

func TestAlphaSaysHowFarToTheNextTick(t *testing.T) {
	c := newClock(t)
	require.Zero(t, c.Alpha())
	require.Zero(t, c.Ticks(tick/4, 1))
	require.InDelta(t, 0.25, c.Alpha(), 1e-6)
	require.Zero(t, c.Ticks(tick/2, 1))
	require.InDelta(t, 0.75, c.Alpha(), 1e-6)
	require.Equal(t, 1, c.Ticks(tick/2, 1))
	require.InDelta(t, 0.25, c.Alpha(), 1e-6)
}

func TestNoTimeAndNoRateHarmAClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClock(t)
		for range rapid.IntRange(1, 50).Draw(t, "frames") {
			c.SetSpeed(rapid.Float64().Draw(t, "speed"))
			n := c.Ticks(time.Duration(rapid.Int64().Draw(t, "elapsed")), rapid.OneOf(rapid.Float64(), rapid.Just(math.NaN())).Draw(t, "rate"))
			if n < 0 || n > pacing.DefaultCatchUp {
				t.Fatalf("%d ticks", n)
			}
			if a := c.Alpha(); !(a >= 0 && a < 1) {
				t.Fatalf("an alpha of %v", a)
			}
		}
	})
}
