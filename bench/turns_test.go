package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// What publishing in turns costs and saves follows from a seed, so the README's table is held
// to it.
func TestTheREADMESaysWhatTurnsCost(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for _, every := range []int{1, 2, 4, 8} {
		row := turnsRow(t, every)
		require.True(t, strings.Contains(string(readme), row), "README should have this row: %s", row)
	}
}

func turnsRow(t *testing.T, every int) string {
	link := loopback.Impairment{Latency: 60 * time.Millisecond, Loss: 0.02}
	m := newMatchOf(t, 2, link, func(c *session.Config[[32]uint64, input]) {
		c.PublishEvery, c.PredictionWindow = every, 24
	})
	m.play(600)
	const seconds = 600
	totals := func() (ticks, rollbacks, packets, bytes float64) {
		for i, p := range m.peers {
			s, sent := p.Stats(), m.net.Stats(driftback.Peer(i), driftback.Peer(1-i))
			ticks, rollbacks = ticks+float64(s.Tick), rollbacks+float64(s.Loop.Rollbacks)
			packets, bytes = packets+float64(sent.Sent), bytes+float64(sent.Bytes)
		}
		return ticks, rollbacks, packets, bytes
	}
	ticks, rollbacks, packets, bytes := totals()
	predicted := 0.0
	for range seconds * 60 {
		m.play(1)
		for _, p := range m.peers {
			predicted += p.Stats().Pace.Lead
		}
	}
	ticksAfter, rollbacksAfter, packetsAfter, bytesAfter := totals()
	ran := ticksAfter - ticks
	require.InDelta(t, 2*seconds*60, ran, 2*seconds, "it plays at its full rate")
	return fmt.Sprintf("| %d | %.1f | %.0f | %.1f | %.1f |\n", every,
		(packetsAfter-packets)/2/seconds, (bytesAfter-bytes)/2/seconds, predicted/2/seconds/60, 100*(rollbacksAfter-rollbacks)/ran)
}
