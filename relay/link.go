package relay

import (
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/wire"
)

// link is what is known about one player.
type link struct {
	peer  driftback.Peer
	plays []driftback.Participant
	up    bool
	owed  owed
	over  bool       // it is told that the match is over for it
	said  wire.Leave // and this is how

	greeted bool // its hello has come since the link came up
	hello   *wire.Hello
	start   wire.Start
	started bool
	finish  *wire.Finish

	silence time.Duration
	gone    bool // cut, or it has left
	why     error

	acked    driftback.Tick // the first tick of the set that it has not acknowledged
	sentTo   driftback.Tick // the set below has been sent at least once
	owesAck  bool
	sentAt   time.Duration
	everSent bool
	meter    meter
	lateness lateness
	seenTo   driftback.Tick // the first tick for which no input of its first participant's has come
	sums     linkSums
	stats    LinkStats
}

// LinkStats is what has gone over the link to one player, in datagrams; the transport's own
// overhead is not in them.
type LinkStats struct {
	PacketsSent, PacketsReceived uint64
	BytesSent, BytesReceived     uint64
	// Late is by how much later than the others' this player's inputs come on average, in
	// ticks.
	Late float64
}

// Link returns the statistics of the link to a peer; ok is false for one that plays nobody.
func (r *Relay) Link(peer driftback.Peer) (s LinkStats, ok bool) {
	if int(peer) >= len(r.byNum) || r.byNum[peer] == nil {
		return s, false
	}
	l := r.byNum[peer]
	s = l.stats
	s.Late = r.late(l)
	return s, true
}

// owed is what has still to be sent on the reliable channel.
type owed uint8

const (
	owesHello owed = 1 << iota
	owesWelcome
	owesStart
	owesDisagree
	owesFinish
	owesLeave
)

// receiveControl takes one message of the reliable channel.
func (r *Relay) receiveControl(l *link, b []byte) {
	c, err := wire.ParseControl(b)
	if err != nil {
		r.refuse(mesh.Malformed)
		if r.phase != mesh.Playing {
			r.end(fmt.Errorf("%w: peer %d sent what is not a message: %w", mesh.ErrRefused, l.peer, err), mesh.LeaveRefused, fmt.Sprintf("what peer %d sent was not a message", l.peer))
		}
		return
	}
	if h, ok := c.(wire.Hello); ok {
		r.receiveHello(l, h)
		return
	}
	if !l.greeted {
		r.refuse(mesh.Early)
		return
	}
	l.silence = 0
	switch c := c.(type) {
	case wire.Start:
		r.receiveStart(l, c)
	case wire.Finish:
		r.receiveFinish(l, c)
	case wire.Disagree:
		r.receiveDisagree(l, c)
	case wire.Leave:
		r.receiveLeave(l, c)
	default: // a game's messages are not carried, and the rest is not for a relay
		r.refuse(mesh.Malformed)
	}
}

func (r *Relay) receiveHello(l *link, h wire.Hello) {
	if l.greeted {
		r.refuse(mesh.Malformed)
		return
	}
	if l.hello != nil && l.hello.Nonce != h.Nonce {
		if r.phase == mesh.Joining {
			l.hello = nil // the process was started anew before anything was agreed with it
		} else {
			l.greeted = true
			err := &mesh.LostError{Peer: l.peer, Tick: 0}
			if r.phase == mesh.Playing {
				err.Tick = r.heldFrom(l)
				r.lose(l, err, mesh.LeaveLost, "it came back without the match")
			} else {
				r.end(err, mesh.LeaveLost, fmt.Sprintf("peer %d came back without the match", l.peer))
			}
			return
		}
	}
	if why := r.compare(l, &h); why != nil {
		r.end(why, mesh.LeaveRefused, why.Error())
		return
	}
	l.greeted, l.silence = true, 0
	if l.hello == nil {
		l.hello = &h
		r.agree()
	}
}

