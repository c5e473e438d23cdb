package impair_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/transport/impair"
)

func TestALinkIsReadAsAPersonTypesIt(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want impair.Impairment
	}{
		"nothing":            {"", impair.Impairment{}},
		"perfect":            {"perfect", impair.Impairment{}},
		"a latency":          {"latency=60ms", impair.Impairment{Latency: 60 * ms}},
		"a broken time":      {"latency=4.35ms", impair.Impairment{Latency: 4350 * time.Microsecond}},
		"a time in seconds":  {"latency=1.5s", impair.Impairment{Latency: 1500 * ms}},
		"small units":        {"latency=250us,jitter=9ns", impair.Impairment{Latency: 250 * time.Microsecond, Jitter: 9}},
		"zero needs no unit": {"latency=0,loss=0", impair.Impairment{}},
		"a share":            {"loss=0.05", impair.Impairment{Loss: 0.05}},
		"a percentage":       {"loss=0.1%", impair.Impairment{Loss: 0.001}},
		"blocked":            {"blocked", impair.Impairment{Blocked: true}},
		"spaces":             {" latency=60ms , blocked ", impair.Impairment{Latency: 60 * ms, Blocked: true}},
		"everything": {"latency=60ms,jitter=10ms,loss=5%,reorder=10%,reorderby=30ms,duplicate=1%,rate=100000",
			impair.Impairment{
				Latency: 60 * ms, Jitter: 10 * ms, ReorderBy: 30 * ms,
				Loss: 0.05, Reorder: 0.1, Duplicate: 0.01, BytesPerSecond: 100_000,
			}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := impair.ParseImpairment(c.text)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestWhatIsRefusedIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a word for a time":         {"latency=slow", `impair: "latency=slow": want a time with its unit, such as 60ms or 1.5s`},
		"a time without its unit":   {"latency=60", `impair: "latency=60": want a time with its unit`},
		"a negative time":           {"jitter=-5ms", `impair: "jitter=-5ms": want a time from 0s to 1h0m0s`},
		"a time that is too long":   {"reorderby=4000s", "want a time from 0s to 1h0m0s"},
		"an exponent":               {"latency=1e2ms", "want a time"},
		"two points":                {"loss=0.0.5", "want a share"},
		"more than all":             {"loss=150%", `impair: "loss=150%": want a share from 0% to 100%, such as 5% or 0.05`},
		"a share that is no number": {"duplicate=nan", "want a share"},
		"an empty share":            {"reorder=", "want a share"},
		"a broken rate":             {"rate=fast", "want a whole number of bytes per second"},
		"a negative rate":           {"rate=-1", "impair: rate is -1: want bytes per second from 1 to"},
		"a block with a value":      {"blocked=yes", "blocked stands alone"},
		"an unknown word":           {"lag=60ms", "want latency, jitter, reorderby, loss, reorder, duplicate, rate or blocked"},
		"an empty part":             {"latency=60ms,", `impair: "": want latency`},
		"a word given twice":        {"loss=1%,loss=2%", `impair: "loss" is given twice`},
		"a book":                    {strings.Repeat("x", 4097), "impair: a link of 4097 characters: want at most 4096"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := impair.ParseImpairment(c.text)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestAnImpairmentOutOfRangeIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		im   impair.Impairment
		want string
	}{
		"a negative latency":  {impair.Impairment{Latency: -1}, "impair: latency is -1ns: want a time from 0s to 1h0m0s"},
		"a jitter of a day":   {impair.Impairment{Jitter: 24 * time.Hour}, "impair: jitter is 24h0m0s"},
		"a negative reorder":  {impair.Impairment{ReorderBy: -1}, "impair: reorderby is -1ns"},
		"a loss of two":       {impair.Impairment{Loss: 2}, "impair: loss is 2: want a share from 0 to 1"},
		"a share that is NaN": {impair.Impairment{Reorder: math.NaN()}, "impair: reorder is NaN"},
		"a negative share":    {impair.Impairment{Duplicate: -0.1}, "impair: duplicate is -0.1"},
		"a negative rate":     {impair.Impairment{BytesPerSecond: -5}, "impair: rate is -5"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, c.im.Validate(), c.want)
		})
	}
}

func TestAnImpairmentSurvivesItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		im := anyImpairment(t)
		back, err := impair.ParseImpairment(im.String())
		require.NoError(t, err)
		require.Equal(t, im, back, im.String())
	})
	require.Equal(t, "perfect", impair.Impairment{}.String())
	require.Equal(t, "latency=60ms,loss=5%,blocked", impair.Impairment{Latency: 60 * ms, Loss: 0.05, Blocked: true}.String())
}

func FuzzParseImpairment(f *testing.F) {
	for _, s := range []string{
		"", "perfect", "blocked", "latency=60ms,jitter=10ms,loss=5%,reorder=10%,duplicate=1%,rate=100000",
		"latency=1.5s,reorderby=30us", "loss=0.05", "loss=.", "loss=100.0%", "latency=0", "rate=+5", "a=b=c", ",,", "loss=%",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		im, err := impair.ParseImpairment(s)
		if err != nil {
			require.Zero(t, im)
			require.True(t, strings.HasPrefix(err.Error(), "impair: "), err.Error())
			return
		}
		require.NoError(t, im.Validate())
		back, err := impair.ParseImpairment(im.String())
		require.NoError(t, err)
		require.Equal(t, im, back)
	})
}
