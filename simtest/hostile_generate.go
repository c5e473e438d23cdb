package simtest

// hostile lets one peer be hostile for a while.
func (g *generator) hostile(d *draw) {
	g.faults = d // during draws from it
	peer := d.IntN(len(g.s.Peers))
	kinds := []Kind{Corrupt, Truncate, Stray, Forge, Flood, Change, Equivocate, Misreport}
	for range d.between(1, 3) {
		f := Fault{Kind: pick(d, kinds...), At: g.during(), From: []int{peer}}
		if victim := d.IntN(len(g.s.Peers)); victim != peer && d.Chance(1, 2) {
			f.To = []int{victim}
		}
		switch f.Kind {
		case Change:
			f.For = d.time(300, 1000)
		case Equivocate, Misreport:
		case Flood:
			f.For, f.Share = d.time(100, 1000), d.share(5, 100)
		default:
			f.For, f.Share = d.time(300, 2000), d.share(10, 100)
		}
		g.s.Faults = append(g.s.Faults, f)
	}
}
