package detour

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAWindowTellsApartWhatHasComeAndWhatHasNot(t *testing.T) {
	olds, repeats := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var w window
		come := map[uint64]bool{}
		top := rapid.SampledFrom([]uint64{0, 1, 1 << 40}).Draw(t, "from")
		for range rapid.IntRange(1, 400).Draw(t, "datagrams") {
			n := top + uint64(rapid.SampledFrom([]int{1, 2, 3, 63, 64, 65, 255, 256, 257, 1000}).Draw(t, "ahead"))
			if rapid.IntRange(0, 3).Draw(t, "behind") > 0 {
				n = top - min(top, uint64(rapid.IntRange(0, 300).Draw(t, "by")))
			}
			old := len(come) > 0 && n+windowSize < w.next
			if old {
				olds++
			}
			if come[n] {
				repeats++
			}
			require.Equal(t, !come[n] && !old, w.fresh(n), "%d, of which the next is %d", n, w.next)
			if w.fresh(n) {
				w.note(n)
				come[n] = true
				top = max(top, n)
			}
		}
	})
	require.NotZero(t, olds)
	require.NotZero(t, repeats)
}
