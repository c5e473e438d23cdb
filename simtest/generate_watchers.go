package simtest

// watchers has some scenarios watched, by peers that come at any moment. It draws from a
// sequence of its own, and changes nothing else but for how long inputs are kept.
func (g *generator) watchers() {
	g.faults = &draw{random(g.s.Seed, streamWatchers, 0)}
	d := g.faults
	if !d.Chance(1, 7) || g.s.hasNature(hostile) {
		return
	}
	g.s.History = pick(d, 0, MinHistory, MinHistory, 2*MinHistory)
	for i := range pick(d, 1, 1, 1, 2, 2, 3) {
		g.s.Watchers = append(g.s.Watchers, g.watcher(i))
	}
}

// watcher returns one, which is linked like the players.
func (g *generator) watcher(i int) Watcher {
	d := g.faults
	w := Watcher{
		Delay: pick(d, 0, 0, 0, 1, 10, 120), Skew: pick(d, 0, 0, d.between(-30_000, 30_000)),
		Latency: d.time(5, [...]int{40, 120, 250}[g.temper]), Jitter: d.time(0, [...]int{3, 30, 80}[g.temper]),
		Loss: d.share(0, [...]int{1, 10, 30}[g.temper]),
	}
	switch d.IntN(4) {
	case 0:
		w.At = d.time(0, 1000) // maybe before anybody plays
	default:
		w.At = g.during(0, 90)
	}
	if g.temper > calm && d.Chance(1, 3) {
		w.Reorder, w.ReorderBy, w.Duplicate = d.share(0, 30), d.time(1, 120), d.share(0, 30)
	}
	switch n := len(g.s.Peers); {
	case i > 0 && d.Chance(2, 3): // through another, and maybe from a player if that one is gone
		w.Feeders = []int{FirstWatcher + d.IntN(i)}
		if d.Chance(1, 2) {
			w.Feeders = append(w.Feeders, d.IntN(n))
		}
	case d.Chance(1, 2):
		w.Feeders = g.some(1, n)
	}
	for range pick(d, 0, 0, 1, 1, 2) {
		f := Fault{Kind: pick(d, watcherKinds[:]...), At: w.At + d.time(0, int(Micros(g.s.Ticks)*g.s.Frame/Millisecond))}
		f.For = d.time(200, [...]int{400, 800, 4000}[g.temper])
		switch f.Kind {
		case Loss, Duplicate:
			f.Share = d.share(30, 100)
		case Delay:
			f.By = d.time(20, [...]int{60, 200, 600}[g.temper])
		case Reorder:
			f.Share, f.By = d.share(30, 80), d.time(40, 200)
		case Crash, Leave:
			f.For = 0
		default:
		}
		w.Faults = append(w.Faults, f)
	}
	return w
}
