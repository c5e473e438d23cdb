package fingerprint_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/fingerprint"
)

func TestTheBytesOfAStateAreThoseOfItsSum(t *testing.T) {
	h := hasher[Match](t)
	want, ok := h.AppendBytes([]byte("before"), busy())
	require.True(t, ok)
	require.Equal(t, "before", string(want[:6]))
	b, ok := h.View(busy())
	require.True(t, ok)
	require.Equal(t, want[6:], b)

	o := hasher[own](t)
	state := &own{body: []byte("a state")}
	b, ok = o.View(state)
	require.True(t, ok)
	require.Equal(t, "a state", string(b))
	b, ok = o.AppendBytes([]byte("before "), state)
	require.True(t, ok)
	require.Equal(t, "before a state", string(b))
	require.Equal(t, uint64(0x936d112abbd4d0e5), uint64(o.Sum(state)), "the bytes went with the sum")

	b, ok = o.AppendBytes([]byte("before"), &own{err: errBroken})
	require.False(t, ok)
	require.Equal(t, "before", string(b))
	_, ok = o.View(&own{err: errBroken})
	require.False(t, ok)
	require.ErrorIs(t, o.Err(), errBroken)
}

// greedy takes away from what it is to append to.
type greedy []byte

func (*greedy) AppendBinary(b []byte) ([]byte, error) { return b[:len(b)/2], nil }

func TestAnAppendBinaryThatTakesAwayIsAnError(t *testing.T) {
	h := hasher[greedy](t)
	b, ok := h.AppendBytes([]byte("before"), &greedy{})
	require.False(t, ok)
	require.Equal(t, "before", string(b))
	require.EqualError(t, h.Err(), "fingerprint: the state's AppendBinary: it took bytes away from those that it was to append to")
}

func TestDiffBytesOfTwoStatesIsTheirDiff(t *testing.T) {
	h := hasher[Match](t)
	other := busy()
	other.Fighters[1].Health, other.tick = 20, 10
	a, _ := h.AppendBytes(nil, busy())
	b, _ := h.AppendBytes(nil, other)
	want := h.Diff(nil, busy(), other)
	require.Len(t, want, 2)
	require.Equal(t, want, h.DiffBytes(nil, a, b))
	require.Empty(t, h.DiffBytes(nil, a, slices.Clone(a)))
}

func TestDiffBytesSaysWhereTheBytesAreNoState(t *testing.T) {
	type pair struct {
		On    bool
		Speed float32
		Life  uint16
	}
	h := hasher[pair](t)
	sized := func(a, b string) fingerprint.Difference { return fingerprint.Difference{Path: "(size)", A: a, B: b} }
	life := fingerprint.Difference{Path: "Life", A: "1", B: "2"}
	whole := []byte{1, 0, 0, 128, 63, 1, 0}
	with := func(at int, v byte) []byte {
		b := slices.Clone(whole)
		b[at] = v
		return b
	}
	for name, c := range map[string]struct {
		a, b []byte
		want []fingerprint.Difference
	}{
		"a bool of 2":              {whole, with(0, 2), []fingerprint.Difference{{Path: "On", A: "true (01)", B: "true (02)"}}},
		"one that is shorter":      {whole, whole[:5], []fingerprint.Difference{sized("7 bytes", "5 bytes")}},
		"one that cuts a field":    {with(5, 9), whole[:6], []fingerprint.Difference{sized("7 bytes", "6 bytes")}},
		"one that is longer":       {whole, append(with(5, 2), 1), []fingerprint.Difference{life, sized("7 bytes", "8 bytes")}},
		"two of the same, shorter": {whole[:1], whole[:1], []fingerprint.Difference{sized("1 bytes", "1 bytes")}},
		"nothing":                  {nil, whole, []fingerprint.Difference{sized("0 bytes", "7 bytes")}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, h.DiffBytes(nil, c.a, c.b)) })
	}
	got := h.DiffBytes(nil, []byte{1, 1, 0, 192, 127, 1, 0}, []byte{1, 2, 0, 192, 127, 1, 0})
	require.Equal(t, []fingerprint.Difference{{Path: "Speed", A: "NaN (01 00 c0 7f)", B: "NaN (02 00 c0 7f)"}}, got)
}

func TestDiffBytesTakesAnyBytes(t *testing.T) {
	h, o := hasher[Match](t), hasher[own](t)
	clean, _ := h.AppendBytes(nil, busy())
	rapid.Check(t, func(t *rapid.T) {
		a := slices.Clone(clean)
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			a[rapid.IntRange(0, len(a)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		a = append(a, rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "more")...)[:rapid.IntRange(0, len(a)).Draw(t, "len")]
		got := h.DiffBytes(nil, clean, a)
		require.Equal(t, slices.Equal(clean, a), len(got) == 0, "%v", got)
		require.Equal(t, slices.Equal(clean, a), len(o.DiffBytes(nil, clean, a)) == 0)
		for _, d := range got {
			require.NotEqual(t, d.A, d.B)
		}
	})
}
