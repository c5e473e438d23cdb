package driftback

// Effect is something a step wants the world outside to notice: a sound, a
// spark, a line of commentary. Kind and Args mean what the game says they mean.
// Equal effects raised on the same tick are one effect.
type Effect struct {
	Kind uint32
	Args [3]int32
}

// MaxEffects bounds the effects of each sort (raised, raised when confirmed)
// that one tick can carry. What a step raises beyond it is counted and dropped.
const MaxEffects = 32

// Pass is one run of one tick. The first run of a tick is a pass and so is every
// re-simulation of it, so a step that wants the world outside to notice
// something says so here, where the engine can tell the runs apart, and never
// by calling out.
//
// A pass is lent to the step and must not be kept.
type Pass struct {
	tick      Tick
	statuses  [MaxParticipants]Status
	raised    effectSet
	confirmed effectSet
	touched   *Touched // nil: nobody wants to know
}

// effectSet holds distinct effects in the order in which they were raised.
type effectSet struct {
	n       int
	dropped int
	list    [MaxEffects]Effect
}

func (s *effectSet) add(e Effect) {
	for i := range s.n {
		if s.list[i] == e {
			return
		}
	}
	if s.n == MaxEffects {
		s.dropped++
		return
	}
	s.list[s.n] = e
	s.n++
}

// Tick returns the tick that is being run.
func (p *Pass) Tick() Tick { return p.tick }

// Status says who is behind participant q's input on this tick. A participant
// the match does not have is [Absent].
func (p *Pass) Status(q Participant) Status {
	if int(q) >= len(p.statuses) {
		return Absent
	}
	return p.statuses[q]
}

// Raise reports an effect as soon as the tick has run. If a re-simulation of the
// tick does not raise it again, the game is told that it did not happen after
// all. Beyond [MaxEffects] distinct effects on one tick it is counted and
// dropped.
func (p *Pass) Raise(e Effect) { p.raised.add(e) }

// RaiseConfirmed reports an effect once, when the tick is confirmed and can no
// longer change. Beyond [MaxEffects] distinct effects on one tick it is counted
// and dropped.
func (p *Pass) RaiseConfirmed(e Effect) { p.confirmed.add(e) }

// Begin makes the pass ready for a run of tick t with the given status of each
// participant; those beyond the slice are [Absent]. It is for whoever runs the
// step, not for the step.
func (p *Pass) Begin(t Tick, statuses []Status) {
	p.tick = t
	n := copy(p.statuses[:], statuses)
	for i := n; i < len(p.statuses); i++ {
		p.statuses[i] = Absent
	}
	p.raised.n, p.raised.dropped = 0, 0
	p.confirmed.n, p.confirmed.dropped = 0, 0
}

// Raised returns the distinct effects given to [Pass.Raise] since Begin, in
// order. The slice is borrowed until the next Begin.
func (p *Pass) Raised() []Effect { return p.raised.list[:p.raised.n] }

// RaisedConfirmed returns the distinct effects given to [Pass.RaiseConfirmed]
// since Begin, in order. The slice is borrowed until the next Begin.
func (p *Pass) RaisedConfirmed() []Effect { return p.confirmed.list[:p.confirmed.n] }

// Dropped returns how many effects were raised beyond the bound since Begin.
func (p *Pass) Dropped() int { return p.raised.dropped + p.confirmed.dropped }
