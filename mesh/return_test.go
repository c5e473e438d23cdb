package mesh

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
)

// gone returns a table of n at which the last was lost and cut.
func gone(t *testing.T, n int, change func(c *Config)) *table {
	t.Helper()
	tb := newTable(t, n, change)
	tb.turns(100)
	tb.crash(n - 1)
	tb.until("the last is cut", func() bool { return tb.players[0].mesh.View() == 1 && tb.players[1].mesh.View() == 1 })
	tb.turns(50)
	return tb
}

func TestAPeerThatWasCutComesBackAndPlays(t *testing.T) {
	for _, n := range []int{3, 4, 5} {
		tb := gone(t, n, nil)
		a, j := tb.players[0], tb.players[n-1]
		cut, ok := a.mesh.Cut(driftback.Participant(n - 1))
		require.True(t, ok)
		for _, p := range tb.players[:n-1] {
			p.waits = 0
		}
		tb.back(n - 1)
		tb.until("it is let in", func() bool { return j.mesh != nil })
		tb.turns(200)
		from := j.mesh.From()
		require.Greater(t, from, cut)
		for _, p := range tb.players {
			require.Equal(t, Playing, p.mesh.Phase(), "peer %d: %v", p.self, p.mesh.Err())
			require.Equal(t, 2, p.mesh.View())
			require.Greater(t, p.mesh.Confirmed(), from+50, "peer %d", p.self)
			back, ok := p.mesh.Joined(driftback.Participant(n - 1))
			require.True(t, ok)
			require.Equal(t, from, back)
			_, out := p.mesh.Cut(driftback.Participant(n - 1))
			require.False(t, out)
			require.Zero(t, p.waits, "peer %d", p.self)
			require.Greater(t, p.mesh.Agreed(), from)
		}
		for at, c := range tb.ledger {
			want := driftback.Playing
			if at := driftback.Tick(at); cut <= at && at < from {
				want = driftback.Replaced
			}
			require.Equal(t, want, c.statuses[n-1], "tick %d, away from %d to %d", at, cut, from)
		}
	}
}
