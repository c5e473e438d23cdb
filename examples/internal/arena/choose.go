package arena

import (
	"errors"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
	"github.com/driftback/driftback/session"
)

// Picks is what each of two players picks before a match.
type Picks[S any] struct {
	// Looks is how many there are to pick from, counted from 0.
	Looks uint8
	// Of returns the looks of a state, and Wear makes the state that a match with these
	// looks begins from.
	Of   func(s *S) [2]uint8
	Wear func(looks [2]uint8) S
	// Won is the kind of the effect, raised when confirmed, that ends a match, and Cheer for
	// how many ticks it goes on then.
	Won   uint32
	Cheer driftback.Tick
	// WonFor returns for how many ticks a match has been won as the next one begins, the
	// one in which it was among them, and 0 while it is not.
	WonFor func(s *S) driftback.Tick
}

// choosing is the time before a match, in which each of two sides picks a look. It is a
// session of its own of which no tick is run: the sides tell each other their picks as
// messages and then go on to the match over the same links.
type choosing struct {
	picks [2]page.Pick
	told  page.Pick     // ours, as the other side knows it
	until time.Duration // when a bot has picked; 0: not set yet
}

// pickBytes is the message that tells a pick.
func pickBytes(k page.Pick) []byte {
	if k.Ready {
		return []byte{k.Look, 1}
	}
	return []byte{k.Look, 0}
}

// parsePick reads such a message; ok is false for what no build of ours would send.
func parsePick(b []byte, looks uint8) (k page.Pick, ok bool) {
	if len(b) != 2 || b[0] >= looks || b[1] > 1 {
		return page.Pick{}, false
	}
	return page.Pick{Look: b[0], Ready: b[1] == 1, Known: true}, true
}

// choose is one turn before a match. It reports whether both sides are ready.
func (p *peer[S, I]) choose(now time.Duration) (r session.Result, ready bool, err error) {
	c := p.choosing
	own, other := &c.picks[p.self], &c.picks[1-p.self]
	r, err = p.match.Poll(now)
	for _, e := range r.Events {
		switch e.Kind {
		case session.PeerJoined:
			if c.until == 0 {
				c.until = now + p.o.choose
			}
		case session.PeerDown:
			c.told = page.Pick{} // it may not have arrived
		default: // it is not about the link
		}
	}
	for _, m := range r.Messages {
		if k, ok := parsePick(m.Data, p.game.Picks.Looks); ok {
			*other = k
		}
	}
	if p.o.headless || !p.hands.human && c.until != 0 && now >= c.until {
		own.Ready = true
	}
	if c.told != *own && p.match.Send(1-p.self, pickBytes(*own)) == nil {
		c.told = *own
	}
	// Whoever knows of both goes on, which ends this session for the other: it then knows
	// of both as well.
	return r, c.told.Ready && other.Ready, err
}

// want takes what a page has picked. What is ready is not changed any more.
func (p *peer[S, I]) want(c *page.Command) {
	if p.choosing == nil || c.Look == nil && !c.Ready {
		return
	}
	p.hands.human = true
	if own := &p.choosing.picks[p.self]; !own.Ready {
		if c.Look != nil {
			own.Look = *c.Look
		}
		own.Ready = c.Ready
	}
}

// begin goes on from choosing to the match.
func (p *peer[S, I]) begin() error {
	var looks [2]uint8
	for side, k := range p.choosing.picks {
		looks[side] = k.Look
	}
	p.choosing = nil
	p.back.known = true // be it that all came in one turn
	start := p.game.Picks.Wear(looks)
	if err := p.follow(&start); err != nil {
		return err
	}
	return p.setEnd()
}

// chooseAgain goes on from a match to choosing before the next.
func (p *peer[S, I]) chooseAgain() error {
	p.bout++
	c := &choosing{}
	for side, look := range p.game.Picks.Of(p.match.State()) {
		c.picks[side].Look = look
	}
	p.choosing = c
	return p.follow(nil)
}

// follow goes on to another session over the same links.
func (p *peer[S, I]) follow(initial *S) error {
	c := p.config()
	c.Initial = initial
	next, err := p.match.Rematch(c)
	if err != nil {
		return err
	}
	p.match = next
	p.anew()
	return nil
}

// endAfter ends a match that has been won, once the winner has cheered, so that both
// sides choose again. It is confirmed alike on both, and so the last tick is the same.
func (p *peer[S, I]) endAfter(r *session.Result) error {
	if !p.endsWhenWon() {
		return nil // the next match begins by itself
	}
	for _, e := range r.Effects {
		if e.Kind == session.Confirmed && e.Effect.Kind == p.game.Picks.Won {
			return p.match.Finish(p.endOf(e.Tick))
		}
	}
	return nil
}

func (p *peer[S, I]) endsWhenWon() bool { return p.choosesNext() && !p.o.headless }

// endOf returns the last tick of a match that was won in a tick. No side can have run further
// than the window beyond what is confirmed.
func (p *peer[S, I]) endOf(won driftback.Tick) driftback.Tick {
	return won + max(p.game.Picks.Cheer, driftback.Tick(p.o.window)+2)
}

// choosesNext reports whether the sides choose again when a match is over.
func (p *peer[S, I]) choosesNext() bool { return p.game.Picks != nil && p.o.ticks == 0 }

// over goes on to the next session when one is over. It returns why there is none.
func (p *peer[S, I]) over(err error, ready bool) error {
	switch {
	case ready:
		return p.begin()
	case err == nil:
		return nil
	case p.coming == nil && p.choosing == nil && errors.Is(err, session.ErrFinished) && p.choosesNext():
		return p.chooseAgain()
	}
	return p.startAnew(err)
}
