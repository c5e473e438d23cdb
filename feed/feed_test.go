package feed_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

func TestAFeedFromTheStartBringsEverythingWithEntriesAndFingerprints(t *testing.T) {
	p := newPair(t, 4096)
	for range 30 {
		p.turn()
	}
	require.Zero(t, p.got.End())
	require.Nil(t, p.begins, "the match has not begun")
	p.feeder.Begin(5, 6, true)
	for range 600 {
		p.play(1)
		p.turn()
	}
	require.Equal(t, &feed.Beginning{Seed: 5, Sum: 6, HasSum: true}, p.begins)
	require.Greater(t, p.got.End(), driftback.Tick(590))
	p.requireAlike()
	for tick := driftback.Tick(every); tick < 560; tick += every {
		sum, ok := p.got.Sum(tick)
		require.True(t, ok, "tick %d", tick)
		require.EqualValues(t, tick*3, sum)
	}
	p.play(500)
	p.feeder.Finish(p.has.End(), 1, true)
	p.turn()
	last, ok := p.follower.Finish()
	require.True(t, ok)
	require.Equal(t, wire.Finish{At: 1100, Sum: 1, HasSum: true}, last)
	p.requireAlike()
	require.Empty(t, p.refused)
}

func TestAStateIsHandedOverNoFasterThanItMay(t *testing.T) {
	const rate = 256 << 10
	p := newPair(t, 4096, func(a *feed.FeederConfig, _ *feed.FollowerConfig) { a.Rate = rate })
	p.feeder.Begin(5, 6, true)
	p.play(10_000)
	frames, most := 0, 0
	for ; p.begins == nil; frames++ {
		before := p.down.bytes
		p.turn()
		p.play(1)
		most = max(most, p.down.bytes-before)
		require.Less(t, frames, 1000)
	}
	require.InDelta(t, 4*60, frames, 30, "a megabyte at a quarter of one in a second")
	require.Less(t, most, 20<<10, "bytes in one call")
	require.Equal(t, 1<<20, int(p.begins.Blob.State().Size()))
	require.EqualValues(t, 2, p.begins.Blob.Log().Size())
	require.EqualValues(t, 99, p.begins.Sum)
	for range 100 {
		p.turn()
		p.play(1)
	}
	require.Greater(t, p.got.End(), p.has.End()-10)
	p.requireAlike()
}

func TestAWatcherThatFallsBehindTheHistoryIsGivenANewerState(t *testing.T) {
	p := newPair(t, 1024)
	p.feeder.Begin(5, 6, true)
	for range 100 {
		p.play(1)
		p.turn()
	}
	require.Zero(t, p.begins.Tick)
	p.play(5000)
	for range 200 {
		p.turn()
		p.play(1)
	}
	require.Greater(t, p.begins.Tick, driftback.Tick(5000))
	p.requireAlike()
}

func TestNoMoreIsUnderWayThanTheWindow(t *testing.T) {
	p := newPair(t, 1<<14)
	p.feeder.Begin(5, 6, true)
	p.play(300)
	for p.begins == nil {
		p.turn()
	}
	p.play(10_000)
	for range 20 { // the follower is not heard
		p.now += frame
		p.feeder.Poll(p.now, p.has.End())
	}
	for _, m := range p.down.take() {
		p.follower.Receive(m)
	}
	require.LessOrEqual(t, p.got.End(), driftback.Tick(300+1024))
	require.Greater(t, p.got.End(), driftback.Tick(1000))
	for range 100 {
		p.turn()
	}
	require.Equal(t, p.has.End(), p.got.End())
	p.requireAlike()
}

