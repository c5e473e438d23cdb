package wire

import "github.com/driftback/driftback"

// Apply asks a member of a match that goes on to be let in. Its sender has run up to where
// it is fed.
type Apply struct {
	// Match is the full id of the match, and Nonce tells the sender's process.
	Match, Nonce uint64
	// Delays are the input delays of the participants that it is going to play, in
	// ascending order of participant.
	Delays []Delay
}

// Join says that a peer is let in, and plays its participants from Tick on.
type Join struct {
	Peer driftback.Peer
	Tick driftback.Tick
	// Nonce tells the process, and Delays are what it has applied with.
	Nonce  uint64
	Delays []Delay
}

// Welcome tells a peer that has been let in all that it needs to go on like the others.
type Welcome struct {
	// View is the one that let it in, by Value.
	View  uint64
	Value Value
	// Digest is the hash of all that was agreed as the match began, and Seed the hash of
	// every peer's nonce then.
	Digest, Seed uint64
	// Tag is what packets carry in the view, and Avoid what the tags of later ones must not
	// be; at most MaxAvoid.
	Tag   uint16
	Avoid []uint16
	// Delays are the input delays that all participants began with, in ascending order.
	Delays []Delay
	// Absences are the newest of each participant that was let in again, in ascending
	// order.
	Absences []Absence
	// Nonces tell the newest process of every peer, in ascending order.
	Nonces []Nonce
}

// Absence says that a participant does not play on the ticks from From on and below To.
type Absence struct {
	Participant driftback.Participant
	From, To    driftback.Tick
}

// Nonce is that of a peer's process.
type Nonce struct {
	Peer  driftback.Peer
	Nonce uint64
}

// MaxAvoid bounds the tags of a Welcome.
const MaxAvoid = 64

func (Apply) control()   {}
func (Welcome) control() {}

// The first bytes of the messages of a join.
const (
	kindApply = iota + 22
	kindWelcome
)

// join appends a message of a join, and says whether c is one.
func (w *writer) join(c Control) bool {
	switch c := c.(type) {
	case Apply:
		w.b = append(w.b, kindApply)
		w.uint64(c.Match)
		w.uint64(c.Nonce)
		w.delays(c.Delays)
	case Welcome:
		w.welcome(&c)
	default:
		return false
	}
	return true
}

func (w *writer) welcome(c *Welcome) {
	switch {
	case len(c.Avoid) > MaxAvoid:
		w.refuse("%d tags, and at most %d are allowed", len(c.Avoid), MaxAvoid)
		return
	case len(c.Absences) > driftback.MaxParticipants:
		w.refuse("%d absences, and at most %d are allowed", len(c.Absences), driftback.MaxParticipants)
		return
	}
	w.b = append(w.b, kindWelcome)
	w.number("a view", c.View, MaxView)
	w.uint64(c.Digest)
	w.uint64(c.Seed)
	w.b = append(w.b, byte(c.Tag), byte(c.Tag>>8), byte(len(c.Avoid)))
	for _, tag := range c.Avoid {
		w.b = append(w.b, byte(tag), byte(tag>>8))
	}
	w.value(&c.Value)
	w.delays(c.Delays)
	w.b = append(w.b, byte(len(c.Absences)))
	last := -1
	for _, a := range c.Absences {
		w.head(a.Participant, last, false, 0)
		w.tick(a.From)
		w.tick(a.To)
		last = int(a.Participant)
	}
	w.nonces(c.Nonces)
}

func (w *writer) nonces(list []Nonce) {
	w.b = append(w.b, byte(len(list)))
	last := -1
	for _, n := range list {
		w.peer(n.Peer, last)
		w.uint64(n.Nonce)
		last = int(n.Peer)
	}
}

func (w *writer) joins(list []Join) {
	if len(list) > driftback.MaxParticipants {
		w.refuse("%d peers join, and at most %d are allowed", len(list), driftback.MaxParticipants)
		return
	}
	w.b = append(w.b, byte(len(list)))
	last := -1
	for _, j := range list {
		w.peer(j.Peer, last)
		w.tick(j.Tick)
		w.uint64(j.Nonce)
		w.delays(j.Delays)
		last = int(j.Peer)
	}
}

// peer appends a peer's number, which must be higher than the last one.
func (w *writer) peer(p driftback.Peer, last int) {
	if int(p) <= last || p >= driftback.MaxPeers {
		w.refuse("peer %d after peer %d: they must ascend, and be below %d", p, last, driftback.MaxPeers)
		return
	}
	w.b = append(w.b, byte(p))
}

// join reads what follows the first byte of a message of a join.
func (r *reader) join(kind byte) Control {
	if kind == kindApply {
		return Apply{Match: r.uint64(), Nonce: r.uint64(), Delays: r.delays()}
	}
	w := Welcome{View: r.viewNumber(), Digest: r.uint64(), Seed: r.uint64(), Tag: r.uint16()}
	n := int(r.byte())
	if n > MaxAvoid {
		r.refuse("%d tags, and at most %d are allowed", n, MaxAvoid)
	}
	for range n {
		if r.err != nil {
			return nil
		}
		w.Avoid = append(w.Avoid, r.uint16())
	}
	w.Value = r.value()
	w.Delays = r.delays()
	last := -1
	for range r.byte() {
		a := Absence{Participant: r.participant(r.byte(), last), From: r.tick(), To: r.tick()}
		if r.err != nil {
			return nil
		}
		w.Absences = append(w.Absences, a)
		last = int(a.Participant)
	}
	last = -1
	for range r.byte() {
		n := Nonce{Peer: r.peer(last), Nonce: r.uint64()}
		if r.err != nil {
			return nil
		}
		w.Nonces = append(w.Nonces, n)
		last = int(n.Peer)
	}
	return w
}

func (r *reader) joins() (list []Join) {
	n := int(r.byte())
	if n > driftback.MaxParticipants {
		r.refuse("%d peers join, and at most %d are allowed", n, driftback.MaxParticipants)
	}
	last := -1
	for range n {
		j := Join{Peer: r.peer(last), Tick: r.tick(), Nonce: r.uint64(), Delays: r.delays()}
		if r.err != nil {
			return nil
		}
		list = append(list, j)
		last = int(j.Peer)
	}
	return list
}

func (r *reader) peer(last int) driftback.Peer {
	p := r.byte()
	if r.err == nil && (int(p) <= last || p >= driftback.MaxPeers) {
		r.refuse("peer %d after peer %d: they must ascend, and be below %d", p, last, driftback.MaxPeers)
	}
	return driftback.Peer(p)
}
