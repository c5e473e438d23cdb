package server

import (
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/signalling/internal/frame"
)

// Bus carries what the instances of a fleet tell each other about rooms, so that members of one room may be
// at several of them. All who can write to it are trusted. Messages may be lost: instances say again
// every few seconds who is there, and members send again what is not answered.
//
// The server calls it with a lock held, so neither method may wait for the network, nor call
// hear itself.
type Bus interface {
	// Publish hands b, of at most a few kilobytes, to all that have subscribed to the room, this instance too or not. It
	// does not keep b.
	Publish(room string, b []byte) error
	// Subscribe calls hear with what is published about a room, from one goroutine at a time, until stop is called;
	// stop does not wait for a call that is under way. hear does not keep b, and waits for no network.
	Subscribe(room string, hear func(b []byte)) (stop func(), err error)
}

// Times of a fleet.
const (
	presentEvery = 5 * time.Second
	// absentAfter is when an instance that says nothing more is taken for dead.
	absentAfter = 4 * presentEvery
)

// say publishes a note about a room. The caller holds mu.
func (s *Server) say(r *room, n frame.Note) {
	if s.c.Bus == nil {
		return
	}
	n.Instance = s.instance
	if err := s.c.Bus.Publish(r.name.String(), n.Append(nil)); err != nil {
		s.counts.bus.Add(1)
		s.log.Debug("the bus takes nothing", "room", r.name.Short(), "reason", err)
	}
}

// present tells the other instances that a member is here. The caller holds mu.
func (s *Server) present(r *room, peer driftback.Peer) {
	p := r.places[peer]
	n := frame.Note{Kind: frame.NotePresent, Peer: peer, Since: p.since.UnixMilli()}
	n.Member.Key, n.Member.Proof = p.key, p.proof
	s.say(r, n)
}

// subscribe connects a new room with the other instances. The caller holds mu.
func (s *Server) subscribe(r *room) error {
	if s.c.Bus == nil {
		return nil
	}
	stop, err := s.c.Bus.Subscribe(r.name.String(), func(b []byte) { s.hear(r, b) })
	if err != nil {
		return err
	}
	r.stop = stop
	s.say(r, frame.Note{Kind: frame.NoteWho})
	return nil
}

// hear takes in a note of another instance.
func (s *Server) hear(r *room, b []byte) {
	var n frame.Note
	if n.Parse(b) != nil {
		s.counts.bus.Add(1)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.Instance == s.instance || s.rooms[r.name] != r || int(n.Peer) >= len(r.places) {
		return
	}
	switch n.Kind {
	case frame.NoteWho:
		for peer, p := range r.places {
			if p != nil && p.conn != nil {
				s.present(r, driftback.Peer(peer))
			}
		}
	case frame.NotePresent:
		s.elsewhere(r, &n, time.Now())
	case frame.NoteGone:
		if p := r.places[n.Peer]; p != nil && p.conn == nil && p.instance == n.Instance {
			r.vacate(n.Peer)
		}
	case frame.NoteMessage:
		if p := r.at(n.To); p != nil && p.conn != nil {
			s.deliver(p.conn, n.Peer, n.Data)
		}
	}
}

// elsewhere notes that another instance has a member. Of two with one place the one that came first
// stays, unless they have the same key, when it is the one that came last. The caller holds mu.
func (s *Server) elsewhere(r *room, n *frame.Note, now time.Time) {
	r.found()
	since, key := time.UnixMilli(n.Since), n.Member.Key
	p := r.places[n.Peer]
	if p != nil && p.conn != nil {
		ours := p.since.Truncate(time.Millisecond)
		same := p.key == key
		if same && !since.After(ours) || !same && !earlier(since, key, ours, p.key) {
			s.present(r, n.Peer) // so that the other instance hears of it
			return
		}
		if same {
			p.conn.end(int(frame.Replaced), "the same member has come again")
		} else {
			p.conn.end(int(frame.Taken), "somebody came first")
		}
		p.conn.room = nil // it has nothing to give up any more
	}
	news := p == nil || p.key != key || p.proof != n.Member.Proof
	r.places[n.Peer] = &place{key: key, proof: n.Member.Proof, since: since, instance: n.Instance, seen: now}
	if news {
		r.announce(n.Peer)
	}
}

// earlier orders members by when they came, and those that came at once by their keys.
func earlier(a time.Time, k identity.Key, b time.Time, l identity.Key) bool {
	if !a.Equal(b) {
		return a.Before(b)
	}
	return string(k[:]) < string(l[:])
}
