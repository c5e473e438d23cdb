package feed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// Whenever the match is finished, between two calls or in the middle of what is sent, a
// watcher that has got a state to begin with gets all that follows it, and the end.
func TestWhoHasBeenSentAStateIsSentTheEnd(t *testing.T) {
	begun, early := 0, 0
	for calls := range 300 {
		p := newPair(t, 1024)
		p.feeder.Begin(5, 6, true)
		p.play(1500) // so that the inputs from tick 0 on are not kept any more
		for range calls / 2 {
			p.turn()
			p.play(1)
		}
		if calls%2 == 1 { // what was sent in the last call has been heard by nobody
			p.now += frame
			p.feeder.Poll(p.now, p.has.End())
		}
		answered := p.begins != nil
		p.feeder.Finish(p.has.End(), 1, true)
		p.turn()
		if p.begins == nil {
			early++
			for range 120 {
				p.turn()
			}
			require.Error(t, p.follower.Err(), "after %d half calls", calls)
			continue
		}
		begun++
		last, ok := p.follower.Finish()
		require.True(t, ok, "after %d half calls, answered %t", calls, answered)
		require.Equal(t, wire.Finish{At: p.has.End(), Sum: 1, HasSum: true}, last)
		require.Equal(t, p.has.End(), p.got.End())
		require.NotNil(t, p.begins.Blob)
		require.Less(t, p.begins.Tick, driftback.Tick(1651))
		p.requireAlike()
	}
	require.Positive(t, begun)
	require.Positive(t, early)
}
