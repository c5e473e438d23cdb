package simtest

import "slices"

// Shrink returns the smallest scenario it finds that breaks the same rule as s (for a
// panic: at the same line) and that the game is for, and what playing it gives. It cuts ticks, peers, faults and inputs and makes the rest plainer,
// big cuts first, for as long as that goes on breaking the rule, in at most budget plays.
// Equal arguments give equal results. If s breaks no rule it is returned as it is.
func Shrink[S any, I comparable](g Game[S, I], s Scenario, budget int) (Scenario, Report, error) {
	best, err := CheckScenario(g, s)
	if err != nil || best.Violation == nil {
		return s, best, err
	}
	rule, place := best.Violation.Rule, best.Violation.place
	play := Play[S, I]
	if rule == RuleReplay || rule == RuleAloof {
		play = CheckScenario[S, I]
	}
	try := func(c Scenario) bool {
		if budget <= 0 || c.Validate() != nil || g.seats(&c) != nil {
			return false
		}
		budget--
		r, err := play(g, c)
		if err != nil || r.Violation == nil || r.Violation.Rule != rule || r.Violation.place != place {
			return false
		}
		s, best = c, r
		return true
	}
	passes := []func(s Scenario, v *Violation, try func(Scenario) bool) bool{
		fewerTicks, fewerWatchers, twoPeers, fewerPeers, fewerFaults, plainerLinks, sooner, shorterFaults, plainerPeers, plainerMatch, fewerInputs,
	}
	// Whatever a pass cuts may let another cut more. What has just been tried in vain on
	// the very same scenario is not tried again.
	vain := make([]string, len(passes))
	for again := true; again && budget > 0; {
		again = false
		for i, pass := range passes {
			before := string(s.JSON())
			if before == vain[i] {
				continue
			}
			if pass(s, best.Violation, try) {
				again = true
			} else if budget > 0 {
				vain[i] = before
			}
		}
	}
	return s, best, nil
}

// clone returns a copy whose lists can be changed.
func (s Scenario) clone() Scenario {
	s.Peers, s.Links, s.Faults = slices.Clone(s.Peers), slices.Clone(s.Links), slices.Clone(s.Faults)
	s.Cuts = slices.Clone(s.Cuts)
	s.Watchers = slices.Clone(s.Watchers)
	for i := range s.Watchers {
		w := &s.Watchers[i]
		w.Feeders, w.Faults = slices.Clone(w.Feeders), slices.Clone(w.Faults)
		for j := range w.Faults {
			w.Faults[j].To = slices.Clone(w.Faults[j].To)
		}
	}
	for i := range s.Peers {
		s.Peers[i].Plays = slices.Clone(s.Peers[i].Plays)
	}
	for i := range s.Faults {
		s.Faults[i].From, s.Faults[i].To = slices.Clone(s.Faults[i].From), slices.Clone(s.Faults[i].To)
	}
	return s
}

// edit tries a changed copy, if the change changes something.
func edit(s *Scenario, try func(Scenario) bool, change func(c *Scenario)) bool {
	c := s.clone()
	change(&c)
	if string(c.JSON()) == string(s.JSON()) || !try(c) {
		return false
	}
	*s = c
	return true
}

// fewerTicks cuts what comes after the violation, then the rest by halves.
func fewerTicks(s Scenario, v *Violation, try func(Scenario) bool) (cut bool) {
	shorten := func(ticks int) bool {
		return edit(&s, try, func(c *Scenario) {
			c.Ticks = max(1, min(c.Ticks, ticks))
			c.trimCuts()
		})
	}
	cut = shorten(int(v.Tick)) || shorten(int(v.Tick)+1)
	for by := s.Ticks / 2; by > 0; {
		if s.Ticks > by && shorten(s.Ticks-by) {
			cut = true
		} else {
			by /= 2
		}
	}
	return cut
}

// fewerFaults cuts runs of faults, long ones first.
func fewerFaults(s Scenario, _ *Violation, try func(Scenario) bool) (cut bool) {
	for n := len(s.Faults); n > 0; n /= 2 {
		for i := 0; i < len(s.Faults); {
			if edit(&s, try, func(c *Scenario) { c.Faults = slices.Delete(c.Faults, i, min(i+n, len(c.Faults))) }) {
				cut = true
			} else {
				i += n
			}
		}
	}
	return cut
}

