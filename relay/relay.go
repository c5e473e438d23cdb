package relay

import (
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// maxDrain is how many messages one Poll handles, so that a flood cannot keep a tick from
// being closed.
const maxDrain = 4096

// Relay is one match's. Create it with [New].
type Relay struct {
	cfg   Config
	hello wire.Hello
	links []*link
	byNum [driftback.MaxPeers]*link

	phase mesh.Phase
	err   error
	// clock is the time that has passed while this relay was polled; given is the caller's
	// last word.
	clock, given time.Duration
	polled       bool
	joinedFor    time.Duration
	// finishing is for how long somebody has finished and nobody else has come further, and
	// finishingTo what all others together have come to.
	finishing   time.Duration
	finishingTo driftback.Tick

	terms   mesh.RelayTerms
	welcome wire.Welcome
	set     *collector
	sums    sums

	refused            [mesh.Refusals]uint64
	incoming, outgoing wire.Packet
	flat, entries, out []byte
}

// BehindError means that a player has not acknowledged tick Acked of the set, and that Oldest is
// the oldest that is kept: see [Config.History]. It is a [mesh.ErrPeerLost].
type BehindError struct {
	Peer          driftback.Peer
	Acked, Oldest driftback.Tick
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("relay: peer %d has not acknowledged tick %d, and tick %d is the oldest that is kept", e.Peer, e.Acked, e.Oldest)
}

// Is makes errors.Is(err, mesh.ErrPeerLost) hold.
func (e *BehindError) Is(target error) bool { return target == mesh.ErrPeerLost }

// New returns a relay to which nobody has come.
func New(c Config) (*Relay, error) {
	c, err := c.filled()
	if err != nil {
		return nil, err
	}
	r := &Relay{cfg: c, hello: mesh.OutsideHello(c.Match, c.Nonce, c.Settings, c.Players)}
	for p, peer := range c.Players {
		l := r.byNum[peer]
		if l == nil {
			l = &link{peer: peer}
			r.byNum[peer] = l
			r.links = append(r.links, l)
		}
		l.plays = append(l.plays, driftback.Participant(p))
	}
	slices.SortFunc(r.links, func(a, b *link) int { return int(a.peer) - int(b.peer) })
	return r, nil
}

// Phase returns how far the match has come.
func (r *Relay) Phase() mesh.Phase { return r.phase }

// Err returns why the match has ended, and nil before that.
func (r *Relay) Err() error { return r.err }

// Refused returns how many things were dropped, by reason.
func (r *Relay) Refused() [mesh.Refusals]uint64 { return r.refused }

// Closed returns the first tick that is not closed.
func (r *Relay) Closed() driftback.Tick {
	if r.set == nil {
		return 0
	}
	return r.set.next
}

// Set returns the input and the entry of participant p, one of the match, in the set of tick
// t, and whether a mark says that the input is not p's own; ok is false if the tick is not
// closed or not kept. in is borrowed until the next Poll.
func (r *Relay) Set(p driftback.Participant, t driftback.Tick) (in []byte, e wire.Entry, ok bool) {
	if r.set == nil || t < r.set.oldest() || t >= r.set.next {
		return nil, 0, false
	}
	return r.set.input(int(p), t), r.set.entry(int(p), t), true
}

// Late returns in how many ticks of the set a participant's last input is repeated because
// its own was late.
func (r *Relay) Late(p driftback.Participant) uint64 {
	if r.set == nil {
		return 0
	}
	return r.set.late[p]
}

// Poll handles what has arrived, closes the ticks whose time has come, and sends what is
// due. now is the time since any fixed moment; a time that goes back counts as no time
// passed. Call it more often than there are ticks: what it does not see it cannot send on, and
// a deadline is kept as exactly as Poll is called. The error is why the match has ended.
func (r *Relay) Poll(now time.Duration) error {
	passed := r.tell(now)
	for _, l := range r.links {
		l.silence += passed
	}
	for range maxDrain {
		msg, ok := r.cfg.Transport.Receive()
		if !ok {
			break
		}
		r.receive(msg)
	}
	if r.phase != mesh.Ended {
		r.judge(passed)
	}
	if r.phase == mesh.Playing {
		for r.set.ready(r.clock, r.cfg.Deadline) {
			r.set.close(r.clock)
		}
	}
	r.flush()
	return r.err
}

// tell moves the relay's clock and returns the time that peers may be blamed for: a relay that did not
// poll for a while could not have heard anybody.
func (r *Relay) tell(now time.Duration) (passed time.Duration) {
	const day = 24 * time.Hour
	if r.polled && now > r.given {
		passed = min(max(now-r.given, 0), day)
	}
	r.polled, r.given = true, now
	r.clock += passed
	if r.cfg.PeerTimeout != None {
		passed = min(passed, max(r.cfg.PeerTimeout/4, 1))
	}
	return passed
}

func (r *Relay) receive(msg transport.Message) {
	var l *link
	if int(msg.From) < len(r.byNum) {
		l = r.byNum[msg.From]
	}
	if l == nil {
		if msg.Kind == transport.Datagram || msg.Kind == transport.Reliable {
			r.refuse(mesh.Stranger)
		}
		return
	}
	switch msg.Kind {
	case transport.Up:
		l.up, l.greeted = true, false
		l.owed |= owesHello
		if l.hello != nil && r.phase != mesh.Joining {
			l.owed |= owesWelcome
		}
		if r.phase == mesh.Playing {
			l.owed |= owesStart
		}
		if l.over {
			l.owed |= owesLeave
		}
	case transport.Down:
		l.up = false
	case transport.Datagram:
		if r.phase == mesh.Playing && !l.gone {
			r.receivePacket(l, msg.Data)
		} else if r.phase != mesh.Ended {
			r.refuse(mesh.Early)
		}
	case transport.Reliable:
		if r.phase != mesh.Ended && !l.gone {
			r.receiveControl(l, msg.Data)
		}
	}
}

func (r *Relay) refuse(why mesh.Refusal) { r.refused[why]++ }

// judge cuts who has been silent for too long, and ends the match when nobody is left or
// everybody is through.
func (r *Relay) judge(passed time.Duration) {
	if r.phase != mesh.Playing {
		r.joinedFor += passed
		if r.cfg.JoinTimeout != None && r.joinedFor >= r.cfg.JoinTimeout {
			why := r.absent()
			r.end(fmt.Errorf("%w within %v: %s", mesh.ErrNeverJoined, r.cfg.JoinTimeout, why), mesh.LeaveMissing, why)
		}
		return
	}
	for _, l := range r.links {
		if l.gone || r.phase == mesh.Ended {
			continue
		}
		switch {
		case r.cfg.PeerTimeout != None && l.silence >= r.cfg.PeerTimeout:
			r.lose(l, &mesh.LostError{Peer: l.peer, Tick: r.heldFrom(l), Silence: l.silence}, mesh.LeaveLost, fmt.Sprintf("nothing came from it for %v", l.silence.Round(time.Millisecond)))
		case l.acked < r.set.oldest():
			r.lose(l, &BehindError{Peer: l.peer, Acked: l.acked, Oldest: r.set.oldest()}, mesh.LeaveLost, fmt.Sprintf("it has not acknowledged tick %d, and tick %d is the oldest that is kept", l.acked, r.set.oldest()))
		}
	}
	r.judgeFinish(passed)
}

// absent says who has kept the match from beginning.
func (r *Relay) absent() (why string) {
	for _, l := range r.links {
		what := ""
		switch {
		case !l.up:
			what = "is not connected"
		case l.hello == nil:
			what = "is connected but said nothing"
		case !l.started && r.phase == mesh.Agreeing:
			what = "said hello but has not begun"
		default:
			continue
		}
		if why != "" {
			why += "; "
		}
		why += fmt.Sprintf("peer %d %s", l.peer, what)
	}
	return why
}

// heldFrom returns the first tick for which an input of a peer's is missing.
func (r *Relay) heldFrom(l *link) driftback.Tick {
	t := none
	for _, p := range l.plays {
		t = min(t, r.set.held[p])
	}
	return t
}

// lose goes on without a peer, which is told why, or ends the match if the others are to end
// without it.
func (r *Relay) lose(l *link, err error, reason uint8, words string) {
	if r.phase == mesh.Ended {
		return
	}
	if !r.terms.PlayOn {
		l.gone = reason == mesh.LeaveLeft
		r.end(err, reason, fmt.Sprintf("peer %d: %s", l.peer, words))
		return
	}
	l.gone, l.why = true, err
	for _, p := range l.plays {
		r.set.leave(int(p))
	}
	if reason != mesh.LeaveLeft {
		r.say(l, mesh.LeaveCut, "the others go on without it: "+words)
	}
	if !slices.ContainsFunc(r.links, func(l *link) bool { return !l.gone }) {
		r.end(err, reason, words)
		return
	}
	r.decideSums()
}

// Lost returns why the match goes on without a peer, or nil.
func (r *Relay) Lost(peer driftback.Peer) error {
	if int(peer) >= len(r.byNum) || r.byNum[peer] == nil {
		return nil
	}
	return r.byNum[peer].why
}

// Halt ends the match for every peer, whose errors wrap [mesh.ErrHalted].
func (r *Relay) Halt(reason string) {
	if r.phase != mesh.Ended {
		r.end(fmt.Errorf("%w here: %s", mesh.ErrHalted, reason), mesh.LeaveHalted, reason)
	}
}

// end ends the match and tells every peer that can be reached.
func (r *Relay) end(err error, reason uint8, words string) {
	r.phase, r.err = mesh.Ended, err
	for _, l := range r.links {
		if !l.gone {
			r.say(l, reason, words)
		}
	}
}
