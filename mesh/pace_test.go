package mesh

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/wire"
)

func TestWhatAPeerSaysOfItsPaceSaturates(t *testing.T) {
	for _, c := range []struct {
		lead, load float64
		wantLead   int16
		wantLoad   uint8
	}{
		{0, 0, 0, 0},
		{6.5, 0.25, 416, 16},
		{-2.01, 0.99, -129, 63},
		{511.99, 3.99, math.MaxInt16, 255},
		{1e300, 1e300, math.MaxInt16, 255},
		{-1e300, -1, math.MinInt16, 0},
		{math.Inf(1), math.Inf(1), math.MaxInt16, 255},
		{math.NaN(), math.NaN(), 0, 0},
	} {
		var m Mesh
		m.Report(c.lead, c.load)
		require.Equal(t, ownPace{c.wantLead, c.wantLoad}, m.pace, "a lead of %v and a load of %v", c.lead, c.load)
	}
}

func TestTheNewestWordOfAPeerAboutItsPaceCounts(t *testing.T) {
	var h heardPace
	h.take(&wire.Echo{Lead: 64}, 1<<16|5, time.Second)
	h.take(&wire.Echo{Lead: 128}, 1<<16|4, 2*time.Second) // overtaken
	h.take(&wire.Echo{Lead: 192}, 1<<16|5, 2*time.Second) // the same packet again
	require.Equal(t, heardPace{said: true, at: 1<<16 | 5, when: time.Second, lead: 64}, h)
	h.take(&wire.Echo{Lead: -64, Load: 9}, 1<<16|6, 3*time.Second)
	require.Equal(t, heardPace{said: true, at: 1<<16 | 6, when: 3 * time.Second, lead: -64, load: 9}, h)
}

func TestAPacketsNumberIsUnwrapped(t *testing.T) {
	var m meter
	for seq := uint16(65_530); seq != 10; seq++ {
		m.heard(seq, 0)
	}
	require.EqualValues(t, 1<<16|65_530+15, m.unwrap(9))
	require.EqualValues(t, 1<<16|65_535, m.unwrap(65_535), "it was overtaken across the wrap")
}
