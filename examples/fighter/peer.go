package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/impair"
)

// matchID tells this game's matches from others', and is that of the first choosing; each
// session after it has the next one. A real game would draw one for each match and agree
// on it where the players meet.
const matchID = 0x66696768746572

// catchUp is how many ticks are made up for at most when the loop was held up.
const catchUp = 3

// peer is one side of a match: the loop that a game would have.
type peer struct {
	self     driftback.Peer
	o        *options
	match    *session.Lockstep[sim.State, sim.Input]
	choosing *choosing // nil while a match is played
	bout     int       // matches that are over
	hands    *hands
	page     *pageServer // nil: headless
	strip    strip
	report   func(*status)                // told once a second
	impair   func(impair.Impairment) bool // told what the sliders ask for; nil: there are none
	links    <-chan impair.Impairment     // what the other side's sliders have set
	link     impair.Impairment            // what they show
	frame    frame
	rate     rate
	deepest  int
	// pausedBy is the side that has paused the match, or nobody.
	pausedBy int
}

const nobody = -1

// newPeer returns a side that is about to play over tr.
func newPeer(self driftback.Peer, o *options, tr transport.Transport, page *pageServer) (*peer, error) {
	p := &peer{self: self, o: o, hands: newHands(int(self), o.seed), page: page, link: o.link, choosing: &choosing{}, pausedBy: nobody}
	c := p.config()
	c.Transport = tr
	var err error
	p.match, err = session.New(c)
	return p, err
}

// config returns what the session is configured with that is next: a match, or the
// choosing before it.
func (p *peer) config() session.Config[sim.State, sim.Input] {
	o := p.o
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // never fails, by its own documentation
	// Two that play to different ends would wait for each other.
	game := "fighter, to the end"
	if o.ticks > 0 {
		game = fmt.Sprintf("fighter, to tick %d", o.ticks)
	}
	match := uint64(matchID + 2*p.bout)
	if p.choosing == nil {
		match++
	}
	return session.Config[sim.State, sim.Input]{
		Step: sim.Step, Start: sim.Start, Valid: sim.Input.Valid,
		Self: p.self, Players: []driftback.Peer{0, 1},
		Match: match, Game: game, Nonce: binary.LittleEndian.Uint64(nonce[:]) | 1,
		InputDelay: o.delay, PredictionWindow: o.window, JoinTimeout: o.wait, TickRate: o.rate, Clock: sinceNew(),
	}
}

// sinceNew returns a clock.
func sinceNew() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// outcome is how a match that reached its last tick ended.
type outcome struct {
	Tick driftback.Tick
	Sum  fingerprint.Sum
}

// play plays until the match ends or ctx does. It returns the last tick and its
// fingerprint when the match finished, and an error when it ended in any other
// way.
func (p *peer) play(ctx context.Context) (outcome, error) {
	start := time.Now()
	period := time.Second / time.Duration(p.o.rate)
	next := period // when the next tick is due
	timer := time.NewTimer(next)
	defer timer.Stop()
	nextReport := time.Second
	for {
		select {
		case <-ctx.Done():
			p.match.Leave()
			return outcome{}, errInterrupted
		case <-timer.C:
		}
		p.obey()
		now := time.Since(start)
		r, ready, err := p.turn(now)
		// The one who is behind plays faster and the one ahead slower. Held up for long, the ticks
		// that were missed are not made up for.
		next = max(next, now-catchUp*period) + time.Duration(float64(period)/r.Pace.Rate)
		timer.Reset(next - time.Since(start))
		p.deepest = max(p.deepest, r.Rerun.Len())
		p.show(&r, now, err)
		if now >= nextReport {
			nextReport = now.Truncate(time.Second) + time.Second
			p.report(p.status(&r))
			p.deepest = 0
		}
		switch err := p.over(err, ready); {
		case errors.Is(err, session.ErrFinished):
			h, err := fingerprint.New[sim.State]()
			if err != nil {
				return outcome{}, err
			}
			return outcome{Tick: r.Tick, Sum: h.Sum(p.match.State())}, nil
		case err != nil:
			return outcome{}, fmt.Errorf("the match ended at tick %d: %w", r.Tick, err)
		}
	}
}

// turn is one turn of a match, or of the choosing before it, at whose end ready says
// that both sides are.
func (p *peer) turn(now time.Duration) (r session.Result, ready bool, err error) {
	if p.choosing != nil {
		return p.choose(now)
	}
	r, err = p.match.Tick(now, p.hands.next(p.match.State()))
	if r.Phase == session.Advanced {
		p.hands.used()
	}
	p.strip.note(&r)
	p.notePause(&r)
	if err == nil {
		err = p.endAfter(&r)
	}
	return r, false, err
}

// pause asks for what a page does. Whether the match has ended is found out by Tick.
func (p *peer) pause(wanted *bool) {
	switch {
	case wanted == nil || p.choosing != nil:
	case *wanted:
		_ = p.match.Pause()
	default:
		_ = p.match.Resume()
	}
}

// notePause remembers who has paused the match, once that is confirmed.
func (p *peer) notePause(r *session.Result) {
	for _, e := range r.Events {
		switch e.Kind {
		case session.Paused:
			p.pausedBy = int(e.Participant)
		case session.Resumed:
			p.pausedBy = nobody
		default: // it is not about pauses
		}
	}
}

// obey does what the pages ask for.
func (p *peer) obey() {
	if p.page == nil {
		return
	}
	for {
		select {
		case p.link = <-p.links:
		case c := <-p.page.Commands():
			p.hands.take(&c)
			p.want(&c)
			p.pause(c.Pause)
			if c.Link != nil && p.impair != nil {
				im := p.link
				im.Latency = time.Duration(c.Link.LatencyMs) * time.Millisecond
				im.Jitter = time.Duration(c.Link.JitterMs) * time.Millisecond
				im.Loss = c.Link.LossPercent / 100
				if im.Validate() == nil && p.impair(im) {
					p.link = im
				}
			}
		default:
			return
		}
	}
}
