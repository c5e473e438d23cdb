package session

import (
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/pacing"
)

// PaceStats is how far a peer is ahead of the others, and what that costs it.
type PaceStats struct {
	// Lead is by how many ticks its next tick is beyond the first that lacks somebody
	// else's input, averaged over the newest calls of Tick, those that stalled
	// included: how many ticks are predicted. It is negative where inputs are held of ticks
	// that have not run.
	Lead float64
	// Load is the share of a tick's time that Tick took for steps and
	// re-simulation, averaged too; 0 without a Config.Clock.
	Load float64
}

// pace is what a session knows about its pace.
type pace struct {
	regulator *pacing.Regulator
	length    time.Duration // of a tick
	advice    pacing.Advice
	spent     time.Duration // step and re-simulation time up to the last call
	others    []pacing.Report
}

func (p *pace) init(tickRate int, window driftback.Tick, peers int) (err error) {
	p.length = time.Second / time.Duration(tickRate)
	p.advice.Rate = 1
	p.others = make([]pacing.Report, 0, peers)
	p.regulator, err = pacing.New(int(window) + mesh.MaxDelay)
	return err
}

// paced takes what a call of Tick found, and works out how the game should go on. It comes
// after re-simulation, of which nothing is ever left out: what it advises is about
// calls to come.
func (m *Lockstep[S, I]) paced(stalled bool) {
	if len(m.peerStats) == 0 {
		return
	}
	p := &m.pace
	spent := m.stepTime + m.rerunTime
	speed, _ := m.Speed()
	load := float64(spent-p.spent) / float64(p.length) * speed.Rate() // at twice the speed a tick has half the time
	p.spent = spent
	p.others = p.others[:0]
	if m.cfg.Relay != 0 {
		// What the relay says of itself is by how much later than the others' this peer's
		// inputs come. So that they come together, one that is late is as far ahead as it takes.
		if o, ok := m.mesh.Pace(m.cfg.Relay); ok {
			p.others = append(p.others, pacing.Report{Lead: p.regulator.Lead() + o.Lead, Age: o.Age})
		}
	}
	for i := range m.peerStats {
		if m.cfg.Relay != 0 {
			break
		}
		if o, ok := m.mesh.Pace(m.peerStats[i].Peer); ok && m.mesh.Member(m.peerStats[i].Peer) {
			p.others = append(p.others, pacing.Report{Lead: o.Lead, Load: o.Load, Age: o.Age})
		}
	}
	p.advice = p.regulator.Tick(pacing.Sample{Lead: m.lead(), Load: load, Stalled: stalled}, p.others)
	m.mesh.Report(p.regulator.Lead(), p.regulator.Load())
}

// lead returns by how many ticks the next tick is beyond the first that lacks an input of
// somebody else. This peer's own inputs are left out: where the others' are all there, they
// say nothing about how much later the others may be.
func (m *Lockstep[S, I]) lead() int {
	next, lead := m.loop.Next(), -int(m.cfg.window())-mesh.MaxDelay
	for p, peer := range m.cfg.Players {
		if peer != m.cfg.Self && m.parts[p].cut == None {
			lead = max(lead, int(next-m.log.ConfirmedOf(driftback.Participant(p))))
		}
	}
	return lead
}
