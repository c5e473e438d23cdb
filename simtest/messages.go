package simtest

import (
	"errors"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
)

// letter is one message of a game's that a peer has sent.
type letter struct {
	hash uint64
	size int
	at   time.Duration
	// link is how often the link had been down as its sender looked last before it sent it. What is
	// on its way when a link goes down is lost. heard is how often its sender had been told so: what
	// it still sends before it knows is lost too.
	link, heard int
}

// sameLink reports whether two letters went over the same link, as far as their sender knew.
func (l letter) sameLink(other letter) bool { return l.link == other.link && l.heard == other.heard }

// mail is what one peer's game has sent to another's.
type mail struct {
	sent []letter
	read int // how many of them have come, or are known to be lost
	// told is how often the receiver was told that the link went down since the turn in which it
	// read one, that turn included, and now how often in this turn.
	told, now int
	// link and heard are how often the link had been down in the sender's last turn, and how often the
	// sender was told.
	link, heard int
}

// generateMessages has the games of some scenarios send messages.
func (g *generator) generateMessages() {
	g.everySoOften(&g.s.MessageEvery, streamMessages, func() error { return nil }, 1, 2, 5, 20, 60)
}

// withMessages makes ready for messages.
func (m *match[S, I]) withMessages() {
	m.links = make([][]int, len(m.s.Peers))
	m.mail = make([][]mail, len(m.s.Peers))
	for i := range m.mail {
		m.links[i], m.mail[i] = make([]int, len(m.s.Peers)), make([]mail, len(m.s.Peers))
	}
}

// write sends what the peer's game has to say in this frame, if anything.
func (p *peer[S, I]) write() {
	m := p.m
	if p.turns++; m.s.MessageEvery == 0 || len(m.peers) == 1 {
		return
	}
	d := draw{random(m.s.Seed, streamMessages, uint64(p.self+1)<<32|uint64(p.turns))}
	if d.IntN(m.s.MessageEvery) > 0 {
		return
	}
	to := d.IntN(len(m.peers) - 1)
	if to >= int(p.self) {
		to++
	}
	data := d.bytes(nil, pick(&d, 1, 8, 40, 200, mesh.MaxMessage))
	box := &m.mail[p.self][to]
	data[0] = byte(len(box.sent)) // or short ones would be taken for each other
	if err := p.session.Send(driftback.Peer(to), data); err != nil {
		p.checkUnsent(to, len(data), err)
		return
	}
	box.sent = append(box.sent, letter{hash: xxh3.Hash(data), size: len(data), at: m.net.Now(), link: box.link, heard: box.heard})
}

// checkUnsent judges why a message could not be sent.
func (p *peer[S, I]) checkUnsent(to, size int, err error) {
	m, q, link := p.m, p.m.peers[to], p.m.links[p.self][to]
	n, bytes := 1, size
	for _, l := range m.mail[p.self][to].sent { // it may not have heard yet that the link went down
		n, bytes = n+1, bytes+l.size
	}
	switch {
	case errors.Is(err, session.ErrFull):
		if n <= mesh.MaxUntaken && bytes+32*n <= mesh.MessageRate && !m.s.Buggify && !m.s.hasNature(hostile) {
			p.breaks(RuleMessage, p.next, "it cannot send peer %d a message, which would be one of %d: %v", to, n, err)
		}
	case errors.Is(err, session.ErrNoLink):
		if link == 0 && p.playing && q.playing && !q.gone {
			p.breaks(RuleMessage, p.next, "it cannot send peer %d a message, and their link has never been down: %v", to, err)
		}
	case p.err == nil:
		p.breaks(RuleMessage, p.next, "it cannot send peer %d a message: %v", to, err)
	}
}

// checkMessages holds what has come against what was sent: in order, and none is missing of
// those that were sent since the link was down last.
func (p *peer[S, I]) checkMessages(r *session.Result) {
	m := p.m
	if m.s.MessageEvery == 0 && len(r.Messages) == 0 {
		return
	}
	for q := range m.mail {
		m.mail[q][p.self].now = 0
		m.mail[p.self][q].link = m.links[p.self][q]
	}
	for _, e := range r.Events {
		if e.Kind == session.PeerDown && int(e.Peer) < len(m.peers) {
			box := &m.mail[e.Peer][p.self]
			box.told, box.now = box.told+1, box.now+1
			m.mail[p.self][e.Peer].heard++
		}
	}
	for _, msg := range r.Messages {
		hash := xxh3.Hash(msg.Data)
		m.trace.add(4, uint64(msg.From), hash)
		if int(msg.From) >= len(m.peers) {
			p.breaks(RuleMessage, p.next, "a message of peer %d, which there is not", msg.From)
			return
		}
		box := &m.mail[msg.From][p.self]
		i := slices.IndexFunc(box.sent[box.read:], func(l letter) bool { return l.hash == hash && l.size == len(msg.Data) })
		if i < 0 {
			p.breaks(RuleMessage, p.next, "a message of %d bytes from peer %d, which has not sent it, or which came before", len(msg.Data), msg.From)
			return
		}
		if lost := box.sent[box.read : box.read+i]; i > 0 && (lost[i-1].sameLink(box.sent[box.read+i]) || box.told == 0 && !m.s.Buggify) {
			p.breaks(RuleMessage, p.next, "message %d of peer %d has come, and message %d before it has not: between them their link was down %d times, of which it was told %d",
				box.read+i, msg.From, box.read, box.sent[box.read+i].link-lost[i-1].link, box.told)
			return
		}
		box.read, box.told = box.read+i+1, box.now
	}
	p.checkUnread()
}

// checkUnread checks that what was sent to the peer comes soon, once all faults are over.
func (p *peer[S, I]) checkUnread() {
	m, now := p.m, p.m.net.Now()
	if m.s.MessageEvery == 0 || now < m.outlook.quiet || p.err != nil || len(m.thin) > 0 {
		return
	}
	most := 2 * m.outlook.patience
	if m.s.Buggify {
		most *= 4
	}
	for q := range m.peers {
		box := &m.mail[q][p.self]
		if box.read == len(box.sent) || !p.view.members[q] || !m.peers[q].view.members[p.self] {
			continue
		}
		if l := box.sent[box.read]; l.link == m.links[q][p.self] && l.heard == box.heard && now-max(l.at, m.outlook.quiet) > most {
			p.breaks(RuleMessage, p.next, "message %d of peer %d has not come for %v", box.read, q, now-l.at)
			return
		}
	}
}

// linkFalls notes that the link between two peers goes down.
func (m *match[S, I]) linkFalls(a, b int) {
	m.links[a][b]++
	m.links[b][a]++
}
