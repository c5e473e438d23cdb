package feed

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// ErrNoFeeder means that none of the feeders feeds any more. The error that wraps it says
// why the last one does not.
var ErrNoFeeder = errors.New("feed: nobody feeds")

// errBroken means that a feeder sent what no honest one sends.
var errBroken = errors.New("feed: what it sent is no feed")

// slack is how many ticks an archive takes that its owner has not used, beyond those that
// it is to stay behind.
const slack = 512

// Room returns for how many ticks a follower's archive must have room at least, when its
// owner stays behind by delay ticks.
func Room(delay int) int { return delay + slack + window + wire.MaxRunTicks }

// FollowerConfig says what a follower follows.
type FollowerConfig struct {
	Transport transport.Transport
	// Hello is this side's, and what a feeder's is held to.
	Hello wire.Hello
	// Feeders are asked in this order.
	Feeders []driftback.Peer
	// Introduced reports whether the owner has said hello to a peer since its link came up;
	// until then it is not asked. The owner says a leave too, and the follower neither. Nil:
	// the follower does.
	Introduced func(peer driftback.Peer) bool
	// Archive takes what comes: at least Room of Delay. The follower alone puts into it.
	Archive *Archive
	Delay   driftback.Tick
	// MaxState is the size in bytes of the largest state that is taken; 0 is what package
	// wire allows.
	MaxState int
	// Timeout is for how long a feeder may be silent; 0 is for ever. JoinTimeout is for how long the first may
	// be missing, 0 is for ever.
	Timeout, JoinTimeout time.Duration
	// Valid reports whether bytes are an input that the game knows, and ValidEntry whether a participant
	// may give an entry.
	Valid      func(in []byte) bool
	ValidEntry func(p driftback.Participant, e wire.Entry) bool
	Note       func(e mesh.Event)
}

// stage is how far a follower is with the feeder that it has asked.
type stage uint8

const (
	asking    stage = iota // it has not said where it begins
	receiving              // a state
	following              // its inputs
)

// source is one of the feeders.
type source struct {
	peer driftback.Peer
	up   bool
	gone error // why it is not asked again while its link stays up
	// greeted: it has said hello since, to one who is introduced.
	greeted bool
}

// differs reports whether it has said that it is in another match. Its link may go down at once
// then, and there is nothing to hope for until it comes up again.
func (s *source) differs() bool {
	m := (*mesh.MismatchError)(nil)
	return errors.As(s.gone, &m)
}

// Beginning is where a feed begins, if it does not go on from what there is.
type Beginning struct {
	// Tick is its first tick. At tick 0 the state is what the game starts from, with
	// Seed; otherwise State reads its bytes and Log what belongs to it.
	Tick driftback.Tick
	Seed uint64
	// Sum is the fingerprint that the state must have, if HasSum is set.
	Sum    uint64
	HasSum bool
	// Blob is nil at tick 0.
	Blob *transfer.Blob
}

// Follower is fed. Make one with NewFollower.
type Follower struct {
	cfg     FollowerConfig
	archive *Archive
	sources []source
	at      int // the index of the one that was asked last
	asked   bool
	owes    int // of the two messages with which it is asked, those not sent
	greeted bool
	stage   stage

	begun     bool // something can be gone on from
	seed      uint64
	beginning *Beginning
	tag       uint16
	receiver  *transfer.Receiver
	feed      wire.Feed
	next      driftback.Tick // the first that who feeds has not sent
	used      driftback.Tick // what the owner has used
	finish    wire.Finish
	finished  bool
	err       error

	clock, given    time.Duration
	silence         time.Duration // of the one that was asked
	without         time.Duration // for how long nobody has been asked
	spokeAt         time.Duration
	said            driftback.Tick // the newest acknowledgement
	seq             uint16
	packet, inbound wire.Packet
	out             []byte
	send            func(c wire.Control) bool
}

