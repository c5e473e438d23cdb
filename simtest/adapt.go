package simtest

import (
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
)

// Adapt is session.AdaptDelay: within which bounds input delays follow the links, in ticks. A
// Max of 0 leaves them alone.
type Adapt struct {
	Min   int `json:"min,omitzero"`
	Max   int `json:"max,omitzero"`
	Depth int `json:"depth,omitzero"`
}

func (a Adapt) on() bool { return a.Max > 0 }

// nearest returns the nearest delay that is allowed.
func (a Adapt) nearest(delay int) int { return min(max(delay, a.Min), a.Max) }

func (a Adapt) validate(window int) error {
	err := checkAll(
		bound{"max of adaptDelay", int64(a.Max), 0, mesh.MaxDelay, false},
		bound{"min of adaptDelay", int64(a.Min), 0, int64(a.Max), false},
		bound{"depth of adaptDelay", int64(a.Depth), 0, mesh.MaxWindow, true},
	)
	switch {
	case err != nil:
		return err
	case !a.on() && a.Depth != 0:
		return fmt.Errorf("simtest: depth of adaptDelay is %d and max is 0: no input delay adapts", a.Depth)
	case a.on() && a.Min < 1 && window == None:
		return fmt.Errorf("simtest: min of adaptDelay is 0 and window is %d: without predictions it must be at least 1", None)
	}
	return nil
}

// What session.AdaptDelay promises: how far apart two changes are, and by how much one is at
// the most.
const (
	adaptRest = time.Second
	adaptRise = 3
)

// adapted is what a peer's input delays were.
type adapted struct {
	delays  []int         // by place in Plays: the newest tick's
	wanted  []int         // the same, for the next tick
	changed time.Duration // by its clock; 0: never
	dropped uint64        // events for which there was no room
}

func (p *peer[S, I]) withAdapted() {
	for range p.is.Plays {
		p.adapted.delays = append(p.adapted.delays, p.m.s.begins(int(p.self)))
	}
	p.adapted.wanted = append(p.adapted.wanted, p.adapted.delays...)
}

// checkDelays checks that the peer was told of each input delay that has changed with the tick
// that has run, and that the next ones are as is promised. ran is that tick; None: none did.
func (p *peer[S, I]) checkDelays(now time.Duration, ran driftback.Tick, r *session.Result) {
	stats := p.session.Stats()
	room := stats.EventsDropped == p.adapted.dropped
	p.adapted.dropped = stats.EventsDropped
	for i, q := range p.is.Plays {
		told, had := -1, p.adapted.delays[i]
		for _, e := range r.Events {
			if e.Kind != session.DelayChanged || e.Participant != driftback.Participant(q) {
				continue
			}
			if e.Peer != p.self || e.Tick != ran || told >= 0 {
				p.breaks(RuleDelay, ran, "it is told that participant %d of peer %d has a delay of %d ticks from tick %d on", q, e.Peer, e.Delay, e.Tick)
				return
			}
			told = e.Delay
		}
		if ran != session.None {
			p.adapted.delays[i] = p.m.published[q].delay(ran)
		}
		switch is := p.adapted.delays[i]; {
		case told >= 0 && (told != is || is == had):
			p.breaks(RuleDelay, ran, "it is told that participant %d has a delay of %d ticks, and it was %d and is %d", q, told, had, is)
		case told < 0 && is != had && room:
			p.breaks(RuleDelay, ran, "the delay of participant %d was %d ticks and is %d, and it was not told", q, had, is)
		}
	}
	if p.m.s.Adapt.on() && p.err == nil {
		p.checkAdapted(now)
	}
}

// checkAdapted checks the input delays that the next tick is to have.
func (p *peer[S, I]) checkAdapted(now time.Duration) {
	a, c := p.m.s.Adapt, &p.adapted
	changes := false
	for i, q := range p.is.Plays {
		had, is := c.wanted[i], p.session.InputDelay(driftback.Participant(q))
		switch {
		case is < a.Min || is > a.Max:
			p.breaks(RuleDelay, p.next, "participant %d has a delay of %d ticks, and %d to %d are allowed", q, is, a.Min, a.Max)
		case is > had+adaptRise || is < had-1:
			p.breaks(RuleDelay, p.next, "the delay of participant %d was %d ticks and is %d: it rises by %d at once and falls by 1", q, had, is, adaptRise)
		}
		changes = changes || is != had
		c.wanted[i] = is
	}
	if !changes {
		return
	}
	p.m.adaptations++
	p.m.adaptedAt = p.m.net.Now()
	if c.changed > 0 && now-c.changed < adaptRest {
		p.breaks(RuleDelay, p.next, "its delays have changed %v after they did before", now-c.changed)
	}
	c.changed = now
}

// checkFollowed checks, as a match has ended that nothing disturbed in the end, that a peer's
// delays are as long as its links call for.
func (p *peer[S, I]) checkFollowed() {
	m, a := p.m, p.m.s.Adapt
	want := min(m.s.calledFor(int(p.self)), a.Max)
	// It rises by three in a second, and something must have been measured before.
	takes := 4*Second + Micros(want/adaptRise+1)*Second*3/2
	if !a.on() || want <= a.Min || m.ended-max(m.together, m.outlook.quiet) < takes.Duration() {
		return
	}
	for _, q := range p.is.Plays {
		if is := p.session.InputDelay(driftback.Participant(q)); is < want {
			p.breaks(RuleDelay, p.next, "participant %d has a delay of %d ticks in the end, and its links call for %d at the least", q, is, want)
		}
	}
}

// calledFor returns how long an input delay a peer's slowest link calls for at the least.
func (s *Scenario) calledFor(peer int) (ticks int) {
	depth := s.Adapt.Depth
	if depth == 0 {
		depth = session.DefaultDepth
	}
	depth = max(0, min(depth, s.window()/2))
	least, _ := s.skews(peer)
	for q := range s.Peers {
		forth, back := s.link(peer, q), s.link(q, peer)
		trip := forth.Latency - forth.Jitter + back.Latency - back.Jitter
		way := fromDuration(trip/2) * Micros(1_000_000+least) / 1_000_000
		ticks = max(ticks, int(way*Micros(s.tickRate())/Second)-depth-1)
	}
	return ticks
}
