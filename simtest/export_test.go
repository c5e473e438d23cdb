package simtest

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// Plant returns the game with one peer's session changed: a fault that is in no
// scenario.
func (g Game[S, I]) Plant(plant func(self driftback.Peer, c *session.Config[S, I])) Game[S, I] {
	g.plant = plant
	return g
}

// Cost says how much there is to play: virtual seconds at most, and changes of faults.
func (s Scenario) Cost() (seconds float64, changes int) {
	return s.outlook().limit.Seconds(), len(s.changes())
}

var (
	ScenarioFlag = scenarioFlag
	SeedsFlag    = seedsFlag
	Command      = command
)
