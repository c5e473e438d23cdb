package mesh

import (
	"errors"
	"fmt"

	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// Reasons that a Leave carries.
const (
	LeaveLeft     uint8 = iota // on its own account
	LeaveHalted                // Halt, or evidence against a peer
	LeaveRefused               // the handshake failed
	LeaveFinished              // after the last tick
	LeaveLost                  // it lost a peer
	LeaveMissing               // a peer did not come
	LeaveUnderWay              // the match goes on, and may be joined
	LeaveCut                   // said by a relay: the others go on without whom it is said to
	LeaveUnfed                 // said to who watches: it is shown no more of the match, which goes on
)

// receiveControl takes one message of the reliable channel. The channel delivers
// in order and unaltered, so bytes that are no message come from a peer that is
// broken, hostile or of another version: they end a match that has not begun,
// and are dropped and counted in one that has.
func (m *Mesh) receiveControl(l *link, b []byte) {
	if _, packet := wire.TagOf(b); packet && m.cfg.Rejoin && m.agreed {
		m.refuse(OtherMatch) // what is left of a feed: of this peer's, or of the other's
		return
	}
	c, err := wire.ParseControl(b)
	if err != nil {
		m.refuse(Malformed)
		var version *wire.VersionError
		switch {
		case m.phase == Playing || m.phase == Ended || l.next != nil:
		case errors.As(err, &version):
			m.end(&MismatchError{Peer: l.peer, Setting: "protocol version", Ours: fmt.Sprint(version.Ours), Theirs: fmt.Sprint(version.Theirs)},
				wire.Leave{Reason: LeaveRefused, Text: "the protocol versions differ"})
		default:
			m.end(fmt.Errorf("%w: peer %d sent what is not a message: %w", ErrRefused, l.peer, err),
				wire.Leave{Reason: LeaveRefused, Text: "what arrived was not a message"})
		}
		return
	}
	switch c := c.(type) {
	case wire.Message:
		m.receiveMessage(l, c)
		return
	case wire.Hello:
		m.receiveHello(l, c)
		return
	}
	switch leave, isLeave := c.(wire.Leave); {
	case m.phase == Ended || l.next != nil:
		m.receiveBeyond(l, c)
		return
	case l.greeted:
	case l.mail.met:
		m.refuse(OtherMatch) // it has not come to this match yet
		return
	case isLeave:
		m.receiveLeave(l, leave)
		return
	default:
		m.refuse(Early)
		return
	}
	m.hear(l)
	switch c := c.(type) {
	case wire.Start:
		m.receiveStart(l, c)
	case wire.Finish:
		m.receiveFinish(l, c)
	case wire.Leave:
		m.receiveLeave(l, c)
	case wire.Disagree:
		m.receiveDisagree(l, c)
	case wire.Evidence:
		m.receiveEvidence(l, c)
	case wire.Accuse:
		m.receiveAccuse(l, c)
	case wire.Prepare:
		m.receivePrepare(l, c)
	case wire.Promise:
		m.receivePromise(l, c)
	case wire.Propose:
		m.receivePropose(l, c)
	case wire.Accepted:
		m.receiveAccepted(l, c)
	case wire.Decide:
		m.receiveDecide(l, c)
	case wire.Welcome:
		m.receiveWelcome(l, c)
	case wire.Apply: // it is in already
	default: // a transfer, and nobody here has one
		if m.cfg.Rejoin {
			m.refuse(OtherMatch) // any more
			return
		}
		m.refuse(Malformed)
	}
}

// sendOwed sends what is owed on the reliable channels. What does not fit stays
// owed.
func (m *Mesh) sendOwed() {
	for i := range m.links {
		l := &m.links[i]
		if l.owed == 0 || !l.up {
			continue
		}
		m.pay(l, owesLeave, func() wire.Control { return l.leave })
		if l.owed&owesLeave == 0 {
			m.pay(l, owesHello, func() wire.Control { return m.hello() })
		}
		if l.owed&owesHello != 0 {
			continue // nothing overtakes the hello
		}
		l.mail.said = true
		if l.view.cut || l.view.apart() {
			continue
		}
		if m.phase == Joining && l.past.known {
			m.agreeIfAll()
		}
		if l.greeted { // until then it may be another process than the start is for
			m.pay(l, owesStart, func() wire.Control { return m.start.msg })
		}
		m.pay(l, owesDisagree, func() wire.Control { return m.dispute.msg() })
		m.pay(l, owesSettled, func() wire.Control { return wire.Evidence{Tick: l.disagree.Tick} })
		m.pay(l, owesFinish, func() wire.Control { return m.finish.msg })
	}
}

func (m *Mesh) pay(l *link, what owed, message func() wire.Control) {
	if l.owed&what == 0 {
		return
	}
	// What is said at a match's end is said once, and cannot stay owed.
	if m.phase != Ended && m.cfg.Buggify.Fires(buggify.FullChannel) {
		return
	}
	if m.sendControl(l, message()) {
		l.owed &^= what
	}
}

// sendControl reports whether the transport took the message.
func (m *Mesh) sendControl(l *link, c wire.Control) bool {
	b, err := wire.AppendControl(m.out[:0], c)
	if err != nil {
		m.broken(err)
		return false
	}
	m.out = b
	err = m.cfg.Transport.SendReliable(l.peer, b)
	if errors.Is(err, transport.ErrTooLong) {
		m.broken(err)
	}
	return err == nil
}