// compare returns an error that says what is wrong with a player's hello, by itself or beside
// those of the others.
func (r *Relay) compare(l *link, h *wire.Hello) error {
	if err := mesh.Compare(l.peer, &r.hello, h); err != nil {
		return err
	}
	terms, err := mesh.TermsOf(h)
	if err != nil {
		return fmt.Errorf("peer %d: %w", l.peer, err)
	}
	if terms.Relay != r.cfg.Self {
		return &mesh.MismatchError{Peer: l.peer, Setting: "the relay", Ours: fmt.Sprintf("peer %d", r.cfg.Self), Theirs: fmt.Sprintf("peer %d", terms.Relay)}
	}
	if h.Nonce == r.cfg.Nonce {
		return fmt.Errorf("%w: peer %d has the relay's nonce: draw it at random in each process", mesh.ErrRefused, l.peer)
	}
	for _, o := range r.links {
		if o == l || o.hello == nil {
			continue
		}
		if o.hello.Nonce == h.Nonce {
			return fmt.Errorf("%w: peers %d and %d have the same nonce: draw it at random in each process", mesh.ErrRefused, o.peer, l.peer)
		}
		if err := mesh.Compare(l.peer, o.hello, h); err != nil {
			return err
		}
	}
	named := make([]driftback.Participant, len(h.Delays))
	for i, d := range h.Delays {
		named[i] = d.Participant
		if d.Ticks > mesh.MaxDelay {
			return fmt.Errorf("%w: the input delay of participant %d is %d ticks at peer %d, and at most %d is allowed", mesh.ErrRefused, d.Participant, d.Ticks, l.peer, mesh.MaxDelay)
		}
	}
	if !slices.Equal(named, l.plays) {
		return &mesh.MismatchError{Peer: l.peer, Setting: "who plays whom (Players, Self)", Ours: fmt.Sprintf("%d", l.plays), Theirs: fmt.Sprintf("%d", named)}
	}
	r.terms = terms
	return nil
}

// agree works out what all are told once every hello has come.
func (r *Relay) agree() {
	nonces := []wire.Nonce{{Peer: r.cfg.Self, Nonce: r.cfg.Nonce}}
	hellos := []*wire.Hello{&r.hello}
	delays := make([]int, len(r.cfg.Players))
	w := wire.Welcome{}
	for _, l := range r.links {
		if l.hello == nil {
			return
		}
		nonces = append(nonces, wire.Nonce{Peer: l.peer, Nonce: l.hello.Nonce})
		hellos = append(hellos, l.hello)
		for _, d := range l.hello.Delays {
			delays[d.Participant] = d.Ticks
		}
	}
	slices.SortFunc(nonces, func(a, b wire.Nonce) int { return int(a.Peer) - int(b.Peer) })
	if datagram := r.cfg.Transport.MaxDatagram(); datagram < r.leastDatagram() {
		err := fmt.Errorf("%w: a datagram has %d bytes and an input %d: it must have at least %d for all participants'", mesh.ErrRefused, datagram, r.terms.Stride, r.leastDatagram())
		r.end(err, mesh.LeaveRefused, err.Error())
		return
	}
	for p, d := range delays {
		w.Delays = append(w.Delays, wire.Delay{Participant: driftback.Participant(p), Ticks: d})
	}
	w.Nonces = nonces
	w.Seed, w.Digest = mesh.Digest(r.cfg.Match, nonces, r.cfg.Players, delays, hellos)
	w.Tag = uint16(w.Digest) ^ uint16(w.Digest>>48)
	r.welcome, r.phase = w, mesh.Agreeing
	r.set = newCollector(&r.terms, delays, r.cfg.History)
	r.sums.init(&r.terms, r.links)
	for _, l := range r.links {
		l.owed |= owesWelcome
	}
}

func (r *Relay) receiveStart(l *link, s wire.Start) {
	if r.phase == mesh.Joining {
		r.refuse(mesh.Early)
		return
	}
	if l.started {
		return // said again after its link was down
	}
	differ := func(setting string, by *link, ours, theirs uint64) {
		err := &mesh.MismatchError{Peer: l.peer, Setting: setting, Ours: fmt.Sprintf("%016x", ours), Theirs: fmt.Sprintf("%016x", theirs)}
		r.end(err, mesh.LeaveRefused, fmt.Sprintf("%s is %s at peer %d and %s at peer %d", setting, err.Theirs, l.peer, err.Ours, by.peer))
	}
	if s.Digest != r.welcome.Digest {
		differ("the digest of all that was agreed", l, r.welcome.Digest, s.Digest)
		return
	}
	all := true
	for _, o := range r.links {
		if o.started && o.start.HasState && s.HasState && o.start.State != s.State {
			differ("the start state (Initial, Start)", o, o.start.State, s.State)
			return
		}
		all = all && (o.started || o == l)
	}
	l.start, l.started = s, true
	if !all {
		return
	}
	r.phase = mesh.Playing
	for _, o := range r.links {
		o.owed |= owesStart
		o.silence = 0
	}
}

// receiveFinish takes that a peer has confirmed every tick that it is going to run.
func (r *Relay) receiveFinish(l *link, f wire.Finish) {
	if r.phase != mesh.Playing || f.At > r.set.next {
		r.refuse(mesh.Early)
		return
	}
	if l.finish == nil {
		l.finish = &f
		r.set.last = min(r.set.last, max(f.At, r.set.next))
	}
}