// NewFollower returns a follower that has asked nobody yet.
func NewFollower(c FollowerConfig) (*Follower, error) {
	if len(c.Feeders) == 0 {
		return nil, errors.New("feed: Feeders is empty: somebody must feed")
	}
	if room := Room(int(c.Delay)); int(c.Archive.mask)+1 < room {
		return nil, fmt.Errorf("feed: Archive has room for %d ticks, and staying %d behind takes %d", c.Archive.mask+1, c.Delay, room)
	}
	f := &Follower{cfg: c, archive: c.Archive, at: len(c.Feeders) - 1}
	for _, peer := range c.Feeders {
		f.sources = append(f.sources, source{peer: peer})
	}
	f.send = f.sendControl
	return f, nil
}

// Feeds reports whether a peer is one of the feeders.
func (f *Follower) Feeds(peer driftback.Peer) bool { return slices.Contains(f.cfg.Feeders, peer) }

// Feeder returns who feeds now; ok is false if nobody does.
func (f *Follower) Feeder() (peer driftback.Peer, ok bool) {
	return f.sources[f.at].peer, f.asked && f.stage == following
}

// Seed returns the match's seed, once there has been a beginning.
func (f *Follower) Seed() uint64 { return f.seed }

// Err returns why there is nothing more to come, or nil. What is in the archive can still
// be used.
func (f *Follower) Err() error { return f.err }

// Beginning returns where the owner has to begin, once for each beginning, or nil. It is
// followed only if the owner has taken it.
func (f *Follower) Beginning() *Beginning {
	b := f.beginning
	f.beginning = nil
	return b
}

// Finish returns the match's last tick, once it is known and all before it is there.
func (f *Follower) Finish() (last wire.Finish, ok bool) { return f.finish, f.finished }

// Used says that the owner has used all inputs below tick t.
func (f *Follower) Used(t driftback.Tick) { f.used = t }

// Stop ends the follower because of err, and tells the feeder in words.
func (f *Follower) Stop(err error, words string) {
	if f.asked {
		f.leave(mesh.Sendable(words))
	}
	f.asked = false
	if f.err == nil {
		f.err = err
	}
}

// Receive takes a message of one of the feeders.
func (f *Follower) Receive(msg transport.Message) {
	i := slices.IndexFunc(f.sources, func(s source) bool { return s.peer == msg.From })
	if i < 0 || f.err != nil {
		return
	}
	s, current := &f.sources[i], f.asked && i == f.at
	switch msg.Kind {
	case transport.Up:
		s.up, s.gone, s.greeted = true, nil, false
		f.asked = f.asked && !current
		f.cfg.Note(mesh.Event{Kind: mesh.PeerUp, Peer: s.peer})
	case transport.Down:
		s.up = false
		if s.gone == nil {
			s.gone = &mesh.LostError{Peer: s.peer, Tick: f.archive.end, Down: msg.Err}
		}
		f.asked = f.asked && !current
		f.cfg.Note(mesh.Event{Kind: mesh.PeerDown, Peer: s.peer, Err: msg.Err})
	case transport.Datagram:
		if current {
			f.silence = 0
		}
	case transport.Reliable:
		if !current && f.cfg.Introduced != nil && !f.finished {
			f.greet(s, msg.Data)
		}
		if !current || f.finished {
			return
		}
		f.silence = 0
		if err := f.receive(msg.Data); err != nil && f.asked {
			f.giveUp(err)
		}
	}
}

// greet takes the hello of a feeder that has not been asked.
func (f *Follower) greet(s *source, b []byte) {
	c, err := wire.ParseControl(b)
	if err != nil {
		return // it may be anything that it sends to one of its match
	}
	if hello, ok := c.(wire.Hello); ok {
		s.greeted = true
		if err := mesh.Compare(s.peer, &f.cfg.Hello, &hello); err != nil {
			s.gone = err
		}
	}
}

// leave tells the feeder that was asked, unless the owner tells all of them.
func (f *Follower) leave(words string) {
	if f.cfg.Introduced == nil {
		f.sendControl(wire.Leave{Reason: mesh.LeaveLeft, Tick: f.archive.end, Text: words})
	}
}

// giveUp lets go of the feeder that was asked.
func (f *Follower) giveUp(err error) {
	s := &f.sources[f.at]
	s.gone = fmt.Errorf("peer %d: %w", s.peer, err)
	f.leave("it asks another")
	f.asked, f.receiver = false, nil
}

