package session

import (
	"errors"
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
)

// delays are the input delays of the participants that this peer plays, and what becomes of
// their inputs as these change.
//
// A delay concerns nobody but its owner: it decides for which tick an input is published,
// and what is published is all that anybody, the owner included, computes with. So it may
// change at any tick, by any rule and on one peer alone. How far ahead of a tick its input
// can be is bounded by mesh.MaxDelay, whatever the delays are.
type delays[I comparable] struct {
	of       []delayed[I]
	inputFor []driftback.Tick // Result's
	adapt    adapter
	look     looking

	filled, discarded, merged uint64
}

// delayed is one participant's.
type delayed[I comparable] struct {
	// ticks is the delay that is wanted, and used the one that the last tick ran with.
	ticks, used int
	byHand      bool
	last        I // published last
	// over is what was read for ticks that had an input already, and is to be merged into
	// the next one.
	over    I
	hasOver bool
}

// fillDelays completes the delays that participants begin with.
func (c *Config[S, I]) fillDelays() error {
	plays := 0
	for _, peer := range c.Players {
		if peer == c.Self {
			plays++
		}
	}
	name := func(i int) string { return fmt.Sprintf("InputDelays[%d]", i) }
	if c.InputDelays == nil {
		name = func(int) string { return "InputDelay" }
		c.InputDelays = make([]int, max(plays, 1))
		for i := range c.InputDelays {
			c.InputDelays[i] = c.InputDelay
		}
	} else if len(c.InputDelays) != plays {
		return fmt.Errorf("session: InputDelays has %d delays, and Self plays %d participants: give one for each, or none", len(c.InputDelays), plays)
	}
	for i, d := range c.InputDelays {
		if err := c.validDelay(name(i), d); err != nil {
			return err
		}
	}
	c.InputDelays = c.InputDelays[:plays:plays]
	return c.fillAdaptDelay()
}

// validDelay refuses an input delay that is not allowed.
func (c *Config[S, I]) validDelay(name string, ticks int) error {
	switch {
	case ticks < 0 || ticks > mesh.MaxDelay:
		return fmt.Errorf("session: %s is %d ticks: 0 to %d are allowed", name, ticks, mesh.MaxDelay)
	case ticks < c.leastDelay() && c.PublishEvery == 1:
		return fmt.Errorf("session: %s is %d ticks and PredictionWindow is None: without predictions a tick needs inputs that were read before it, so the delay must be at least 1", name, ticks)
	case ticks < c.leastDelay():
		return fmt.Errorf("session: %s is %d ticks, PredictionWindow %s and PublishEvery %d: the others can run fewer ticks without this peer's inputs than these wait to be sent, so the delay must be at least %d",
			name, ticks, orNone(c.PredictionWindow), c.PublishEvery, c.leastDelay())
	}
	return nil
}

// leastDelay returns the shortest input delay, in ticks, that is allowed. With it the others can
// run as many ticks as an input of this peer's may wait to be sent, and one while it is under way:
// without predictions, and turns of one tick, that is the one.
func (c *Config[S, I]) leastDelay() int { return max(c.PublishEvery-int(c.window()), 0) }

func newDelays[I comparable](begin []int, adapt AdaptDelay, window driftback.Tick) delays[I] {
	d := delays[I]{of: make([]delayed[I], len(begin)), inputFor: make([]driftback.Tick, len(begin)), adapt: newAdapter(adapt, int(window))}
	for i, ticks := range begin {
		d.of[i] = delayed[I]{ticks: ticks, used: ticks}
	}
	return d
}

// InputDelay returns the input delay, in ticks, of a participant that this peer plays, as
// the next tick will have it; for any other participant it is None.
func (m *Lockstep[S, I]) InputDelay(p driftback.Participant) int {
	for i, own := range m.own {
		if own == p {
			return m.delays.of[i].ticks
		}
	}
	return None
}

