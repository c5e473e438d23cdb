package arena

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/impair"
	"github.com/driftback/driftback/transport/loopback"
)

// shown returns a player who has a page and has not met the others.
func shown(t *testing.T) *peer[tally, pressed] {
	g := tallying()
	o := &options{players: 3, rate: 60, window: 8, wait: time.Minute}
	server, err := g.openPage(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	p, err := newPeer(g, 0, o, loopback.New(1).Open(0), server)
	require.NoError(t, err)
	return p
}

func TestAFrameKeepsTheNewestDepthAndShowsEachEffectOnce(t *testing.T) {
	p := shown(t)
	hit := session.Report{Kind: session.Happened, Tick: 6, Effect: driftback.Effect{Kind: 1, Args: [3]int32{1}}}
	p.show(&session.Result{Rerun: rewind.Span{From: 3, To: 7}, Effects: []session.Report{hit}}, 0, nil)
	require.Equal(t, 4, p.frame.Stats.LastDepth)
	require.Equal(t, []page.Effect{{Kind: "happened", Name: "hit", Tick: 6, Args: [3]int32{1}}}, p.frame.Effects)
	p.show(&session.Result{}, 0, nil)
	require.Equal(t, 4, p.frame.Stats.LastDepth, "of the newest rollback, not of the newest tick")
	require.Empty(t, p.frame.Effects)
	p.show(&session.Result{Rerun: rewind.Span{From: 8, To: 9}}, 0, nil)
	require.Equal(t, 1, p.frame.Stats.LastDepth)
}

func TestWhatIsSentIsMeasuredOverWholeSeconds(t *testing.T) {
	var r rate
	r.note(time.Second, 60, 1200)
	require.Equal(t, [2]float64{60, 1200}, [2]float64{r.packets, r.bytes})
	r.note(1500*time.Millisecond, 150, 3000)
	require.Equal(t, [2]float64{60, 1200}, [2]float64{r.packets, r.bytes}, "not before the second is over")
	r.note(3*time.Second, 160, 3200)
	require.Equal(t, [2]float64{50, 1000}, [2]float64{r.packets, r.bytes})
}

func TestAPagesSlidersSetTheLinksInTheirOwnUnits(t *testing.T) {
	p := shown(t)
	var asked []impair.Impairment
	p.impair = func(im impair.Impairment) bool { asked = append(asked, im); return true }
	p.obeyPage(&page.Command{Link: &page.LinkSetting{LatencyMs: 60, JitterMs: 10, LossPercent: 5}})
	p.obeyPage(&page.Command{Link: &page.LinkSetting{LossPercent: 500}})
	want := impair.Impairment{Latency: 60 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.05}
	require.Equal(t, []impair.Impairment{want}, asked, "and what no link can do is not asked for")
	require.Equal(t, want, p.link)
	p.show(&session.Result{}, 0, nil)
	require.Equal(t, &page.LinkSetting{LatencyMs: 60, JitterMs: 10, LossPercent: 5}, p.frame.Link)
}

func TestAFrameHasALineForEachPeerAndTheNumbersOfTheSlowest(t *testing.T) {
	p := shown(t)
	p.showPeers(&session.Result{WaitingFor: []driftback.Participant{2}}, []session.PeerStats{
		{Peer: 1, LinkStats: mesh.LinkStats{RoundTrip: 90 * time.Millisecond, Loss: 0.25, PacketsSent: 10, BytesSent: 100}},
		{Peer: 2, LinkStats: mesh.LinkStats{RoundTrip: 30 * time.Millisecond, Silence: time.Second, PacketsSent: 20, BytesSent: 300}},
	}, time.Second)
	require.Equal(t, []page.Peer{
		{Participant: 1, RoundTripMs: 90, LossPercent: 25, Through: page.Nobody},
		{Participant: 2, RoundTripMs: 30, SilentMs: 1000, Missing: true, Through: page.Nobody},
	}, p.frame.Peers)
	require.Equal(t, page.Stats{RoundTripMs: 90, LossPercent: 25, PacketsPerSecond: 30, BytesPerSecond: 400}, p.frame.Stats)
}

// threeShown opens three sides with pages. run has some of them play; they leave how their matches have
// ended, and their newest lines. carry, if there is one, is called ten times in each tick.
func threeShown(t *testing.T, net *loopback.Network, o options, carry func()) (sides [3]*peer[tally, pressed], ends *[3]error, lines *[3]*status, run func(ticks int, who ...int)) {
	t.Helper()
	o.players, o.rate, o.delay, o.wait = 3, 60, 2, time.Minute
	for i := range sides {
		server, err := tallying().openPage(&o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Close()) })
		sides[i], err = newPeer(tallying(), driftback.Peer(i), &o, net.Open(driftback.Peer(i)), server)
		require.NoError(t, err)
	}
	ends, lines = &[3]error{}, &[3]*status{}
	return sides, ends, lines, func(ticks int, who ...int) {
		for range ticks {
			for range 10 {
				net.Advance(time.Second / 600)
				if carry != nil {
					carry()
				}
			}
			for _, i := range who {
				if ends[i] != nil {
					continue
				}
				r, _, err := sides[i].turn(net.Now())
				ends[i] = err
				sides[i].show(&r, net.Now(), err)
				lines[i] = sides[i].status(&r)
			}
		}
	}
}

