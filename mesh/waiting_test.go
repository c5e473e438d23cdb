package mesh

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/wire"
)

// Before the match nobody has anything to repeat: a peer that has said hello and
// waits for a third says nothing until that one comes.
func TestAPeerThatHadNothingToSayBeforeTheMatchIsNotLostAsItBegins(t *testing.T) {
	m := newMatch(t, 3, func(c *Config) { c.PeerTimeout = time.Second })
	a, b, c := m.seats[0], m.seats[1], m.seats[2]
	a.up(b)
	b.up(a)
	b.up(c)
	c.up(b)
	m.turns(int(2 * time.Second / frame))
	require.Equal(t, Joining, a.mesh.Phase())
	require.Equal(t, Agreeing, b.mesh.Phase())
	quiet, _ := a.mesh.Link(1)
	require.Greater(t, quiet.Silence, time.Second, "the wait was long enough to be lost in")

	a.up(c)
	c.up(a)
	for range 3 { // what the others say to b is on its way
		m.now += frame
		a.turn()
		c.turn()
	}
	require.Equal(t, Playing, a.mesh.Phase(), "peer 0: %v", a.mesh.Err())
	m.turns(3)
	for _, s := range m.seats {
		require.Equal(t, Playing, s.mesh.Phase(), "peer %d: %v", s.self, s.mesh.Err())
		require.False(t, s.mesh.Blocked())
	}
}

// A peer whose last tick is below everybody's delay needs nobody's inputs, and may
// be through while this one waits for a third.
func TestALastTickThatDiffersIsFoundAsTheMatchBegins(t *testing.T) {
	m := newMatch(t, 2, func(c *Config) { c.Delay = 2 })
	a, b := m.seats[0], m.seats[1]
	m.connect()
	a.mesh.Poll(m.now)
	b.turn()
	a.mesh.Flush()
	b.closed = true
	a.mesh.Poll(m.now)
	require.Equal(t, Agreeing, a.mesh.Phase())
	a.mesh.Last(50)
	a.give(b, wire.Finish{At: 1})
	a.mesh.Poll(m.now)
	require.Equal(t, Agreeing, a.mesh.Phase())
	require.NoError(t, a.mesh.Begin(a.state, true))
	a.give(b, wire.Start{Digest: a.mesh.digest, Seed: a.mesh.Seed(), State: b.state, HasState: true})
	a.mesh.Poll(m.now)
	var mismatch *MismatchError
	require.ErrorAs(t, a.mesh.Err(), &mismatch)
	require.Equal(t, &MismatchError{Peer: 1, Setting: "the last tick", Ours: "50", Theirs: "1"}, mismatch)
}

func TestAFinishThatIsSaidAgainAfterAReconnectionIsNoFault(t *testing.T) {
	m := played(t, 2, 5, nil)
	a, b := m.seats[0], m.seats[1]
	b.mesh.Finish(5, 0, false)
	a.down(b, "cut")
	b.down(a, "cut")
	a.up(b)
	b.up(a)
	m.turns(3)
	again := 0
	for _, c := range b.controls() {
		if _, ok := c.(wire.Finish); ok {
			again++
		}
	}
	require.Equal(t, 2, again, "it was said again")
	require.Equal(t, [Refusals]uint64{}, a.mesh.Refused())
}