// twoPeers keeps the peer at which the rule broke and one other.
func twoPeers(s Scenario, v *Violation, try func(Scenario) bool) bool {
	if len(s.Peers) <= 2 {
		return false
	}
	for other := range s.Peers {
		if other != int(v.Peer) && edit(&s, try, func(c *Scenario) {
			for i := len(c.Peers) - 1; i >= 0; i-- {
				if i != other && i != int(v.Peer) {
					c.removePeer(i)
				}
			}
		}) {
			return true
		}
	}
	return false
}

// fewerPeers takes peers out, and participants from those who play several.
func fewerPeers(s Scenario, _ *Violation, try func(Scenario) bool) (cut bool) {
	for i := len(s.Peers) - 1; i >= 0; i-- {
		if len(s.Peers) > 1 && edit(&s, try, func(c *Scenario) { c.removePeer(i) }) {
			cut = true
			continue
		}
		for len(s.Peers[i].Plays) > 1 && edit(&s, try, func(c *Scenario) {
			c.Peers[i].Plays = c.Peers[i].Plays[:1]
			c.renumber()
		}) {
			cut = true
		}
	}
	return cut
}

// removePeer takes one peer out, with all that names it.
func (s *Scenario) removePeer(gone int) {
	s.withoutPeer(gone, len(s.Peers)-1)
	s.Peers = slices.Delete(s.Peers, gone, gone+1)
	s.renumber()
	s.Links = slices.DeleteFunc(s.Links, func(l Link) bool { return l.From == gone || l.To == gone })
	closeUp := func(p int) int {
		if p > gone {
			p--
		}
		return p
	}
	for i := range s.Links {
		s.Links[i].From, s.Links[i].To = closeUp(s.Links[i].From), closeUp(s.Links[i].To)
	}
	s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool {
		only := func(list []int) bool { return len(list) == 1 && list[0] == gone }
		return only(f.From) || only(f.To)
	})
	for i := range s.Faults {
		for _, list := range []*[]int{&s.Faults[i].From, &s.Faults[i].To} {
			*list = slices.DeleteFunc(*list, func(p int) bool { return p == gone })
			for j := range *list {
				(*list)[j] = closeUp((*list)[j])
			}
		}
	}
}

// renumber gives the participants that are left the numbers from 0.
func (s *Scenario) renumber() {
	var left []int
	for _, p := range s.Peers {
		left = append(left, p.Plays...)
	}
	slices.Sort(left)
	for i := range s.Peers {
		for j, q := range s.Peers[i].Plays {
			s.Peers[i].Plays[j], _ = slices.BinarySearch(left, q)
		}
	}
	kept := s.Cuts[:0]
	for _, c := range s.Cuts {
		if n, ok := slices.BinarySearch(left, c.Participant); ok {
			c.Participant = n
			kept = append(kept, c)
		}
	}
	s.Cuts = kept
}

func plainerLinks(s Scenario, _ *Violation, try func(Scenario) bool) (cut bool) {
	cut = edit(&s, try, func(c *Scenario) { c.Links = nil })
	for i := 0; i < len(s.Links); {
		if edit(&s, try, func(c *Scenario) { c.Links = slices.Delete(c.Links, i, i+1) }) {
			cut = true
			continue
		}
		for _, plain := range []func(l *Link){
			func(l *Link) { l.Loss = 0 },
			func(l *Link) { l.Reorder, l.ReorderBy = 0, 0 },
			func(l *Link) { l.Duplicate = 0 },
			func(l *Link) { l.BytesPerSecond = 0 },
			func(l *Link) { l.Jitter = 0 },
			func(l *Link) { l.Latency = (l.Latency / 2).round() },
		} {
			cut = edit(&s, try, func(c *Scenario) { plain(&c.Links[i]) }) || cut
		}
		i++
	}
	return cut
}

// round returns a time in whole milliseconds.
func (m Micros) round() Micros { return m / Millisecond * Millisecond }

func plainerPeers(s Scenario, _ *Violation, try func(Scenario) bool) (cut bool) {
	for i := range s.Peers {
		for _, plain := range []func(p *Peer){
			func(p *Peer) { p.Paces = "" },
			func(p *Peer) { p.Ahead = 0 },
			func(p *Peer) { p.Skew = 0 },
			func(p *Peer) { p.Phase = 0 },
			func(p *Peer) { p.Redundancy = 0 },
			func(p *Peer) { p.PublishEvery = 0 },
			func(p *Peer) { p.Spacing = 0 },
			func(p *Peer) { p.InputDelay = 0 },
			func(p *Peer) { p.InputDelay = min(p.InputDelay, 1) },
		} {
			cut = edit(&s, try, func(c *Scenario) { plain(&c.Peers[i]) }) || cut
		}
	}
	return cut
}

