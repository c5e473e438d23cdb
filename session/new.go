package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/snapshot"
)

// New returns a session that has not yet spoken to anybody.
func New[S any, I comparable](c Config[S, I]) (*Lockstep[S, I], error) {
	m, err := newLockstep(c)
	if err != nil {
		return nil, err
	}
	if m.mesh, err = mesh.New(m.meshConfig()); err != nil {
		return nil, err
	}
	return m, m.beginAt(&beginning[S]{state: m.cfg.takeInitial(), control: Control{Speed: NormalSpeed}})
}

// takeInitial returns a copy of the start state, and lets go of what it was copied from.
// Beyond here a state is never passed, returned or kept in a variable by value: it may be
// larger than a stack.
func (c *Config[S, I]) takeInitial() *S {
	s := new(S)
	if c.Initial != nil {
		*s = *c.Initial
	}
	c.Initial = nil
	return s
}

// newLockstep returns a session without a mesh, and without a game that begins.
func newLockstep[S any, I comparable](c Config[S, I]) (*Lockstep[S, I], error) {
	c, err := c.filled()
	if err != nil {
		return nil, err
	}
	m := &Lockstep[S, I]{finishAt: None}
	if m.rules, err = newRules(c); err != nil {
		return nil, err
	}
	if c.FingerprintEvery != None {
		if m.hasher, err = fingerprint.New[S](); err != nil {
			return nil, fmt.Errorf("session: the state cannot be compared between peers: %w (a FingerprintEvery of None, not %d, compares nothing and finds no desync)", err, c.FingerprintEvery)
		}
	}
	for p, peer := range c.Players {
		if peer == c.Self {
			m.own = append(m.own, driftback.Participant(p))
		}
	}
	m.delays = newDelays[I](c.InputDelays, c.AdaptDelay, c.window())
	m.guard, err = newGuard[S](c.Guard)
	return m, err
}

func (m *Lockstep[S, I]) meshConfig() mesh.Config {
	c := &m.cfg
	return mesh.Config{
		Transport: c.Transport, Self: c.Self, Players: c.Players, Relay: c.Relay,
		Stride: m.inputs.Size(), Delays: c.InputDelays, Window: int(c.window()), Redundancy: c.Redundancy,
		PublishEvery: c.PublishEvery, TickLength: time.Second / time.Duration(c.TickRate),
		FingerprintEvery: c.FingerprintEvery, History: c.History,
		Match: c.Match, Settings: m.settings(), Nonce: c.Nonce,
		PeerTimeout: c.PeerTimeout, RejoinGrace: c.RejoinGrace, JoinTimeout: c.JoinTimeout,
		PlayOn: c.WhenLost == PlayOn, Rejoin: c.Rejoin,
		Valid: m.valid, ValidEntry: m.mayPause, Outside: m.outside(), Evidence: c.FingerprintEvery != None, Buggify: c.Buggify,
	}
}

// beginning is where a session takes up the game.
type beginning[S any] struct {
	tick    driftback.Tick
	state   *S // the session goes on with it
	control Control
	// archive has what is known of the ticks before; nil: there are none.
	archive *feed.Archive
}

// beginAt makes ready to run the first tick, for a session that has its mesh.
func (m *Lockstep[S, I]) beginAt(b *beginning[S]) (err error) {
	c := &m.cfg
	// The log must hold what the mesh may hold before the loop has taken it.
	kept := m.mesh.Kept()
	for reach := c.reach(); kept < m.mesh.Kept()+reach; {
		kept *= 2 // which Kept is a power of
	}
	m.log, err = inputlog.New(inputlog.Config[I]{Participants: len(c.Players), Depth: kept, First: b.tick, Predict: c.predict()})
	if err != nil {
		return err
	}
	m.effects = newLedger(c.depth(), c.EffectTolerance)
	m.effects.end, m.effects.final = b.tick, b.tick
	m.loop, err = rewind.New(rewind.Config[S, I]{
		Step: m.step, Initial: b.state, First: b.tick, Inputs: m.log,
		Depth: c.depth(), Save: c.Save, Spacing: c.Spacing, Wanted: m.wanted(), Clock: m.costClock(), Statuses: m.statuses, Ran: m.effects.ran,
	})
	if err != nil {
		return err
	}
	m.controls = newControls(kept, b.tick, b.control)
	m.lent, m.redo = m.fingerprint, m.loop.Redo
	if m.kept.policy = c.Save; c.Save == nil {
		m.kept.policy = snapshot.For[S]
		if m.hasher != nil {
			m.due = new(S)
		}
	}
	m.supplied = slices.Repeat([]driftback.Tick{b.tick}, len(c.Players))
	m.parts = make([]parts, len(c.Players))
	for p := range m.parts {
		m.parts[p] = m.partsOf(driftback.Participant(p))
	}
	if c.Relay != 0 {
		m.late = make([]uint64, len(c.Players))
	}
	m.status = make([]driftback.Status, len(c.Players))
	m.waiting = make([]driftback.Participant, 0, len(c.Players))
	for _, peer := range m.mesh.Peers() {
		m.peerStats = append(m.peerStats, PeerStats{Peer: peer})
	}
	if err := m.keepPast(b.archive); err != nil {
		return err
	}
	if err := m.letWatch(); err != nil {
		return err
	}
	if b.tick > 0 {
		m.keep(b.tick, b.state, b.control)
	}
	m.remember()
	return m.pace.init(c.TickRate, c.window(), len(m.peerStats))
}
