package simtest_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/simtest"
)

func TestHostileSoak(t *testing.T) {
	first, _ := strconv.Atoi(os.Getenv("FIRST"))
	n, _ := strconv.Atoi(os.Getenv("N"))
	planned, happened := map[simtest.Kind]int{}, map[simtest.Kind]int{}
	bad := 0
	for seed := uint64(first); seed < uint64(first+n); seed++ {
		s := simtest.GenerateHostile(seed)
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		for _, f := range r.Faults {
			planned[f.Kind] += f.Planned
			happened[f.Kind] += f.Happened
		}
		if r.Violation != nil {
			bad++
			t.Logf("seed %d: %v", seed, r.Violation)
			if bad > 20 {
				break
			}
		}
	}
	t.Log(planned)
	t.Log(happened)
	if bad > 0 {
		t.Fail()
	}
}
