package feed_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// chain is two feeders of one match, a follower that stays behind, and another one that it
// feeds in turn. Feeder 0 was cut off at tick cut and does not know it.
type chain struct {
	*pair
	cut      driftback.Tick
	true     *feed.Archive
	behind   driftback.Tick // by how many ticks the first follower stays behind
	middle   *feed.Feeder
	far      *feed.Follower
	farGot   *feed.Archive
	out, in  *wired // between the two followers
	farUsed  driftback.Tick
	farStays driftback.Tick
}

func newChain(t *testing.T, cut, behind, farBehind driftback.Tick) *chain {
	hello := mesh.OutsideHello(7, 1, nil, []driftback.Peer{0, 1})
	c := &chain{cut: cut, behind: behind, farStays: farBehind, out: &wired{self: 9, far: 12}, in: &wired{self: 12, far: 9}}
	c.pair = newPair(t, 4096, func(a *feed.FeederConfig, b *feed.FollowerConfig) {
		a.Hello, b.Hello, b.Feeders, b.Delay = hello, hello, []driftback.Peer{0, 1}, behind
	})
	var err error
	c.true, err = feed.NewArchive(players, stride, 4096, every)
	require.NoError(t, err)
	c.middle, err = feed.NewFeeder(feed.FeederConfig{
		Transport: c.out, Hello: hello, Archive: c.got, Most: 2, Timeout: time.Second,
		Refuse: func(r mesh.Refusal) { c.refused[r]++ }, Note: func(mesh.Event) {},
	})
	require.NoError(t, err)
	c.farGot, err = feed.NewArchive(players, stride, feed.Room(64), every)
	require.NoError(t, err)
	c.far, err = feed.NewFollower(feed.FollowerConfig{
		Transport: c.in, Hello: hello, Feeders: []driftback.Peer{9}, Archive: c.farGot, Delay: farBehind,
		Timeout: time.Second, JoinTimeout: time.Second, Valid: func([]byte) bool { return true },
		ValidEntry: func(driftback.Participant, wire.Entry) bool { return true }, Note: func(mesh.Event) {},
	})
	require.NoError(t, err)
	c.middle.Receive(transport.Message{Kind: transport.Up, From: 12})
	c.far.Receive(transport.Message{Kind: transport.Up, From: 9})
	return c
}

// truth plays n ticks of the match as the survivors have it.
func (c *chain) truth(n int) {
	for range n {
		t := c.true.End()
		if t == c.cut {
			require.True(c.t, c.true.PutStatus(0, t, driftback.Replaced))
		}
		for q := range driftback.Participant(players) {
			in, e := input(q, t), entry(q, t)
			if q == 0 && t >= c.cut {
				in, e = make([]byte, stride), 0
			}
			c.true.Put(q, in, e)
		}
		c.true.Next()
	}
}

// turns goes on for n frames. Each follower uses what it has, but for what it stays behind.
func (c *chain) turns(n int) {
	for range n {
		c.now += frame
		c.feeder.Poll(c.now, 0)
		for _, m := range c.down.take() {
			c.follower.Receive(m)
		}
		c.follower.Beginning()
		c.follower.Used(max(0, c.got.End()-c.behind))
		c.follower.Poll(c.now)
		for _, m := range c.up.take() {
			c.feeder.Receive(m)
		}
		c.middle.Poll(c.now, 0)
		for _, m := range c.out.take() {
			c.far.Receive(m)
		}
		c.far.Beginning()
		c.farUsed = max(c.farUsed, c.farGot.End()-c.farStays)
		c.far.Used(c.farUsed)
		c.far.Poll(c.now)
		for _, m := range c.in.take() {
			c.middle.Receive(m)
		}
	}
}

// begin plays the first 120 ticks as feeder 0 has them, and feeds both followers with them.
func (c *chain) begin() {
	c.feeder.Begin(5, 6, true)
	c.middle.Begin(5, 6, true)
	for range 120 {
		c.play(1)
		c.turns(1)
	}
	c.turns(10)
}

