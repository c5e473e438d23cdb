package session

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// begin makes the session that plays on from here.
func (j *Joiner[S, I]) begin() {
	w, m := j.welcome, j.spectator
	if seed := m.follower.Seed(); w.Seed != seed {
		j.fail(fmt.Errorf("%w: peer %d lets this one into a match with the seed %016x, and what it was fed is of one with %016x", ErrRefused, j.by, w.Seed, seed))
		return
	}
	s, err := j.resume(w)
	if err != nil {
		j.fail(fmt.Errorf("session: peer %d lets this one in as tick %d begins here: %w", j.by, m.next, err))
		return
	}
	j.session = s
}

func (j *Joiner[S, I]) resume(w *wire.Welcome) (*Lockstep[S, I], error) {
	from := j.spectator
	m, err := newLockstep(j.config)
	if err != nil {
		return nil, err
	}
	c := m.meshConfig()
	c.Transport = again(c.Transport, j.up&^wire.PeersOf(j.by))
	if m.mesh, err = mesh.Resume(c, *w, j.by, from.next); err != nil {
		return nil, err
	}
	// The others keep the newest inputs only, and go on meanwhile.
	if behind, most := m.mesh.From()-from.next, driftback.Tick(m.mesh.Kept())-m.cfg.window()-mesh.MaxDelay; behind > most {
		m.mesh.Leave()
		return nil, fmt.Errorf("it plays from tick %d on, and the others keep the inputs of %d ticks before that: it has fallen too far behind, and can join again", m.mesh.From(), most)
	}
	m.begun = true
	err = m.beginAt(&beginning[S]{tick: from.next, state: from.state, control: from.Control(), archive: from.archive})
	return m, err
}

// relayed is a transport some of whose messages have been taken, and are said again.
type relayed struct {
	transport.Transport
	up wire.Peers
}

// again returns the transport with an Up for each of the links that are.
func again(t transport.Transport, up wire.Peers) transport.Transport { return &relayed{t, up} }

// Receive returns the messages that are said again first.
func (r *relayed) Receive() (transport.Message, bool) {
	for peer := driftback.Peer(0); r.up != 0; peer++ {
		if r.up.Has(peer) {
			r.up &^= wire.PeersOf(peer)
			return transport.Message{Kind: transport.Up, From: peer}, true
		}
	}
	return r.Transport.Receive()
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

// catchUp runs the ticks that take no input of this peer's, as far ahead as the window
// allows: when it begins to play the others have its inputs in time.
func (m *Lockstep[S, I]) catchUp() {
	m.result.Phase = CatchingUp
	for range DefaultCatchUp {
		t := m.loop.Next()
		if !m.comesIn(t) || m.finishAt != None && t >= m.finishAt || !m.within(t) ||
			m.mesh.Blocked() || m.cfg.Buggify.Fires(buggify.SpareStall) {
			return
		}
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
