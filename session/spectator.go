package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/pacing"
)

const (
	// maxWatchDrain is how many messages one call handles.
	maxWatchDrain = 4096
	// smooth is up to how many ticks a spectator may be behind without hurrying: what
	// comes in one packet is run a tick at a time.
	smooth = 16
)

// unpaced is the advice to one whom nobody waits for: play as ever.
var unpaced = pacing.Advice{Rate: 1}

// Tick handles what has arrived and runs what is confirmed: one tick, or while the
// spectator is behind as many as WatchConfig.CatchUp. It never blocks. now is the time
// since any fixed moment, as for [Lockstep.Tick], and the phase of the result is
// [Joining] until there is something to begin with, [Advanced] if a tick ran, [Stalled] if
// none is there to run, and [Ended], with the reason, when there will be none. Effects are
// all final: none is ever undone.
func (m *Spectator[S, I]) Tick(now time.Duration) (Result, error) {
	if m.err != nil {
		return Result{Phase: Ended, Tick: m.next, Confirmed: m.archive.End(), Pace: unpaced}, m.err
	}
	m.result, m.events, m.effects.reports = Result{Pace: unpaced}, m.events[:0], m.effects.reports[:0]
	m.guarded()
	for range maxWatchDrain {
		msg, ok := m.cfg.Transport.Receive()
		if !ok || m.letIn != nil && m.letIn(msg) {
			break
		}
		m.receive(msg)
	}
	if b := m.follower.Beginning(); b != nil && m.err == nil {
		m.take(b)
	}
	if m.begun && m.err == nil {
		m.result.Phase = Stalled
		m.play()
	}
	m.follower.Used(m.next)
	m.follower.Poll(now)
	if m.feeder != nil && m.err == nil {
		m.feeder.Poll(now, m.compared)
	}
	m.judge()
	m.remember()
	r := &m.result
	r.Tick, r.Confirmed = m.next, m.archive.End()
	r.Effects, r.Events = m.effects.reports, m.events
	if m.err != nil {
		r.Phase = Ended
	}
	return *r, m.err
}

// take begins the game where the feed does.
func (m *Spectator[S, I]) take(b *feed.Beginning) {
	control := Control{Speed: NormalSpeed}
	if !m.begun && m.cfg.Start != nil {
		m.cfg.Start(b.Seed, m.state) // a state's bytes may leave out what no tick changes
	}
	if b.Blob != nil {
		if !m.canParse {
			m.fail(fmt.Errorf("%w: the state of tick %d was handed over, and a state cannot be made of its bytes here: it needs UnmarshalBinary beside AppendBinary", ErrState, b.Tick))
			return
		}
		var err error
		if control, err = m.bytes.parse(b.Blob, m.state); err != nil {
			m.fail(fmt.Errorf("%w: the state of tick %d as it was handed over: %w", ErrState, b.Tick, err))
			return
		}
	}
	sum := m.sum()
	if m.err == nil && m.hasher != nil && b.HasSum && sum != b.Sum {
		m.differs(b.Tick, sum, b.Sum)
		return
	}
	m.begin(b.Tick, control)
	m.begun = true
	if m.feeder != nil {
		m.feeder.Begin(b.Seed, b.Sum, b.HasSum && b.Blob == nil)
	}
}

// play runs the ticks whose turn it is.
func (m *Spectator[S, I]) play() {
	last, over := m.follower.Finish()
	to := m.archive.End() - driftback.Tick(m.cfg.Delay)
	if over || m.follower.Err() != nil {
		to = min(max(to, m.next+1), m.archive.End()) // nothing more comes: on at the pace of the match
	}
	n := min(1+max(0, to-m.next-smooth), driftback.Tick(m.cfg.CatchUp))
	if m.hurries {
		n = driftback.Tick(m.cfg.CatchUp)
	}
	for ; n > 0 && m.next < to && m.err == nil; n-- {
		m.run()
	}
	m.effects.settle(m.next)
	m.compare()
	if over && m.next == last.At && m.err == nil {
		if sum := m.sum(); m.hasher != nil && last.HasSum && sum != last.Sum {
			m.differs(m.next, sum, last.Sum)
			return
		}
		m.fail(ErrFinished)
	}
}

// run runs the next tick, whose inputs are there.
func (m *Spectator[S, I]) run() {
	t := m.next
	for p := range m.in {
		p := driftback.Participant(p)
		if err := m.rules.inputs.Parse(m.archive.Input(p, t), &m.in[p]); err != nil {
			m.fail(fmt.Errorf("%w: %w", ErrInternal, err)) // it was valid when it came
			return
		}
		if e := m.archive.Entry(p, t); e != 0 {
			m.controls.give(p, t, e)
		}
	}
	m.archive.Statuses(t, m.status)
	m.pass.Begin(t, m.status)
	if !m.controls.run(t) {
		m.cfg.Step(m.state, m.in, &m.pass)
	}
	m.effects.ran(&m.pass)
	m.controls.at(t).changes(m.note)
	m.next++
	m.result.Phase = Advanced
	m.fingerprint()
}

