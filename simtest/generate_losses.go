package simtest

// losses lets the survivors of some scenarios play on, and adds that peers are lost one after
// the other, or seem to be. It draws from a sequence of its own.
func (g *generator) losses() {
	g.faults = &draw{random(g.s.Seed, streamLosses, 0)}
	d, s := g.faults, &g.s
	if len(s.Peers) < 3 || s.HaltAtLimit || s.has(Halt, Diverge) || !d.Chance(1, 2) {
		return
	}
	s.PlayOn = true
	if !s.hasNature(ends) && s.RejoinGrace == 0 {
		s.PeerTimeout, s.RejoinGrace = d.time(3000, 5000), pick(d, 0, 0, 500*Millisecond, 2*Second)
	} else if s.PeerTimeout == 0 {
		s.PeerTimeout = d.time(3000, 5000)
	}
	begin, end := 20, 90
	for range pick(d, 0, 1, 1, 1, 2, 2, 3) {
		g.loss(begin, end)
		begin = min(begin+d.between(0, 40), end)
	}
}

// loss adds one peer, or several, who crash, leave or are not heard for about as long as it
// takes to be lost. What would leave nobody is left out.
func (g *generator) loss(low, high int) {
	d, s := g.faults, &g.s
	f := Fault{Kind: pick(d, Crash, Crash, Crash, Leave, Partition, Partition, Down, Block, Freeze), At: g.during(low, high)}
	switch f.Kind {
	case Crash, Leave:
		f.From = g.some(1, max(1, len(s.Peers)/2))
	case Partition:
		f.From = g.some(1, len(s.Peers)-1)
	case Freeze:
		f.From = g.some(1, 1)
	default:
		f.From, f.To = g.directions()
	}
	if f.Kind != Crash && f.Kind != Leave {
		f.For = s.PeerTimeout + s.RejoinGrace + d.time(-1000, 5000)
	}
	s.Faults = append(s.Faults, f)
	if s.Validate() != nil {
		s.Faults = s.Faults[:len(s.Faults)-1]
	}
}
