package mesh

import (
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// patience is how often a round is repeated before another is begun, and mostPatience the most:
// each that comes to no end in its time is followed by one that has twice as much, because an
// answer may take longer than the time that it had.
const (
	patience     = 5
	mostPatience = 16 * patience
)

// acceptor is what this peer has promised about the next view. Each view is decided by
// single-decree Paxos among the members of the one before, of whom a majority of the
// participants has to accept.
type acceptor struct {
	promised uint64
	// stands: the promise has not been taken back, and something may be accepted on the
	// strength of it. frozen are the peers of which nothing more counts since, and bound
	// says that it was made to one who has accepted a value.
	stands, bound bool
	frozen        wire.Peers
	held          [driftback.MaxParticipants]driftback.Tick
	// joining are those that the round lets in to which it was made. caps has, by
	// participant, the tick up to which this peer goes on without it; 0: there is none.
	joining wire.Peers
	caps    [driftback.MaxParticipants]driftback.Tick
	// accepted is what was accepted last, in the ballot acceptedIn; 0: nothing was.
	acceptedIn uint64
	accepted   wire.Value
}

// round is a ballot of this peer's own.
type round struct {
	ballot  uint64 // 0: there is none
	highest uint64 // the highest that was heard of
	// suspects are not asked; lost are they and those that the value this peer has
	// accepted gives up; joins are to be let in.
	suspects, lost, joins wire.Peers
	// bound says that it was begun by one who has accepted a value.
	bound bool
	// promises and votes are who has promised and who has accepted.
	promises, votes wire.Peers
	held            [driftback.MaxParticipants]driftback.Tick
	accepted        [driftback.MaxPeers]vote // by peer: what it has accepted
	value           wire.Value
	proposing       bool
	sentAt          time.Duration
	repeats         int
	patience        int           // how often it is repeated
	failed          bool          // it cannot come to an end
	begunAt         time.Duration // when it was, or that of another to which a promise was made
	begun           bool
}

// vote is what a member has accepted; in ballot 0 it was nothing.
type vote struct {
	ballot uint64
	value  wire.Value
}

// leader returns who decides how to go on without some members.
func (m *Mesh) leader(lost wire.Peers) driftback.Peer {
	for _, peer := range m.cfg.Players {
		if m.views.members.Has(peer) && !lost.Has(peer) {
			return peer
		}
	}
	return m.cfg.Self
}

// givenUp returns the peers that a value gives up.
func (m *Mesh) givenUp(value *wire.Value) (lost wire.Peers) {
	for _, c := range value.Cuts {
		lost |= wire.PeersOf(m.cfg.Players[c.Participant])
	}
	return lost & m.views.members
}

// lead begins, repeats or drops a round of this peer's.
func (m *Mesh) lead(suspects wire.Peers) {
	v := &m.views
	r := &v.round
	if suspects.Has(m.cfg.Self) {
		suspects = 0 // the others will say
	}
	lost := suspects
	if v.acceptedIn != 0 {
		lost |= m.givenUp(&v.accepted)
	}
	joins := m.joinable(suspects)
	idle := lost|joins == 0 && v.acceptedIn == 0 && !m.waits()
	if idle || lost.Has(m.cfg.Self) || m.leader(lost) != m.cfg.Self || !m.majority(v.members&^suspects) {
		if r.ballot != 0 {
			*r = round{highest: r.highest, begun: r.begun, begunAt: r.begunAt}
		}
		return
	}
	switch {
	case r.ballot == 0, r.suspects != suspects, !r.proposing && r.joins&^joins != 0, v.promised > r.ballot, r.failed, r.repeats >= r.patience:
		if r.begun && m.clock-r.begunAt < m.pause() && (r.ballot == 0 || r.suspects == suspects) {
			return
		}
		m.prepare(suspects, lost, joins)
	case m.clock-r.sentAt >= repeatEvery:
		r.repeats++
		m.ask()
	}
}

// pause is how long a round lasts at least: of two that both lead, the lower has time
// to come to an end.
func (m *Mesh) pause() time.Duration {
	rank := 1
	for i := range m.links {
		if l := &m.links[i]; !l.view.cut && l.peer < m.cfg.Self {
			rank++
		}
	}
	return time.Duration(rank) * repeatEvery
}

// prepare begins a new round.
func (m *Mesh) prepare(suspects, lost, joins wire.Peers) {
	v := &m.views
	highest := max(v.round.highest, v.promised)
	if highest>>8 >= wire.MaxBallot>>8 {
		return // somebody has used them up
	}
	ballot := (highest>>8+1)<<8 | uint64(m.cfg.Self)
	most := max(v.round.patience, patience)
	if r := &v.round; r.patience > 0 && r.repeats >= r.patience {
		most = min(2*r.patience, mostPatience)
	}
	v.round = round{
		ballot: ballot, highest: ballot, suspects: suspects, lost: lost, joins: joins, bound: v.acceptedIn != 0,
		patience: most, begun: true, begunAt: m.clock,
	}
	m.promise(ballot, lost, joins, v.round.bound)
	m.ask()
	m.count(m.cfg.Self, m.answer())
}

// ask sends what the round asks of the members that take part.
func (m *Mesh) ask() {
	v := &m.views
	v.round.sentAt = m.clock
	for i := range m.links {
		m.askOne(&m.links[i])
	}
}

func (m *Mesh) askOne(l *link) {
	v := &m.views
	r := &v.round
	switch {
	case l.view.cut || r.suspects.Has(l.peer) || !l.up || !l.greeted || l.view.apart():
	case !r.proposing:
		m.sendControl(l, wire.Prepare{View: v.number + 1, Ballot: r.ballot, Lost: r.lost, Joins: r.joins, Bound: r.bound})
	case !m.givenUp(&r.value).Has(l.peer):
		m.sendControl(l, wire.Propose{View: v.number + 1, Ballot: r.ballot, Value: r.value})
	}
}

// votes reports whether a vote is about the view that is to be decided next.
func (m *Mesh) votes(l *link, view uint64) bool {
	switch {
	case m.phase != Playing:
		m.refuse(Early)
		return false
	case !m.cfg.PlayOn || view == 0:
		m.refuse(BadVote)
		return false
	case m.behind(l, view-1):
		m.sendDecisions()
		return false
	}
	return view == m.views.number+1
}

func (m *Mesh) receivePrepare(l *link, p wire.Prepare) {
	v := &m.views
	if !m.votes(l, p.View) {
		return
	}
	if p.Ballot>>8 == 0 || driftback.Peer(p.Ballot) != l.peer || p.Lost&^v.members != 0 || p.Lost.Has(l.peer) ||
		!p.Bound && (p.Lost == 0 && !m.cfg.Rejoin || p.Lost.Has(m.cfg.Self)) || p.Joins&v.members != 0 {
		m.refuse(BadVote)
		return
	}
	if p.Ballot < v.promised || p.Ballot == v.promised && !v.stands {
		m.turnDown(l, p.Ballot)
		return
	}
	if p.Ballot > v.promised {
		lost := m.suspects()
		agreed := lost
		if v.acceptedIn != 0 {
			agreed |= m.givenUp(&v.accepted)
		}
		// Its reasons may not have come here yet: it asks again.
		if lost.Has(l.peer) || !p.Bound && p.Lost&^agreed != 0 || p.Joins&^m.letsIn() != 0 {
			return
		}
		m.promise(p.Ballot, p.Lost, p.Joins, p.Bound)
		v.round.begun, v.round.begunAt = true, m.clock // that one has its time
	}
	m.sendControl(l, m.answer())
}

// promise makes a promise, and freezes what is held of the peers that are lost.
func (m *Mesh) promise(ballot uint64, lost, joins wire.Peers, bound bool) {
	v := &m.views
	v.promised, v.frozen, v.stands, v.bound, v.joining = ballot, lost, true, bound, joins
	m.setCaps(joins)
	v.round.highest = max(v.round.highest, ballot)
	for p := range m.histories {
		v.held[p] = min(m.histories[p].held, v.cuts[p])
	}
	m.limit()
}

// answer is the promise that was made.
func (m *Mesh) answer() wire.Promise {
	v := &m.views
	a := wire.Promise{View: v.number + 1, Ballot: v.promised}
	for p, peer := range m.cfg.Players {
		switch {
		case v.joining.Has(peer):
			a.Held = append(a.Held, wire.Cut{Participant: driftback.Participant(p), Tick: v.caps[p]})
		case v.frozen.Has(peer) || v.cuts[p] != never:
			a.Held = append(a.Held, wire.Cut{Participant: driftback.Participant(p), Tick: v.held[p]})
		}
	}
	if v.acceptedIn != 0 {
		value := v.accepted
		a.Accepted, a.AcceptedBallot = &value, v.acceptedIn
	}
	return a
}

// turnDown refuses a ballot, with one that is higher.
func (m *Mesh) turnDown(l *link, ballot uint64) {
	v := &m.views
	if v.promised <= ballot {
		if ballot>>8 >= wire.MaxBallot>>8 {
			return
		}
		// The promise was taken back: what was said of that ballot does not hold.
		v.promised = (ballot>>8 + 1) << 8
		m.takeBack()
	}
	m.sendControl(l, wire.Promise{View: v.number + 1, Ballot: v.promised})
}

// thaw takes a promise back when its reasons are gone and nothing was accepted.
func (m *Mesh) thaw(lost wire.Peers) {
	v := &m.views
	if v.stands && !v.bound && v.acceptedIn == 0 && v.frozen&^lost != 0 {
		m.takeBack()
	}
}

func (m *Mesh) takeBack() {
	m.views.stands, m.views.bound, m.views.frozen = false, false, 0
	m.limit()
}

func (m *Mesh) receivePromise(l *link, p wire.Promise) {
	v := &m.views
	if !m.votes(l, p.View) {
		return
	}
	if p.Ballot > v.round.ballot {
		v.round.highest = max(v.round.highest, p.Ballot)
		if v.round.ballot != 0 {
			v.round.failed = true
		}
		return
	}
	m.count(l.peer, p)
}

// count takes a promise of this round, and proposes when it is the last.
func (m *Mesh) count(from driftback.Peer, p wire.Promise) {
	v := &m.views
	r := &v.round
	if r.ballot == 0 || p.Ballot != r.ballot || r.proposing || r.suspects.Has(from) {
		return
	}
	for _, h := range p.Held {
		if int(h.Participant) >= len(m.cfg.Players) {
			m.refuse(BadVote)
			return
		}
		most := m.farthest(h.Participant)
		if r.joins.Has(m.cfg.Players[h.Participant]) {
			most += joinMargin
		}
		if h.Tick > most {
			m.refuse(BadVote)
			return
		}
	}
	if p.Accepted != nil {
		if p.AcceptedBallot == 0 || p.AcceptedBallot >= r.ballot || m.ill(p.Accepted) != "" {
			m.refuse(BadVote)
			return
		}
		r.accepted[from] = vote{p.AcceptedBallot, *p.Accepted}
	}
	for _, h := range p.Held {
		r.held[h.Participant] = max(r.held[h.Participant], h.Tick)
	}
	r.promises |= wire.PeersOf(from)
	if v.members&^r.suspects&^r.promises == 0 {
		m.propose()
	}
}

// forced returns the value that may have been decided already, if there is one. One that
// so many have not accepted that no majority is left, and have now promised not to, has
// not been and never will be.
func (m *Mesh) forced() (value wire.Value, ok bool) {
	v := &m.views
	r := &v.round
	best := uint64(0)
	for _, a := range r.accepted {
		if a.ballot <= best {
			continue
		}
		others := wire.Peers(0)
		for peer := range driftback.Peer(driftback.MaxPeers) {
			if r.promises.Has(peer) && r.accepted[peer].ballot < a.ballot {
				others |= wire.PeersOf(peer)
			}
		}
		if m.majority(v.members &^ others) {
			best, value = a.ballot, a.value
		}
	}
	return value, best != 0
}

// propose asks to accept what has to be: what may have been accepted already, or else
// that the suspects are cut where the last survivor's inputs of theirs end. Without any
// nobody is: that sets free whoever has accepted something else.
func (m *Mesh) propose() {
	v := &m.views
	r := &v.round
	value, ok := m.forced()
	if !ok {
		for p, peer := range m.cfg.Players {
			if r.suspects.Has(peer) || v.cuts[p] != never && !r.joins.Has(peer) {
				value.Cuts = append(value.Cuts, wire.Cut{Participant: driftback.Participant(p), Tick: min(r.held[p], v.cuts[p])})
			}
		}
	}
	if !ok {
		if value.Joins, ok = m.joins(r); !ok {
			r.failed = true
			return
		}
	}
	r.value = value
	if v.promised != r.ballot || !v.stands || m.ill(&r.value) != "" || !m.accept(r.ballot, r.value) {
		r.failed = true
		return
	}
	r.proposing, r.repeats = true, 0
	m.ask()
	m.vote(m.cfg.Self)
}

// accept accepts a value unless this peer has confirmed ticks that would change.
func (m *Mesh) accept(ballot uint64, value wire.Value) bool {
	v := &m.views
	for _, c := range value.Cuts {
		if c.Tick != v.cuts[c.Participant] && m.Confirmed() > c.Tick {
			return false
		}
	}
	if !m.mayJoin(&value) {
		return false
	}
	v.acceptedIn, v.accepted = ballot, value
	m.limit()
	return true
}

func (m *Mesh) receivePropose(l *link, p wire.Propose) {
	v := &m.views
	if !m.votes(l, p.View) {
		return
	}
	if driftback.Peer(p.Ballot) != l.peer || p.Ballot == 0 || m.givenUp(safe(m, &p.Value)).Has(m.cfg.Self) || m.ill(&p.Value) != "" {
		m.refuse(BadVote)
		return
	}
	switch {
	case p.Ballot > v.promised: // it has not asked before
		m.refuse(BadVote)
	case p.Ballot < v.promised, !v.stands, v.acceptedIn < p.Ballot && !m.accept(p.Ballot, p.Value):
		m.turnDown(l, p.Ballot)
	default:
		m.sendControl(l, wire.Accepted{View: p.View, Ballot: p.Ballot})
	}
}

// safe returns a value without the participants that the match does not have.
func safe(m *Mesh, value *wire.Value) *wire.Value {
	for i, c := range value.Cuts {
		if int(c.Participant) >= len(m.cfg.Players) {
			return &wire.Value{Cuts: value.Cuts[:i], Joins: value.Joins}
		}
	}
	return value
}

func (m *Mesh) receiveAccepted(l *link, a wire.Accepted) {
	if m.votes(l, a.View) && m.views.round.proposing && a.Ballot == m.views.round.ballot {
		m.vote(l.peer)
	}
}

// vote counts who has accepted, and decides with a majority. Of two members both have to accept, though
// one alone may play more than half: the other goes on alone should this process die, and must not decide anew what
// somebody who is let in may have been told. See goAlone.
func (m *Mesh) vote(from driftback.Peer) {
	v := &m.views
	r := &v.round
	r.votes |= wire.PeersOf(from)
	if m.majority(r.votes) && (v.members.Len() > 2 || v.members&^r.votes == 0) {
		m.install(r.value, m.cfg.Self)
	}
}
