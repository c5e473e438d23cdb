package mesh

import (
	"fmt"
	"time"

	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// tell moves the mesh's clock and returns the time that peers may be blamed for:
// a game that did not poll for a while could not have heard anybody.
func (m *Mesh) tell(now time.Duration) time.Duration {
	const day = 24 * time.Hour
	passed := now - m.given
	if !m.polled || now <= m.given || passed < 0 {
		passed = 0
	}
	m.polled, m.given = true, now
	m.clock += min(passed, day)
	if m.cfg.PeerTimeout != None {
		passed = min(passed, max(m.cfg.PeerTimeout/4, 1))
	}
	return min(passed, day)
}

// hear notes that a peer is alive.
func (m *Mesh) hear(l *link) {
	l.silence = 0
	if l.interrupted {
		l.interrupted = false
		m.note(Event{Kind: PeerResumed, Peer: l.peer})
	}
}

// judge ends the match, or interrupts a peer, when time is up.
func (m *Mesh) judge(passed time.Duration) {
	if m.phase == Joining || m.phase == Agreeing {
		m.judgeHopeless()
		m.joinedFor += passed
		if m.phase != Ended && m.cfg.JoinTimeout != None && m.joinedFor >= m.cfg.JoinTimeout {
			why := m.missing()
			m.end(fmt.Errorf("%w %s", ErrNeverJoined, why), wire.Leave{Reason: LeaveMissing, Text: why})
		}
		return
	}
	for i := range m.links {
		l := &m.links[i]
		if l.view.cut {
			continue
		}
		if m.judgeBalked(l, passed); m.phase == Ended {
			return
		}
		if m.cfg.PeerTimeout == None || m.through(l) || l.silence < m.cfg.PeerTimeout && !m.interruptsEarly(l) {
			continue
		}
		if !l.interrupted {
			l.interrupted = true
			m.note(Event{Kind: PeerInterrupted, Peer: l.peer})
		}
		if m.longEnough(l.silence) && !m.finish.ready && !m.dispute.open && !m.playsOn() {
			m.end(m.lost(l),
				wire.Leave{Reason: LeaveLost, Text: fmt.Sprintf("it lost peer %d", l.peer)})
			return
		}
	}
	if m.judgeAlone(passed); m.phase == Ended {
		return
	}
	if m.judgeLost(passed); m.phase == Ended {
		return
	}
	m.judgeDispute()
	if m.finish.ready {
		m.finish.waited += passed
	}
	m.judgeFinish()
}

// longEnough reports whether a peer that has been waited for so long is given up: after
// its time-out and the grace in which its link may come back.
func (m *Mesh) longEnough(waited time.Duration) bool {
	return m.cfg.PeerTimeout != None && waited-m.cfg.PeerTimeout >= m.cfg.RejoinGrace
}

// interruptsEarly reports whether a simulation takes a peer for interrupted now. With a
// grace that costs time and no match, because the silence that ends one is measured. It is
// done to one peer only: of many, one would be interrupted at every moment.
func (m *Mesh) interruptsEarly(l *link) bool {
	return m.cfg.RejoinGrace > 0 && !l.interrupted && l == &m.links[0] && m.cfg.Buggify.Fires(buggify.EarlyInterruption)
}

// judgeBalked ends the match when nothing but inputs that the game refuses has come
// from a peer for too long: they are sent again for ever, and it never gets further.
func (m *Mesh) judgeBalked(l *link, passed time.Duration) {
	if !l.balked || m.cfg.PeerTimeout == None {
		return
	}
	if l.balkedFor += passed; l.balkedFor < m.cfg.PeerTimeout {
		return
	}
	words := fmt.Sprintf("peer %d has sent nothing but inputs that Valid refuses, or entries that it may not give, for %v, from tick %d on",
		l.peer, l.balkedFor.Round(time.Millisecond), m.heldFrom(l))
	m.end(fmt.Errorf("%w: %s", ErrRefused, words), wire.Leave{Reason: LeaveHalted, Text: words})
}

// judgeHopeless ends the match at once when the transport knows that a peer cannot
// come.
func (m *Mesh) judgeHopeless() {
	for i := range m.links {
		l := &m.links[i]
		if final, err := m.why(l); final {
			m.end(fmt.Errorf("%w, and cannot: %w", ErrNeverJoined, err),
				wire.Leave{Reason: LeaveMissing, Text: fmt.Sprintf("peer %d cannot join", l.peer)})
			return
		}
	}
}

// why returns what the transport knows about a link that is not up.
func (m *Mesh) why(l *link) (final bool, err error) {
	if l.up {
		return false, nil
	}
	if e, ok := m.cfg.Transport.(transport.Explainer); ok {
		final, err = e.Why(l.peer)
	}
	if err == nil {
		err = l.downWhy
	}
	return final, err
}

// Blocked reports whether the owner must not run another tick now, although its
// prediction window would allow it: a peer is interrupted, a disagreement is
// being settled, or too many fingerprints wait to be compared or to be
// acknowledged.
func (m *Mesh) Blocked() bool {
	if m.dispute.open || m.prints.full(m.links) || m.waitsAlone() {
		return true
	}
	for i := range m.links {
		// For who has been let in and has not come yet, nobody waits before it has to play.
		if l := &m.links[i]; l.interrupted && !l.view.cut && !l.view.awaits {
			return true
		}
	}
	return false
}
