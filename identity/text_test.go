package identity

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPinsAndCodesReadBackHoweverTheyAreTyped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pin Pin
		var code Code
		copy(pin[:], rapid.SliceOfN(rapid.Byte(), len(pin), len(pin)).Draw(t, "pin"))
		copy(code[:], rapid.SliceOfN(rapid.Byte(), len(code), len(code)).Draw(t, "code"))
		typed := rapid.SampledFrom([]func(string) string{
			strings.ToUpper,
			strings.ToLower,
			func(s string) string { return " " + s[:7] + " - " + s[7:] + "\n" },
			func(s string) string { return strings.NewReplacer("0", "O", "1", "l").Replace(s) },
		}).Draw(t, "typed")

		gotPin, err := ParsePin(typed(pin.String()))
		require.NoError(t, err)
		require.True(t, pin.Equal(gotPin))
		if code.IsZero() {
			return
		}
		gotCode, err := ParseCode(typed(code.String()))
		require.NoError(t, err)
		require.True(t, code.Equal(gotCode))
	})
}

func TestWhatIsNoPinIsRefusedInASentence(t *testing.T) {
	good := generate(t).Pin().String()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                 {"", "it has 0 characters and should have 52"},
		"a pin cut short":         {good[:51], "it has 51 characters"},
		"a pin and more":          {good + "0", "more than 52 characters"},
		"a letter left out":       {"u" + good[1:], `it has the character 'u'`},
		"a sign":                  {"$" + good[1:], `it has the character '$'`},
		"bits that a pin has not": {good[:51] + "1", "no such text ends in its last character"},
		"a very long text":        {strings.Repeat("a", 1<<20), "more than 52 characters"},
		"another alphabet":        {"é" + good[1:], `it has the character 'é'`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePin(c.text)
			require.ErrorContains(t, err, "identity: this is not a pin: ")
			require.ErrorContains(t, err, c.want)
			require.True(t, got.IsZero())
		})
	}
	_, err := ParseCode("0000-0000-0000-0000")
	require.ErrorContains(t, err, "all zeros")
	_, err = ParseCode("0000-0000")
	require.ErrorContains(t, err, "it has 8 characters and should have 16")
}

func TestPinsCompareAsBytes(t *testing.T) {
	a, b := Pin{1}, Pin{2}
	require.Negative(t, a.Compare(b))
	require.Positive(t, b.Compare(a))
	require.Zero(t, a.Compare(Pin{1}))
	require.False(t, a.Equal(b))
	require.Len(t, a.Short(), 8)
	require.False(t, Code{1}.Equal(Code{2}))
}

func TestCodesAreDrawnAnew(t *testing.T) {
	seen := map[Code]bool{}
	for range 1000 {
		c := NewCode()
		require.False(t, c.IsZero())
		require.False(t, seen[c])
		seen[c] = true
	}
}

func FuzzParsePin(f *testing.F) {
	f.Add(generate(f).Pin().String())
	f.Add("")
	f.Add(strings.Repeat("z", 52))
	f.Add("oil-" + strings.Repeat("0", 49))
	f.Fuzz(func(t *testing.T, s string) {
		pin, err := ParsePin(s)
		if err != nil {
			require.True(t, pin.IsZero())
			return
		}
		again, err := ParsePin(pin.String())
		require.NoError(t, err)
		require.Equal(t, pin, again)
	})
}
