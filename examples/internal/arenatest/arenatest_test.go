package arenatest

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

const ended = "" +
	"tick 41 | confirmed 39 | round trip 64 ms | lost 0 % | rollbacks 1, 2 deep | stalled 0 | even\n" +
	"kart 1        finished: tick 120 is confirmed with fingerprint 24b6168dac04af40\n" +
	"right player  finished: tick 120 is confirmed with fingerprint 24b6168dac04af40\n"

// failing is a test that says nothing when it fails, and ends.
type failing struct{ testing.TB }

func (f *failing) Helper()               {}
func (f *failing) Errorf(string, ...any) {}
func (f *failing) FailNow()              { panic(f) }

func TestAnEndThatIsNotAlikeIsNoticed(t *testing.T) {
	RequireAlike(t, ended, 2, 120)
	for name, c := range map[string]struct{ what, by string }{
		"another world": {`40\n$`, "41\n"},
		"another tick":  {`tick 120(.*\n)$`, "tick 121$1"},
		"nobody":        {`(?s)^.*$`, ""},
		"one of two":    {`kart.*\n`, ""},
		"one twice":     {`right player`, "kart 1"},
	} {
		f := &failing{TB: t}
		require.PanicsWithValue(t, f, func() { RequireAlike(f, regexp.MustCompile(c.what).ReplaceAllString(ended, c.by), 2, 120) }, name)
	}
}

func TestAMatchInWhichSomebodyIsMissingIsNotTogether(t *testing.T) {
	together := regexp.MustCompile(Together)
	require.True(t, together.MatchString(ended))
	require.False(t, together.MatchString("tick 41 | confirmed 39 | round trip 64 ms | lost 0 % | rollbacks 1, 2 deep | stalled 0 | even | 1 gone\n"))
	require.Regexp(t, Played, ended)
	require.NotRegexp(t, Played, "tick 0 | confirmed 0")
}
