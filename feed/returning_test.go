package feed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// newReturning returns a pair whose follower is a player that comes back, and says hello
// itself.
func newReturning(t *testing.T, most int) (p *pair, hello func()) {
	said := false
	p = newPair(t, 4096, func(a *feed.FeederConfig, b *feed.FollowerConfig) {
		a.Most, a.Players = most, wire.PeersOf(9)
		b.Introduced = func(driftback.Peer) bool { return said }
	})
	p.feeder.Begin(5, 6, true)
	return p, func() {
		said = true
		b, err := wire.AppendControl(nil, wire.Hello{Match: 7, Nonce: 2, Delays: []wire.Delay{{Participant: 2}}})
		require.NoError(t, err)
		p.feeder.Receive(transport.Message{Kind: transport.Reliable, From: 9, Data: b})
	}
}

func TestAPlayerThatComesBackIsFedAlthoughNobodyMayWatch(t *testing.T) {
	p, hello := newReturning(t, 0)
	p.play(100)
	for range 20 {
		p.turn()
	}
	require.Nil(t, p.begins, "nobody is asked who has not been told hello")
	hello()
	for range 300 {
		p.play(1)
		p.turn()
		hello() // for those that did not hear it: it changes nothing
	}
	p.requireAlike()
	require.Greater(t, p.got.End(), driftback.Tick(380))
	require.Zero(t, p.feeder.Watchers(), "it does not count")
	require.Empty(t, p.refused)
}

func TestOnlyAPlayerMaySayThatItPlays(t *testing.T) {
	p := newPair(t, 4096)
	b, err := wire.AppendControl(nil, wire.Hello{Match: 7, Nonce: 2, Delays: []wire.Delay{{Participant: 2}}})
	require.NoError(t, err)
	p.feeder.Receive(transport.Message{Kind: transport.Reliable, From: 9, Data: b})
	said := p.down.take()
	c, err := wire.ParseControl(said[len(said)-1].Data)
	require.NoError(t, err)
	leave, ok := c.(wire.Leave)
	require.True(t, ok)
	require.Equal(t, mesh.LeaveUnfed, leave.Reason)
	require.Contains(t, leave.Text, "it says that it plays")
}

func TestAPlayerThatComesBackHearsWhatIsNotForIt(t *testing.T) {
	p, hello := newReturning(t, 0)
	hello()
	tell := func(c wire.Control) {
		b, err := wire.AppendControl(nil, c)
		require.NoError(t, err)
		p.follower.Receive(transport.Message{Kind: transport.Reliable, From: 0, Data: b})
	}
	// What a player says over a link that has come up, before it hears that another
	// process is there.
	tell(wire.Hello{Match: 7, Nonce: 1})
	tell(wire.Start{})
	tell(wire.Finish{At: 3})
	for range 300 {
		p.play(1)
		p.turn()
		tell(wire.Accuse{View: 1})
		tell(wire.Message{Data: []byte("hello")})
	}
	p.requireAlike()
	_, over := p.follower.Finish()
	require.False(t, over)
}

// It has been let in by a view of which this peer has not heard yet, and plays.
func TestAPlayerThatHasComeBackMaySendInputsAlready(t *testing.T) {
	p, hello := newReturning(t, 0)
	hello()
	played := wire.Packet{Tag: 77, Runs: []wire.Run{{Participant: 2, Count: 1, Inputs: []byte{1, 2}}}}
	b, err := played.Append(nil, 2)
	require.NoError(t, err)
	for range 100 { // more than what would have it dropped
		p.feeder.Receive(transport.Message{Kind: transport.Datagram, From: 9, Data: b})
		p.turn()
	}
	for range 300 {
		p.play(1)
		p.turn()
	}
	p.requireAlike()
	require.Empty(t, p.refused)
}

func TestAPlayerThatComesBackWaitsWhileAnotherFeedsIt(t *testing.T) {
	p, hello := newReturning(t, 0)
	hello()
	for range 300 { // five seconds, of which it may be silent for one
		p.now += frame
		p.feeder.Poll(p.now, 0)
	}
	for _, m := range p.down.take() {
		p.follower.Receive(m) // its hello is heard although it has not been asked
	}
	for range 300 {
		p.play(1)
		p.turn()
	}
	p.requireAlike()
}

// What a feeder says and that its link has gone down may be heard in one turn.
func TestAFeederOfAnotherMatchIsNotHopedForUntilItComesUpAgain(t *testing.T) {
	for _, again := range []bool{false, true} {
		p, _ := newReturning(t, 0)
		b, err := wire.AppendControl(nil, wire.Hello{Match: 8, Nonce: 1})
		require.NoError(t, err)
		hear := func(kind transport.Kind, b []byte) {
			p.follower.Receive(transport.Message{Kind: kind, From: 0, Data: b})
		}
		hear(transport.Reliable, b)
		hear(transport.Down, nil)
		if again {
			hear(transport.Up, nil) // it may be another process
		}
		p.follower.Poll(0)
		if again {
			require.NoError(t, p.follower.Err())
			continue
		}
		require.ErrorIs(t, p.follower.Err(), feed.ErrNoFeeder)
		differs := (*mesh.MismatchError)(nil)
		require.ErrorAs(t, p.follower.Err(), &differs)
	}
	p, _ := newReturning(t, 0)
	p.follower.Receive(transport.Message{Kind: transport.Down, From: 0})
	p.follower.Poll(0)
	require.NoError(t, p.follower.Err(), "the control: one that has said nothing is hoped for")
}
