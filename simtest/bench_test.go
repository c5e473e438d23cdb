package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/simtest"
)

// BenchmarkPlay plays one seed after the other once, with every rule checked.
func BenchmarkPlay(b *testing.B) {
	simulated, events := 0.0, 0
	for seed := uint64(0); b.Loop(); seed++ {
		r, err := simtest.Play(simtest.Witness(), simtest.Generate(seed))
		require.NoError(b, err)
		require.Nil(b, r.Violation)
		simulated += r.Simulated.Seconds()
		events += r.Events
	}
	wall := b.Elapsed().Seconds()
	b.ReportMetric(simulated/wall, "simulated-s/s")
	b.ReportMetric(float64(b.N)/wall, "seeds/s")
	b.ReportMetric(wall/float64(events)*1e9, "ns/event")
}
