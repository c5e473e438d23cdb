package mesh

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
)

// plainHistory is every input there ever was, in a slice.
type plainHistory struct {
	depth  int
	inputs [][]byte
}

func (h *plainHistory) oldest() driftback.Tick { return driftback.Tick(max(0, len(h.inputs)-h.depth)) }

func TestAHistoryIsItsNewestInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stride := rapid.IntRange(1, 5).Draw(t, "stride")
		depth := 1 << rapid.IntRange(0, 5).Draw(t, "log depth")
		h, plain := newHistory(stride, depth), plainHistory{depth: depth}
		input := rapid.SliceOfN(rapid.ByteRange(0, 2), stride, stride)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				in := input.Draw(t, "input")
				h.append(in)
				plain.inputs = append(plain.inputs, in)
			},
			"skip": func(t *rapid.T) {
				n := rapid.IntRange(0, depth).Draw(t, "ticks")
				h.skip(n)
				for range n {
					plain.inputs = append(plain.inputs, make([]byte, stride))
				}
			},
			"flatten": func(t *rapid.T) {
				from := driftback.Tick(rapid.IntRange(int(plain.oldest()), len(plain.inputs)).Draw(t, "from"))
				to := driftback.Tick(rapid.IntRange(int(from), len(plain.inputs)).Draw(t, "to"))
				want := append([]byte("before"), bytes.Join(plain.inputs[from:to], nil)...)
				require.Equal(t, want, h.flatten([]byte("before"), from, to))
			},
			"contradict": func(t *rapid.T) {
				at := driftback.Tick(rapid.IntRange(0, len(plain.inputs)+3).Draw(t, "tick"))
				in := input.Draw(t, "input")
				want := at >= plain.oldest() && at < driftback.Tick(len(plain.inputs)) && !bytes.Equal(plain.inputs[at], in)
				require.Equal(t, want, h.contradicts(at, in, 0))
			},
			"": func(t *rapid.T) {
				require.EqualValues(t, len(plain.inputs), h.held)
				require.Equal(t, plain.oldest(), h.oldest())
				for at := h.oldest(); at < h.held; at++ {
					require.Equal(t, plain.inputs[at], h.at(at))
				}
			},
		})
	})
}

func TestAHistoryKeepsTheWholeRingAndNothingOlder(t *testing.T) {
	h := newHistory(1, 4)
	for i := range byte(6) {
		h.append([]byte{i})
	}
	require.EqualValues(t, 2, h.oldest())
	require.True(t, h.contradicts(2, []byte{9}, 0), "the oldest input that is kept")
	require.False(t, h.contradicts(1, []byte{9}, 0), "the newest that is not")
	require.True(t, h.contradicts(5, []byte{9}, 0), "the newest input that is held")
	require.False(t, h.contradicts(6, []byte{9}, 0), "the first that is not held")
	require.Equal(t, []byte{2, 3, 4, 5}, h.flatten(nil, 2, 6), "in two pieces, across the end of the ring")
	require.Equal(t, []byte{2, 3}, h.flatten(nil, 2, 4), "the piece before the end")
	require.Equal(t, []byte{4, 5}, h.flatten(nil, 4, 6), "the piece after it")
	require.Empty(t, h.flatten(nil, 4, 4))
}

func TestAnInputThatWasLentCannotGrowIntoTheNext(t *testing.T) {
	h := newHistory(2, 4)
	h.append([]byte{1, 2})
	h.append([]byte{3, 4})
	_ = append(h.at(0), 9, 9)
	require.Equal(t, []byte{3, 4}, h.at(1))
}

func TestAHistoryGoesOnBeyondTwoToThe31(t *testing.T) {
	h := newHistory(2, 8)
	h.held = 1<<33 - 3
	for i := range byte(6) {
		h.append([]byte{i, ^i})
	}
	require.Equal(t, driftback.Tick(1<<33+3), h.held)
	require.Equal(t, driftback.Tick(1<<33-5), h.oldest())
	require.Equal(t, []byte{2, ^byte(2), 3, ^byte(3)}, h.flatten(nil, 1<<33-1, 1<<33+1))
}

func TestAHistoryTakesInputsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const depth = 16
		h := newHistory(1, depth)
		came := map[driftback.Tick]byte{}
		held := driftback.Tick(0)
		for range rapid.IntRange(1, 200).Draw(t, "puts") {
			at := held + driftback.Tick(rapid.IntRange(0, depth-1).Draw(t, "beyond"))
			in := []byte{rapid.Byte().Draw(t, "input")}
			was, known := came[at]
			require.Equal(t, known && was != in[0], h.contradicts(at, in, 0))
			require.Equal(t, !known, h.put(at, in))
			if !known {
				came[at] = in[0]
			}
			for {
				if _, ok := came[held]; !ok {
					break
				}
				held++
			}
			require.Equal(t, held, h.held)
			for tick, in := range came {
				if tick >= h.oldest() {
					require.Equal(t, []byte{in}, h.at(tick), "tick %d", tick)
				}
			}
			require.GreaterOrEqual(t, h.oldest(), h.held-depth, "no more is promised than is kept")
		}
	})
}
