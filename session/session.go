package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/rewind"
)

// Lockstep is one peer's side of a match. Create it with [New].
type Lockstep[S any, I comparable] struct {
	rules[S, I]
	mesh   *mesh.Mesh
	log    *inputlog.Log[I]
	loop   *rewind.Loop[S, I]
	hasher *fingerprint.Hasher[S] // nil: fingerprints are off
	kept   kept[S]
	guard  *guard[S] // nil: Config.Guard is false
	own    []driftback.Participant
	delays delays[I]

	begun    bool
	supplied []driftback.Tick // by participant: the first input not handed to the loop
	parts    []parts          // by participant: from when on it plays and does not, as the loop knows it
	finishAt driftback.Tick   // None: not set
	finished bool             // Finish has been told to the mesh
	err      error

	past     past
	inquiry  inquiry[S, I]
	watchers *watchers[S] // nil: nobody may watch

	controls controls
	redo     func(t driftback.Tick) error // the loop's

	effects   *ledger
	result    Result
	waiting   []driftback.Participant
	bytes     []byte // one input, encoded
	due       *S     // a state that is being fingerprinted, where Config.Save is nil
	lent      func(*S)
	advanced  uint64
	stalled   uint64
	stepTime  time.Duration
	rerunTime time.Duration
	peerStats []PeerStats
	status    []driftback.Status
	late      []uint64 // for Stats
	pace      pace
}

// State returns the world as the next tick begins. It is borrowed: read it at any
// time, never write to it, and copy what must outlast the next Tick.
func (m *Lockstep[S, I]) State() *S { return m.loop.State() }

// Input returns participant p's input for tick t as it is known now, and whether
// it is confirmed; ok is false for a tick that is neither held nor guessed, and
// for one that has run with every input confirmed, which is forgotten.
func (m *Lockstep[S, I]) Input(p driftback.Participant, t driftback.Tick) (in I, confirmed, ok bool) {
	return m.log.Peek(p, t)
}

// confirmed returns the first tick that lacks an input.
func (m *Lockstep[S, I]) confirmed() driftback.Tick { return m.log.Confirmed() }

// final returns the newest tick whose beginning nothing can change any more and
// which has been reached.
func (m *Lockstep[S, I]) final() driftback.Tick { return min(m.confirmed(), m.loop.Next()) }

// ConfirmedState copies the newest confirmed world into into and returns the tick
// that it begins. What Config.Save leaves out stays in into as it is: begin with a copy
// of the start state.
func (m *Lockstep[S, I]) ConfirmedState(into *S) (driftback.Tick, error) {
	t := m.final()
	return t, m.loop.Snapshot(t, into)
}

// Root returns this peer's fingerprint of the confirmed state as a due tick began,
// a multiple of Config.FingerprintEvery; ok is false if it is not kept or not yet
// known. With Config.FingerprintRotate it is that of one subsystem.
func (m *Lockstep[S, I]) Root(t driftback.Tick) (sum fingerprint.Sum, ok bool) {
	v, ok := m.mesh.Root(t)
	return fingerprint.Sum(v), ok
}

// Tick handles what has arrived, re-simulates if a guess was wrong, runs the next
// tick if the prediction window allows, and sends what is due. It never blocks.
//
// now is the time since any fixed moment: it goes on from call to call, and is not the
// length of a frame. Where it stands still no time-out ever comes. local has one input for each participant
// that this peer plays, in order. They are used when the result is [Advanced] and
// only then, for the ticks that InputFor names; a game keeps pressed edges until
// they have been used. A wrong number of inputs, or one that Config.Valid refuses,
// is an error that does not end the match.
func (m *Lockstep[S, I]) Tick(now time.Duration, local ...I) (Result, error) {
	if m.err == nil {
		if len(local) != len(m.own) {
			return m.standing(Stalled), fmt.Errorf("session: Tick was given %d inputs, and this peer plays %d: give one for each participant that it plays", len(local), len(m.own))
		}
		for i, in := range local {
			if m.cfg.Valid != nil && !m.cfg.Valid(in) {
				return m.standing(Stalled), fmt.Errorf("session: Config.Valid refuses participant %d's own input %+v", m.own[i], in)
			}
		}
	}
	return m.turn(now, local)
}

