package simtest

import (
	"errors"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// frame is one turn of a peer's loop.
func (p *peer[S, I]) frame(at time.Duration) {
	if p.gone || p.err != nil {
		return
	}
	p.m.at(at+p.period(), int(p.self), p.life)
	now := p.clock
	p.clock += p.length()
	if p.frozen > 0 {
		for i, f := range p.m.s.Faults {
			if f.Kind == Freeze && slices.Contains(f.From, int(p.self)) && at >= f.At.Duration() && at < f.end().Duration() {
				p.m.happens[i] = true
			}
		}
		return
	}
	// A peer that was frozen could not have heard anybody meanwhile.
	passed := min(now-p.polled, p.m.s.PeerTimeout.Duration()/4)
	for q := range p.silent {
		p.silent[q] += passed
		p.missed[q] = p.missed[q] || p.m.s.PeerTimeout > 0 && p.silent[q] >= p.m.s.silence() && q != int(p.self)
	}
	p.polled = now
	ticks := p.ticks()
	p.gait.waits = ticks == 0
	p.call(at, now)
	if ticks > 1 && p.err == nil && p.m.violation == nil {
		p.call(at, now)
	}
}

// call calls the session once.
func (p *peer[S, I]) call(at, now time.Duration) {
	p.local = p.local[:0]
	for _, q := range p.is.Plays {
		p.local = append(p.local, p.presses(q))
	}
	p.obey()
	p.speaks()
	p.act()
	p.write()
	r, ok, err := p.tick(now)
	if !ok {
		return
	}
	stats := p.session.Stats()
	for i := range stats.Peers {
		p.m.measured = max(p.m.measured, stats.Peers[i].RoundTrip+2*stats.Peers[i].Jitter)
	}
	if !errors.Is(err, session.ErrCutOff) { // that is a view in which it does not play
		p.seeView()
	}
	ran := driftback.Tick(session.None)
	if r.Tick > p.next && r.Phase != session.CatchingUp {
		ran = p.next
	}
	p.checkTraffic(now, r.Tick > p.next, &stats)
	p.tally.count(at, p.next, driftback.Tick(p.m.s.Ticks), p.gait.waits, &r, &stats)
	p.check(&r, err)
	p.checkDelays(now, ran, &r)
	p.checkPace(&r)
	p.measure(at)
	if p.liar != nil {
		p.liar.turn()
	}
}

// tick is the session's, or its Poll where the tick is left out, but does not panic. ok is false if that did.
func (p *peer[S, I]) tick(now time.Duration) (r session.Result, ok bool, err error) {
	defer func() {
		if why := recover(); why != nil {
			place := culprit()
			p.breaksAt(place, p.next, "it panicked at %s: %v", place, why)
		}
	}()
	if p.gait.waits {
		r, err = p.session.Poll(now)
	} else {
		r, err = p.session.Tick(now, p.local...)
	}
	return r, true, err
}