// fingerprint takes the fingerprint of the state, if it is due.
func (m *Spectator[S, I]) fingerprint() {
	if m.hasher == nil || m.next%driftback.Tick(m.cfg.FingerprintEvery) != 0 {
		return
	}
	sum := m.sumDue()
	m.ours.Put(m.next, sum)
	if m.feeder == nil || m.err != nil || !m.feeder.WantsState() {
		return
	}
	if m.cfg.FingerprintRotate {
		sum = m.sum() // what is handed over is compared whole
	}
	if err := m.bytes.give(m.feeder, m.next, m.state, sum, m.controls.at(m.next).begins); err != nil {
		m.fail(err)
	}
}

// compare compares fingerprints with those on which the players have agreed.
func (m *Spectator[S, I]) compare() {
	if m.hasher == nil {
		return
	}
	every := driftback.Tick(m.cfg.FingerprintEvery)
	for t := m.compared + every; t <= m.next && t <= m.archive.SumsEnd() && m.err == nil; t += every {
		ours, have := m.ours.Get(t)
		theirs, ok := m.archive.Sum(t)
		if have && ok && ours != theirs {
			m.differs(t, ours, theirs)
			return
		}
		if m.compared = t; have && ok {
			m.alike++
		}
	}
}

// differs ends the spectator because its state as tick t begins is not the players', as
// who feeds it tells.
func (m *Spectator[S, I]) differs(t driftback.Tick, ours, theirs uint64) {
	peer, _ := m.follower.Feeder()
	m.fail(&DesyncError{Tick: t, Peer: peer, Ours: fingerprint.Sum(ours), Theirs: fingerprint.Sum(theirs)})
}

func (m *Spectator[S, I]) sum() uint64 {
	if m.hasher == nil {
		return 0
	}
	sum := uint64(m.hasher.Sum(m.state))
	if err := m.hasher.Err(); err != nil {
		m.fail(fmt.Errorf("%w: %w", ErrState, err))
	}
	return sum
}

// judge ends when nothing more is to come and all that came has been run.
func (m *Spectator[S, I]) judge() {
	err := m.follower.Err()
	if err == nil || m.err != nil || m.begun && m.next < m.archive.End() {
		return
	}
	m.fail(err)
}

// fail ends the spectator.
func (m *Spectator[S, I]) fail(err error) {
	if m.err != nil {
		return
	}
	m.err = err
	if errors.Is(err, ErrFinished) {
		if m.feeder != nil {
			last, _ := m.follower.Finish()
			m.feeder.Finish(last.At, last.Sum, last.HasSum)
		}
		return
	}
	m.follower.Stop(err, err.Error())
	if m.feeder != nil {
		m.feeder.End(mesh.LeaveLeft, err.Error())
	}
}

// Leave stops watching, and tells the feeder. It sends at once.
func (m *Spectator[S, I]) Leave() { m.fail(ErrLeft) }

// State returns the world as the next tick begins, which is final. It is borrowed: read it
// at any time, never write to it, and copy what must outlast the next Tick.
func (m *Spectator[S, I]) State() *S { return m.state }

// Control returns whether the match is paused, and its speed, as the next tick begins.
// Call Tick as often as the speed says.
func (m *Spectator[S, I]) Control() Control { return m.controls.at(m.next).begins }

// Input returns participant p's input for tick t; ok is false for a tick that has not
// come, or is no longer kept.
func (m *Spectator[S, I]) Input(p driftback.Participant, t driftback.Tick) (in I, ok bool) {
	if int(p) >= len(m.in) || t < m.archive.Oldest() || t >= m.archive.End() {
		return in, false
	}
	err := m.rules.inputs.Parse(m.archive.Input(p, t), &in)
	return in, err == nil
}

// Root returns the fingerprint of the state as a due tick began, while it is kept.
func (m *Spectator[S, I]) Root(t driftback.Tick) (sum fingerprint.Sum, ok bool) {
	v, ok := m.ours.Get(t)
	return fingerprint.Sum(v), ok
}

// Feeder returns the peer that feeds now; ok is false while none does.
func (m *Spectator[S, I]) Feeder() (peer driftback.Peer, ok bool) { return m.follower.Feeder() }

// Agreed returns the newest due tick that this spectator has run to and whose fingerprint the players have
// agreed on; 0 at first.
func (m *Spectator[S, I]) Agreed() driftback.Tick { return m.compared }

// Refused returns how many things of others were dropped, by reason.
func (m *Spectator[S, I]) Refused() [mesh.Refusals]uint64 { return m.refused }