// SetInputDelay changes the input delay of participant p, whom this peer plays, from the
// next tick on: 0 to mesh.MaxDelay ticks, at least 1 where Config.PredictionWindow is
// None, and with that window at least Config.PublishEvery. The other peers need not know. No tick is left without an input of p's and none
// gets two. Where the delay becomes longer, Config.Fill makes what is missing; where it
// becomes shorter, what is read for ticks that have their input already is discarded, or
// put into the next one by Config.Merge. When it has taken effect there is an event
// [DelayChanged].
//
// A delay set by hand stays, whatever Config.AdaptDelay says; None hands it back to that.
func (m *Lockstep[S, I]) SetInputDelay(p driftback.Participant, ticks int) error {
	for i, own := range m.own {
		if own != p {
			continue
		}
		d := &m.delays.of[i]
		if ticks == None && m.cfg.AdaptDelay.on() {
			d.byHand, d.ticks = false, m.cfg.AdaptDelay.nearest(d.ticks)
			return nil
		}
		if ticks < m.cfg.leastDelay() || ticks > mesh.MaxDelay {
			return m.cfg.validDelay(fmt.Sprintf("the input delay of participant %d", p), ticks)
		}
		d.byHand, d.ticks = true, ticks
		return nil
	}
	return fmt.Errorf("session: the input delay of participant %d is not this peer's to set: it plays %v", p, m.own)
}

// publish publishes what was read before tick t, which is about to run.
func (m *Lockstep[S, I]) publish(t driftback.Tick, local []I) {
	for i, p := range m.own {
		d := &m.delays.of[i]
		if d.used != d.ticks {
			d.used = d.ticks
			m.mesh.Note(Event{Kind: DelayChanged, Peer: m.cfg.Self, Participant: p, Tick: t, Delay: d.ticks})
		}
		target := t + driftback.Tick(d.ticks)
		if next := m.mesh.Published(p); target < next {
			m.delays.inputFor[i] = m.spare(d, local[i], next)
			continue
		}
		m.fillTo(p, d, target)
		m.publishNext(p, d, local[i], false)
		m.delays.inputFor[i] = target
		m.take(p)
	}
}

// fillTo publishes what Config.Fill makes for the ticks before one that have no input.
func (m *Lockstep[S, I]) fillTo(p driftback.Participant, d *delayed[I], target driftback.Tick) {
	for m.mesh.Published(p) < target && m.err == nil {
		m.delays.filled++
		in := d.last
		if m.cfg.Fill != nil {
			in = m.cfg.Fill(in)
		}
		m.publishNext(p, d, in, true)
	}
}

// spare takes an input whose tick has one already, and returns the tick that it is used
// for: it goes into the next that is published, whatever the delay is by then.
func (m *Lockstep[S, I]) spare(d *delayed[I], in I, next driftback.Tick) driftback.Tick {
	if m.cfg.Merge == nil {
		m.delays.discarded++
		return None
	}
	m.delays.merged++
	if d.hasOver {
		in = m.cfg.Merge(in, d.over)
	}
	d.over, d.hasOver = in, true
	return next
}

// publishNext publishes participant p's input for the first tick that has none. made: it
// is not what Tick was given, which has been looked at.
func (m *Lockstep[S, I]) publishNext(p driftback.Participant, d *delayed[I], in I, made bool) {
	if m.err != nil {
		return
	}
	if d.hasOver {
		in, d.hasOver, made = m.cfg.Merge(in, d.over), false, true
	}
	t := m.mesh.Published(p)
	if made && m.cfg.Valid != nil && !m.cfg.Valid(in) {
		// The others would drop it for ever, and wait for it.
		words := fmt.Sprintf("Config.Valid refuses %+v, which Config.Fill or Config.Merge made for participant %d and tick %d", in, p, t)
		m.halt(errors.New("session: "+words), words)
		return
	}
	d.last, m.in = in, in
	m.bytes = m.inputs.Append(m.bytes[:0], &m.in)
	m.check(m.mesh.PublishEntry(p, t, m.bytes, m.riding(p)))
	if m.cfg.Relay != 0 {
		m.log.Suggest(p, t, in)
	}
}
