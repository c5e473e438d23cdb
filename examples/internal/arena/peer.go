package arena

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/impair"
)

// catchUp is how many ticks are made up for at most when the loop was held up.
const catchUp = 3

// peer is one player's part in a match: the loop that a game would have.
type peer[S any, I comparable] struct {
	game     *Game[S, I]
	self     driftback.Peer
	o        *options
	match    *session.Lockstep[S, I]
	coming   *session.Joiner[S, I] // nil unless this process comes back to a match
	choosing *choosing             // nil while a match is played
	bout     int                   // matches that are over
	back     back
	hands    hands[S, I]
	page     *page.Server // nil: headless
	strip    page.Strip
	report   func(*status)                // told once a second
	impair   func(impair.Impairment) bool // told what the sliders ask for; nil: there are none
	links    <-chan impair.Impairment     // what others' sliders have set
	link     impair.Impairment            // what they show
	frame    page.Frame
	rate     rate
	deepest  int
	// through says through whom another is linked, if it is not linked directly.
	through func(driftback.Peer) (driftback.Peer, bool)
	// pausedBy is the participant that has paused the match, or page.Nobody.
	pausedBy int
	before   *flow       // what had been sent when the match's first tick ran; nil before that
	sent     func(*flow) // told at the end what has been sent since; nil: nobody asks
}

// newPeer returns a player who is about to play over tr. Peer p plays participant p.
func newPeer[S any, I comparable](g *Game[S, I], self driftback.Peer, o *options, tr transport.Transport, shown *page.Server) (*peer[S, I], error) {
	p := &peer[S, I]{game: g, self: self, o: o, page: shown, link: o.link, pausedBy: page.Nobody}
	p.through = func(driftback.Peer) (driftback.Peer, bool) { return 0, false }
	p.hands = newHands(g, driftback.Participant(self), o.seed)
	if g.Picks != nil {
		p.choosing = &choosing{}
	}
	return p, p.meet(tr)
}

// meet begins a first session over tr, which is nobody else's.
func (p *peer[S, I]) meet(tr transport.Transport) (err error) {
	c := p.config()
	c.Transport = tr
	if p.match, err = session.New(c); err != nil {
		return err
	}
	return p.setEnd()
}

// setEnd lets a match end at the tick that the options name, if they do.
func (p *peer[S, I]) setEnd() error {
	if p.o.ticks == 0 || p.choosing != nil {
		return nil
	}
	return p.match.Finish(driftback.Tick(p.o.ticks))
}

// config returns what the session is configured with that is next: a match, or the
// choosing before it.
func (p *peer[S, I]) config() session.Config[S, I] {
	g, o := p.game, p.o
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // never fails, by its own documentation
	c := session.Config[S, I]{
		Step: p.step(), Start: g.Start, Valid: g.Valid,
		Self: p.self, Players: o.everybody(), Relay: o.relay,
		// One number for all that is played between them: who comes back does not know what
		// has been played meanwhile.
		Match: g.Match, Game: p.gameName(p.choosing != nil), Nonce: binary.LittleEndian.Uint64(nonce[:]) | 1,
		InputDelay: o.delay, PredictionWindow: o.window, JoinTimeout: o.wait, TickRate: o.rate, Clock: sinceNew(),
		WhenLost: session.PlayOn,              // of two neither does
		Rejoin:   o.back && p.choosing == nil, // but the other waits for who comes back
	}
	if c.Rejoin && o.players == 2 {
		c.RejoinGrace = o.grace
	}
	return c
}

// everybody returns who plays: peer p plays participant p.
func (o *options) everybody() []driftback.Peer {
	all := make([]driftback.Peer, o.players)
	for q := range all {
		all[q] = driftback.Peer(q)
	}
	return all
}

// gameName is what the handshake compares as the game's name. Players to different ends would
// wait for each other.
func (p *peer[S, I]) gameName(choosing bool) string {
	name := p.game.Name + ", to the end"
	if p.o.ticks > 0 {
		name = fmt.Sprintf("%s, to tick %d", p.game.Name, p.o.ticks)
	}
	if choosing {
		name += ", choosing"
	}
	return name
}

// gone reports whether the others play on without a peer.
func (p *peer[S, I]) gone(q driftback.Peer) bool {
	_, gone := p.match.Cut(driftback.Participant(q))
	return gone
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
	// Without says who has gone meanwhile, and from when on. It is empty where they may come back.
	Without string
}

