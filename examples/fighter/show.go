package main

import (
	"fmt"
	"time"

	"github.com/driftback/driftback/session"
)

// show gives the page what there is to see.
func (p *peer) show(r *session.Result, now time.Duration, end error) {
	if p.page == nil {
		return
	}
	f, s := &p.frame, p.match.Stats()
	*f = frame{
		Self: int(p.self), Hands: p.hands.String(), Phase: r.Phase.String(),
		Tick: r.Tick, Confirmed: r.Confirmed,
		View:    p.match.State().View(),
		Effects: f.Effects[:0],
		Stats: frameStats{
			InputDelay: p.o.delay, PredictionWindow: p.o.window,
			Rollbacks: s.Loop.Rollbacks, Resimulated: s.Loop.Resimulated, Stalled: s.Stalled,
			LastDepth: f.Stats.LastDepth, Deepest: s.Loop.Deepest, Depths: s.Loop.Depths,
		},
	}
	f.Bout = p.bout
	if p.choosing != nil {
		f.Picks = &p.choosing.picks
		if r.Phase != session.Joining {
			f.Phase = phaseChoosing
		}
	}
	if f.PausedBy = nobody; end == nil {
		if f.Paused, _ = p.match.Paused(); f.Paused {
			f.PausedBy = p.pausedBy
		}
	}
	if end != nil && p.final(end) {
		f.End = fmt.Sprintf("The match is over: %v.", end)
	}
	if n := r.Rerun.Len(); n > 0 {
		f.Stats.LastDepth = n
	}
	for i := range r.Effects {
		f.Effects = append(f.Effects, effectOf(&r.Effects[i]))
	}
	for i := range s.Peers {
		l := &s.Peers[i]
		f.Stats.RoundTripMs, f.Stats.JitterMs = inMs(l.RoundTrip), inMs(l.Jitter)
		f.Stats.LossPercent = 100 * l.Loss
		p.rate.note(now, l.PacketsSent, l.BytesSent)
	}
	f.Stats.PacketsPerSecond, f.Stats.BytesPerSecond = p.rate.packets, p.rate.bytes
	if p.impair != nil {
		f.Link = &linkSetting{
			LatencyMs: int(p.link.Latency.Milliseconds()), JitterMs: int(p.link.Jitter.Milliseconds()), LossPercent: 100 * p.link.Loss,
		}
	}
	f.Strip = p.strip.letters(r.Confirmed)
	p.page.Show(f)
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
