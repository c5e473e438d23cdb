package feed_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/transfer"
)

func TestAStateIsUsedWhileItIsFreshOrOnItsWayAndNoLonger(t *testing.T) {
	p := newPair(t, 4096)
	p.feeder.Begin(5, 6, true)
	p.play(1000)
	for !p.feeder.WantsState() {
		p.now += frame
		p.feeder.Poll(p.now, p.has.End())
		p.exchange()
	}
	id := p.feeder.Give(996, 99, transfer.Bytes(make([]byte, 1<<20)), 1<<20, 0)
	require.True(t, p.feeder.Uses(id), "it waits for the players to agree")
	require.False(t, p.feeder.Uses(id+1))
	p.feeder.Poll(p.now, p.has.End())
	p.play(600)
	for n := 0; p.begins == nil; n++ {
		require.Less(t, n, 200)
		require.True(t, p.feeder.Uses(id), "it is on its way")
		p.now += frame
		p.feeder.Poll(p.now, p.has.End())
		p.exchange()
	}
	p.feeder.Poll(p.now, p.has.End())
	require.False(t, p.feeder.Uses(id), "it has arrived, and is too old for another")
}

func TestWhoeverWasGivenAStateAloneKeepsIt(t *testing.T) {
	p := newPair(t, 4096)
	p.feeder.Begin(5, 6, true)
	p.play(1000)
	for n := 0; p.begins == nil; n++ {
		require.Less(t, n, 400)
		p.turn()
	}
	blob := weak.Make(p.begins.Blob)
	runtime.GC()
	require.True(t, blob.Value() != nil)
	p.begins = nil
	runtime.GC()
	require.True(t, blob.Value() == nil, "the follower keeps what it has given away")
	p.play(100)
	p.turn()
	runtime.KeepAlive(p)
}

// exchange delivers what both sides have sent.
func (p *pair) exchange() {
	for _, m := range p.down.take() {
		p.follower.Receive(m)
	}
	if b := p.follower.Beginning(); b != nil {
		p.begins = b
	}
	p.follower.Poll(p.now)
	for _, m := range p.up.take() {
		p.feeder.Receive(m)
	}
}

func TestAHighRateIsReached(t *testing.T) {
	const size = 4 << 20
	p := newPair(t, 4096, func(a *feed.FeederConfig, _ *feed.FollowerConfig) { a.Rate = 3 << 20 })
	p.feeder.Begin(5, 6, true)
	p.play(1000)
	frames, most := 0, 0
	for ; p.begins == nil; frames++ {
		require.Less(t, frames, 400)
		before := p.down.bytes
		p.now += frame
		p.feeder.Poll(p.now, p.has.End())
		p.exchange()
		if p.feeder.WantsState() {
			p.feeder.Give(driftback.Tick(1000), 99, transfer.Bytes(make([]byte, size)), size, 0)
		}
		most = max(most, p.down.bytes-before)
	}
	require.InDelta(t, 4.0/3*60, frames, 10, "four megabytes at three in a second")
	require.Less(t, most, transfer.DefaultSlice+1000, "bytes in one call")
}
