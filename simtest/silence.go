package simtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// longestDispute is for how long a session that has found a difference waits for the other
// side to find it too.
const longestDispute = 5 * time.Second

// silence returns for how long a peer may be listened to in vain before it is lost; 0:
// for ever.
func (s *Scenario) silence() time.Duration { return (s.PeerTimeout + s.RejoinGrace).Duration() }

// silenceMay plants that peers may hear nothing of each other for too long.
func (m *match[S, I]) silenceMay() {
	m.plant(cause{elsewhere: []like{is(session.ErrPeerLost)}, wrong: m.lostWrongly, may: true})
}

// gone plants that a peer says nothing any more: it has crashed, or its match has ended
// and its word of that may be lost.
func (m *match[S, I]) gone(p driftback.Peer, mayBeLost bool) {
	c := cause{at: []driftback.Peer{p}, wrong: m.lostWrongly, elsewhere: []like{is(session.ErrNeverJoined)}}
	c.may = m.mayGoOn()
	if mayBeLost || c.may {
		c.elsewhere = append(c.elsewhere, is(session.ErrPeerLost))
	}
	m.plant(c)
}

// unheard plants that whoever has not begun to play by the time that p, which could wait
// for it no longer, has finished may never hear of that.
func (m *match[S, I]) unheard(p *peer[S, I]) {
	if slices.ContainsFunc(m.peers, func(q *peer[S, I]) bool { return !q.playing && (p.missed[q.self] || !p.view.members[q.self]) }) {
		m.plant(cause{at: []driftback.Peer{p.self}, wrong: m.lostWrongly, elsewhere: []like{is(session.ErrNeverJoined)}, may: true})
	}
}

// lostWrongly returns why a peer may not call another lost, or say that it never joined.
func (m *match[S, I]) lostWrongly(self driftback.Peer, err error) string {
	p := m.peers[self]
	if errors.Is(err, session.ErrNeverJoined) {
		switch waited := p.polled - (p.is.Ahead + p.is.Phase).Duration(); {
		case p.playing:
			return fmt.Sprintf("it played and had run %d ticks", p.next)
		case waited < joinTimeout:
			return fmt.Sprintf("it has waited for %v of %v", waited, joinTimeout)
		}
		return ""
	}
	var lost *session.LostError
	if !errors.As(err, &lost) || int(lost.Peer) >= len(m.peers) {
		return "it names no peer"
	}
	named := m.peers[lost.Peer]
	if left := m.s.playsOn() && (named.err != nil || !p.view.members[named.self]); left {
		return m.mustGoOn(self)
	}
	if (lost.Alone || lost.Undecided > 0) && m.unsettled(m.net.Now(), m.outlook.losing) {
		return m.mustGoOn(self) // what was begun to be decided while others were lost may come to no end
	}
	if lost.Silence == 0 && lost.Undecided == 0 && m.lives[lost.Peer] > 0 {
		return m.mustGoOn(self) // another process of it has come
	}
	least := m.s.silence()
	if m.lives[lost.Peer] > 0 || m.lives[self] > 0 || named.view.number > p.view.number {
		// What comes from a process that is not yet let in, or to it, is no word of the match's, nor
		// is what is said in a view of which this peer has not heard.
		least -= m.outlook.patience
	}
	if heard := p.silent[lost.Peer]; heard < least {
		return fmt.Sprintf("it had listened to peer %d in vain for only %v of %v", lost.Peer, heard, m.s.silence())
	}
	return m.mustGoOn(self)
}

// checkSilence checks that a peer that has been listened to in vain for too long is
// called lost, unless nothing more is needed from it.
func (p *peer[S, I]) checkSilence() {
	m, last := p.m, driftback.Tick(p.m.s.Ticks)
	if m.s.PeerTimeout == 0 || m.s.playsOn() || !p.playing || p.err != nil || p.final == last {
		return
	}
	most := m.s.silence()
	if m.s.disputed() {
		most += longestDispute // what has been found to differ is talked over first
	}
	for q, heard := range p.silent {
		if driftback.Peer(q) != p.self && heard >= most && m.peers[q].final < last {
			p.breaks(RuleCause, p.next, "it has listened to peer %d in vain for %v of %v, and goes on", q, heard, most)
			return
		}
	}
}
