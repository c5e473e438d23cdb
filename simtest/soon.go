package simtest

import (
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
)

const (
	// heartbeat is how often a peer repeats what is unacknowledged, and sumsAgain how
	// soon it repeats fingerprints at the earliest.
	heartbeat = 10 * Millisecond
	sumsAgain = 50 * Millisecond
	// sumsPerPacket is how many fingerprints a packet carries.
	sumsPerPacket = 8
	// hopeless is how likely a run of losses may be that no seed is to meet.
	hopeless = 1e-9
)

// soon is how long things take at the most once nothing is wrong any more, worked out
// from the links: patience is for whatever can happen, and a fault that makes a match
// slow and no slower than that would pass for an honest one.
type soon struct {
	// from is when what the faults have left behind is over.
	from time.Duration
	// tick is how long the slowest peer may take for one tick, agreement how long the
	// others may take to agree on what all have confirmed.
	tick, agreement time.Duration
	// What was lost comes again after a round trip and twice its jitter, as a peer has
	// measured them. Faults make them longer than the links do, and they are slow to forget
	// it: settling and again are how often that is waited for before from and in agreement.
	settling, again time.Duration
}

// delay returns the largest input delay.
func (s *Scenario) delay() (most int) {
	for _, p := range s.Peers {
		most = max(most, s.longest(&p))
	}
	return most
}

// tries returns how many datagrams in a row are not all lost.
func tries(loss float64) Micros {
	n := Micros(1)
	for all := loss; all > hopeless; all *= loss {
		n++
	}
	return n
}

func (s *Scenario) soon(o *outlook) soon {
	loss, frame, by := s.loss(), s.slowest(), Micros(0)
	// As soon as what is on its way has come; rare paths that are forced take longer.
	settles := !s.Buggify
	for _, f := range s.Faults {
		by += f.By
		// A line that was full and a link that was down take longer to be as before.
		settles = settles && kindTraits[f.Kind].nature == passes && f.Kind != Throttle && f.Kind != Down
	}
	// A clock that runs slow by a fifth makes a peer wait for longer.
	spacing := frame + max(heartbeat*5/4, s.turn())
	trip := s.late() + 2*frame // it is sent in a turn and handled in one
	// Again comes what is late by a round trip and twice its jitter, as measured, which is
	// no more than the longest one.
	again := max(sumsAgain, 6*(trip+by))*5/4 + spacing

	var v soon
	if len(s.Faults) > 0 {
		v.from = min(tries(loss)*(again+trip+by)+Second/10, fromDuration(o.patience)).Duration()
		v.settling = time.Duration(tries(loss))
	}
	if !settles {
		v.from = o.patience
	}
	v.from += o.quiet
	// A line that is full loses more than its share, a desync is talked over, and a liar
	// keeps quiet about a difference that has been found.
	if s.Buggify || s.queued() > 0 || s.disputed() {
		v.tick, v.agreement = o.patience, o.patience
		return v
	}

	if s.skips() {
		trip += 2 * frame // a tick is left out where it is run, and where its input comes from
	}
	tick := 2*frame + trip + (tries(loss)-1)*spacing
	if every := Micros(s.every()); every > 0 {
		// So many may wait at once, and if more come they wait for the first.
		waiting := 1 + (Micros(s.window()+s.delay())+2*trip/s.Frame+1)/every
		if len(s.Faults) > 0 {
			waiting = max(waiting, mesh.MaxUncompared) // a fault has kept them back
		}
		rounds := 1 + waiting/mesh.MaxUncompared
		waiting = min(waiting, mesh.MaxUncompared)
		packets := (waiting + sumsPerPacket - 1) / sumsPerPacket
		again = max(sumsAgain, 6*trip)*5/4 + spacing
		agreement := rounds * (frame + trip + packets*(spacing+(tries(loss)-1)*again))
		v.agreement = min(agreement.Duration(), o.patience)
		if len(s.Faults) > 0 {
			v.again = time.Duration(rounds * packets * (tries(loss) - 1))
		}
	}
	v.tick = min(tick.Duration(), o.patience)
	return v
}

// fromDuration returns a length of time as a scenario has it.
func fromDuration(d time.Duration) Micros { return Micros(d / time.Microsecond) }

// watchTick checks that the slowest peer confirms the next tick as soon as it must.
func (m *match[S, I]) watchTick(now time.Duration, slowest *peer[S, I], moved bool) {
	w := &m.watch
	w.all = now >= m.soon.from+m.soon.settling*m.measured*5/4
	newest := m.newest()
	for _, p := range m.peers {
		if newest.members[p.self] {
			w.all = w.all && p.playing && !p.gone && p.err == nil && p.view == newest && p.known(now) // who has finished sends nothing more
		}
	}
	if moved || !w.all || slowest.final >= driftback.Tick(m.s.Ticks) {
		w.tick = now
	}
	if late := now - w.tick; late > m.soon.tick {
		slowest.breaks(RuleProgress, slowest.final, "no peer has confirmed less, and for %v it has confirmed nothing: over these links a tick takes %v at the most", late, m.soon.tick)
	}
}

// known reports whether the others know what a peer holds, if it has come back: before they
// have heard that, which takes as long as what they send then, they send it nothing.
func (p *peer[S, I]) known(now time.Duration) bool {
	return p.from == 0 || now >= p.entered+p.m.soon.tick
}

// full reports whether some peer has to wait for the others to agree, which is watched by
// itself.
func (m *match[S, I]) full() bool {
	newest := m.newest()
	return slices.ContainsFunc(m.peers, func(p *peer[S, I]) bool {
		return !p.gone && p.err == nil && newest.members[p.self] && p.full()
	})
}

func (p *peer[S, I]) full() bool {
	m := p.m
	return m.every > 0 && len(m.peers) > 1 && p.final >= p.agreed+mesh.MaxUncompared*m.every
}

// watchAgreement checks that what all peers have confirmed is agreed on as soon as it
// must be.
func (p *peer[S, I]) watchAgreement(now time.Duration, all driftback.Tick) {
	m := p.m
	if m.every == 0 || len(m.peers) == 1 || p.err != nil || p.gone || !m.newest().members[p.self] || len(m.thin) > 0 {
		return
	}
	if p.waits <= p.agreed || !m.watch.all {
		p.waits, p.since = all/m.every*m.every, now
	}
	if most := m.soon.agreement + m.soon.again*m.measured*5/4; p.waits > p.agreed && now-p.since > most {
		p.breaks(RuleFingerprint, p.waits, "all had confirmed it %v ago, and tick %d is the newest on which all agree: over these links that takes %v at the most",
			now-p.since, p.agreed, most)
	}
}