// plainDelays has nothing made of inputs where no delay changes.
func (s *Scenario) plainDelays() {
	if !s.delaysChange() {
		s.Fill, s.Merge = false, false
	}
}

func plainerMatch(s Scenario, _ *Violation, try func(Scenario) bool) (cut bool) {
	for _, plain := range []func(c *Scenario){
		func(c *Scenario) { c.Buggify = false },
		func(c *Scenario) { c.PauseEvery = 0 },
		func(c *Scenario) { c.DelayEvery = 0; c.plainDelays() },
		func(c *Scenario) { c.Adapt = Adapt{}; c.plainDelays() },
		func(c *Scenario) { c.Fill = false },
		func(c *Scenario) { c.Merge = false },
		func(c *Scenario) { c.Adapt.Min, c.Adapt.Depth = 0, 0 },
		func(c *Scenario) { c.History = 0 },
		func(c *Scenario) { c.MessageEvery = 0 },
		func(c *Scenario) { c.RejoinGrace = 0 },
		func(c *Scenario) { c.EffectTolerance = 0 },
		func(c *Scenario) { c.HaltAtLimit = false },
		func(c *Scenario) { c.Rejoin = false },
		func(c *Scenario) { c.PlayOn = false },
		func(c *Scenario) { c.PeerTimeout = 0 },
		func(c *Scenario) { c.Hold = MaxHold },
		func(c *Scenario) { c.FingerprintEvery = 0 },
		func(c *Scenario) { c.Window = 0 },
		func(c *Scenario) { c.Frame = 16_667 },
	} {
		cut = edit(&s, try, plain) || cut
	}
	return cut
}

// shorterFaults makes faults shorter, and later ones earlier.
func shorterFaults(s Scenario, _ *Violation, try func(Scenario) bool) (cut bool) {
	for i := range s.Faults {
		for edit(&s, try, func(c *Scenario) { c.Faults[i].For = (c.Faults[i].For / 2).round() }) {
			cut = true
		}
		for edit(&s, try, func(c *Scenario) { c.Faults[i].At = (c.Faults[i].At / 2).round() }) {
			cut = true
		}
		for edit(&s, try, func(c *Scenario) { c.Faults[i].Skew /= 2 }) {
			cut = true
		}
		for edit(&s, try, func(c *Scenario) { c.Faults[i].Tick /= 2 }) {
			cut = true
		}
	}
	return cut
}

// sooner moves all faults together towards the beginning, and the end with them, so that
// nothing is played before the first one but what is needed.
func sooner(s Scenario, _ *Violation, try func(Scenario) bool) (cut bool) {
	if len(s.Faults) == 0 {
		return false
	}
	for by := max(s.Faults[0].At, Micros(s.Faults[0].Tick)*s.Frame).round(); by >= 8*Millisecond; by = (by / 2).round() {
		for {
			ticks, early := int(by/s.Frame), false
			for _, f := range s.Faults {
				early = early || !kindTraits[f.Kind].tick && f.At < by || kindTraits[f.Kind].tick && f.Tick < ticks
			}
			if early || !edit(&s, try, func(c *Scenario) {
				for i := range c.Faults {
					if f := &c.Faults[i]; kindTraits[f.Kind].tick {
						f.Tick -= ticks
					} else {
						f.At -= by
					}
				}
				if c.Ticks > ticks {
					c.Ticks -= ticks
				}
				c.trimCuts()
			}) {
				break
			}
			cut = true
		}
	}
	return cut
}

// fewerInputs lets participants press nothing: for the whole match, for halves of it, for
// quarters, and so on.
func fewerInputs(s Scenario, _ *Violation, try func(Scenario) bool) (cut bool) {
	for n := s.Ticks; n > 0; n /= 2 {
		for p := range s.participants() {
			for from := 0; from < s.Ticks; from += n {
				cut = edit(&s, try, func(c *Scenario) { c.addCut(p, from, min(from+n, c.Ticks)) }) || cut
			}
		}
	}
	return cut
}