// Poll does all that Tick does but run the next tick: for the lobby, and after
// the last tick.
func (m *Lockstep[S, I]) Poll(now time.Duration) (Result, error) { return m.turn(now, nil) }

// turn is one call: what arrived, what it changes, what is next, what is sent.
// Without inputs it runs no tick.
func (m *Lockstep[S, I]) turn(now time.Duration, local []I) (Result, error) {
	if m.err != nil {
		return m.after(now), m.err
	}
	m.effects.reports = m.effects.reports[:0]
	m.result = Result{}
	m.pace.advice.Skip = pacing.Keep
	m.guarded()
	m.mesh.Poll(now)
	if m.mesh.Phase() == mesh.Agreeing && !m.begun {
		m.begin()
	}
	if m.begun && m.mesh.Phase() != mesh.Ended {
		m.play(local)
		if local != nil {
			m.adapt(now)
		}
	}
	m.feed(now)
	m.inquire()
	m.remember()
	m.mesh.Flush()
	return m.conclude(), m.err
}

// standing is the result of a call that does nothing.
func (m *Lockstep[S, I]) standing(p Phase) Result {
	return Result{Phase: p, Tick: m.loop.Next(), Confirmed: m.confirmed(), Pace: pacing.Advice{Rate: m.pace.advice.Rate}}
}

// begin starts the game from the seed that every peer had a hand in.
func (m *Lockstep[S, I]) begin() {
	m.begun = true
	if m.cfg.Start != nil {
		m.cfg.Start(m.mesh.Seed(), m.loop.State())
	}
	sum, hasSum := m.sum(m.loop.State())
	if m.keep(0, m.loop.State(), Control{Speed: NormalSpeed}); m.err == nil {
		m.check(m.mesh.Begin(sum, hasSum))
		m.watchers.startsFrom(sum, hasSum)
	}
}

// play brings the game up to date and, given inputs, runs the next tick if it may.
func (m *Lockstep[S, I]) play(local []I) {
	m.mesh.Used(m.loop.Next())
	if m.takeViews(); m.err != nil {
		return
	}
	for p := range m.cfg.Players {
		m.take(driftback.Participant(p))
	}
	started := m.read()
	rerun, err := m.loop.Settle()
	m.rerunTime += m.read() - started
	m.result.Rerun = rerun
	if m.check(err); m.err != nil {
		return
	}
	m.fingerprintDue()
	if local != nil {
		m.advance(local)
	}
	m.effects.settle(m.final())
	m.tellControls()
	m.finish()
	m.forget()
}

// forget lets go of inputs that no tick will be run on any more.
func (m *Lockstep[S, I]) forget() {
	t := m.final()
	if m.cfg.Spacing > 1 { // a final tick may be run again to get from a snapshot to one that is not
		t = min(t, m.loop.Oldest())
	}
	m.log.Forget(t)
}

// costClock is read to find out how far apart states are to be put away.
func (m *Lockstep[S, I]) costClock() func() time.Duration {
	if !m.cfg.AdaptSpacing {
		return nil
	}
	return m.cfg.Clock
}

// wanted says which ticks' states will be asked for.
func (m *Lockstep[S, I]) wanted() func(t driftback.Tick) bool {
	if m.cfg.FingerprintEvery == None {
		return nil
	}
	every := driftback.Tick(m.cfg.FingerprintEvery)
	return func(t driftback.Tick) bool { return t%every == 0 }
}

// read reads the optional clock.
func (m *Lockstep[S, I]) read() time.Duration {
	if m.cfg.Clock == nil {
		return 0
	}
	return m.cfg.Clock()
}

// take hands a participant's new inputs from the mesh to the loop.
func (m *Lockstep[S, I]) take(p driftback.Participant) {
	for held := m.mesh.Held(p); m.supplied[p] < held && m.err == nil; m.supplied[p]++ {
		if err := m.inputs.Parse(m.mesh.Input(p, m.supplied[p]), &m.in); err != nil {
			m.check(err)
			return
		}
		m.check(m.loop.Supply(p, m.supplied[p], m.in))
		if e := m.mesh.Entry(p, m.supplied[p]); e != 0 {
			m.given(p, m.supplied[p], e)
		} else if e := m.mesh.Dropped(p, m.supplied[p]); e != 0 {
			m.enterAgain(e)
		}
	}
}

