package det_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The bounds that docs/determinism.md states are those that the results are held to.
func TestTheBoundsThatAreWrittenDownAreThoseThatAreTested(t *testing.T) {
	page, err := os.ReadFile("../docs/determinism.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([\\d.]+) \\| ([\\d.]+) \\|$").FindAllSubmatch(page, -1)
	stated := map[string][2]float64{}
	for _, row := range rows {
		bound, err := strconv.ParseFloat(string(row[2]), 64)
		require.NoError(t, err)
		bare, err := strconv.ParseFloat(string(row[3]), 64)
		require.NoError(t, err)
		stated[string(row[1])] = [2]float64{bound, bare}
	}
	require.Len(t, stated, len(functions))
	for _, f := range functions {
		require.Equal(t, [2]float64{f.bound, f.bare}, stated[f.name], f.name)
	}
}
