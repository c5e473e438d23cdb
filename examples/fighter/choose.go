package main

import (
	"errors"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/session"
)

// choosing is the time before a match, in which each side picks a look. It is a session
// of its own of which no tick is run: the sides tell each other their picks as messages
// and then go on to the match over the same links.
type choosing struct {
	picks [sim.Sides]pick
	told  pick          // ours, as the other side knows it
	until time.Duration // when a bot has picked; 0: not set yet
}

// pick is what one side wants to look like, and whether it is ready to play.
type pick struct {
	Look  uint8 `json:"look"`
	Ready bool  `json:"ready"`
	Known bool  `json:"known"` // it has been heard of
}

// bytes is the message that tells a pick.
func (k pick) bytes() []byte {
	if k.Ready {
		return []byte{k.Look, 1}
	}
	return []byte{k.Look, 0}
}

// parsePick reads such a message; ok is false for what no build of ours would send.
func parsePick(b []byte) (k pick, ok bool) {
	if len(b) != 2 || b[0] >= sim.NumLooks || b[1] > 1 {
		return pick{}, false
	}
	return pick{Look: b[0], Ready: b[1] == 1, Known: true}, true
}

// choose is one turn before a match. It reports whether both sides are ready.
func (p *peer) choose(now time.Duration) (r session.Result, ready bool, err error) {
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
			c.told = pick{} // it may not have arrived
		default: // it is not about the link
		}
	}
	for _, m := range r.Messages {
		if k, ok := parsePick(m.Data); ok {
			*other = k
		}
	}
	if p.o.headless || !p.hands.human && c.until != 0 && now >= c.until {
		own.Ready = true
	}
	if c.told != *own && p.match.Send(1-p.self, own.bytes()) == nil {
		c.told = *own
	}
	// Whoever knows of both goes on, which ends this session for the other: it then knows
	// of both as well.
	return r, c.told.Ready && other.Ready, err
}

// want takes what a page has picked. What is ready is not changed any more.
func (p *peer) want(c *command) {
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
func (p *peer) begin() error {
	var looks [sim.Sides]uint32
	for side, k := range p.choosing.picks {
		looks[side] = uint32(k.Look)
	}
	p.choosing = nil
	if err := p.follow(sim.State{Looks: looks}); err != nil {
		return err
	}
	if p.o.ticks > 0 {
		return p.match.Finish(driftback.Tick(p.o.ticks))
	}
	return nil
}

// chooseAgain goes on from a match to choosing before the next.
func (p *peer) chooseAgain() error {
	p.bout++
	c := &choosing{}
	for side, look := range p.match.State().Looks {
		c.picks[side].Look = uint8(look)
	}
	p.choosing = c
	return p.follow(sim.State{})
}

// follow goes on to another session over the same links.
func (p *peer) follow(initial sim.State) error {
	c := p.config()
	c.Initial = initial
	next, err := p.match.Rematch(c)
	if err != nil {
		return err
	}
	p.match, p.strip, p.rate, p.pausedBy = next, strip{}, rate{}, nobody
	return nil
}

// endAfter ends a match that has been won, once the winner has cheered, so that both
// sides choose again. It is confirmed alike on both, and so the last tick is the same.
func (p *peer) endAfter(r *session.Result) error {
	if p.o.ticks > 0 || p.o.headless {
		return nil // the next match begins by itself
	}
	for _, e := range r.Effects {
		if e.Kind == session.Confirmed && e.Effect.Kind == sim.KindMatchEnd {
			// No side can have run further than the window beyond what is confirmed.
			return p.match.Finish(e.Tick + max(cheerTicks, driftback.Tick(p.o.window)+2))
		}
	}
	return nil
}

// cheerTicks is for how long the winner of a match is shown.
const cheerTicks = 150

// final reports whether the end of a session is the end of all.
func (p *peer) final(err error) bool {
	ready := p.choosing != nil && p.choosing.told.Ready && p.choosing.picks[1-p.self].Ready
	again := p.choosing == nil && errors.Is(err, session.ErrFinished) && p.o.ticks == 0
	return !ready && !again
}

// over goes on to the next session when one is over. It returns why there is none.
func (p *peer) over(err error, ready bool) error {
	switch {
	case ready:
		return p.begin()
	case err != nil && !p.final(err):
		return p.chooseAgain()
	}
	return err
}
