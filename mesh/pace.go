package mesh

import (
	"math"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// Pace is how a peer keeps up, by its own word.
type Pace struct {
	// Lead is how many ticks it predicts on average, negative where it holds inputs of
	// ticks that it has not run. Load is the share of a tick's time that its ticks cost
	// it, or 0 if it does not measure that. Both are bounded by what a packet can say, and
	// beyond that are a stranger's claim.
	Lead, Load float64
	// Age is how long ago it said so.
	Age time.Duration
}

// ownPace is what this peer says of itself.
type ownPace struct {
	lead int16
	load uint8
}

// heardPace is what a peer said of itself last.
type heardPace struct {
	said bool
	at   uint64 // the number of the packet
	when time.Duration
	lead int16
	load uint8
}

// take takes what came with a packet. One that was overtaken says nothing new.
func (h *heardPace) take(e *wire.Echo, at uint64, now time.Duration) {
	if h.said && at <= h.at {
		return
	}
	*h = heardPace{said: true, at: at, when: now, lead: e.Lead, load: e.Load}
}

// Report sets what this peer says of itself from now on, with every echo. What exceeds
// the largest that can be said is sent as that.
func (m *Mesh) Report(lead, load float64) {
	m.pace.lead = int16(inUnits(lead, math.MinInt16, math.MaxInt16))
	m.pace.load = uint8(inUnits(load, 0, math.MaxUint8))
}

// inUnits returns v in units, rounded: to cut off would make everybody seem to lag.
func inUnits(v, least, most float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(max(math.Round(v*wire.PaceUnit), least), most)
}

// Pace returns what a peer said of itself last; ok is false if it has said nothing yet.
func (m *Mesh) Pace(peer driftback.Peer) (p Pace, ok bool) {
	l := m.linkTo(peer)
	if l == nil || !l.pace.said {
		return Pace{}, false
	}
	return Pace{
		Lead: float64(l.pace.lead) / wire.PaceUnit, Load: float64(l.pace.load) / wire.PaceUnit,
		Age: m.clock - l.pace.when,
	}, true
}
