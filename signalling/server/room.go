package server

import (
	"context"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/signalling/internal/frame"
)

// room is a room with members here. What is in it is guarded by Server.mu.
type room struct {
	name   frame.Room
	made   time.Time
	places []*place // by the numbers of the peers
	// known is closed when the room is known to exist: it was made here, or another instance
	// has somebody in it. Until then those here wait to hear.
	known   chan struct{}
	waiting int    // connections that wait
	stop    func() // ends what comes over the bus; nil without one
	said    time.Time
}

// place is kept for a key.
type place struct {
	key   identity.Key
	proof frame.Proof
	since time.Time // when the member came
	// conn is the member's connection, if it has one here. instance is which other
	// instance has it, if any.
	conn     *conn
	instance uint64
	// seen is when the connection was lost, or when the other instance last said that it has it.
	seen time.Time
}

// found notes that the room exists.
func (r *room) found() {
	select {
	case <-r.known:
	default:
		close(r.known)
	}
}

// at returns the place of a peer, or nil.
func (r *room) at(p driftback.Peer) *place {
	if int(p) >= len(r.places) {
		return nil
	}
	return r.places[p]
}

// vacate gives a place up, and tells the members here.
func (r *room) vacate(peer driftback.Peer) {
	r.places[peer] = nil
	f := frame.Frame{Kind: frame.Gone, Peer: peer}
	r.tell(&f, peer)
}

// announce tells the members here that a member has come.
func (r *room) announce(peer driftback.Peer) {
	f := r.member(peer)
	r.tell(&f, peer)
}

// tell sends a frame to all members here but one.
func (r *room) tell(f *frame.Frame, but driftback.Peer) {
	b := f.Append(nil)
	for peer, p := range r.places {
		if p != nil && p.conn != nil && driftback.Peer(peer) != but {
			p.conn.must(b)
		}
	}
}

// member is what the others are told of one.
func (r *room) member(peer driftback.Peer) frame.Frame {
	p := r.places[peer]
	return frame.Frame{Kind: frame.Member, Peer: peer, Key: p.key, Proof: p.proof}
}

// empty says whether nobody has a place, or is about to.
func (r *room) empty() bool {
	for _, p := range r.places {
		if p != nil && p.instance == 0 {
			return false
		}
	}
	return r.waiting == 0
}

// refused is why somebody may not enter.
type refused struct {
	status frame.Status
	reason string
}

// find returns the room that a member wants to enter, which is made if it asked for that. The
// member is then one of those that wait in it.
func (s *Server) find(name frame.Room, anew bool, c *conn, now time.Time) (*room, *refused) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, &refused{frame.Full, "the server is being shut down"}
	}
	r := s.rooms[name]
	if r == nil {
		switch {
		case !anew && s.c.Bus == nil:
			return nil, s.guessed(c, now)
		case anew && !s.makes.Take(c.addr, now):
			s.counts.refusedRate.Add(1)
			return nil, &refused{frame.Full, "too many rooms have been made from your address: wait a minute"}
		case len(s.rooms) >= s.c.MaxRooms:
			s.counts.refusedFull.Add(1)
			return nil, &refused{frame.Full, "the server has as many rooms as it takes"}
		}
		r = &room{name: name, made: now, places: make([]*place, s.c.MaxMembers), known: make(chan struct{})}
		if err := s.subscribe(r); err != nil {
			s.counts.bus.Add(1)
			s.log.Warn("the bus takes no room", "room", name.Short(), "reason", err)
			return nil, &refused{frame.Full, "the server cannot reach its fellows"}
		}
		s.rooms[name] = r
	}
	if anew {
		r.found()
	}
	r.waiting++
	return r, nil
}

// guessed counts a try at a room that does not exist.
func (s *Server) guessed(c *conn, now time.Time) *refused {
	s.counts.guesses.Add(1)
	s.guesses.Take(c.addr, now)
	return &refused{frame.NoRoom, "there is no such room"}
}

