package mesh

import (
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// repeatEvery is how often what has had no effect is said again.
const repeatEvery = 200 * time.Millisecond

// accusing is whom this peer accuses.
type accusing struct {
	silent, gone wire.Peers
	ready        wire.Peers    // whom it would let in
	waiting      bool          // it has said that it waits for a view
	saidAt       time.Duration // when it last said so
	// waited is for how long nobody has been added to those accused since there were
	// any, and waitedFor who has been.
	waited    time.Duration
	waitedFor wire.Peers
}

// judgeLost does what has to be done about members that are silent or have left.
func (m *Mesh) judgeLost(passed time.Duration) {
	if !m.cfg.PlayOn || m.phase != Playing || m.dispute.open {
		return
	}
	m.sendDecisions()
	m.sendWelcomes()
	if m.judgeStarved(passed); !m.decides() {
		return
	}
	m.accuse()
	lost := m.suspects()
	m.thaw(lost)
	if m.lead(lost); !m.decides() {
		return
	}
	if m.finish.ready {
		return
	}
	m.judgeWaiting(passed)
}

// judgeWaiting ends the match when there has been no majority for too long, and when
// there is one that does not come to a decision. In that case whoever should lead may be
// lost as well, which takes as long again to be noticed.
func (m *Mesh) judgeWaiting(passed time.Duration) {
	v := &m.views
	accused := v.silent | v.gone
	idle := accused == 0 && !v.stands && v.acceptedIn == 0 && !v.capped()
	if idle || accused&^v.waitedFor != 0 {
		v.waited = 0
	}
	if v.waitedFor |= accused; idle {
		v.waitedFor = 0
		return
	}
	v.waited += passed
	if !m.majority(v.members &^ v.gone) {
		m.endLost() // those will not come back
		return
	}
	if m.cfg.PeerTimeout == None {
		return
	}
	most := m.cfg.PeerTimeout
	if m.majority(v.members &^ accused) {
		most += m.cfg.PeerTimeout + m.cfg.RejoinGrace
	}
	if v.waited >= most {
		m.endLost()
	}
}

// endLost ends the match because too few are left to go on, or because they come to no decision.
func (m *Mesh) endLost() {
	for i := range m.links {
		if l := &m.links[i]; !l.view.cut && (m.views.silent.Has(l.peer) || l.view.left && l.view.told == nil) {
			err := m.lost(l)
			if m.majority(m.views.members &^ (m.views.silent | m.views.gone)) {
				err.Undecided = m.views.waited
			}
			m.end(err, wire.Leave{Reason: LeaveLost, Text: fmt.Sprintf("it lost peer %d", l.peer)})
			return
		}
	}
	for i := range m.links {
		if l := &m.links[i]; !l.view.cut && l.view.left {
			m.end(l.view.told, wire.Leave{Reason: LeaveLeft, Text: "another peer left"})
			return
		}
	}
	// Nobody is silent, and yet what somebody began to decide comes to no end.
	for i := range m.links {
		if l := &m.links[i]; !l.view.cut && (l.peer == driftback.Peer(m.views.promised) || i == len(m.links)-1) {
			err := m.lost(l)
			err.Undecided = m.views.waited
			m.end(err, wire.Leave{Reason: LeaveLost, Text: "no decision is reached"})
			return
		}
	}
}

func (m *Mesh) lost(l *link) *LostError {
	silence := l.silence
	if l.view.left {
		silence = 0
	}
	return &LostError{Peer: l.peer, Tick: m.heldFrom(l), Silence: silence, Down: l.downWhy, Alone: m.playsOn()}
}

// judgeStarved ends the match when inputs that some member must hold do not come,
// although all members are there.
func (m *Mesh) judgeStarved(passed time.Duration) {
	v := &m.views
	p, lacks := m.lacksShared()
	if !lacks {
		v.starved = 0
		return
	}
	if v.silent|v.gone != 0 || v.stands || v.acceptedIn != 0 {
		return
	}
	for i := range m.links {
		if l := &m.links[i]; !l.view.cut && !m.hears(l) {
			return
		}
	}
	if v.starved += passed; m.longEnough(v.starved) {
		m.end(m.lost(m.linkTo(m.cfg.Players[p])), wire.Leave{Reason: LeaveLost, Text: fmt.Sprintf("nobody has sent it the last inputs of participant %d", p)})
	}
}

// leaves notes that a member has left for good.
func (m *Mesh) leaves(l *link, told *ToldError) {
	if l.view.left {
		return
	}
	l.view.left, l.view.told = true, told
	e := Event{Kind: PeerLeft, Peer: l.peer}
	if told != nil {
		e.Err = told
	}
	m.note(e)
}

// accuse works out whom this peer accuses, and tells the others.
func (m *Mesh) accuse() {
	if !m.decides() {
		return
	}
	v := &m.views
	silent, gone := wire.Peers(0), wire.Peers(0)
	for i := range m.links {
		l := &m.links[i]
		switch {
		case l.view.cut:
		case l.view.left:
			gone |= wire.PeersOf(l.peer)
		case m.longEnough(l.silence) && (!m.through(l) || m.accused(l.peer)):
			silent |= wire.PeersOf(l.peer)
		}
	}
	ready, waiting := m.letsIn(), v.capped()
	news := silent != v.silent || gone != v.gone || ready != v.ready || waiting != v.waiting
	v.silent, v.gone, v.ready, v.waiting = silent, gone, ready, waiting
	something := silent|gone|ready != 0 || waiting
	again := something && m.clock-v.saidAt >= repeatEvery
	if news || again {
		v.saidAt = m.clock
	}
	for i := range m.links {
		l := &m.links[i]
		reached := l.up && l.greeted && l.owed&owesHello == 0 && !l.view.cut && !l.view.left && !l.view.apart()
		if due := news || again || l.view.deaf && something; !due || !reached {
			continue
		}
		l.view.deaf = !m.sendControl(l, wire.Accuse{View: v.number, Silent: silent, Left: gone, Ready: ready, Waits: waiting})
	}
}

// accused reports whether another member accuses a peer.
func (m *Mesh) accused(peer driftback.Peer) bool {
	for i := range m.links {
		if l := &m.links[i]; !l.view.cut && l.view.silent.Has(peer) {
			return true
		}
	}
	return false
}

func (m *Mesh) receiveAccuse(l *link, a wire.Accuse) {
	switch {
	case m.phase != Playing: // it plays before this one has heard that all are ready
		m.refuse(Early)
		return
	case !m.cfg.PlayOn:
		m.refuse(BadVote)
		return
	}
	if m.behind(l, a.View) {
		m.sendDecisions()
		return
	}
	if a.View > m.views.number {
		return // it speaks of others than we do
	}
	news := l.view.silent != a.Silent || l.view.gone != a.Left || l.view.ready != a.Ready
	l.view.silent, l.view.gone, l.view.ready, l.view.waits = a.Silent, a.Left, a.Ready, a.Waits
	if r := &m.views.round; news && r.ballot != 0 && !r.proposing && !r.promises.Has(l.peer) {
		m.askOne(l) // it may have had no reason to promise before
	}
}

// hears reports whether a peer has been heard of late.
func (m *Mesh) hears(l *link) bool {
	return m.cfg.PeerTimeout == None || l.silence <= m.cfg.PeerTimeout/2
}

// suspects returns the members that this peer would go on without. Peers that hear each
// other, and so know what the others accuse whom of, come to the same.
func (m *Mesh) suspects() wire.Peers {
	v := &m.views
	said := v.silent | v.gone
	for i := range m.links {
		if l := &m.links[i]; !l.view.cut {
			said |= l.view.silent | l.view.gone
		}
	}
	if said == 0 {
		return 0
	}
	var dead deadLinks
	gone := v.gone
	for i := range m.links {
		l := &m.links[i]
		if v.silent.Has(l.peer) {
			dead.add(m.cfg.Self, l.peer)
		}
		if l.view.cut || v.silent.Has(l.peer) || v.gone.Has(l.peer) || !m.hears(l) {
			continue
		}
		for j := range m.links {
			q := &m.links[j]
			if q == l || q.view.cut {
				continue
			}
			// Of one that this peer does not hear either it will soon think for itself.
			if l.view.silent.Has(q.peer) && (v.silent.Has(q.peer) || m.hears(q)) {
				dead.add(l.peer, q.peer)
			}
			if l.view.gone.Has(q.peer) && !m.hears(q) {
				gone |= wire.PeersOf(q.peer)
			}
		}
		if l.view.silent.Has(m.cfg.Self) {
			dead.add(l.peer, m.cfg.Self)
		}
	}
	return gone | m.without(v.members&^gone, &dead)
}

// deadLinks has, by peer, whom it does not hear or is not heard by.
type deadLinks [driftback.MaxPeers]wire.Peers

func (d *deadLinks) add(a, b driftback.Peer) {
	d[a] |= wire.PeersOf(b)
	d[b] |= wire.PeersOf(a)
}

// without returns which members to leave out so that no link between the others is
// dead: one after the other whoever is cut off from the most participants, of these
// whoever plays the fewest, and of these the highest.
func (m *Mesh) without(members wire.Peers, dead *deadLinks) (out wire.Peers) {
	for {
		worst, most, plays := driftback.Peer(0), 0, 0
		for peer := range driftback.Peer(driftback.MaxPeers) {
			if !members.Has(peer) {
				continue
			}
			n, own := m.weight(dead[peer]&members), m.weight(wire.PeersOf(peer))
			if n > 0 && (n > most || n == most && own <= plays) {
				worst, most, plays = peer, n, own
			}
		}
		if most == 0 {
			return out
		}
		members &^= wire.PeersOf(worst)
		out |= wire.PeersOf(worst)
	}
}

// receiveCut takes what a peer that was cut sends: nothing but that it is there.
func (m *Mesh) receiveCut(l *link, msg transport.Message) {
	switch msg.Kind {
	case transport.Up:
		l.up, l.greeted, l.downWhy, l.next = true, false, nil, nil
		l.mail, l.owed = mail{}, owesHello
		l.view.owes = !l.view.over
		m.note(Event{Kind: PeerUp, Peer: l.peer})
		return
	case transport.Down:
		l.up, l.downWhy, l.next = false, msg.Err, nil
		m.note(Event{Kind: PeerDown, Peer: l.peer, Err: msg.Err})
		return
	case transport.Datagram:
	case transport.Reliable:
		c, err := wire.ParseControl(msg.Data)
		if err != nil {
			break
		}
		switch c := c.(type) {
		case wire.Leave:
			l.view.over = true
			return
		case wire.Message:
			m.receiveMessage(l, c)
			return
		case wire.Hello:
			switch {
			case c.Nonce == l.hello.Nonce:
				l.greeted, l.mail.met = true, true
			case c.Match == m.cfg.Match:
				m.returnsAs(l, c)
				return
			default:
				l.mail.met, l.view.over = true, true
				m.keep(l, c)
			}
		}
	}
	l.view.owes = !l.view.over
	m.refuse(CutOff)
}

// turnAway tells a process that has lost the match, or never had it, that it goes on
// without it.
func (m *Mesh) turnAway(l *link) {
	l.view.over = true
	reason := LeaveRefused
	if m.cfg.Rejoin {
		reason = LeaveUnderWay
	}
	m.sendControl(l, wire.Leave{Reason: reason, Text: "the match goes on without it"})
}
