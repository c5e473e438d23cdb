package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// table is two sides that play over a network without time of its own.
type table struct {
	t     *testing.T
	net   *loopback.Network
	peers [2]*peer
	last  [2]session.Result
}

func newTable(t *testing.T, o options) *table {
	t.Helper()
	b := &table{t: t, net: loopback.New(5)}
	o.rate, o.delay, o.window, o.wait = defaultRate, 2, session.DefaultWindow, time.Minute
	for i := range b.peers {
		self := driftback.Peer(i)
		require.NoError(t, b.net.Impair(self, 1-self, loopback.Impairment{Latency: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.05}))
		p, err := newPeer(self, &o, b.net.Open(self), nil)
		require.NoError(t, err)
		b.peers[i] = p
	}
	return b
}

// until runs frames until both sides are where they should be.
func (b *table) until(what string, ok func(p *peer) bool) {
	b.t.Helper()
	for range 60_000 {
		b.net.Advance(time.Second / defaultRate)
		for i, p := range b.peers {
			r, ready, err := p.turn(b.net.Now())
			b.last[i] = r
			require.NoError(b.t, p.over(err, ready), "side %d", i)
		}
		if ok(b.peers[0]) && ok(b.peers[1]) {
			return
		}
	}
	require.FailNow(b.t, "it did not happen", "%s", what)
}

func look(n uint8) *command { return &command{Look: &n} }

func TestTheSidesSeeEachOthersPickAndPlayWithBoth(t *testing.T) {
	b := newTable(t, options{choose: time.Hour})
	b.peers[0].want(look(2))
	b.peers[1].want(look(3))
	b.until("both see the other's pick", func(p *peer) bool {
		other := p.choosing.picks[1-p.self]
		return other == pick{Look: []uint8{3, 2}[p.self], Known: true}
	})
	b.peers[0].want(&command{Ready: true})
	b.until("the other sees that one is ready", func(p *peer) bool { return p.choosing.picks[0].Ready })
	b.peers[0].want(look(1))
	b.peers[1].want(look(1))
	b.peers[1].want(&command{Ready: true})
	b.until("the match is played", func(p *peer) bool { return p.choosing == nil && p.match.Stats().Agreed > 0 })
	for _, p := range b.peers {
		require.Equal(t, [2]uint32{2, 1}, p.match.State().Looks, "what is ready is not changed any more")
		require.Equal(t, 1, p.match.State().View().Fighters[1].Look)
	}
}

func TestAMatchThatIsWonIsFollowedByARematchWithOtherPicks(t *testing.T) {
	b := newTable(t, options{})
	var ends [3]driftback.Tick
	for bout := range ends {
		b.until("the match is played", func(p *peer) bool { return p.choosing == nil && p.bout == bout })
		require.Equal(t, b.peers[0].match.State().Looks, b.peers[1].match.State().Looks)
		require.Equal(t, uint32(bout), b.peers[0].match.State().Looks[1])
		for _, p := range b.peers {
			p.hands.human = p.self == 1 // who stands still loses soon
		}
		b.until("the match is over", func(p *peer) bool {
			if p.choosing != nil && p.bout == bout+1 {
				p.hands.human = true
				p.want(look(uint8(bout + 1)))
				return true
			}
			ends[bout] = max(ends[bout], p.match.Stats().Confirmed)
			return false
		})
		for _, p := range b.peers {
			p.want(&command{Ready: true})
		}
	}
	for _, end := range ends {
		require.Greater(t, end, driftback.Tick(4*sim.TicksPerSecond), "two rounds were fought")
	}
}

func TestABotChoosesAfterAWhileAndOneWithoutAPageAtOnce(t *testing.T) {
	b := newTable(t, options{choose: 2 * time.Second})
	b.until("they play", func(p *peer) bool { return p.choosing == nil })
	require.Greater(t, b.net.Now(), 2*time.Second)
	require.Less(t, b.net.Now(), 3*time.Second)
	b = newTable(t, options{choose: time.Hour, headless: true, ticks: 30})
	b.until("they play", func(p *peer) bool { return p.choosing == nil })
	require.Less(t, b.net.Now(), time.Second)
}

func TestOnlyAPickOfThisBuildsIsTaken(t *testing.T) {
	for _, k := range []pick{{Look: 0, Known: true}, {Look: sim.NumLooks - 1, Ready: true, Known: true}} {
		got, ok := parsePick(k.bytes())
		require.True(t, ok)
		require.Equal(t, k, got)
	}
	for _, b := range [][]byte{nil, {0}, {sim.NumLooks, 0}, {0, 2}, {0, 0, 0}} {
		_, ok := parsePick(b)
		require.False(t, ok, "%x", b)
	}
}
