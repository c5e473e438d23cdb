package simtest

import (
	"slices"
	"time"

	"github.com/driftback/driftback"
)

// impair sets a direction to what its link and the faults that it has make of it.
func (m *match[S, I]) impair(from, to int) {
	im := m.s.link(from, to)
	for i, f := range m.s.Faults {
		if m.on[i][from][to] > 0 {
			f.worsen(&im)
		}
	}
	// Valid scenarios have valid impairments.
	if err := m.net.Impair(driftback.Peer(from), driftback.Peer(to), im); err != nil {
		panic(err)
	}
}

// apply lets a fault begin or end.
func (m *match[S, I]) apply(c change) {
	f := m.s.Faults[c.fault]
	m.stop(c.fault)
	m.disturb(c.on, f.Kind)
	for _, d := range c.pairs {
		if c.on {
			m.on[c.fault][d.from][d.to]++
		} else {
			m.on[c.fault][d.from][d.to]--
		}
		m.impair(d.from, d.to)
	}
	if c.on {
		m.before[c.fault] = m.count(c.fault)
		switch f.Kind {
		case Equivocate:
			m.part(c.fault, c.pairs)
		case Misreport:
			m.misreport(c.fault, c.pairs)
		default:
		}
	}
	if f.Kind == Down {
		m.takeDown(c)
	}
	for _, i := range c.peers {
		m.peers[i].befall(c.fault, c.on)
		if p := m.coming[i]; p != nil {
			p.befall(c.fault, c.on)
		}
		if !c.on && kindTraits[f.Kind].nature == comes {
			m.comeBack(i, c.fault)
		}
	}
}

// disturb notes when a fault that passes is on.
func (m *match[S, I]) disturb(on bool, k Kind) {
	switch {
	case kindTraits[k].nature == ends || kindTraits[k].nature == comes:
	case on:
		m.disturbing++
	default:
		m.disturbing--
		m.disturbed = m.net.Now()
	}
}

// unsettled reports whether a fault that passes is on, or ended so shortly before a time that something
// may be left of it.
func (m *match[S, I]) unsettled(at, shortly time.Duration) bool {
	return m.disturbing > 0 || m.disturbed > 0 && at-m.disturbed < shortly
}

// takeDown lets links go down or come up again.
func (m *match[S, I]) takeDown(c change) {
	for _, d := range c.pairs {
		var err error
		switch down := &m.down[d.from][d.to]; {
		case d.from > d.to: // a link is both of its directions
		case c.on:
			*down++
			m.linkFalls(d.from, d.to)
			err = m.net.TakeDown(driftback.Peer(d.from), driftback.Peer(d.to))
		default:
			if *down--; *down == 0 {
				err = m.net.BringUp(driftback.Peer(d.from), driftback.Peer(d.to))
			}
		}
		if err != nil {
			panic(err) // the peers of a valid scenario are peers of the network
		}
	}
}

// befall lets a fault that is about peers begin or end for this one.
func (p *peer[S, I]) befall(fault int, on bool) {
	switch kind := p.m.s.Faults[fault].Kind; {
	case kind == Freeze && on:
		p.frozen++
	case kind == Freeze:
		p.frozen--
	case kind == Skew && on:
		p.skewed = append(p.skewed, fault)
	case kind == Skew:
		p.skewed = slices.DeleteFunc(p.skewed, func(f int) bool { return f == fault })
	case p.comes != nil && kindTraits[kind].nature != passes:
		p.comes.befall(kind, on)
	case !on:
	case kind == Leave || kind == Halt || kind == Return:
		p.bids = append(p.bids, fault)
	case (kind == Crash || kind == Restart || kind == Reopen) && !p.gone:
		if p.err == nil {
			p.m.happens[fault] = kind == Crash
			p.m.gone(p.self, true)
		}
		p.gone = true
		for q := range p.m.peers {
			p.m.linkFalls(int(p.self), q) // what it had to say is gone with it
		}
		p.end.Crash()
	}
}

// stop notes whether a fault has done something since it began.
func (m *match[S, I]) stop(fault int) {
	if m.count(fault) > m.before[fault] {
		m.happens[fault] = true
	}
}

// count returns what the directions that now have a fault have counted of it.
func (m *match[S, I]) count(fault int) (n uint64) {
	for a := range m.peers {
		for b := range m.peers {
			if m.on[fault][a][b] > 0 {
				n += m.s.Faults[fault].Kind.happened(m.net.Stats(driftback.Peer(a), driftback.Peer(b)))
			}
		}
	}
	return n
}
