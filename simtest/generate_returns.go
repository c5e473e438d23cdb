package simtest

import "slices"

// returns lets peers come back as another process, after they have crashed or left, where the
// shape asks for it. It draws from a sequence of its own.
func (g *generator) returns() {
	if !g.of.Returns {
		return
	}
	g.faults = &draw{random(g.s.Seed, streamReturns, 0)}
	d, s := g.faults, &g.s
	if len(s.Peers) == 2 && s.hasNature(ends) {
		return // nobody would be left to come back to
	}
	before := s.clone()
	s.PlayOn, s.Rejoin = true, true
	if s.PeerTimeout == 0 || s.PeerTimeout > 8*Second {
		s.PeerTimeout = d.time(3000, 5000)
	}
	if len(s.Peers) == 2 {
		s.RejoinGrace = d.time(2000, 8000) // for which the other one waits
	}
	s.Ticks = max(s.Ticks, d.between(700, 1000))
	for range pick(d, 1, 1, 1, 2, 2, 3) {
		g.returnOf(d.IntN(len(s.Peers)))
	}
	if s.Validate() != nil || !s.hasNature(comes) {
		g.s = before
	}
}

// returnOf has a peer be gone for a while. What would leave nobody is left out.
func (g *generator) returnOf(peer int) {
	d, s := g.faults, &g.s
	f := Fault{Kind: pick(d, Restart, Restart, Restart, Reopen, Reopen, Return), At: g.during(5, 35), From: []int{peer}}
	if f.Kind == Return && len(s.Peers) == 2 {
		f.Kind = Restart // of two, the match of the other one would end
	}
	switch d.IntN(3) {
	case 0:
		f.For = d.time(100, 1500) // before anybody has missed it
	case 1:
		f.For = s.PeerTimeout + s.RejoinGrace/2 + d.time(-1000, 2000)
	default:
		f.For = d.time(500, 4000)
	}
	if d.Chance(1, 4) {
		f.To = []int{d.IntN(len(s.Peers))}
	}
	list := []Fault{f}
	if d.Chance(1, 3) { // something befalls it, or who feeds it, as it comes
		again := Fault{Kind: pick(d, Restart, Restart, Reopen, Crash, Leave), At: f.end() + d.time(20, 2500), From: g.some(1, 1)}
		if kindTraits[again.Kind].lasts {
			again.From, again.For = []int{peer}, d.time(100, 4000)
		}
		list = append(list, again)
	}
	for _, f := range list {
		if s.Faults = append(s.Faults, f); s.Validate() != nil {
			s.Faults = s.Faults[:len(s.Faults)-1]
		}
	}
}

// stay has nobody come back: the states of a game may be such that they cannot be handed over.
func (s *Scenario) stay() {
	s.Rejoin = false
	s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return kindTraits[f.Kind].nature == comes })
}