func TestAWatcherThatTakesNothingIsDropped(t *testing.T) {
	for name, silent := range map[string]func(p *pair){
		"that is silent":                        func(p *pair) { p.up.take() },
		"that speaks and acknowledges nothing":  func(p *pair) { p.up.take(); beats(p, nil) },
		"that acknowledges the same for ever":   func(p *pair) { p.up.take(); beats(p, []wire.Ack{{Next: 10}}) },
		"to which the transport takes no bytes": func(p *pair) { p.down.full = true; p.up.take(); beats(p, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 4096)
			p.feeder.Begin(5, 6, true)
			for range 60 {
				p.play(1)
				p.turn()
			}
			require.Equal(t, 1, p.feeder.Watchers())
			for range 80 {
				p.now += frame
				p.play(1)
				p.feeder.Poll(p.now, p.has.End())
				silent(p)
			}
			require.Zero(t, p.feeder.Watchers())
			last := p.events[len(p.events)-1]
			require.Equal(t, mesh.WatcherGone, last.Kind)
			require.ErrorIs(t, last.Err, feed.ErrDropped)
			bytes := p.down.bytes
			for range 100 {
				p.now += frame
				p.feeder.Poll(p.now, p.has.End())
			}
			require.Equal(t, bytes, p.down.bytes, "nothing goes to it any more")
		})
	}
}

// beats says to the feeder, in the follower's place, what it holds.
func beats(p *pair, acks []wire.Ack) {
	b, err := (&wire.Packet{Tag: 1, Acks: acks}).Append(nil, stride)
	require.NoError(p.t, err)
	p.feeder.Receive(transport.Message{Kind: transport.Datagram, From: 9, Data: b})
}

func TestAWatcherMayGoAndComeBackOverTheSameLink(t *testing.T) {
	p := newPair(t, 4096)
	p.feeder.Begin(5, 6, true)
	for range 60 {
		p.play(1)
		p.turn()
	}
	p.follower.Stop(errors.New("enough"), "enough")
	p.turn()
	require.Zero(t, p.feeder.Watchers())
	require.NoError(t, p.events[len(p.events)-1].Err)
	another := newPair(t, 4096)
	p.follower, p.got, p.up, p.begins = another.follower, another.got, another.up, nil
	for range 100 {
		p.play(1)
		p.turn()
	}
	require.Equal(t, 1, p.feeder.Watchers())
	p.requireAlike()
}

func TestStatusesComeBeforeTheInputsOfTheirTicks(t *testing.T) {
	p := newPair(t, 4096)
	p.feeder.Begin(5, 6, true)
	status := func(a *feed.Archive, tick driftback.Tick) []driftback.Status {
		dst := make([]driftback.Status, players)
		a.Statuses(tick, dst)
		return dst
	}
	require.True(t, p.has.PutStatus(2, 40, driftback.Absent))
	for range 700 {
		at := p.has.End()
		switch at {
		case 100:
			require.True(t, p.has.PutStatus(1, 130, driftback.Replaced))
			require.True(t, p.has.PutStatus(1, 120, driftback.Replaced), "it is lowered")
			require.True(t, p.has.PutStatus(1, 120, driftback.Replaced), "once more changes nothing")
		case 300:
			require.True(t, p.has.PutStatus(1, 310, driftback.Playing))
		}
		p.play(1)
		p.turn()
		if end := p.got.End(); end > 0 {
			require.Equal(t, status(p.has, end-1), status(p.got, end-1), "tick %d", end-1)
		}
	}
	for tick := range p.got.End() {
		require.Equal(t, status(p.has, tick), status(p.got, tick), "tick %d", tick)
	}
	require.Equal(t, []driftback.Status{driftback.Playing, driftback.Replaced, driftback.Absent}, status(p.got, 120))
	require.Equal(t, []driftback.Status{driftback.Playing, driftback.Playing, driftback.Absent}, status(p.got, 310))

	late := newPair(t, 4096)
	late.feeder, late.has, late.down = p.feeder, p.has, p.down
	late.feeder.Receive(transport.Message{Kind: transport.Up, From: 9}) // another process
	for range 100 {
		late.play(1)
		late.turn()
	}
	require.Greater(t, late.begins.Tick, driftback.Tick(600), "from a state")
	require.Equal(t, status(p.has, late.got.End()), status(late.got, late.got.End()))

	for i := range driftback.Tick(2000) {
		if !p.has.PutStatus(0, 5000+i, driftback.Status(i%2)) {
			require.Greater(t, i, driftback.Tick(1000))
			return
		}
	}
	t.Fatal("it keeps whatever it is given")
}
