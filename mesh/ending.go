package mesh

import (
	"fmt"
	"strings"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// finishState is this peer's side of the last tick.
type finishState struct {
	ready bool
	msg   wire.Finish
	// waited is for how long it has been ready.
	waited time.Duration
}

// Finish says that this peer has confirmed every tick below at and what the
// fingerprint of the state as at begins is, unless fingerprints are off. The
// match ends when every peer has said the same, or has been silent for too long.
func (m *Mesh) Finish(at driftback.Tick, sum uint64, hasSum bool) {
	if m.phase != Playing || m.finish.ready {
		return
	}
	m.finish = finishState{ready: true, msg: wire.Finish{At: at, Sum: sum, HasSum: hasSum}}
	m.last = at
	for i := range m.links {
		m.links[i].owed |= owesFinish
	}
	m.sendOwed()
	m.judgeLast()
	m.judgeFinish()
}

// Last says at which tick this peer is going to finish. Peers that are going to
// finish at different ticks would wait for each other for ever, because the one
// that goes further lacks inputs that the other never gives; so this is compared
// as soon as either has finished.
func (m *Mesh) Last(at driftback.Tick) {
	m.last = at
	m.judgeLast()
}

// judgeLast ends the match when a peer has finished at another tick than this one
// is going to. This peer's word goes to the others first, so that they see both.
func (m *Mesh) judgeLast() {
	for i := range m.links {
		l := &m.links[i]
		if m.phase != Playing || m.last == 0 || !l.finished || l.finish.At == m.last || l.view.cut {
			continue
		}
		m.finish.msg.At = m.last
		for j := range m.links {
			m.links[j].owed |= owesFinish
		}
		m.end(&MismatchError{Peer: l.peer, Setting: "the last tick", Ours: fmt.Sprint(m.last), Theirs: fmt.Sprint(l.finish.At)},
			wire.Leave{Reason: LeaveHalted, Text: "the last ticks differ"})
	}
}

// PlayOn says that this peer is to run tick t and knows of no last one. A peer that
// has finished at t or before gives no input from there on, and it is too late to
// finish where it has, so the match would stall for ever: it ends instead.
func (m *Mesh) PlayOn(t driftback.Tick) {
	for i := range m.links {
		l := &m.links[i]
		if m.phase != Playing || !l.finished || l.finish.At > t || l.view.cut {
			continue
		}
		m.end(&MismatchError{Peer: l.peer, Setting: "the last tick", Ours: "none", Theirs: fmt.Sprint(l.finish.At)},
			wire.Leave{Reason: LeaveHalted, Text: fmt.Sprintf("peer %d has finished at tick %d and this peer plays on", l.peer, l.finish.At)})
	}
}

func (m *Mesh) receiveFinish(l *link, f wire.Finish) {
	if l.finished && l.finish == f {
		return // said again after its link was down
	}
	// A peer may be through before this one has heard that everybody is ready.
	if m.phase == Joining || l.finished {
		m.refuse(Early)
		return
	}
	l.finished, l.finish = true, f
	m.note(Event{Kind: PeerFinished, Peer: l.peer, Tick: f.At})
	m.judgeLast()
	m.judgeFinish()
}

// judgeFinish ends the match when it is over for everybody.
func (m *Mesh) judgeFinish() {
	if m.phase != Playing || !m.finish.ready || m.dispute.open {
		return
	}
	tired := m.longEnough(m.finish.waited)
	for i := range m.links {
		l := &m.links[i]
		// Until then it may come back, and need this peer's inputs.
		gone := m.longEnough(l.silence) || l.next != nil || l.view.left
		switch {
		case l.view.cut:
		case !l.finished:
			if !gone {
				return
			}
		case l.owed&owesFinish != 0 && !gone && !l.left && !tired:
			return // it would wait for this peer's word
		case l.finish.HasSum && m.finish.msg.HasSum && l.finish.Sum != m.finish.msg.Sum:
			if m.prints.waiting(l, m.finish.msg.At) && l.up && !gone && !tired {
				return // an earlier tick that differs is the better answer
			}
			if l.view.known < m.views.number {
				// That is the state of a view before this one. It is cut off as it hears of this one,
				// or says by what it sends that it is in it.
				if !gone && !tired {
					return
				}
				continue
			}
			m.disagree(l, m.finish.msg.At, m.finish.msg.Sum, l.finish.Sum)
			return
		}
	}
	m.end(ErrFinished, wire.Leave{Reason: LeaveFinished, Text: "the match is finished"})
}

// through reports whether a peer has finished where this peer is going to, and all
// of its inputs are held, so that nothing more is needed from it.
func (m *Mesh) through(l *link) bool {
	return l.finished && l.finish.At == m.last && m.heldFrom(l) >= m.last
}

// Leave ends the match for this peer and tells the others.
func (m *Mesh) Leave() {
	if m.phase != Ended {
		m.end(ErrLeft, wire.Leave{Reason: LeaveLeft, Text: "it left"})
	}
}

// Halt ends the match for every peer: here because of err, nil being [ErrHalted],
// and at the others with the given words. It is for reasons of the game's own and of
// the floor above.
func (m *Mesh) Halt(err error, words string) {
	if err == nil {
		err = ErrHalted
	}
	if m.phase != Ended {
		m.end(err, wire.Leave{Reason: LeaveHalted, Text: words})
	}
}

func (m *Mesh) receiveLeave(l *link, leave wire.Leave) {
	if m.gaveUp(l) || leave.Reason == LeaveUnfed { // which was said to the spectator that this peer was
		return
	}
	if l.view.left && m.phase == Playing {
		return // a process that has come in its place is not in the match, and cannot end it
	}
	if m.dispute.open {
		m.leavesDispute(l)
		return
	}
	told := Told(l.peer, leave)
	if m.relayed() {
		m.leftByRelay(told, leave)
		return
	}
	switch leave.Reason {
	case LeaveFinished:
		// Its Finish came before this, and it does not wait for ours any more.
		l.left = true
	case LeaveHalted:
		// Whoever hears of it from this peer first has not been left by it.
		m.end(told, wire.Leave{Reason: LeaveHalted, Text: fmt.Sprintf("peer %d halted the match: %s", l.peer, leave.Text)})
	case LeaveMissing:
		m.end(told, leave)
	case LeaveRefused:
		m.end(told, wire.Leave{Reason: LeaveRefused, Text: "another peer refused the match"})
	default:
		if m.playsOn() {
			m.leaves(l, told)
			return
		}
		m.note(Event{Kind: PeerLeft, Peer: l.peer, Err: told})
		m.end(told, wire.Leave{Reason: LeaveLeft, Text: "another peer left"})
	}
}

// end ends the match here and tells the peers that can be reached. A reliable
// channel that is full keeps the word from its peer, which then finds this one
// silent.
func (m *Mesh) end(err error, leave wire.Leave) {
	m.phase, m.err = Ended, err
	leave.Tick = m.Confirmed()
	leave.Text = Sendable(leave.Text)
	m.parting = leave
	m.sendOwed()
	for i := range m.links {
		if l := &m.links[i]; l.up && !l.view.cut && !m.sendControl(l, leave) {
			l.owed, l.leave = l.owed|owesLeave, leave
		}
	}
}

// Parting is what the others were told as the match ended for this peer.
func (m *Mesh) Parting() wire.Leave { return m.parting }

// Sendable cuts a text to what a Leave may carry.
func Sendable(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > wire.MaxText {
		text = strings.ToValidUTF8(text[:wire.MaxText], "")
	}
	return text
}

// broken ends the match because of a fault of our own.
func (m *Mesh) broken(err error) {
	if m.phase != Ended {
		m.phase, m.err = Ended, fmt.Errorf("%w: %w", ErrInternal, err)
	}
}