// Of three the second stops without a word. The others stall, agree to go on without it,
// finish in the same world, and their pages and lines say who is gone.
func TestTheOthersPlayOnWithoutOneThatIsLost(t *testing.T) {
	sides, ends, lines, run := threeShown(t, loopback.New(1), options{window: 8, ticks: 300}, nil)
	run(100, 0, 1, 2)
	require.False(t, sides[0].frame.Peers[0].Gone, "the control")
	run(100, 0, 2)
	require.Equal(t, "stalled", sides[0].frame.Phase, "they wait for it first")
	require.Equal(t, 1, lines[0].Silent)
	run(600, 0, 2)
	for i, p := range []*peer[tally, pressed]{sides[0], sides[2]} {
		require.ErrorIs(t, ends[2*i], session.ErrFinished)
		require.EqualValues(t, 300, p.frame.Tick)
		require.Equal(t, sides[0].frame.View, p.frame.View)
		require.Equal(t, []bool{i == 0, i == 1}, []bool{p.frame.Peers[0].Gone, p.frame.Peers[1].Gone}, "%v", p.frame.Peers)
		require.Equal(t, 1, lines[2*i].Gone)
		require.Zero(t, lines[2*i].Silent, "nobody waits for it any more")
	}
}

// Two sides over a link of 50 ms: what one's page asks for is shown on both.
func TestAPageThatPausesPausesTheMatchForBoth(t *testing.T) {
	net := loopback.New(1)
	var sides [2]*peer[tally, pressed]
	for i := range sides {
		self := driftback.Peer(i)
		require.NoError(t, net.Impair(self, 1-self, loopback.Impairment{Latency: 50 * time.Millisecond}))
		o := &options{players: 2, rate: 60, delay: 2, window: 8, wait: time.Minute}
		server, err := tallying().openPage(o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Close()) })
		sides[i], err = newPeer(tallying(), self, o, net.Open(self), server)
		require.NoError(t, err)
	}
	var lines [2]*status
	run := func(ticks int) {
		for range ticks {
			net.Advance(time.Second / 60)
			for i, p := range sides {
				p.obey()
				r, ready, err := p.turn(net.Now())
				require.NoError(t, p.over(err, ready))
				p.show(&r, net.Now(), nil)
				lines[i] = p.status(&r)
			}
		}
	}
	run(60)
	yes, no := true, false
	sides[0].obeyPage(&page.Command{Pause: &yes})
	run(3)
	require.True(t, sides[0].frame.Paused)
	run(40)
	for i, p := range sides {
		require.True(t, p.frame.Paused)
		require.Zero(t, p.frame.PausedBy)
		require.True(t, lines[i].Paused)
	}
	tick, view := sides[1].frame.Tick, sides[1].frame.View
	run(40)
	require.Greater(t, sides[1].frame.Tick, tick+30)
	require.Equal(t, view, sides[1].frame.View)

	sides[1].obeyPage(&page.Command{Pause: &no})
	run(40)
	for i, p := range sides {
		require.False(t, p.frame.Paused)
		require.Equal(t, page.Nobody, p.frame.PausedBy)
		require.False(t, lines[i].Paused)
	}
	require.NotEqual(t, view, sides[1].frame.View)
}
