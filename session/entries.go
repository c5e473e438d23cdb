package session

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// Speed is how fast ticks are to follow each other, in eighths of the game's normal rate:
// from 1 to MaxSpeed.
type Speed uint8

const (
	// NormalSpeed is the speed that a match begins with.
	NormalSpeed Speed = wire.SpeedUnit
	// MaxSpeed is four times as fast.
	MaxSpeed Speed = wire.MaxSpeed
)

// Rate returns the speed as a multiple of the normal rate.
func (s Speed) Rate() float64 { return float64(s) / float64(NormalSpeed) }

// Control is what peers have agreed on beside the world as a tick begins: it is all that
// somebody who begins to play there has to know of earlier entries.
type Control struct {
	Paused bool
	Speed  Speed
}

// ErrMayNotPause means that no participant of this peer's may pause, resume or change the
// speed: see Config.MayPause.
var ErrMayNotPause = errors.New("session: this peer may not pause, resume or change the speed")

// Pause pauses the match for everybody. It rides with this peer's next published input,
// which is for the tick that Result.InputFor names unless an input delay is just becoming
// shorter or longer, and takes effect at that tick. From
// there on ticks and inputs go on as ever, so keep calling Tick, but the step is not
// called: the world stays as it is. A peer that hears of it late takes back what it has
// run meanwhile.
//
// Pause and Resume replace one another while neither has been published. Of several
// participants who give one in the same tick the highest has the last word, and so with
// speeds. To pause a paused match changes nothing. It may return [ErrMayNotPause], or why
// the match has ended.
func (m *Lockstep[S, I]) Pause() error { return m.enter(wire.EntryPause) }

// Resume lets a paused match go on. All that is said of [Lockstep.Pause] holds for it.
func (m *Lockstep[S, I]) Resume() error { return m.enter(wire.EntryResume) }

// SetSpeed changes the speed for everybody, at the tick that this peer's next published
// input is for. It changes neither the step nor what a tick is: whoever calls Tick has to
// call it as often as [Lockstep.Speed] says. It may return [ErrMayNotPause], or why the
// match has ended.
func (m *Lockstep[S, I]) SetSpeed(s Speed) error {
	if s < 1 || s > MaxSpeed {
		return fmt.Errorf("session: a speed of %d eighths: 1 to %d are allowed, and %d is normal", s, MaxSpeed, NormalSpeed)
	}
	return m.enter(wire.EntrySpeed(int(s)))
}

// Paused reports whether the match is paused as the next tick begins, and whether that is
// confirmed: otherwise an entry that is still under way may show that it is not so.
func (m *Lockstep[S, I]) Paused() (paused, confirmed bool) {
	c, confirmed := m.control()
	return c.Paused, confirmed
}

// Speed returns the speed as the next tick begins, and whether it is confirmed.
func (m *Lockstep[S, I]) Speed() (s Speed, confirmed bool) {
	c, confirmed := m.control()
	return c.Speed, confirmed
}

func (m *Lockstep[S, I]) control() (c Control, confirmed bool) {
	next := m.loop.Next()
	return m.controls.at(next).begins, next <= m.confirmed()
}

// ControlAt returns the control state as tick t began; ok is false for a tick beyond the
// next one, and for one that has been forgotten. It is final if t is at most
// Result.Confirmed.
func (m *Lockstep[S, I]) ControlAt(t driftback.Tick) (c Control, ok bool) {
	if s := m.controls.at(t); t >= 0 && s.tick == t && t <= m.loop.Next() {
		return s.begins, true
	}
	return Control{}, false
}

// enter has an entry ride with this peer's next published input.
func (m *Lockstep[S, I]) enter(e wire.Entry) error {
	if m.err != nil {
		return m.err
	}
	for _, p := range m.own {
		if m.mayPause(p, e) {
			m.controls.pending[kindOf(e)] = e
			m.controls.rider = p
			return nil
		}
	}
	return ErrMayNotPause
}

// enterAgain has an entry ride with a later input because the one that it rode with came too
// late, unless another of its kind has been given meanwhile.
func (m *Lockstep[S, I]) enterAgain(e wire.Entry) {
	if m.controls.pending[kindOf(e)] == 0 {
		m.check(m.enter(e))
	}
}

// riding returns the entry that rides with participant p's next input, which is about to
// be published. If there are two the other one waits for the input after it.
func (m *Lockstep[S, I]) riding(p driftback.Participant) (e wire.Entry) {
	c := &m.controls
	for kind := range c.pending {
		if e == 0 && p == c.rider {
			e, c.pending[kind] = c.pending[kind], 0
		}
	}
	return e
}

// mayPauseSetting says in words who may.
func (c *Config[S, I]) mayPauseSetting() string {
	switch c.MayPause {
	case 0:
		return "everybody"
	case None:
		return "nobody"
	}
	var b strings.Builder
	for rest := uint(c.MayPause); rest != 0; rest &= rest - 1 {
		fmt.Fprintf(&b, " %d", bits.TrailingZeros(rest))
	}
	return "participants" + b.String()
}

// given takes the entry that came with an input that has just been handed to the loop.
// Entries are guessed to be none, so that the ticks that were run without this one are run
// again if that was wrong.
func (m *Lockstep[S, I]) given(p driftback.Participant, t driftback.Tick, e wire.Entry) {
	if m.controls.give(p, t, e) {
		if from, wrong := m.controls.correct(t, m.loop.Next()); wrong {
			m.check(m.redo(from))
		}
	}
}

// step runs the game's step, unless the match is paused.
func (m *Lockstep[S, I]) step(s *S, in []I, pass *driftback.Pass) {
	if !m.controls.run(pass.Tick()) {
		m.cfg.Step(s, in, pass)
	}
}

// tellControls tells the game what has been confirmed.
func (m *Lockstep[S, I]) tellControls() {
	c := &m.controls
	for final := m.final(); c.told < final; c.told++ {
		s := c.at(c.told)
		if s.tick != c.told || s.entries == (entriesOf{}) {
			continue
		}
		s.changes(m.tell)
	}
}

func (m *Lockstep[S, I]) tell(e Event, by driftback.Participant) {
	e.Participant, e.Peer = by, m.cfg.Players[by]
	m.mesh.Note(e)
}
