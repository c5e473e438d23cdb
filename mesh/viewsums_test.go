package mesh

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/wire"
)

// overtaken returns a match of four in which peer 1 alone has got the last input of peer 3, and
// has confirmed three ticks with it where the others have two. Then they decide to go on without
// peer 3 after those two, and peer 0 has heard of that.
func overtaken(t *testing.T, every int, before func(a, b *seat)) (a, b *seat) {
	t.Helper()
	m := playing(t, 4, func(c *Config) { c.PlayOn, c.FingerprintEvery, c.History = true, every, 16 })
	a, b, d := m.seats[0], m.seats[1], m.seats[3]
	for i := range 3 {
		if i == 2 {
			d.lose = func(to *seat, _ *wire.Packet) bool { return to != b }
		}
		for _, s := range m.seats {
			s.publish(1)
		}
		m.turns(2)
		for _, s := range m.seats {
			s.fingerprint()
		}
	}
	d.closed = true
	require.EqualValues(t, 2, a.mesh.Confirmed())
	require.EqualValues(t, 3, b.mesh.Confirmed())
	before(a, b)
	a.says(m.seats[2], wire.Decide{View: 1, Value: wire.Value{Cuts: []wire.Cut{{Participant: 3, Tick: 2}}}})
	require.Equal(t, 1, a.mesh.View())
	require.EqualValues(t, 3, a.mesh.Confirmed())
	return a, b
}

func TestAFingerprintOfAViewBeforeIsNoDifference(t *testing.T) {
	a, b := overtaken(t, 1, func(a, b *seat) {
		b.wrong = 3 // with another input its state is another
		b.fingerprint()
		b.match.turns(2)
		require.EqualValues(t, 3, a.mesh.links[0].prints.next, "what peer 1 says of tick 3 waits for this peer to come there")
	})
	a.fingerprint()
	a.says(b, wire.Disagree{Tick: 3, Sum: ^uint64(3)})
	require.NoError(t, a.mesh.Err())
	require.False(t, a.mesh.dispute.open)
	require.EqualValues(t, 2, a.mesh.links[0].prints.compared)
	require.EqualValues(t, 2, a.mesh.links[0].prints.next)
}

func TestWhatAPeerFinishedWithInAViewBeforeIsNoDifference(t *testing.T) {
	a, b := overtaken(t, 4, func(_, b *seat) {
		b.mesh.Finish(3, ^uint64(3), true)
		b.match.turns(2)
	})
	a.mesh.Finish(3, 3, true)
	a.says(b)
	require.NoError(t, a.mesh.Err())
	require.False(t, a.mesh.dispute.open)
	require.True(t, a.mesh.links[0].finished)

	a.forge(b, wire.Packet{}) // in the view that begins: then it is a difference
	a.says(b)
	require.True(t, a.mesh.dispute.open)
}
