package snapshot

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/layout"
)

// grid is a state whose bytes are those of its layout.
type grid struct{ Cells [8]bool }

var gridLayout, _ = layout.Of[grid]()

func (g *grid) AppendBinary(b []byte) ([]byte, error) { return gridLayout.Append(b, g), nil }
func (g *grid) UnmarshalBinary(b []byte) error        { return gridLayout.Parse(b, g) }

func TestCorruptedBytesAreAnErrorAndNotAState(t *testing.T) {
	store, err := Encode[grid](1)
	require.NoError(t, err)
	require.NoError(t, store.Save(0, &grid{}))
	held := store.(*encoded[grid]).bytes
	for name, spoil := range map[string]func(){
		"a bool of 2":  func() { held[0][3] = 2 },
		"a short one":  func() { held[0] = held[0][:7] },
		"one of none":  func() { held[0] = nil },
		"a longer one": func() { held[0] = make([]byte, 9) },
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, store.Save(0, &grid{}))
			spoil()
			g := grid{Cells: [8]bool{true}}
			require.ErrorIs(t, store.Load(0, &g), layout.ErrMalformed)
			require.Equal(t, grid{Cells: [8]bool{true}}, g)
		})
	}
}

// blob is a state of any length.
type blob struct{ body []byte }

func (b *blob) AppendBinary(to []byte) ([]byte, error) {
	if to == nil && len(b.body) > MaxEncoded {
		return b.body, nil // as if it had been appended, without another copy of so much
	}
	return append(to, b.body...), nil
}
func (b *blob) UnmarshalBinary(from []byte) error { b.body = append(b.body[:0], from...); return nil }

func TestAnEncodedStateIsBoundedAndItsBufferReused(t *testing.T) {
	store, err := Encode[blob](1)
	require.NoError(t, err)
	require.ErrorIs(t, store.Save(0, &blob{body: make([]byte, MaxEncoded+1)}), ErrTooLarge)
	require.Nil(t, store.(*encoded[blob]).bytes[0], "too much is still held")
	require.ErrorIs(t, store.Load(0, &blob{}), ErrEmpty)

	first := func() *byte { return unsafe.SliceData(store.(*encoded[blob]).bytes[0]) }
	require.NoError(t, store.Save(0, &blob{body: []byte("a long state")}))
	was := first()
	require.NoError(t, store.Save(0, &blob{body: []byte("short")}))
	require.Equal(t, was, first())
	var back blob
	require.NoError(t, store.Load(0, &back))
	require.Equal(t, "short", string(back.body))
}