// judgeFinish ends the match when all that are left have finished.
func (r *Relay) judgeFinish(passed time.Duration) {
	var first *link
	all := true
	for _, l := range r.links {
		switch {
		case l.gone:
		case l.finish == nil:
			all = false
		case first == nil:
			first = l
		case l.finish.At != first.finish.At:
			err := &mesh.MismatchError{Peer: l.peer, Setting: "the last tick", Ours: fmt.Sprint(first.finish.At), Theirs: fmt.Sprint(l.finish.At)}
			r.end(err, mesh.LeaveHalted, fmt.Sprintf("the last tick is %s at peer %d and %s at peer %d", err.Theirs, l.peer, err.Ours, first.peer))
			return
		}
	}
	if first == nil || r.phase != mesh.Playing {
		return
	}
	r.finishing += passed
	if !all {
		r.tireOf(first)
		return
	}
	if r.judgeLastSums(); r.phase == mesh.Ended {
		return
	}
	for _, l := range r.links {
		if !l.gone {
			l.owed |= owesFinish
		}
	}
	r.payAll()
	r.end(mesh.ErrFinished, mesh.LeaveFinished, "the match is finished")
}

// tireOf goes on without those who have come no further for too long since another has
// finished. Who is behind still gives inputs, although they are late.
func (r *Relay) tireOf(finished *link) {
	came := driftback.Tick(0)
	for _, l := range r.links {
		if !l.gone && l.finish == nil {
			came += l.seenTo
		}
	}
	if came != r.finishingTo {
		r.finishing, r.finishingTo = 0, came
	}
	if r.cfg.PeerTimeout == None || r.finishing < r.cfg.PeerTimeout {
		return
	}
	for _, l := range r.links {
		if !l.gone && l.finish == nil {
			r.say(l, mesh.LeaveHalted, fmt.Sprintf("peer %d has finished at tick %d and this peer has not", finished.peer, finished.finish.At))
			l.gone = true
		}
	}
}

// receiveLeave takes that a peer has gone.
func (r *Relay) receiveLeave(l *link, leave wire.Leave) {
	told := mesh.Told(l.peer, leave)
	switch {
	case leave.Reason == mesh.LeaveFinished:
		l.gone = true
	case r.phase != mesh.Playing || leave.Reason == mesh.LeaveHalted:
		// To halt is for everybody, as it is without a relay.
		l.gone = true
		r.end(told, leave.Reason, mesh.Sendable(leave.Text))
	default:
		r.lose(l, told, mesh.LeaveLeft, mesh.Sendable(leave.Text))
	}
}

// say tells a peer that the match is over for it.
func (r *Relay) say(l *link, reason uint8, words string) {
	l.over, l.said = true, wire.Leave{Reason: reason, Text: mesh.Sendable(words)}
	if r.set != nil {
		l.said.Tick = r.set.next
	}
	l.owed |= owesLeave
	r.pay(l)
}

// payAll sends what is owed on the reliable channels.
func (r *Relay) payAll() {
	for _, l := range r.links {
		r.pay(l)
	}
}

// pay sends a peer what is owed on its reliable channel, in order. What does not fit stays
// owed.
func (r *Relay) pay(l *link) {
	for what := owesHello; what <= owesLeave && l.owed != 0 && l.up; what <<= 1 {
		if l.owed&what == 0 {
			continue
		}
		var c wire.Control
		switch what {
		case owesHello:
			c = r.hello
		case owesWelcome:
			c = r.welcome
		case owesStart:
			c = wire.Start{Digest: r.welcome.Digest, Seed: r.welcome.Seed, State: l.start.State, HasState: l.start.HasState}
		case owesDisagree:
			c = l.sums.differs
		case owesFinish:
			c = wire.Finish{At: l.finish.At, Sum: l.finish.Sum, HasSum: l.finish.HasSum}
		case owesLeave:
			c = l.said
		}
		b, err := wire.AppendControl(r.out[:0], c)
		if err != nil {
			r.broken(err)
			return
		}
		if r.out = b; r.cfg.Transport.SendReliable(l.peer, b) != nil {
			return
		}
		l.owed &^= what
	}
}

// broken ends the match because of a fault of our own.
func (r *Relay) broken(err error) {
	if r.phase != mesh.Ended {
		r.phase, r.err = mesh.Ended, fmt.Errorf("%w: %w", mesh.ErrInternal, err)
	}
}
