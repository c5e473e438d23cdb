package feed_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

const (
	players = 3
	stride  = 2
	every   = 8
	frame   = time.Second / 60
)

// wired is a transport between two: what one side sends the other receives at once, in
// order. It may be told to be full.
type wired struct {
	self, far driftback.Peer
	out       [][]byte
	kinds     []transport.Kind
	full      bool
	bytes     int
	transport.Transport
}

func (w *wired) Send(to driftback.Peer, b []byte) { w.put(to, transport.Datagram, b) }

func (w *wired) SendReliable(to driftback.Peer, b []byte) error {
	if w.full {
		return transport.ErrFull
	}
	w.put(to, transport.Reliable, b)
	return nil
}

// put keeps b for the other side; what is sent to somebody else is lost.
func (w *wired) put(to driftback.Peer, k transport.Kind, b []byte) {
	if to != w.far {
		return
	}
	w.out, w.kinds, w.bytes = append(w.out, append([]byte(nil), b...)), append(w.kinds, k), w.bytes+len(b)
}

// take returns what was sent, as the other side receives it.
func (w *wired) take() (list []transport.Message) {
	for i, b := range w.out {
		list = append(list, transport.Message{Kind: w.kinds[i], From: w.self, Data: b})
	}
	w.out, w.kinds = nil, nil
	return list
}

// pair is a feeder and a follower. The match is three participants who press what input
// says.
type pair struct {
	t        testing.TB
	feeder   *feed.Feeder
	follower *feed.Follower
	has, got *feed.Archive
	down, up *wired // from the feeder, to it
	now      time.Duration
	events   []mesh.Event
	refused  map[mesh.Refusal]int
	begins   *feed.Beginning
}

func input(p driftback.Participant, t driftback.Tick) []byte { return []byte{byte(p), byte(t / 7)} }

func entry(p driftback.Participant, t driftback.Tick) wire.Entry {
	if t%50 == driftback.Tick(p) {
		return wire.EntrySpeed(int(p) + 1)
	}
	return 0
}

func newPair(t testing.TB, history int, set ...func(a *feed.FeederConfig, b *feed.FollowerConfig)) *pair {
	p := &pair{t: t, refused: map[mesh.Refusal]int{}, down: &wired{self: 0, far: 9}, up: &wired{self: 9, far: 0}}
	var err error
	p.has, err = feed.NewArchive(players, stride, history, every)
	require.NoError(t, err)
	p.got, err = feed.NewArchive(players, stride, feed.Room(64), every)
	require.NoError(t, err)
	hello := mesh.OutsideHello(7, 1, []wire.Setting{{Name: "game", Value: "go"}}, []driftback.Peer{0, 1, 2})
	a := feed.FeederConfig{
		Transport: p.down, Hello: hello, Archive: p.has, Most: 2, Timeout: time.Second, CanGive: true,
		Refuse: func(r mesh.Refusal) { p.refused[r]++ }, Note: func(e mesh.Event) { p.events = append(p.events, e) },
	}
	b := feed.FollowerConfig{
		Transport: p.up, Hello: hello, Feeders: []driftback.Peer{0}, Archive: p.got, Timeout: time.Second, JoinTimeout: time.Second,
		Valid:      func(in []byte) bool { return in[0] < players },
		ValidEntry: func(driftback.Participant, wire.Entry) bool { return true },
		Note:       func(mesh.Event) {},
	}
	for _, change := range set {
		change(&a, &b)
	}
	p.feeder, err = feed.NewFeeder(a)
	require.NoError(t, err)
	p.follower, err = feed.NewFollower(b)
	require.NoError(t, err)
	p.linkUp()
	return p
}

func (p *pair) linkUp() {
	p.feeder.Receive(transport.Message{Kind: transport.Up, From: 9})
	p.follower.Receive(transport.Message{Kind: transport.Up, From: 0})
}

// play adds n ticks to the match.
func (p *pair) play(n int) {
	for range n {
		t := p.has.End()
		for q := range driftback.Participant(players) {
			p.has.Put(q, input(q, t), entry(q, t))
		}
		p.has.Next()
		if t > 0 && t%every == 0 {
			p.has.PutSum(t, uint64(t)*3)
		}
	}
}

// turn is one frame of both sides. The follower's owner uses all that it has.
func (p *pair) turn() {
	p.now += frame
	p.feeder.Poll(p.now, p.has.End())
	for _, m := range p.down.take() {
		p.follower.Receive(m)
	}
	if b := p.follower.Beginning(); b != nil {
		p.begins = b
	}
	p.follower.Used(p.got.End())
	p.follower.Poll(p.now)
	for _, m := range p.up.take() {
		p.feeder.Receive(m)
	}
	if p.feeder.WantsState() {
		t := p.has.End() - p.has.End()%every
		p.feeder.Give(t, 99, transfer.Bytes(append(make([]byte, 1<<20), 1, 2)), 1<<20, 2)
	}
}

func (p *pair) requireAlike() {
	p.t.Helper()
	require.NoError(p.t, p.follower.Err())
	require.NotNil(p.t, p.begins)
	require.Greater(p.t, p.got.End(), p.begins.Tick)
	for t := max(p.got.Oldest(), p.begins.Tick); t < p.got.End(); t++ {
		for q := range driftback.Participant(players) {
			require.Equal(p.t, input(q, t), p.got.Input(q, t), "tick %d", t)
			require.Equal(p.t, entry(q, t), p.got.Entry(q, t), "tick %d", t)
		}
	}
}
