package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/simtest"
)

// windy keeps its wind out of its bytes.
type windy struct {
	Ring ring
	Wind int32
	Past [4]struct{ X, Gust int32 }
}

func (w *windy) CopyTo(to *windy) {
	to.Ring.Marks = append(to.Ring.Marks[:0], w.Ring.Marks...)
	to.Ring.Total, to.Ring.speed, to.Wind, to.Past = w.Ring.Total, w.Ring.speed, w.Wind, w.Past
}

func (w *windy) AppendBinary(b []byte) ([]byte, error) {
	for _, p := range w.Past {
		b = append(b, byte(p.X))
	}
	return w.Ring.AppendBinary(b)
}

func TestAFieldThatAppendBinaryLeavesOutIsNamed(t *testing.T) {
	g := ringGame(func(s *windy) *ring { return &s.Ring })
	step := g.Step
	g.Step = func(s *windy, in []input, pass *driftback.Pass) {
		step(s, in, pass)
		s.Wind++
		s.Past[s.Wind%4].X++
		s.Past[s.Wind%4].Gust += s.Wind
	}
	r, err := simtest.SyncTest(g, two())
	require.NoError(t, err)
	require.NoError(t, errorOf(r.Finding), "it may be meant")
	require.Equal(t, []string{"Wind", "Past[].Gust"}, r.LeftOut)
	rec := record(t, func(t testing.TB) { simtest.Sync(t, g) })
	require.False(t, rec.failed)
	require.Contains(t, rec.log.String(), "simtest: AppendBinary leaves out Wind, Past[].Gust, which changes and the fingerprint does not")

	// Control: a state whose bytes have everything, and one without bytes of its own.
	r, err = simtest.SyncTest(trailGame(), two())
	require.NoError(t, err)
	require.Empty(t, r.LeftOut)
	r, err = simtest.SyncTest(simtest.Witness(), two())
	require.NoError(t, err)
	require.Empty(t, r.LeftOut)
}

func TestAByteThatDiffersInAMatchStandsBesideItsField(t *testing.T) {
	g := ringGame(func(s *soundRing) *ring { return &s.Ring })
	g = g.Plant(func(self driftback.Peer, c *session.Config[soundRing, input]) {
		if step := c.Step; self == 1 {
			c.Step = func(s *soundRing, in []input, pass *driftback.Pass) {
				if step(s, in, pass); pass.Tick() == 50 {
					s.Ring.Marks[1] ^= 0x100
				}
			}
		}
	})
	r, err := simtest.Play(g, two())
	require.NoError(t, err)
	require.Regexp(t, `; the first byte of AppendBinary that differs is byte 3: 0x.. in truth and 0x.. here; the first field is Ring.Marks\[1\], \d+ and \d+$`, r.Violation.Error())
}
