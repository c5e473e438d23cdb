package mesh

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/driftback/driftback/wire"
)

// tagSetting is the setting by which a rematch says which tag its packets must not
// carry: that of the match before, of which some may still be on their way. Peers that
// were not in the same one may say different things.
const tagSetting = "previous tag"

// matchOf tells which match a peer is in, and as which process.
type matchOf struct {
	known        bool
	match, nonce uint64
}

func matchIn(h *wire.Hello) matchOf { return matchOf{known: true, match: h.Match, nonce: h.Nonce} }

// nextMatch is what a peer has said about the match after this one. All that it says
// on the reliable channel after another hello belongs to that.
type nextMatch struct {
	hello wire.Hello
	leave *wire.Leave
}

// Rematch returns the next match over the same links, with all that has come for it
// already; m is over then, and left if it had not ended. c.Transport need not be given. Every
// other peer must be one of m's, and Nonce another one than m's.
//
// Peers need not come to it at the same time: one that has not yet done so is waited for,
// as long as JoinTimeout says.
func (m *Mesh) Rematch(c Config) (*Mesh, error) {
	switch {
	case m.followed:
		return nil, errors.New("mesh: Rematch was called before: call it on the match that it returned")
	case c.Self != m.cfg.Self:
		return nil, fmt.Errorf("mesh: Self is peer %d, and was peer %d in the match before", c.Self, m.cfg.Self)
	case len(m.links) > 0 && c.Nonce == m.cfg.Nonce:
		return nil, fmt.Errorf("mesh: Nonce is %s, as in the match before: draw it at random for each match", hex(c.Nonce))
	}
	for p, peer := range c.Players {
		if peer != c.Self && m.linkTo(peer) == nil {
			return nil, fmt.Errorf("mesh: Players[%d] is peer %d, which was not in the match before: the rematch has no link to it", p, peer)
		}
	}
	c.Transport = m.cfg.Transport
	c.avoid = m.cfg.avoid
	if m.agreed {
		c.avoid = strconv.FormatUint(uint64(m.tag), 16)
	}
	n, err := New(c)
	if err != nil {
		return nil, err
	}
	if m.phase != Ended {
		m.end(ErrLeft, wire.Leave{Reason: leaveLeft, Text: "it began another match"})
	}
	m.followed = true
	for i := range n.links {
		n.follow(&n.links[i], m.linkTo(n.links[i].peer))
	}
	return n, nil
}

// follow takes over a link.
func (m *Mesh) follow(l, old *link) {
	l.up, l.downWhy, l.mail = old.up, old.downWhy, old.mail
	l.mail.came, l.mail.at = 0, 0
	l.past = old.past
	if old.hello != nil {
		l.past = matchIn(old.hello)
	}
	if l.up {
		l.owed = owesHello
	}
	if old.next == nil || m.phase == Ended {
		return
	}
	m.receiveHello(l, old.next.hello)
	if old.next.leave != nil && m.phase != Ended {
		m.receiveLeave(l, *old.next.leave)
	}
}

// keep keeps the hello of the next match until this peer comes to it too.
func (m *Mesh) keep(l *link, h wire.Hello) {
	l.next = &nextMatch{hello: h}
	if !l.asked {
		l.asked = true
		m.note(Event{Kind: PeerRematch, Peer: l.peer})
	}
}

// receiveBeyond takes what is said after this match: what belongs to it changes nothing
// any more, and of the next one only a leave can come before this peer's own hello.
func (m *Mesh) receiveBeyond(l *link, c wire.Control) {
	if l.next == nil {
		return
	}
	if leave, ok := c.(wire.Leave); ok {
		l.next.leave = &leave
		return
	}
	m.refuse(Early)
}

// tagOf returns the tag of a match in which that was agreed.
func tagOf(digest uint64, avoided []uint16) uint16 {
	tag := uint16(digest) ^ uint16(digest>>48)
	for slices.Contains(avoided, tag) {
		tag++
	}
	return tag
}

// avoided returns the tags that packets must not carry, which every peer knows alike.
func (m *Mesh) avoided() []uint16 {
	var tags []uint16
	for _, s := range m.known() {
		if s.Name != tagSetting {
			continue
		}
		if tag, err := strconv.ParseUint(s.Value, 16, 16); err == nil && !slices.Contains(tags, uint16(tag)) {
			tags = append(tags, uint16(tag))
		}
	}
	return tags
}
