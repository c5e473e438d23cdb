package simtest

import (
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/session"
)

// Plant returns the game with one peer's session changed: a fault that is in no
// scenario.
func (g Game[S, I]) Plant(plant func(self driftback.Peer, c *session.Config[S, I])) Game[S, I] {
	g.plant = plant
	return g
}

// GenerateHostile returns the scenario of a seed with a hostile peer in it.
func GenerateHostile(seed uint64) Scenario {
	g := generate(seed, Shape{})
	g.s.Faults = slices.DeleteFunc(g.s.Faults, func(f Fault) bool { return kindTraits[f.Kind].nature == ends })
	g.s.HaltAtLimit, g.s.PlayOn = false, false
	g.hostile(&draw{random(seed, streamHostile, 0)})
	return g.s
}

// Hostile reports whether a fault of this kind is something that peers do on purpose.
func (k Kind) Hostile() bool { return k.hostile() }

// Cost says how much there is to play: virtual seconds at most, and changes of faults.
func (s Scenario) Cost() (seconds float64, changes int) {
	return s.outlook().limit.Seconds(), len(s.changes())
}

var (
	ScenarioFlag = scenarioFlag
	SeedsFlag    = seedsFlag
	Command      = command
)

// Published returns for which tick was pressed, in truth, what participant q publishes for
// each tick, and for which tick what is read before each was published.
func (s Scenario) Published(q, ticks int) (from, taken []driftback.Tick) {
	u := s.published(q)
	for t := range driftback.Tick(ticks) {
		taken = append(taken, u.taken(t))
	}
	for t := range u.before(driftback.Tick(ticks)) {
		from = append(from, u.at(t).from)
	}
	return from, taken
}

// PlantWatch returns the game with the session of one who watches changed.
func (g Game[S, I]) PlantWatch(plant func(self driftback.Peer, c *session.WatchConfig[S, I])) Game[S, I] {
	g.plantWatch = plant
	return g
}

// PlantAdvice returns the game with what sessions advise about the pace changed.
func (g Game[S, I]) PlantAdvice(plant func(self driftback.Peer, a *pacing.Advice)) Game[S, I] {
	g.plantAdvice = plant
	return g
}

// Comes reports whether another process comes in the place of one that is gone.
func (k Kind) Comes() bool { return kindTraits[k].nature == comes }

// GeneratedKinds is how many kinds a seed can give to whoever does not ask for peers that come back.
func GeneratedKinds() (n int) {
	for _, k := range Kinds {
		if !k.Comes() {
			n++
		}
	}
	return n
}
