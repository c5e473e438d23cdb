package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/wire"
)

// begin makes the session that plays on from here.
func (j *Joiner[S, I]) begin() {
	w, m := j.welcome, j.spectator
	if seed := m.follower.Seed(); w.Seed != seed {
		j.fail(fmt.Errorf("%w: peer %d lets this one into a match with the seed %016x, and what it was fed is of one with %016x", ErrRefused, j.by, w.Seed, seed))
		return
	}
	if m.next < m.archive.End() {
		return // nobody else may have what this peer was fed with: it is run first
	}
	s, err := j.resume(w)
	switch {
	case errors.Is(err, mesh.ErrBehind):
		// There is more to run first, and more comes.
	case err != nil:
		j.fail(fmt.Errorf("session: peer %d lets this one in, and it cannot play from tick %d on: %w", j.by, m.next, err))
	default:
		j.session = s
	}
}

func (j *Joiner[S, I]) resume(w *wire.Welcome) (*Lockstep[S, I], error) {
	from := j.spectator
	m, err := newLockstep(j.config)
	if err != nil {
		return nil, err
	}
	if m.mesh, err = mesh.Resume(m.meshConfig(), *w, j.by, from.next); err != nil {
		return nil, err
	}
	for peer := range driftback.Peer(driftback.MaxPeers) {
		if j.up.Has(peer) && !j.owed.Has(peer) {
			m.mesh.LinkUp(peer)
		}
	}
	m.give(from.archive, from.next)
	m.begun = true
	if err := m.beginAt(&beginning[S]{tick: from.next, state: from.state, control: from.Control(), archive: from.archive}); err != nil {
		return nil, err
	}
	before := make([]I, len(m.cfg.Players))
	for p := range before {
		before[p], _ = from.Input(driftback.Participant(p), from.next-1)
	}
	m.log.Before(before)
	// For the ticks that come sooner than an input that is read now nothing was read, and without
	// predictions the first of them does not run before it has one.
	for i, p := range m.own {
		d := &m.delays.of[i]
		m.fillTo(p, d, from.next+driftback.Tick(d.ticks))
	}
	return m, m.err
}

// give gives the mesh what this peer was fed with for the ticks before t: one who is lost
// since may have fed it with inputs that nobody else has.
func (m *Lockstep[S, I]) give(a *feed.Archive, t driftback.Tick) {
	for p := range m.cfg.Players {
		p := driftback.Participant(p)
		for at := t - 1; at >= a.Oldest() && m.mesh.Supply(p, a.Input(p, at), a.Entry(p, at)); at-- {
		}
	}
}

// comesIn reports whether tick t takes no input of this peer's, because it comes to the
// match, or back to it, only later.
func (m *Lockstep[S, I]) comesIn(t driftback.Tick) bool {
	longest := 0
	for i := range m.delays.of {
		longest = max(longest, m.delays.of[i].ticks)
	}
	return t+driftback.Tick(longest) < m.mesh.From()
}

// catchUp runs the ticks that take no input of this peer's, as far as the others have come:
// when it begins to play they have its inputs in time.
func (m *Lockstep[S, I]) catchUp() {
	m.result.Phase = CatchingUp
	ahead := m.othersAhead()
	for range DefaultCatchUp {
		t := m.loop.Next()
		if !m.comesIn(t) || m.finishAt != None && t >= m.finishAt || !m.within(t) || m.lead() > ahead ||
			m.mesh.Blocked() || m.cfg.Buggify.Fires(buggify.SpareStall) {
			return
		}
		m.mesh.Used(t + 1)
		m.takeCut()
		started := m.read()
		_, err := m.loop.Advance()
		m.stepTime += m.read() - started
		if m.check(err); m.err != nil {
			return
		}
		m.fingerprintDue()
		m.effects.settle(m.final())
	}
}

// othersAhead returns by how many ticks the others are about beyond what is held of them:
// as many as a link takes, less the delay with which their inputs come.
func (m *Lockstep[S, I]) othersAhead() int {
	oneWay, known := m.oneWay()
	if !known {
		return mesh.MaxWindow
	}
	delay := mesh.MaxDelay
	for p, peer := range m.cfg.Players {
		if peer != m.cfg.Self && m.parts[p].cut == None {
			delay = min(delay, m.mesh.Delay(driftback.Participant(p)))
		}
	}
	speed, _ := m.Speed()
	return int((oneWay+m.pace.length/2)*time.Duration(speed)/(m.pace.length*time.Duration(NormalSpeed))) - delay
}
