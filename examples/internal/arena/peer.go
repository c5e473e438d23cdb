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

// peer is one player's part in a match: the loop that a game would have.
type peer[S any, I comparable] struct {
	game    *Game[S, I]
	self    driftback.Peer
	o       *options
	match   *session.Lockstep[S, I]
	hands   hands[S, I]
	page    *page.Server // nil: headless
	strip   page.Strip
	report  func(*status)                // told once a second
	impair  func(impair.Impairment) bool // told what the sliders ask for; nil: there are none
	links   <-chan impair.Impairment     // what others' sliders have set
	link    impair.Impairment            // what they show
	frame   page.Frame
	rate    rate
	deepest int
}

// newPeer returns a player who is about to play over tr. Peer p plays participant p.
func newPeer[S any, I comparable](g *Game[S, I], self driftback.Peer, o *options, tr transport.Transport, shown *page.Server) (*peer[S, I], error) {
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // never fails, by its own documentation
	p := &peer[S, I]{game: g, self: self, o: o, page: shown, link: o.link}
	p.hands = newHands(g, driftback.Participant(self), o.seed)
	// Players at different rates, or to different ends, would wait for each other.
	game := fmt.Sprintf("%s, %d ticks a second, to the end", g.Name, o.rate)
	if o.ticks > 0 {
		game = fmt.Sprintf("%s, %d ticks a second, to tick %d", g.Name, o.rate, o.ticks)
	}
	var everybody []driftback.Peer
	for q := range o.players {
		everybody = append(everybody, driftback.Peer(q))
	}
	var err error
	p.match, err = session.New(session.Config[S, I]{
		Step: g.Step, Start: g.Start, Valid: g.Valid,
		Transport: tr, Self: self, Players: everybody,
		Match: g.Match, Game: game, Nonce: binary.LittleEndian.Uint64(nonce[:]) | 1,
		InputDelay: o.delay, PredictionWindow: o.window, JoinTimeout: o.wait,
	})
	if err != nil {
		return nil, err
	}
	if o.ticks > 0 {
		err = p.match.Finish(driftback.Tick(o.ticks))
	}
	return p, err
}

// outcome is how a match that reached its last tick ended.
type outcome struct {
	Tick driftback.Tick
	Sum  fingerprint.Sum
}

// play plays until the match ends or ctx does. It returns the last tick and its
// fingerprint when the match finished, and an error when it ended in any other
// way.
func (p *peer[S, I]) play(ctx context.Context) (outcome, error) {
	start := time.Now()
	ticks := time.NewTicker(time.Second / time.Duration(p.o.rate))
	defer ticks.Stop()
	nextReport := time.Second
	for {
		select {
		case <-ctx.Done():
			p.match.Leave()
			return outcome{}, errInterrupted
		case <-ticks.C:
		}
		p.obey()
		now := time.Since(start)
		r, err := p.match.Tick(now, p.hands.next(p.match.State()))
		if r.Phase == session.Advanced {
			p.hands.used()
		}
		p.strip.Note(&r)
		p.deepest = max(p.deepest, r.Rerun.Len())
		p.show(&r, now, err)
		if now >= nextReport {
			nextReport = now.Truncate(time.Second) + time.Second
			p.report(p.status(&r))
			p.deepest = 0
		}
		switch {
		case errors.Is(err, session.ErrFinished):
			h, err := fingerprint.New[S]()
			if err != nil {
				return outcome{}, err
			}
			return outcome{Tick: r.Tick, Sum: h.Sum(p.match.State())}, nil
		case err != nil:
			return outcome{}, fmt.Errorf("the match ended at tick %d: %w", r.Tick, err)
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
			p.hands.take(&c)
			if c.Link != nil && p.impair != nil {
				p.setLink(c.Link)
			}
		default:
			return
		}
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
