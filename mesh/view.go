package mesh

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// never stands for no tick.
const never = driftback.Tick(math.MaxInt64)

// views is what this peer knows about who plays. View 0 is the roster; each later one
// cuts peers that the one before had, or lets others in, at ticks on which its members
// have agreed.
type views struct {
	number  uint64
	members wire.Peers
	// cuts has, by participant, the first tick that it does not play; never: it plays.
	cuts []driftback.Tick
	// absences are by participant those that are over, oldest first.
	absences [][]wire.Absence
	// decided and tags are by view, from the one after base on: what it is about, and what
	// packets carried before.
	base    uint64
	decided []wire.Value
	tags    []uint16
	avoid   []uint16      // what tags must not be
	alone   time.Duration // for how long this peer has been the only member, with nobody there

	accusing
	acceptor
	round round
	// starved is for how long inputs have been missing that other members hold.
	starved time.Duration
	neutral []byte
}

// linkView is what is known about a peer as a member of a view.
type linkView struct {
	// cut: the newest view does not have it. over: it knows.
	cut, over bool
	returning
	// left: it has left in an orderly way, or has lost the match.
	left  bool
	told  *ToldError // how it left; nil: it has lost the match
	owes  bool       // it has to be told what was decided, although it is cut
	known uint64     // the newest view that it is known to be in
	// unaware: this peer was let in, and it may not have heard of that yet.
	unaware bool
	// decidedAt is when it was last told what was decided.
	decidedAt time.Duration
	// What it accuses others of, and whether it has to hear ours again.
	silent, gone wire.Peers
	deaf         bool
	// shared has, by participant that is cut, the first tick that it has said it does
	// not hold; -1: it has said nothing. sharedAt is when some were last sent to it, and
	// ackedAt when it last heard what this peer holds.
	shared            []driftback.Tick
	sharedAt, ackedAt time.Duration
	asked             bool // it has sent such inputs since
}

func (m *Mesh) initViews() {
	v := &m.views
	for _, peer := range m.cfg.Players {
		v.members |= wire.PeersOf(peer)
		v.cuts = append(v.cuts, never)
	}
	v.neutral = make([]byte, m.cfg.Stride)
	v.absences = make([][]wire.Absence, len(m.cfg.Players))
	for i := range m.links {
		m.links[i].view.shared = make([]driftback.Tick, len(m.cfg.Players))
	}
}

// playsOn reports whether the match can go on without some peer: two peers have no
// majority without the other.
func (m *Mesh) playsOn() bool {
	return m.cfg.PlayOn && m.phase == Playing && m.views.members.Len() > 2
}

// decides reports whether members decide about views: to go on without some, or to let
// others in.
func (m *Mesh) decides() bool {
	return m.playsOn() || m.cfg.Rejoin && m.phase == Playing
}

// View returns the number of the newest view that this peer is in: how often peers
// have been cut or have come back.
func (m *Mesh) View() int { return int(m.views.number) }

// Cut returns the first tick that participant p, one of the match, does not play; ok is
// false while it plays, and when it is agreed from when on it does again. From that tick on its inputs are zeros. A later view may lower
// it to a tick up to which some survivor holds p's inputs, but never to one that this
// peer has confirmed.
func (m *Mesh) Cut(p driftback.Participant) (t driftback.Tick, ok bool) {
	t = m.views.cuts[p]
	return t, t != never
}

// Member reports whether a peer, this one among them, is in the newest view. A relay always is.
func (m *Mesh) Member(peer driftback.Peer) bool {
	return m.views.members.Has(peer) || m.relayed() && peer == m.cfg.Relay
}

// weight returns how many participants the peers play.
func (m *Mesh) weight(peers wire.Peers) (n int) {
	for _, peer := range m.cfg.Players {
		if peers.Has(peer) {
			n++
		}
	}
	return n
}

// majority reports whether peers play more than half of what the members do.
func (m *Mesh) majority(peers wire.Peers) bool {
	return 2*m.weight(peers&m.views.members) > m.weight(m.views.members)
}