// Poll asks, answers and judges. now is the time since any fixed moment.
func (f *Follower) Poll(now time.Duration) {
	passed := max(now-f.given, 0)
	if f.cfg.Timeout > 0 {
		passed = min(passed, max(f.cfg.Timeout/4, 1))
	}
	f.given = now
	f.clock += passed
	if f.err != nil || f.finished {
		f.answer()
		return
	}
	if f.asked {
		f.without = 0
		if f.silence += passed; f.cfg.Timeout > 0 && f.silence >= f.cfg.Timeout {
			f.giveUp(fmt.Errorf("%w: nothing came for %v", mesh.ErrPeerLost, f.silence.Round(time.Millisecond)))
		}
	}
	if !f.asked {
		f.ask(passed)
	}
	f.answer()
}

// ask asks the next feeder that can be, or ends if there is none.
func (f *Follower) ask(passed time.Duration) {
	f.without += passed
	hope := false
	for n := range f.sources {
		i := (f.at + 1 + n) % len(f.sources)
		s := &f.sources[i]
		if !s.up || s.gone != nil {
			hope = hope || !s.up && !s.differs()
			continue
		}
		if f.cfg.Introduced != nil && !f.cfg.Introduced(s.peer) {
			hope = true
			continue
		}
		f.at, f.asked, f.owes, f.greeted, f.stage, f.silence, f.receiver = i, true, 2, s.greeted, asking, 0, nil
		if f.cfg.Introduced != nil {
			f.owes = 1
		}
		return
	}
	switch limit := f.cfg.JoinTimeout; {
	case !hope:
		f.err = f.nobody()
	case !f.begun && limit > 0 && f.without >= limit:
		f.err = f.nobody(fmt.Errorf("%w within %v", mesh.ErrNeverJoined, limit))
	case f.begun && f.cfg.Timeout > 0 && f.without >= f.cfg.Timeout:
		f.err = f.nobody(fmt.Errorf("%w for %v", mesh.ErrPeerLost, f.without.Round(time.Millisecond)))
	}
}

// nobody says of each feeder why it does not feed. It wraps all of these reasons.
func (f *Follower) nobody(why ...error) error {
	for _, s := range f.sources {
		if s.gone == nil {
			s.gone = fmt.Errorf("peer %d is not connected", s.peer)
		}
		why = append(why, s.gone)
	}
	format, args := "%w", append(make([]any, 0, len(why)+1), ErrNoFeeder)
	for i, err := range why {
		format += []string{": %w", "; %w"}[min(i, 1)]
		args = append(args, err)
	}
	return fmt.Errorf(format, args...)
}

// answer sends what is due to the feeder.
func (f *Follower) answer() {
	if !f.asked {
		return
	}
	for f.owes > 0 {
		var c wire.Control = f.cfg.Hello
		if f.owes == 1 {
			w := wire.Watch{}
			if f.begun {
				w.From = f.used
			}
			c = w
		}
		if !f.sendControl(c) {
			return
		}
		f.owes--
	}
	if f.receiver != nil {
		f.receiver.Poll(f.send)
	}
	next := min(f.next, f.used+f.cfg.Delay+slack)
	if f.clock-f.spokeAt < beat && (f.stage != following || next-f.said < window/4) {
		return
	}
	f.spokeAt = f.clock
	p := &f.packet
	p.Tag, p.Seq, p.Acks = f.tag, f.seq, p.Acks[:0]
	if f.stage == following {
		p.Acks = append(p.Acks, wire.Ack{Next: next})
		f.said = next
	}
	f.seq++
	if b, err := p.Append(f.out[:0], f.archive.stride); err == nil {
		f.out = b
		f.cfg.Transport.Send(f.sources[f.at].peer, b)
	}
}

func (f *Follower) sendControl(c wire.Control) bool {
	b, err := wire.AppendControl(f.out[:0], c)
	if err != nil {
		return false
	}
	f.out = b
	return f.cfg.Transport.SendReliable(f.sources[f.at].peer, b) == nil
}