// lose takes feeder 0 away, and has feeder 1 in its place.
func (c *chain) lose() {
	c.follower.Receive(transport.Message{Kind: transport.Down, From: 0})
	c.down, c.up.far = &wired{self: 1, far: 9}, 1
	other, err := feed.NewFeeder(feed.FeederConfig{
		Transport: c.down, Hello: mesh.OutsideHello(7, 1, nil, []driftback.Peer{0, 1}), Archive: c.true, Most: 2, Timeout: time.Second,
		Refuse: func(r mesh.Refusal) { c.refused[r]++ }, Note: func(mesh.Event) {},
	})
	require.NoError(c.t, err)
	other.Begin(5, 6, true)
	c.feeder = other
	other.Receive(transport.Message{Kind: transport.Up, From: 9})
	c.follower.Receive(transport.Message{Kind: transport.Up, From: 1})
}

func (c *chain) requireTruth(got *feed.Archive) {
	c.t.Helper()
	require.Equal(c.t, c.true.End(), got.End())
	have, want := make([]driftback.Status, players), make([]driftback.Status, players)
	for t := range got.End() {
		got.Statuses(t, have)
		c.true.Statuses(t, want)
		require.Equal(c.t, want, have, "tick %d", t)
		for q := range driftback.Participant(players) {
			require.Equal(c.t, c.true.Input(q, t), got.Input(q, t), "tick %d", t)
			require.Equal(c.t, c.true.Entry(q, t), got.Entry(q, t), "tick %d", t)
		}
	}
}

// A feeder that is cut off has confirmed ticks that those who are left never saw. Who was
// fed by it, and has not used them yet, takes them back, and so does whoever was fed by that
// one in turn.
func TestWhatACutOffFeederFedIsTakenBack(t *testing.T) {
	for name, known := range map[string]driftback.Tick{ // how far the survivors are when they take over
		"that know less": 90, "that are as far": 120, "that are further": 200,
	} {
		t.Run(name, func(t *testing.T) {
			c := newChain(t, 100, 40, 40)
			c.begin()
			require.EqualValues(t, 120, c.got.End())
			require.EqualValues(t, 120, c.farGot.End())
			require.NotEqual(t, make([]byte, stride), c.farGot.Input(0, 110))
			c.truth(int(known))
			c.lose()
			c.turns(10)
			c.truth(300)
			c.turns(60)
			require.NoError(t, c.follower.Err())
			require.NoError(t, c.far.Err())
			c.requireTruth(c.got)
			c.requireTruth(c.farGot)
			require.Empty(t, c.refused)
			c.feeder.Finish(c.true.End(), 0, false)
			c.turns(1)
			last, ok := c.follower.Finish()
			require.True(t, ok)
			require.Equal(t, c.true.End(), last.At)
		})
	}
}

func TestTheMatchMayBeFinishedBeforeWhatACutOffFeederFed(t *testing.T) {
	c := newChain(t, 100, 40, 40)
	c.begin()
	c.truth(95)
	c.lose()
	c.turns(10)
	c.feeder.Finish(95, 0, false)
	for _, m := range c.down.take() {
		c.follower.Receive(m)
	}
	last, ok := c.follower.Finish()
	require.True(t, ok)
	require.EqualValues(t, 95, last.At)
	c.middle.Finish(95, 0, false)
	c.turns(1)
	last, ok = c.far.Finish()
	require.True(t, ok, "%v", c.far.Err())
	require.EqualValues(t, 95, last.At)
	c.requireTruth(c.got)
	c.requireTruth(c.farGot)
}

// Nothing is taken back that has been used, and nobody who feeds in between is blamed for
// what it did not know.
func TestWhatHasBeenUsedIsNotTakenBack(t *testing.T) {
	c := newChain(t, 100, 40, 0)
	c.begin()
	require.EqualValues(t, 120, c.farUsed)
	c.truth(200)
	c.lose()
	c.turns(30)
	require.NoError(t, c.follower.Err())
	c.requireTruth(c.got)
	require.ErrorIs(t, c.far.Err(), feed.ErrNoFeeder)
	require.ErrorContains(t, c.far.Err(), "tick")
}

// A feeder that is lost and was right costs nobody anything, however far behind the one in
// between stays.
func TestAnotherFeederThatSaysTheSameChangesNothing(t *testing.T) {
	c := newChain(t, 1000, 40, 0)
	c.begin()
	c.truth(200)
	c.lose()
	c.turns(30)
	require.NoError(t, c.far.Err())
	c.requireTruth(c.got)
	c.requireTruth(c.farGot)
}
