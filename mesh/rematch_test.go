package mesh

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// rematch takes a seat to its next match.
func (s *seat) rematch() {
	s.match.t.Helper()
	c := s.config
	c.Match, c.Nonce = c.Match+1, c.Nonce+100
	next, err := New(c)
	require.NoError(s.match.t, err)
	require.NoError(s.match.t, next.Follow(s.mesh))
	s.config, s.mesh = c, next
	s.read, s.confirmed = make([]driftback.Tick, len(c.Players)), 0
}

// over plays a match of n peers to its end.
func over(t *testing.T, n int, change func(c *Config)) *match {
	t.Helper()
	m := playing(t, n, change)
	m.finish()
	return m
}

// finish plays a few ticks and ends the match.
func (m *match) finish() {
	m.t.Helper()
	for _, s := range m.seats {
		s.publish(3)
	}
	m.turns(3)
	for _, s := range m.seats {
		s.mesh.Finish(3, 5, true)
	}
	m.turns(2)
	for _, s := range m.seats {
		require.ErrorIs(m.t, s.mesh.Err(), ErrFinished)
	}
}

func TestARematchIsRefusedByName(t *testing.T) {
	m := over(t, 2, nil)
	a := m.seats[0]
	for want, change := range map[string]func(c *Config){
		"mesh: Self is peer 1, and was peer 0 in the match before":                                  func(c *Config) { c.Self = 1 },
		"mesh: Nonce is 0000000000000001, as in the match before: draw it at random for each match": func(c *Config) { c.Nonce = 1 },
		"mesh: peer 5 was not in the match before, whose links the rematch has":                     func(c *Config) { c.Players = []driftback.Peer{0, 1, 5} },
		"mesh: Settings leave no room for that of a rematch: wire: cannot be sent: 129 settings, and at most 128 are allowed": func(c *Config) {
			for i := range wire.MaxSettings - 1 {
				c.Settings = append(c.Settings, wire.Setting{Name: fmt.Sprintf("%03d", i)})
			}
		},
	} {
		c := a.config
		c.Nonce = 9
		change(&c)
		next, err := New(c)
		require.NoError(t, err)
		require.EqualError(t, next.Follow(a.mesh), want)
	}
	require.EqualError(t, a.mesh.Follow(m.seats[1].mesh), "mesh: Follow is called once, on a mesh that is new")
	old := a.mesh
	a.rematch()
	again, err := New(a.config)
	require.NoError(t, err)
	require.EqualError(t, again.Follow(old), "mesh: a rematch has the links of this match already: follow that one")
	require.EqualError(t, old.Send(1, []byte("x")), "mesh: a message to peer 1, but another match has the links now")
	a.give(m.seats[1], wire.Message{Data: []byte("for the new one")})
	old.Poll(m.now)
	old.Flush()
	require.Len(t, a.inbox, 1, "a match that is over leaves the links alone")
}

func TestWhatIsSaidBeforeTheOtherPeerComesToTheRematchWaitsForIt(t *testing.T) {
	m := over(t, 3, nil)
	a, b, c := m.seats[0], m.seats[1], m.seats[2]
	a.rematch()
	a.turn()
	b.rematch()
	b.turn()
	m.turns(5)
	require.Equal(t, Joining, a.mesh.Phase(), "c has not come")
	require.NoError(t, a.mesh.Send(2, []byte("come")))
	c.turn()
	require.Equal(t, []string{"0: come"}, c.heard())
	require.Zero(t, c.mesh.Refused(), "what belongs to the next match is not refused")
	c.rematch()
	m.turns(5)
	for _, s := range m.seats {
		require.Equal(t, Playing, s.mesh.Phase(), "%v", s.mesh.Err())
		require.Equal(t, a.mesh.Seed(), s.mesh.Seed())
	}
	m.finish()
}

func TestAPeerThatHasGoneOnIsDoneWithThisMatch(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	a.publish(3)
	b.publish(3)
	m.turns(3)
	a.mesh.Finish(3, 5, true)
	b.mesh.Finish(3, 5, true)
	a.turn()
	require.ErrorIs(t, a.mesh.Err(), ErrFinished)
	a.rematch()
	a.turn()
	// Its finish is lost with the link, and the hello says where it is.
	b.inbox = nil
	b.down(a, "a cable")
	a.down(b, "a cable")
	a.up(b)
	b.up(a)
	a.turn()
	b.turn()
	require.ErrorIs(t, b.mesh.Err(), ErrFinished, "b has confirmed everything, and nobody waits for it")
	b.rematch()
	m.turns(5)
	m.finish()
}

func TestAHelloOfAnotherMatchChangesNothingAboutOneThatIsPlayed(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	hellos := func() {
		for i := range uint64(100) {
			a.give(b, wire.Hello{Match: i, Nonce: 1000 + i})
		}
		a.turn()
	}
	hellos()
	require.Empty(t, a.events())
	require.EqualValues(t, 100, a.mesh.Refused()[Malformed])
	m.turns(3)
	m.finish()

	hellos()
	require.Equal(t, []string{"asks for a rematch"}, a.events(), "once")
	require.EqualValues(t, 99, a.mesh.links[0].next.hello.Match, "the newest counts")
	a.give(b, wire.Start{})
	a.give(b, wire.Finish{At: 1})
	a.turn()
	require.EqualValues(t, 2, a.mesh.Refused()[Early])
}

func TestALeaveThatThereWasNoRoomForIsSaidBeforeTheHelloOfTheRematch(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	a.refuses = transport.ErrFull
	a.rematch()
	a.turn()
	b.turn()
	require.Equal(t, Playing, b.mesh.Phase())
	a.refuses = nil
	m.turns(2)
	require.ErrorIs(t, b.mesh.Err(), ErrPeerLeft)
	b.rematch()
	m.turns(5)
	m.finish()
}

func TestThePacketsOfARematchNeverCarryTheTagOfTheMatchBefore(t *testing.T) {
	m := over(t, 3, nil)
	m.seats[2].mesh.tag++ // it was not in the same match as the other two
	before := m.seats[0].mesh.tag
	for _, s := range m.seats {
		s.rematch()
	}
	m.turns(5)
	for _, s := range m.seats {
		require.Equal(t, Playing, s.mesh.Phase(), "%v", s.mesh.Err())
		require.ElementsMatch(t, []uint16{before, before + 1}, s.mesh.avoided(), "every peer knows the same ones")
		require.Equal(t, m.seats[0].mesh.tag, s.mesh.tag)
	}
	require.EqualValues(t, 7, tagOf(7, nil))
	require.EqualValues(t, 9, tagOf(7, []uint16{8, 7}))
	require.EqualValues(t, 0, tagOf(0xffff, []uint16{0xffff}))
}