// enter gives a member its place in a room.
func (s *Server) enter(ctx context.Context, name frame.Room, f *frame.Frame, c *conn) *refused {
	r, no := s.find(name, f.Make, c, time.Now())
	if no != nil {
		return no
	}
	if s.c.Bus != nil {
		patience := time.NewTimer(s.c.asking)
		defer patience.Stop()
		select {
		case <-r.known:
		case <-patience.C:
		case <-ctx.Done():
		}
	}
	welcome, err := s.c.Servers.welcome(f.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.waiting--
	defer func() {
		if r.empty() {
			s.drop(r)
		}
	}()
	select {
	case <-r.known:
	default:
		return s.guessed(c, time.Now())
	}
	switch {
	case err != nil:
		s.log.Error("a member cannot be welcomed", "reason", err)
		return &refused{frame.Full, "the server is out of order"}
	case s.closing || s.rooms[name] != r:
		return &refused{frame.Full, "the room has just ended: try again"}
	case int(f.Peer) >= len(r.places):
		s.counts.refusedFull.Add(1)
		return &refused{frame.Full, "the room has no place of that number"}
	}
	return s.seat(r, f, c, &welcome)
}

// seat puts a member that may enter into its place. The caller holds mu.
func (s *Server) seat(r *room, f *frame.Frame, c *conn, welcome *frame.Frame) *refused {
	now := time.Now()
	old := r.places[f.Peer]
	if old != nil && old.key != f.Key && !old.free(now, s.c.PlaceKept) {
		s.counts.refusedTaken.Add(1)
		return &refused{frame.Taken, "somebody with another key has the place"}
	}
	if old != nil && old.conn != nil {
		old.conn.room = nil // it has nothing to give up any more
		old.conn.end(int(frame.Replaced), "the same member has come again")
	}
	r.places[f.Peer] = &place{key: f.Key, proof: f.Proof, since: now, conn: c}
	c.room, c.peer = r, f.Peer
	c.must(welcome.Append(nil))
	for peer, p := range r.places {
		if p != nil && driftback.Peer(peer) != f.Peer {
			b := r.member(driftback.Peer(peer))
			c.must(b.Append(nil))
		}
	}
	s.counts.entered.Add(1)
	r.announce(f.Peer)
	s.present(r, f.Peer)
	s.log.Info("a member has come", "room", r.name.Short(), "peer", f.Peer, "pin", f.Key.Pin().Short(), "address", c.addr)
	return nil
}

// renew gives a member new passwords for the relays, if there are any.
func (s *Server) renew(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.room == nil || len(s.c.Servers.TURN) == 0 {
		return
	}
	welcome, err := s.c.Servers.welcome(c.room.places[c.peer].key)
	if err != nil {
		s.log.Error("a member has no new password", "reason", err)
		return
	}
	c.must(welcome.Append(nil))
}

// free says whether a place is kept no longer.
func (p *place) free(now time.Time, kept time.Duration) bool {
	switch {
	case p.conn != nil:
		return false
	case p.instance != 0:
		return now.Sub(p.seen) > absentAfter
	default:
		return now.Sub(p.seen) > kept
	}
}

// lost notes that a member's connection has ended, and gives the place up if the member said so.
func (s *Server) lost(c *conn, left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := c.room
	if r == nil {
		return
	}
	c.room = nil
	s.log.Info("a member has gone", "room", r.name.Short(), "peer", c.peer, "for good", left)
	p := r.places[c.peer]
	p.conn, p.seen = nil, time.Now()
	if left {
		r.vacate(c.peer)
		s.say(r, frame.Note{Kind: frame.NoteGone, Peer: c.peer})
	}
	if r.empty() {
		s.drop(r)
	}
}

// drop ends a room. The caller holds mu.
func (s *Server) drop(r *room) {
	if s.rooms[r.name] != r {
		return
	}
	delete(s.rooms, r.name)
	if r.stop != nil {
		r.stop()
	}
	for _, p := range r.places {
		if p != nil && p.conn != nil {
			p.conn.room = nil
			p.conn.end(int(frame.Expired), "the room's time is over")
		}
	}
}

// sweeping ends what has lasted long enough, until ctx ends.
func (s *Server) sweeping(ctx context.Context) {
	beat := time.NewTicker(s.c.sweepEvery)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			s.sweep(time.Now())
		}
	}
}

func (s *Server) sweep(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rooms {
		say := s.c.Bus != nil && now.Sub(r.said) >= presentEvery
		if say {
			r.said = now
		}
		for peer, p := range r.places {
			switch {
			case p == nil:
			case p.free(now, s.c.PlaceKept):
				r.vacate(driftback.Peer(peer))
			case say && p.conn != nil:
				s.present(r, driftback.Peer(peer))
			}
		}
		if r.empty() || now.Sub(r.made) > s.c.RoomLifetime {
			s.drop(r)
		}
	}
}

// carry hands a message of a member to another.
func (s *Server) carry(c *conn, f *frame.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	r := c.room
	if r == nil {
		return // it has just been replaced
	}
	p := r.at(f.Peer)
	switch {
	case p == nil || f.Peer == c.peer:
		s.counts.droppedAbsent.Add(1)
	case !c.rates[f.Peer].Take(s.rate, now), !s.total.Take(s.all, now):
		s.counts.droppedRate.Add(1)
	case p.conn != nil:
		s.deliver(p.conn, c.peer, f.Data)
	case p.instance != 0:
		s.counts.messages.Add(1)
		s.say(r, frame.Note{Kind: frame.NoteMessage, Peer: c.peer, To: f.Peer, Data: f.Data})
	default:
		s.counts.droppedAbsent.Add(1)
	}
}

// deliver hands a message to a member here. The caller holds mu.
func (s *Server) deliver(to *conn, from driftback.Peer, data []byte) {
	f := frame.Frame{Kind: frame.Message, Peer: from, Data: data}
	if to.may(f.Append(nil)) {
		s.counts.messages.Add(1)
		s.counts.bytes.Add(uint64(len(data)))
	} else {
		s.counts.droppedSlow.Add(1)
	}
}
