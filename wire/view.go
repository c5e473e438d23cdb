package wire

import (
	"math/bits"

	"github.com/driftback/driftback"
)

// Bounds of the messages about views.
const (
	MaxView   = 1<<32 - 1
	MaxBallot = 1<<40 - 1
)

// Peers is a set of peers, one bit for each.
type Peers uint64

// PeersOf returns the set of one peer, which must be below MaxPeers.
func PeersOf(p driftback.Peer) Peers { return 1 << p }

// Has reports whether the set holds a peer.
func (s Peers) Has(p driftback.Peer) bool { return p < driftback.MaxPeers && s>>p&1 == 1 }

// Len returns how many peers the set holds.
func (s Peers) Len() int { return bits.OnesCount64(uint64(s)) }

// Accuse is the whole of what its sender says of others, and replaces what it said
// before.
type Accuse struct {
	// View is the newest view that the sender is in.
	View uint64
	// Silent are the peers that it has not heard for too long, and Left those that
	// have told it that they go, or that have lost the match.
	Silent, Left Peers
	// Ready are the peers outside the view that it would let in.
	Ready Peers
	// Waits says that it has promised who may come in not to go on for long, so that a
	// view must be decided whatever has become of them.
	Waits bool
}

// Prepare asks for a promise to take no part in a ballot that is lower.
type Prepare struct {
	// View is the view to be decided.
	View   uint64
	Ballot uint64
	// Lost are the members of the view before of which nothing more is to count.
	Lost Peers
	// Joins are the peers outside it that are to be let in.
	Joins Peers
	// Bound says that the sender has accepted a value itself, so that the view must
	// be decided whatever has become of the reasons for it. Those that are lost may
	// then be asked as well.
	Bound bool
}

// Promise answers a Prepare. One whose ballot is higher than the one that was asked
// for refuses it.
type Promise struct {
	View, Ballot uint64
	// Held has the first tick that the sender does not hold, for each participant
	// that is lost or was cut earlier; for one that is to be let in the first that it will
	// not run past before the view is decided.
	Held []Cut
	// Accepted is the value that the sender has accepted in the ballot
	// AcceptedBallot; nil if it has not.
	Accepted       *Value
	AcceptedBallot uint64
}

// Propose asks to accept a value.
type Propose struct {
	View, Ballot uint64
	Value        Value
}

// Decide says what has been decided.
type Decide struct {
	View  uint64
	Value Value
}

// Accepted answers a Propose.
type Accepted struct{ View, Ballot uint64 }

// Cut says from which tick on a participant does not play.
type Cut struct {
	Participant driftback.Participant
	Tick        driftback.Tick
}

// Value is what a view is about: all participants that are cut in it, in ascending
// order, those that earlier views cut among them, and the peers that are let in, in
// ascending order. A view that cuts nobody else and lets nobody in ends a disagreement
// about one that would have.
type Value struct {
	Cuts  []Cut
	Joins []Join
}

func (Accuse) control()   {}
func (Prepare) control()  {}
func (Promise) control()  {}
func (Propose) control()  {}
func (Decide) control()   {}
func (Accepted) control() {}

// The first bytes of the messages about views.
const (
	kindAccuse = iota + 7
	kindPrepare
	kindPromise
	kindPropose
	kindDecide
	kindAccepted
)

// view appends a message about views, and reports whether c is one.
func (w *writer) view(c Control) bool {
	switch c := c.(type) {
	case Accuse:
		w.b = append(w.b, kindAccuse)
		w.number("a view", c.View, MaxView)
		w.uint64(uint64(c.Silent))
		w.uint64(uint64(c.Left))
		w.uint64(uint64(c.Ready))
		w.b = append(w.b, bit(c.Waits))
	case Prepare:
		w.ballot(kindPrepare, c.View, c.Ballot)
		w.uint64(uint64(c.Lost))
		w.uint64(uint64(c.Joins))
		w.b = append(w.b, bit(c.Bound))
	case Promise:
		w.ballot(kindPromise, c.View, c.Ballot)
		w.cuts(c.Held)
		w.b = append(w.b, bit(c.Accepted != nil))
		if c.Accepted != nil {
			w.number("a ballot", c.AcceptedBallot, MaxBallot)
			w.value(c.Accepted)
		}
	case Propose:
		w.ballot(kindPropose, c.View, c.Ballot)
		w.value(&c.Value)
	case Decide:
		w.b = append(w.b, kindDecide)
		w.number("a view", c.View, MaxView)
		w.value(&c.Value)
	case Accepted:
		w.ballot(kindAccepted, c.View, c.Ballot)
	default:
		return false
	}
	return true
}

func (w *writer) ballot(kind byte, view, ballot uint64) {
	w.b = append(w.b, kind)
	w.number("a view", view, MaxView)
	w.number("a ballot", ballot, MaxBallot)
}

func (w *writer) cuts(list []Cut) {
	if len(list) > driftback.MaxParticipants {
		w.refuse("%d participants, and at most %d are allowed", len(list), driftback.MaxParticipants)
		return
	}
	w.b = append(w.b, byte(len(list)))
	last := -1
	for _, c := range list {
		w.head(c.Participant, last, false, 0)
		w.tick(c.Tick)
		last = int(c.Participant)
	}
}

func (w *writer) value(v *Value) {
	w.cuts(v.Cuts)
	w.joins(v.Joins)
}

// view reads the rest of a message about views; nil: it is of another kind.
func (r *reader) view(kind byte) Control {
	switch kind {
	case kindAccuse:
		return Accuse{View: r.viewNumber(), Silent: Peers(r.uint64()), Left: Peers(r.uint64()), Ready: Peers(r.uint64()), Waits: r.bool()}
	case kindPrepare:
		return Prepare{View: r.viewNumber(), Ballot: r.ballot(), Lost: Peers(r.uint64()), Joins: Peers(r.uint64()), Bound: r.bool()}
	case kindPromise:
		p := Promise{View: r.viewNumber(), Ballot: r.ballot(), Held: r.cuts()}
		if r.bool() {
			p.AcceptedBallot = r.ballot()
			v := r.value()
			p.Accepted = &v
		}
		return p
	case kindPropose:
		return Propose{View: r.viewNumber(), Ballot: r.ballot(), Value: r.value()}
	case kindDecide:
		return Decide{View: r.viewNumber(), Value: r.value()}
	case kindAccepted:
		return Accepted{View: r.viewNumber(), Ballot: r.ballot()}
	}
	return nil
}

func (r *reader) viewNumber() uint64 { return r.number("a view", MaxView) }
func (r *reader) ballot() uint64     { return r.number("a ballot", MaxBallot) }

func (r *reader) cuts() (list []Cut) {
	last := -1
	for range r.byte() {
		c := Cut{Participant: r.participant(r.byte(), last), Tick: r.tick()}
		if r.err != nil {
			return nil
		}
		list = append(list, c)
		last = int(c.Participant)
	}
	return list
}

func (r *reader) value() Value { return Value{Cuts: r.cuts(), Joins: r.joins()} }
