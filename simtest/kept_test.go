package simtest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/simtest"
)

// Some of what was shrunk of planted faults is kept. That the sound engine breaks no rule in
// it proves something only as long as the planted fault still does.
func TestWhatWasKeptOfAPlantedFaultStillBreaksARule(t *testing.T) {
	kept := 0
	for name, c := range planted {
		b, err := os.ReadFile(keptFile("planted-" + strings.ReplaceAll(name, " ", "-")))
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		kept++
		s, err := simtest.Parse(b)
		require.NoError(t, err, name)
		r, err := simtest.CheckScenario(c.game(), s)
		require.NoError(t, err, name)
		require.NotNil(t, r.Violation, name)
		r, err = simtest.CheckScenario(simtest.Witness(), s)
		require.NoError(t, err, name)
		require.Nil(t, r.Violation, name)
	}
	require.GreaterOrEqual(t, kept, 5)
}
