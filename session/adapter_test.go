package session

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const tickTime = time.Second / 60

// drive has an adapter take numbers every half second, and returns how its delay went.
func drive(a *adapter, delay, looks int, at func(look int) numbers) (went []int) {
	for i := range looks {
		n := at(i)
		n.tick = tickTime
		a.look(&n, delay)
		if now := time.Duration(i) * lookEvery; a.rested(now) {
			if next := a.next(delay); next != delay {
				delay = next
				a.changes(now)
			}
		}
		went = append(went, delay)
	}
	return went
}

func steady(ticks float64) numbers {
	return numbers{oneWay: time.Duration(ticks * float64(tickTime)), ticks: 30}
}

func TestAnAdapterRisesSoonAndFallsSlowly(t *testing.T) {
	a := newAdapter(AdaptDelay{Max: 20, Depth: 3}, 8)
	went := drive(&a, 0, 80, func(look int) numbers {
		if look < 10 {
			return steady(9.7)
		}
		return steady(1)
	})
	require.Equal(t, []int{0, 0, 3, 3, 6, 6, 7, 7, 7, 7}, went[:10])
	require.Equal(t, []int{7, 7, 7, 6, 6, 5, 5, 4}, went[26:34], "once the last ten seconds called for less")
	require.Zero(t, went[79])
}

func TestAnAdapterDoesNotOscillateWhereARuleWithoutMemoryWould(t *testing.T) {
	x := uint64(7)
	naive, was := 0, 0
	a := newAdapter(AdaptDelay{Max: 20, Depth: 3}, 8)
	went := drive(&a, 0, 10*120, func(int) numbers {
		x = x*6364136223846793005 + 1442695040888963407
		n := steady(7 + 3*float64(x>>40)/(1<<24))
		if want := int(math.Ceil(float64(n.oneWay)/float64(tickTime))) - 3; want != was {
			naive, was = naive+1, want
		}
		return n
	})
	changes := 0
	for i := 1; i < len(went); i++ {
		if went[i] != went[i-1] {
			changes++
		}
	}
	require.Greater(t, naive, 300, "the control: in ten minutes")
	require.LessOrEqual(t, changes, 10)
}

func TestAnAdapterIsPressedByWhatTheLinksTimesDoNotShow(t *testing.T) {
	for name, c := range map[string]struct {
		pressed numbers
		most    int
	}{
		"stalls":                     {numbers{ticks: 27, stalls: 3}, 2},
		"deep rollbacks":             {numbers{ticks: 30, rollbacks: 5, resimulated: 26}, 2},
		"a peer that is overloaded":  {numbers{ticks: 30, load: 0.95}, 2},
		"a peer that is not":         {numbers{ticks: 30, load: 0.85}, 0},
		"a stall now and then":       {numbers{ticks: 29, stalls: 1}, 0},
		"a silence":                  {numbers{stalls: 30}, 0},
		"rollbacks that are allowed": {numbers{ticks: 30, rollbacks: 20, resimulated: 80}, 0},
		"a single deep rollback":     {numbers{ticks: 30, rollbacks: 1, resimulated: 8}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAdapter(AdaptDelay{Max: 20, Depth: 3}, 8)
			c.pressed.oneWay = 26 * tickTime / 10 // which calls for none
			went := drive(&a, 0, 300, func(look int) numbers {
				if look < 30 {
					return c.pressed
				}
				return steady(2.6)
			})
			require.Equal(t, c.most, went[29])
			require.Zero(t, went[299], "and what it has added is taken back")
		})
	}
	a := newAdapter(AdaptDelay{Max: 20, Depth: 3}, 8)
	went := drive(&a, 0, 5, func(int) numbers {
		n := steady(20)
		n.stalls = 20
		return n
	})
	require.Zero(t, a.pressure, "as long as the links' times explain it")
	require.Equal(t, []int{0, 0, 3, 3, 6}, went)
}

func TestAnAdapterStandsWhateverItIsGiven(t *testing.T) {
	for _, n := range []numbers{
		{}, {tick: -1, oneWay: 5}, {tick: 1, oneWay: math.MaxInt64}, {tick: math.MaxInt64, oneWay: math.MaxInt64},
		{tick: 1, ticks: 1, stalls: math.MaxUint64, rollbacks: math.MaxUint64, resimulated: math.MaxUint64},
	} {
		a := newAdapter(AdaptDelay{Min: 2, Max: 9, Depth: 256}, 256)
		delay := 2
		for i := range 100 {
			a.look(&n, delay)
			if a.rested(time.Duration(i) * time.Second) {
				delay = a.next(delay)
			}
			require.GreaterOrEqual(t, delay, 2)
			require.LessOrEqual(t, delay, 9)
		}
	}
}