// play plays until the match ends or ctx does. It returns the last tick and its
// fingerprint when the match finished, and an error when it ended in any other
// way.
func (p *peer[S, I]) play(ctx context.Context) (outcome, error) {
	start := time.Now()
	period := time.Second / time.Duration(p.o.rate)
	next := period // when the next tick is due
	timer := time.NewTimer(next)
	defer timer.Stop()
	nextReport := time.Second
	for {
		select {
		case <-ctx.Done():
			p.leave()
			return outcome{}, errInterrupted
		case <-timer.C:
		}
		p.obey()
		now := time.Since(start)
		r, ready, err := p.turn(now)
		// Whoever is behind plays faster and whoever is ahead slower. Held up for long, the
		// ticks that were missed are not made up for.
		next = max(next, now-catchUp*period) + time.Duration(float64(period)/r.Pace.Rate)
		timer.Reset(next - time.Since(start))
		p.deepest = max(p.deepest, r.Rerun.Len())
		err = p.over(err, ready)
		p.show(&r, now, err)
		if now >= nextReport && err == nil {
			nextReport = now.Truncate(time.Second) + time.Second
			p.report(p.status(&r))
			p.deepest = 0
		}
		switch {
		case errors.Is(err, session.ErrFinished):
			if f := p.flow(now); f != nil && p.sent != nil {
				p.sent(f)
			}
			return p.outcome(r.Tick)
		case err != nil:
			return outcome{}, p.reported(fmt.Errorf("the match ended at tick %d: %w", r.Tick, err))
		}
	}
}

// outcome returns how a match has ended that has reached a tick.
func (p *peer[S, I]) outcome(t driftback.Tick) (outcome, error) {
	h, err := fingerprint.New[S]()
	if err != nil {
		return outcome{}, err
	}
	return outcome{Tick: t, Sum: h.Sum(p.state()), Without: p.without(t)}, nil
}

// without says who has gone before a tick. Whoever has confirmed that tick knows of the same.
func (p *peer[S, I]) without(end driftback.Tick) (words string) {
	for q := range p.o.players {
		if t, gone := p.match.Cut(driftback.Participant(q)); gone && t < end && !p.o.back {
			if words != "" {
				words += ", and "
			}
			words += fmt.Sprintf("without the %s from tick %d on", p.game.Seats[q], t)
		}
	}
	return words
}

// turn is one turn of a match, of coming back to one, or of the choosing before it, at whose
// end ready says that both sides are.
func (p *peer[S, I]) turn(now time.Duration) (r session.Result, ready bool, err error) {
	switch {
	case p.back.rest > 0:
		r, err = p.resting()
		return r, false, err
	case p.coming != nil:
		r, err = p.comeBack(now)
	case p.choosing != nil:
		r, ready, err = p.choose(now)
	default:
		r, err = p.playOn(now)
	}
	p.back.note(&r, p.choosing != nil)
	return r, ready, err
}

func (p *peer[S, I]) playOn(now time.Duration) (r session.Result, err error) {
	r, err = p.match.Tick(now, p.hands.next(p.match.State()))
	if r.Phase == session.Advanced {
		p.hands.used()
	}
	p.strip.Note(&r)
	p.notePause(&r)
	p.noteFlow(&r, now)
	if err == nil {
		err = p.endAfter(&r)
	}
	return r, err
}

// leave tells the others that this player goes.
func (p *peer[S, I]) leave() {
	if p.coming != nil {
		p.coming.Leave()
	}
	p.match.Leave()
}

// state is the world to be seen.
func (p *peer[S, I]) state() *S {
	if p.coming != nil {
		return p.coming.State()
	}
	return p.match.State()
}

// pause asks for what a page does. Whether the match has ended is found out by Tick.
func (p *peer[S, I]) pause(wanted *bool) {
	switch {
	case wanted == nil || p.choosing != nil || p.coming != nil:
	case *wanted:
		_ = p.match.Pause()
	default:
		_ = p.match.Resume()
	}
}

// notePause remembers who has paused the match, once that is confirmed.
func (p *peer[S, I]) notePause(r *session.Result) {
	for _, e := range r.Events {
		switch e.Kind {
		case session.Paused:
			p.pausedBy = int(e.Participant)
		case session.Resumed:
			p.pausedBy = page.Nobody
		default: // it is not about pauses
		}
	}
}

// obey does what the pages ask for.
func (p *peer[S, I]) obey() {
	if p.page == nil {
		return
	}
	for {
		select {
		case p.link = <-p.links:
		case c := <-p.page.Commands():
			p.obeyPage(&c)
		default:
			return
		}
	}
}

// obeyPage does what one page asks for.
func (p *peer[S, I]) obeyPage(c *page.Command) {
	p.hands.take(c)
	p.want(c)
	p.pause(c.Pause)
	if c.Link != nil && p.impair != nil {
		p.setLink(c.Link)
	}
}

// setLink asks for what a page's sliders say.
func (p *peer[S, I]) setLink(l *page.LinkSetting) {
	im := p.link
	im.Latency = time.Duration(l.LatencyMs) * time.Millisecond
	im.Jitter = time.Duration(l.JitterMs) * time.Millisecond
	im.Loss = l.LossPercent / 100
	if im.Validate() == nil && p.impair(im) {
		p.link = im
	}
}