// install takes a view that has been decided; by is who said so.
func (m *Mesh) install(value wire.Value, by driftback.Peer) {
	v := &m.views
	before := v.members
	overtaken := driftback.Participant(0)
	confirmed, late := m.Confirmed(), false
	for _, c := range value.Cuts {
		v.members &^= wire.PeersOf(m.cfg.Players[c.Participant])
		if c.Tick != v.cuts[c.Participant] && confirmed > c.Tick {
			overtaken, late = c.Participant, true
		}
	}
	for _, j := range value.Joins {
		if confirmed > j.Tick {
			overtaken, late = m.linkTo(j.Peer).plays[0], true
		}
		v.members |= wire.PeersOf(j.Peer)
	}
	v.keep(value, m.tag)
	m.tag = m.viewTag(value)
	if out := !v.members.Has(m.cfg.Self); late || out {
		if out {
			overtaken, late = m.own[0], false
		}
		err := &CutOffError{View: int(v.number), By: by, Participant: overtaken, Tick: m.changes(&value, overtaken), Confirmed: confirmed, Self: !late}
		m.end(err, wire.Leave{Reason: LeaveLost, Text: "it was cut off"})
		return
	}
	differs := never
	for _, c := range value.Cuts {
		if c.Tick != v.cuts[c.Participant] {
			v.cuts[c.Participant] = c.Tick
			m.histories[c.Participant].cut(c.Tick)
			differs = min(differs, c.Tick)
		}
	}
	for _, j := range value.Joins {
		differs = min(differs, j.Tick)
	}
	if differs != never {
		m.forgetSums(differs)
	}
	for i := range m.links {
		l := &m.links[i]
		for p := range l.view.shared {
			l.view.shared[p] = -1
		}
		l.view.forget()
		l.view.deaf, l.view.decidedAt = true, -repeatEvery
		if before.Has(l.peer) && !v.members.Has(l.peer) {
			l.view.cut, l.view.owes, l.interrupted, l.balked = true, !l.view.over, false, false
			if l.view.awaits && !l.view.fresh {
				m.unfeed(l, errLate)
			}
			l.view.awaits = false
			m.note(Event{Kind: PeerCut, Peer: l.peer, Tick: tickOf(value, l.plays[0])})
		}
	}
	for i := range value.Joins {
		m.letIn(&value.Joins[i])
	}
	v.acceptor, v.accusing, v.round, v.starved = acceptor{}, accusing{}, round{highest: v.round.highest}, 0
	if len(value.Joins) > 0 {
		m.makeWelcomes(&value)
	}
	m.limit()
	m.updateAgreed()
	m.accuse()
	m.sendDecisions()
	m.sendWelcomes()
	m.judgeLast()
	m.judgeFinish()
}

// keptViews is how many decisions are kept for members that may not know them.
const keptViews = 256

// keep moves on to the next view. tag is what packets carried before.
func (v *views) keep(value wire.Value, tag uint16) {
	v.number++
	v.decided = append(v.decided, value)
	v.tags = append(v.tags, tag)
	if len(v.decided) > keptViews {
		v.base++
		v.decided, v.tags = slices.Delete(v.decided, 0, 1), slices.Delete(v.tags, 0, 1)
	}
	if v.avoid = append(v.avoid, tag); len(v.avoid) > wire.MaxAvoid {
		v.avoid = slices.Delete(v.avoid, 0, 1)
	}
}

// forget drops what a member has said in the view before.
func (v *linkView) forget() { v.silent, v.gone, v.ready, v.waits = 0, 0, 0, false }

func tickOf(value wire.Value, p driftback.Participant) driftback.Tick {
	for _, c := range value.Cuts {
		if c.Participant == p {
			return c.Tick
		}
	}
	return never
}

// viewTag returns what packets carry in the view that a value leads to: members that are
// in different views do not take each other's inputs.
func (m *Mesh) viewTag(value wire.Value) uint16 {
	b := binary.LittleEndian.AppendUint64(nil, m.digest)
	b = binary.LittleEndian.AppendUint16(b, m.tag)
	for _, c := range value.Cuts {
		b = binary.LittleEndian.AppendUint64(append(b, byte(c.Participant)), uint64(c.Tick))
	}
	for _, j := range value.Joins {
		b = binary.LittleEndian.AppendUint64(append(b, 0xff, byte(j.Peer)), uint64(j.Tick))
		b = binary.LittleEndian.AppendUint64(b, j.Nonce)
	}
	return tagOf(xxh3.Hash(b), m.views.avoid)
}