// takeCut hands on what is known of those who were cut.
func (m *Lockstep[S, I]) takeCut() {
	for p := range m.parts {
		if m.parts[p].cut != None {
			m.take(driftback.Participant(p))
		}
	}
}

// advance runs the next tick on this peer's inputs, if it may.
func (m *Lockstep[S, I]) advance(local []I) {
	if m.mesh.Phase() != mesh.Playing {
		return
	}
	t := m.loop.Next()
	switch {
	case m.finishAt == None:
		if m.mesh.PlayOn(t); m.mesh.Phase() == mesh.Ended {
			return
		}
	case t >= m.finishAt:
		if m.confirmed() < t {
			m.await()
		}
		return
	}
	if m.comesIn(t) {
		m.catchUp()
		return
	}
	if !m.within(t) || m.mesh.Blocked() || m.cfg.Buggify.Fires(buggify.SpareStall) {
		m.stall(t)
		return
	}
	if m.publish(t, local); m.err != nil {
		return
	}
	m.takeCut()
	started := m.read()
	_, err := m.loop.Advance()
	m.stepTime += m.read() - started
	if m.check(err); m.err != nil {
		return
	}
	m.advanced++
	m.paced(false)
	m.result.Phase = Advanced
	m.result.InputFor = m.delays.inputFor
}

// within reports whether the prediction window allows tick t to run.
func (m *Lockstep[S, I]) within(t driftback.Tick) bool {
	if m.cfg.PredictionWindow == None {
		return t < m.confirmed()
	}
	return t < m.confirmed()+m.cfg.window()
}

func (m *Lockstep[S, I]) stall(t driftback.Tick) {
	m.stalled++
	m.paced(true)
	m.mesh.Hurry()
	m.await()
	if m.cfg.AtLimit == Halt && !m.within(t) {
		why := fmt.Sprintf("tick %d is %d ticks beyond the confirmed tick %d, waiting for participants %v",
			t, t-m.confirmed(), m.confirmed(), m.waiting)
		m.halt(fmt.Errorf("%w: %s", ErrPredictionLimit, why), "its prediction window is used up: "+why)
	}
}

// await names the others whose inputs are missing from the confirmed tick.
func (m *Lockstep[S, I]) await() {
	m.waiting = m.waiting[:0]
	for p := range m.cfg.Players {
		if p := driftback.Participant(p); m.log.ConfirmedOf(p) == m.confirmed() && m.cfg.Players[p] != m.cfg.Self {
			m.waiting = append(m.waiting, p)
		}
	}
	m.result.WaitingFor = m.waiting
}

// fingerprintDue takes the fingerprint of every due tick that has become final. A copy
// that the game's own policy makes may not be all of the world, so that it is taken in
// place: it must not depend on whether the tick is still the next one.
func (m *Lockstep[S, I]) fingerprintDue() {
	for m.err == nil {
		t, ok := m.mesh.Due()
		if !ok || t > m.final() {
			return
		}
		if m.cfg.Save != nil || t == m.loop.Next() {
			m.check(m.loop.Lend(t, m.lent))
		} else if m.check(m.loop.Snapshot(t, m.due)); m.err == nil {
			m.fingerprint(m.due)
		}
	}
}

// fingerprint takes the fingerprint of the due tick that state begins.
func (m *Lockstep[S, I]) fingerprint(state *S) {
	t, _ := m.mesh.Due()
	control, _ := m.ControlAt(t)
	if m.keep(t, state, control); m.err != nil {
		return
	}
	sum := m.sumAt(t, state)
	m.check(m.mesh.Fingerprint(t, sum))
	m.giveState(t, state, sum)
}

// keep puts a state away that may have to be shown, or to be run on from, when peers differ.
func (m *Lockstep[S, I]) keep(t driftback.Tick, state *S, control Control) {
	if len(m.peerStats) == 0 || m.hasher == nil {
		return // without another peer nobody will disagree
	}
	if err := m.kept.save(t, state, control); err != nil {
		m.check(fmt.Errorf("%w: the state of tick %d: %w", ErrState, t, err))
	}
}

