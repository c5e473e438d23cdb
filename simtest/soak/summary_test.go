package soak

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/simtest"
)

func TestMatchesThatAreTheSameAreCountedOnce(t *testing.T) {
	var s Summary
	traces := map[uint64]struct{}{}
	for _, trace := range []uint64{5, 6, 5} {
		s.add(&outcome{report: simtest.Report{Trace: trace}}, traces)
	}
	require.EqualValues(t, 2, s.Traces)
	require.EqualValues(t, 3, s.Compared)

	s.Compared = MaxTraces
	s.add(&outcome{report: simtest.Report{Trace: 7}}, traces)
	require.EqualValues(t, 2, s.Traces, "memory does not grow for ever")
	require.EqualValues(t, MaxTraces, s.Compared)
}