// ill says what is wrong with a value for the next view; "" is nothing.
func (m *Mesh) ill(value *wire.Value) string {
	v := &m.views
	joins, why := m.illJoins(value)
	if why != "" {
		return why
	}
	lost := wire.Peers(0)
	for _, c := range value.Cuts {
		if int(c.Participant) >= len(m.cfg.Players) {
			return "it cuts a participant that the match does not have"
		}
		lost |= wire.PeersOf(m.cfg.Players[c.Participant])
		if c.Tick > m.farthest(c.Participant) {
			return "it cuts a participant at a tick that nobody can have reached"
		}
		if c.Tick < m.joined(c.Participant) {
			return "it cuts a participant before it has come back"
		}
	}
	for p, peer := range m.cfg.Players {
		t := tickOf(*value, driftback.Participant(p))
		switch {
		case joins.Has(peer):
		case t == never && (lost.Has(peer) || v.cuts[p] != never):
			return "it cuts half a peer, or leaves out one that was cut"
		case t != never && t > v.cuts[p]:
			return "it cuts a participant later than before"
		}
	}
	if !m.majority(v.members &^ lost) {
		return "it leaves no majority"
	}
	return ""
}

// farthest returns a tick beyond which no member can hold an input of participant p: each has ours,
// or waits for them. One that was let in does nothing until it plays, which all know however far
// they are.
func (m *Mesh) farthest(p driftback.Participant) driftback.Tick {
	return max(m.histories[m.own[0]].held+m.span, m.joined(p))
}

// sendDecisions tells what was decided to those who are not known to know.
func (m *Mesh) sendDecisions() {
	v := &m.views
	for i := range m.links {
		l := &m.links[i]
		if l.view.known == v.number || l.view.over || !l.up || l.owed&owesHello != 0 || l.view.cut && !l.view.owes ||
			l.view.apart() || m.clock-l.view.decidedAt < repeatEvery {
			continue
		}
		l.view.owes, l.view.decidedAt = false, m.clock
		for view := max(l.view.known, v.base) + 1; view <= v.number; view++ {
			m.sendControl(l, wire.Decide{View: view, Value: v.decided[view-1-v.base]})
		}
	}
}

func (m *Mesh) receiveDecide(l *link, d wire.Decide) {
	v := &m.views
	switch {
	case m.phase == Agreeing && m.leavesOut(&d):
		m.install(d.Value, l.peer) // which ends it
		if m.cfg.Rejoin {
			m.err = fmt.Errorf("%w: %w", ErrUnderWay, m.err)
		}
	case m.phase != Playing:
		m.refuse(Early)
	case !m.cfg.PlayOn || d.View == 0:
		m.refuse(BadVote)
	case d.View <= v.number:
		if d.View > v.base && !same(&d.Value, &v.decided[d.View-1-v.base]) {
			m.refuse(BadVote)
			return
		}
		l.view.known = max(l.view.known, d.View)
	case d.View > v.number+1: // those before it are on their way
	case m.ill(&d.Value) != "":
		m.refuse(BadVote)
	default:
		l.view.known = d.View
		m.install(d.Value, l.peer)
	}
}

// leavesOut reports whether the others have begun, and gone on without this peer before
// it had heard that everybody was ready.
func (m *Mesh) leavesOut(d *wire.Decide) bool {
	return m.cfg.PlayOn && d.View == 1 && m.ill(&d.Value) == "" && m.givenUp(&d.Value).Has(m.cfg.Self)
}

// behind notes which view a member is in, and reports whether that is an older one.
func (m *Mesh) behind(l *link, view uint64) bool {
	l.view.known = max(l.view.known, min(view, m.views.number))
	return view < m.views.number
}

// receiveOtherView takes a packet whose tag is not that of this peer's view: its sender
// may not know of it yet, and sends all that matters again.
func (m *Mesh) receiveOtherView(l *link, tag uint16) {
	for i, old := range m.views.tags {
		if view := m.views.base + uint64(i); old == tag && view >= l.view.since {
			m.hear(l)
			l.view.known = max(l.view.known, view)
			m.comes(l)
			return
		}
	}
	if !m.expectsView() {
		m.refuse(OtherMatch)
	}
}

// expectsView reports whether the others may be in a view that this peer has not heard
// of yet.
func (m *Mesh) expectsView() bool {
	v := &m.views
	return m.decides() && (v.silent|v.gone|v.ready != 0 || v.stands || v.acceptedIn != 0)
}
