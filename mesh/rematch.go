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
	left  bool
}

// Follow makes m, which is new, the next match over the links of old, with all that has
// come for it already. The older match is over then, and left if it had not ended. On an
// error both are as they were: every other peer of m's must be one of old's, and
// Transport the same, and Nonce another one.
//
// Peers need not come to it at the same time: one that has not yet done so is waited for,
// as long as JoinTimeout says.
func (m *Mesh) Follow(old *Mesh) error {
	switch {
	case m == old || m.polled || m.phase != Joining && len(m.links) > 0:
		return errors.New("mesh: Follow is called once, on a mesh that is new")
	case old.followed:
		return errors.New("mesh: a rematch has the links of this match already: follow that one")
	case m.relayed() || old.relayed():
		return errors.New("mesh: a relay has one match: for a rematch both need new links")
	case m.cfg.Self != old.cfg.Self:
		return fmt.Errorf("mesh: Self is peer %d, and was peer %d in the match before", m.cfg.Self, old.cfg.Self)
	case len(m.links) > 0 && m.cfg.Nonce == old.cfg.Nonce:
		return fmt.Errorf("mesh: Nonce is %s, as in the match before: draw it at random for each match", hex(m.cfg.Nonce))
	}
	for i := range m.links {
		if old.linkTo(m.links[i].peer) == nil {
			return fmt.Errorf("mesh: peer %d was not in the match before, whose links the rematch has", m.links[i].peer)
		}
	}
	m.avoid = old.avoid
	if old.agreed {
		m.avoid = strconv.FormatUint(uint64(old.tag), 16)
	}
	if m.avoid != "" {
		settings := sorted(append(slices.Clone(m.cfg.Settings), wire.Setting{Name: tagSetting, Value: m.avoid}))
		if _, err := wire.AppendControl(nil, wire.Hello{Settings: settings}); err != nil {
			return fmt.Errorf("mesh: Settings leave no room for that of a rematch: %w", err)
		}
		m.cfg.Settings = settings
	}
	if old.phase != Ended {
		old.end(ErrLeft, wire.Leave{Reason: LeaveLeft, Text: "it began another match"})
	}
	old.followed = true
	for i := range m.links {
		m.follow(&m.links[i], old.linkTo(m.links[i].peer))
	}
	return nil
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
		l.owed, l.leave = owesHello|old.owed&owesLeave, old.leave
	}
	switch {
	case old.next == nil:
	case old.next.left:
		l.past = matchIn(&old.next.hello) // it has given that match up, and may come to this one
	case m.phase != Ended:
		m.receiveHello(l, old.next.hello)
	}
}

// gaveUp takes a leave of a peer's that had not heard from this one in this match: it has
// given up an earlier attempt at it, and may come again.
func (m *Mesh) gaveUp(l *link) bool {
	if m.phase != Joining || l.hello == nil || !l.past.known || l.owed&owesHello == 0 {
		return false
	}
	l.past, l.hello, l.greeted = matchIn(l.hello), nil, false
	return true
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
	if _, ok := c.(wire.Leave); ok {
		l.next.left = true
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
	for _, s := range known(m.hellos()) {
		if s.Name != tagSetting {
			continue
		}
		if tag, err := strconv.ParseUint(s.Value, 16, 16); err == nil && !slices.Contains(tags, uint16(tag)) {
			tags = append(tags, uint16(tag))
		}
	}
	return tags
}
