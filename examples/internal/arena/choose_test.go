package arena

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// table is two sides that play over a network without time of its own.
type table struct {
	t     *testing.T
	net   *loopback.Network
	peers [2]*peer[tally, pressed]
	last  [2]session.Result
}

func newTable(t *testing.T, o options) *table {
	t.Helper()
	b := &table{t: t, net: loopback.New(5)}
	o.players, o.rate, o.delay, o.window, o.wait = 2, 60, 2, session.DefaultWindow, time.Minute
	for i := range b.peers {
		self := driftback.Peer(i)
		require.NoError(t, b.net.Impair(self, 1-self, loopback.Impairment{Latency: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.05}))
		p, err := newPeer(picking(), self, &o, b.net.Open(self), nil)
		require.NoError(t, err)
		b.peers[i] = p
	}
	return b
}

// until runs frames until both sides are where they should be.
func (b *table) until(what string, ok func(p *peer[tally, pressed]) bool) {
	b.t.Helper()
	for range 60_000 {
		b.net.Advance(time.Second / 60)
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

func look(n uint8) *page.Command { return &page.Command{Look: &n} }

func TestTheSidesSeeEachOthersPickAndPlayWithBoth(t *testing.T) {
	b := newTable(t, options{choose: time.Hour})
	b.peers[0].want(look(2))
	b.peers[1].want(look(3))
	b.until("both see the other's pick", func(p *peer[tally, pressed]) bool {
		other := p.choosing.picks[1-p.self]
		return other == page.Pick{Look: []uint8{3, 2}[p.self], Known: true}
	})
	b.peers[0].want(&page.Command{Ready: true})
	b.until("the other sees that one is ready", func(p *peer[tally, pressed]) bool { return p.choosing.picks[0].Ready })
	b.peers[0].want(look(1))
	b.peers[1].want(look(1))
	b.peers[1].want(&page.Command{Ready: true})
	b.until("the match is played", func(p *peer[tally, pressed]) bool { return p.choosing == nil && p.match.Stats().Agreed > 0 })
	for _, p := range b.peers {
		require.Equal(t, [2]uint8{2, 1}, p.match.State().Looks, "what is ready is not changed any more")
	}
}

func TestAMatchThatIsWonIsFollowedByARematchWithOtherPicks(t *testing.T) {
	b := newTable(t, options{})
	var ends [3]driftback.Tick
	for bout := range ends {
		b.until("the match is played", func(p *peer[tally, pressed]) bool { return p.choosing == nil && p.bout == bout })
		require.Equal(t, b.peers[0].match.State().Looks, b.peers[1].match.State().Looks)
		require.Equal(t, uint8(bout), b.peers[0].match.State().Looks[1])
		for _, p := range b.peers {
			p.hands.human = p.self == 1
		}
		b.until("the match is over", func(p *peer[tally, pressed]) bool {
			if p.choosing != nil && p.bout == bout+1 {
				p.hands.human = true
				p.want(look(uint8(bout + 1)))
				return true
			}
			ends[bout] = max(ends[bout], p.match.Stats().Confirmed)
			return false
		})
		for _, p := range b.peers {
			p.want(&page.Command{Ready: true})
		}
	}
	for _, end := range ends {
		require.GreaterOrEqual(t, end, driftback.Tick(wonAfter), "it was played until it was won")
	}
}

func TestABotChoosesAfterAWhileAndOneWithoutAPageAtOnce(t *testing.T) {
	b := newTable(t, options{choose: 2 * time.Second})
	b.until("they play", func(p *peer[tally, pressed]) bool { return p.choosing == nil })
	require.Greater(t, b.net.Now(), 2*time.Second)
	require.Less(t, b.net.Now(), 3*time.Second)
	b = newTable(t, options{choose: time.Hour, headless: true, ticks: 30})
	b.until("they play", func(p *peer[tally, pressed]) bool { return p.choosing == nil })
	require.Less(t, b.net.Now(), time.Second)
}

func TestOnlyAPickOfThisBuildsIsTaken(t *testing.T) {
	for _, k := range []page.Pick{{Look: 0, Known: true}, {Look: 4 - 1, Ready: true, Known: true}} {
		got, ok := parsePick(pickBytes(k), 4)
		require.True(t, ok)
		require.Equal(t, k, got)
	}
	for _, b := range [][]byte{nil, {0}, {4, 0}, {0, 2}, {0, 0, 0}} {
		_, ok := parsePick(b, 4)
		require.False(t, ok, "%x", b)
	}
}