// sum returns a state's fingerprint, if there are any. Where the state's own
// AppendBinary fails it ends the match: the sum would say that no states differ.
func (m *Lockstep[S, I]) sum(state *S) (sum uint64, ok bool) {
	if m.hasher == nil {
		return 0, false
	}
	sum = uint64(m.hasher.Sum(state))
	if err := m.hasher.Err(); err != nil {
		m.check(fmt.Errorf("%w: %w", ErrState, err))
	}
	return sum, true
}

// finish tells the mesh when the last tick is confirmed.
func (m *Lockstep[S, I]) finish() {
	t := m.loop.Next()
	if m.finishAt == None || m.finished || t < m.finishAt || m.confirmed() < t || m.mesh.Phase() != mesh.Playing ||
		m.cfg.Buggify.Fires(buggify.LateFinish) {
		return
	}
	m.fingerprintDue() // of the last tick too, if it is due
	sum, hasSum := m.sum(m.loop.State())
	if m.err != nil {
		return
	}
	m.finished = true
	m.mesh.Finish(t, sum, hasSum)
}

// Finish sets the match's last tick: at is the first tick that does not run. It
// must be alike on every peer and not below the next tick to run. When every peer
// has confirmed all that came before, the match ends with [ErrFinished]; until
// then keep calling Tick or Poll. It may be called before the first Tick. A peer that is to run a tick at which another has
// finished ends the match with a [*MismatchError].
func (m *Lockstep[S, I]) Finish(at driftback.Tick) error {
	if at < m.loop.Next() || at < 1 {
		return fmt.Errorf("session: Finish at tick %d, but the next tick to run is %d", at, m.loop.Next())
	}
	if m.finished {
		return fmt.Errorf("session: Finish at tick %d, but tick %d has been confirmed as the last", at, m.finishAt)
	}
	m.finishAt = at
	m.mesh.Last(at)
	return nil
}

// Halt ends the match for every peer, for a reason of the game's own. The error of
// this and every other peer wraps [ErrHalted].
func (m *Lockstep[S, I]) Halt(reason string) {
	if m.err == nil {
		m.halt(fmt.Errorf("%w here, at tick %d: %s", ErrHalted, m.loop.Next(), reason), reason)
	}
}

// halt ends the match here with err and tells the others in words.
func (m *Lockstep[S, I]) halt(err error, words string) {
	m.mesh.Halt(err, words)
	m.err = m.explain(m.mesh.Err())
	m.endFeed()
}

// Leave ends the match for this peer and tells the others, whose matches end with
// [ErrPeerLeft] unless they play on: see [PlayOn]. It sends at once: no other call is needed before the transport is
// closed.
func (m *Lockstep[S, I]) Leave() {
	if m.err == nil {
		m.mesh.Leave()
		m.err = m.explain(m.mesh.Err())
		m.endFeed()
	}
}

// check ends the match when the game's state could not be kept or hashed, or when an
// invariant of our own is broken.
func (m *Lockstep[S, I]) check(err error) {
	switch {
	case err == nil || m.err != nil:
		return
	case errors.Is(err, rewind.ErrStore):
		err = fmt.Errorf("%w: %w", ErrState, err)
	case !errors.Is(err, ErrState) && !errors.Is(err, ErrWritten):
		err = fmt.Errorf("%w: %w", ErrInternal, err)
	}
	m.halt(err, err.Error())
}

// conclude completes the result of a call.
func (m *Lockstep[S, I]) conclude() Result {
	if err := m.mesh.Err(); err != nil && m.err == nil {
		m.err = m.explain(err)
		m.endFeed()
	}
	r := &m.result
	r.Tick, r.Confirmed = m.loop.Next(), m.confirmed()
	r.Effects, r.Events, r.Messages, r.Pace = m.effects.reports, m.mesh.Events(), m.mesh.Messages(), m.pace.advice
	switch {
	case m.err != nil:
		r.Phase = Ended
	case r.Phase == Joining && m.mesh.Phase() == mesh.Playing:
		r.Phase = Stalled
	}
	return *r
}
