package arena

import (
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
	"github.com/driftback/driftback/session"
)

// show gives the page what there is to see.
func (p *peer[S, I]) show(r *session.Result, now time.Duration, end error) {
	if p.page == nil {
		return
	}
	f, s := &p.frame, p.match.Stats()
	*f = page.Frame{
		Self: int(p.self), Hands: p.hands.String(),
		Tick: r.Tick, Confirmed: r.Confirmed,
		View:    p.game.View(p.state()),
		Effects: f.Effects[:0], Peers: f.Peers[:0],
		Stats: page.Stats{
			InputDelay: p.o.delay, PredictionWindow: p.o.window,
			Rollbacks: s.Loop.Rollbacks, Resimulated: s.Loop.Resimulated, Stalled: s.Stalled,
			LastDepth: f.Stats.LastDepth, Deepest: s.Loop.Deepest, Depths: s.Loop.Depths,
		},
	}
	f.Bout = p.bout
	f.Phase = p.phase(r, end)
	if p.choosing != nil {
		f.Picks = p.choosing.picks[:]
	}
	if f.PausedBy = page.Nobody; end == nil && p.coming == nil {
		if f.Paused, _ = p.match.Paused(); f.Paused {
			f.PausedBy = p.pausedBy
		}
	}
	if end != nil {
		f.End = fmt.Sprintf("The match is over: %v.", end)
	}
	if n := r.Rerun.Len(); n > 0 {
		f.Stats.LastDepth = n
	}
	for i := range r.Effects {
		e := &r.Effects[i]
		f.Effects = append(f.Effects, page.Effect{Kind: e.Kind.String(), Name: p.game.EffectName(e.Effect.Kind), Tick: e.Tick, Args: e.Effect.Args})
	}
	p.showPeers(r, s.Peers, now)
	if p.impair != nil {
		f.Link = &page.LinkSetting{
			LatencyMs: int(p.link.Latency.Milliseconds()), JitterMs: int(p.link.Jitter.Milliseconds()), LossPercent: 100 * p.link.Loss,
		}
	}
	f.Strip = p.strip.Letters(r.Confirmed)
	p.page.Show(f)
}

// showWaiting shows a page the world from which a match begins while there is nobody to play it with.
func (g *Game[S, I]) showWaiting(to *page.Server, self driftback.Peer, o *options) {
	var s S
	g.Start(o.seed, &s)
	to.Show(&page.Frame{
		Self: int(self), Hands: page.HandsBot, Phase: session.Joining.String(), PausedBy: page.Nobody, View: g.View(&s),
		Stats: page.Stats{InputDelay: o.delay, PredictionWindow: o.window},
	})
}

// phase says in a word what a turn found; end is why there is no other.
func (p *peer[S, I]) phase(r *session.Result, end error) string {
	switch {
	case end != nil:
		return session.Ended.String()
	case p.isComing(r):
		return page.PhaseComingBack
	case r.Phase == session.Joining, r.Phase == session.Ended: // and another session begins
		return session.Joining.String()
	case p.choosing != nil:
		return page.PhaseChoosing
	}
	return r.Phase.String()
}

// showPeers puts the links into the frame.
func (p *peer[S, I]) showPeers(r *session.Result, peers []session.PeerStats, now time.Duration) {
	f := &p.frame
	for q, l := range p.others(peers) {
		shown := page.Peer{
			Participant: int(q),
			RoundTripMs: inMs(l.RoundTrip), JitterMs: inMs(l.Jitter), LossPercent: 100 * l.Loss,
			SilentMs: inMs(l.Silence), Unacknowledged: l.Unacknowledged,
			Missing: slices.Contains(r.WaitingFor, driftback.Participant(q)), Gone: p.gone(q),
		}
		shown.Returning = p.returns(q)
		shown.Through = p.throughWhom(q)
		f.Peers = append(f.Peers, shown)
		if !shown.Gone && shown.RoundTripMs >= f.Stats.RoundTripMs {
			f.Stats.RoundTripMs, f.Stats.JitterMs, f.Stats.LossPercent = shown.RoundTripMs, shown.JitterMs, shown.LossPercent
		}
	}
	sent := sentTo(peers)
	p.rate.note(now, sent.Packets, sent.Bytes)
	f.Stats.PacketsPerSecond, f.Stats.BytesPerSecond = p.rate.packets, p.rate.bytes
}

func inMs(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// rate is how much is sent per second, measured over whole seconds.
type rate struct {
	packets, bytes float64
	since          time.Duration
	atPackets      uint64
	atBytes        uint64
}

func (r *rate) note(now time.Duration, packets, bytes uint64) {
	passed := now - r.since
	if passed < time.Second {
		return
	}
	r.packets = float64(packets-r.atPackets) / passed.Seconds()
	r.bytes = float64(bytes-r.atBytes) / passed.Seconds()
	r.since, r.atPackets, r.atBytes = now, packets, bytes
}
