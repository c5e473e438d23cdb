package simtest

import (
	"slices"
	"time"
)

// skews returns between which parts per million a peer's clock runs faster than true time:
// by its own skew and all faults that may last at the same time.
func (s *Scenario) skews(peer int) (least, most int) {
	least, most = s.Peers[peer].Skew, s.Peers[peer].Skew
	for _, f := range s.Faults {
		if f.Kind == Skew && slices.Contains(f.From, peer) {
			least += min(0, f.Skew)
			most += max(0, f.Skew)
		}
	}
	return boundSkew(least), boundSkew(most)
}

// boundSkew bounds what skews add up to, as it bounds each.
func boundSkew(skew int) int { return max(-MaxSkew, min(skew, MaxSkew)) }

// period returns the true time between two frames of a peer, with the faults that it now has.
func (p *peer[S, I]) period() time.Duration {
	skew := p.is.Skew
	for _, fault := range p.skewed {
		skew += p.m.s.Faults[fault].Skew
		p.m.happens[fault] = true
	}
	return time.Duration(int64(p.length()) * 1_000_000 / int64(1_000_000+boundSkew(skew)))
}

// skews lets the clocks of some peers run otherwise for a while. It draws from a sequence of
// its own.
func (g *generator) skews() {
	g.faults = &draw{random(g.s.Seed, streamSkew, 0)}
	d := g.faults
	if !d.Chance(1, 6) {
		return
	}
	f := Fault{Kind: Skew, At: g.during(0, 60), For: d.time(500, 6000), From: g.some(1, len(g.s.Peers))}
	most := pick(d, 10_000, 50_000, MaxSkew)
	f.Skew = pick(d, -1, 1) * d.between(most/5, most)
	g.s.Faults = append(g.s.Faults, f)
}
