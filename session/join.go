package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// JoinConfig says to which match a peer comes. The embedded Config is that of the match,
// with Self in Players and Rejoin set, and is what the session has that follows; Nonce must
// be drawn anew. JoinTimeout is for how long no feeder may be connected at the beginning,
// and for how long the players may take, once this peer has caught up, to let it in.
type JoinConfig[S any, I comparable] struct {
	Config[S, I]
	// Feeders are the players to be given the state and the inputs by, in the order in which
	// they are asked. None: all others.
	Feeders []driftback.Peer
	// CatchUp is how many ticks one call of Tick runs at most; 0 is DefaultCatchUp.
	CatchUp int
	// MaxState is the size in bytes of the largest state that is taken; 0 is 64 MiB.
	MaxState int
}

// Joiner comes to a match that goes on, to play in it. Create it with [Join].
type Joiner[S any, I comparable] struct {
	config    Config[S, I] // as it was given
	spectator *Spectator[S, I]
	hello     wire.Hello // said to each player as its link comes up
	request   wire.Apply // said when this peer has caught up
	up, owed  wire.Peers // whose links are, and to whom the hello is owed
	applied   bool
	appliedAt time.Duration // by clock

	clock, given time.Duration
	polled       bool
	waited       time.Duration // for being let in

	welcome *wire.Welcome
	by      driftback.Peer // who said so
	session *Lockstep[S, I]
	err     error
}

// applyEvery is how often the players are asked again to be let in.
const applyEvery = 200 * time.Millisecond

// Join returns a joiner that has not yet spoken to anybody. It is for a peer of the match
// that was lost, or has left, and comes back as a new process: see Config.Rejoin.
//
//	joiner, err := session.Join(session.JoinConfig[State, Input]{Config: config})
//	for joiner.Session() == nil {
//		_, err := joiner.Tick(now) // until then it watches: draw(joiner.State())
//		…
//	}
//	match := joiner.Session() // from here on as ever: match.Tick(now, readInput())
//
// It is given a state on which the players have agreed and the inputs since, as who watches
// is, without anybody waiting for it. Once it has caught up, the players agree on a tick
// from which on it plays again: a [PeerReturned] tells them, and until then its participants
// stay [driftback.Replaced]. The session takes over where the joiner was, and its phase is
// [CatchingUp] as long as no input of this peer's counts.
func Join[S any, I comparable](c JoinConfig[S, I]) (*Joiner[S, I], error) {
	j := &Joiner[S, I]{config: c.Config, request: wire.Apply{Match: c.Match, Nonce: c.Nonce}}
	j.config.Players = slices.Clone(c.Players)
	j.config.InputDelays = slices.Clone(c.InputDelays)
	switch {
	case !slices.Contains(c.Players, c.Self):
		return nil, fmt.Errorf("session: Self is peer %d, which plays no participant in Players: who plays nobody calls Watch", c.Self)
	case slices.ContainsFunc(c.Feeders, func(peer driftback.Peer) bool { return !slices.Contains(c.Players, peer) }):
		return nil, fmt.Errorf("session: Feeders are the peers %d: all of them must be in Players", c.Feeders)
	case !c.Rejoin:
		return nil, errors.New("session: Rejoin is false: only a match whose peers all set it can be joined while it goes on")
	}
	w := WatchConfig[S, I]{Config: c.Config, Feeders: c.Feeders, CatchUp: c.CatchUp, MaxState: c.MaxState}
	w.MaxWatchers = 0 // it is the session that may be watched
	var err error
	j.spectator = &Spectator[S, I]{letIn: j.receive, introduced: func(peer driftback.Peer) bool { return !j.owed.Has(peer) }}
	if err = j.spectator.init(w); err != nil {
		return nil, err
	}
	j.config.Initial = nil // the spectator has taken it
	m, err := newLockstep(j.config)
	if err != nil {
		return nil, err
	}
	config := m.meshConfig()
	j.hello = mesh.ReturnHello(&config)
	for i, p := range m.own {
		j.request.Delays = append(j.request.Delays, wire.Delay{Participant: p, Ticks: m.cfg.InputDelays[i]})
	}
	return j, nil
}

// Session returns the session that plays on from where this joiner has come to, or nil
// until the players have let it in. From then on call its Tick in place of the joiner's.
func (j *Joiner[S, I]) Session() *Lockstep[S, I] { return j.session }

// State returns the world as the next tick begins, which is final. It is borrowed, until
// there is a session, whose own it is from then on.
func (j *Joiner[S, I]) State() *S { return j.spectator.State() }

// Control returns whether the match is paused, and its speed, as the next tick begins.
func (j *Joiner[S, I]) Control() Control { return j.spectator.Control() }

// Feeder returns the peer that feeds now; ok is false while none does.
func (j *Joiner[S, I]) Feeder() (peer driftback.Peer, ok bool) { return j.spectator.Feeder() }

// Err returns why this peer has not come to the match, or nil.
func (j *Joiner[S, I]) Err() error { return j.err }

// Tick handles what has arrived, runs what is confirmed, and asks to be let in. It never
// blocks. now is the time since any fixed moment, and goes on in the session that follows.
// The phase is [Joining] until there is a state to begin with, [CatchingUp] then, and
// [Ended], with the reason, when nothing comes of it: [ErrFinished] when the match ended
// first, with the state that it ended in; [ErrNoFeeder] when none of the feeders feeds any
// more; a [*DesyncError] when the state here is not the players'; [ErrNeverJoined] when they
// have not let this peer in within JoinTimeout. Effects are all final.
func (j *Joiner[S, I]) Tick(now time.Duration) (Result, error) {
	switch {
	case j.err != nil:
		return Result{Phase: Ended, Tick: j.spectator.next, Confirmed: j.spectator.archive.End(), Pace: unpaced}, j.err
	case j.session != nil:
		return j.session.standing(CatchingUp), nil
	}
	passed := j.tell(now)
	j.greet()
	r, err := j.spectator.Tick(now)
	if r.Phase == Advanced || r.Phase == Stalled {
		r.Phase = CatchingUp
	}
	switch {
	case err != nil:
		j.fail(err)
	case j.welcome != nil:
		j.begin()
	default:
		j.apply(passed)
	}
	if j.err != nil {
		r.Phase = Ended
	}
	return r, j.err
}

// greet says hello to the players whose links have come up.
func (j *Joiner[S, I]) greet() {
	j.owed &= j.up
	j.owed = j.tellPlayers(j.owed, j.hello)
}

// tell moves the clock and returns the time for which others may be blamed.
func (j *Joiner[S, I]) tell(now time.Duration) time.Duration {
	passed := max(now-j.given, 0)
	if !j.polled {
		passed = 0
	}
	j.polled, j.given = true, now
	passed = min(passed, time.Second)
	j.clock += passed
	return passed
}

// receive takes a message before the spectator does, and reports whether this peer is let
// in: then what comes later is for its session, if it can begin.
func (j *Joiner[S, I]) receive(msg transport.Message) bool {
	if msg.From == j.config.Self || !slices.Contains(j.config.Players, msg.From) {
		return false
	}
	switch msg.Kind {
	case transport.Up:
		j.up |= wire.PeersOf(msg.From)
		j.owed |= wire.PeersOf(msg.From)
		j.greet()
		j.appliedAt = j.clock - applyEvery
	case transport.Down:
		j.up &^= wire.PeersOf(msg.From)
	case transport.Reliable:
		c, err := wire.ParseControl(msg.Data)
		if w, ok := c.(wire.Welcome); ok && err == nil && j.applied && !j.lateFor(&w) {
			j.welcome, j.by, j.spectator.hurries = &w, msg.From, true
			return true
		}
		switch c := c.(type) {
		case wire.Decide:
			j.decided(&c)
		case wire.Watch:
			j.tellPlayers(wire.PeersOf(msg.From), wire.Leave{Reason: mesh.LeaveLeft, Text: "it is coming back itself"})
		}
	case transport.Datagram:
	}
	return false
}

// lateFor reports whether a welcome lets in a process that was here before this one: who sent it had not
// heard that the link to that one is down.
func (j *Joiner[S, I]) lateFor(w *wire.Welcome) bool {
	return slices.ContainsFunc(w.Value.Joins, func(in wire.Join) bool {
		return in.Peer == j.config.Self && in.Nonce != j.config.Nonce
	})
}

// decided takes what the players have decided after they have let this peer in.
func (j *Joiner[S, I]) decided(d *wire.Decide) {
	if j.welcome == nil || d.View <= j.welcome.View {
		return
	}
	for _, c := range d.Value.Cuts {
		if int(c.Participant) < len(j.config.Players) && j.config.Players[c.Participant] == j.config.Self {
			j.fail(fmt.Errorf("%w: peer %d let this one in, and they have gone on without it from tick %d, before it could play: it can join again", ErrCutOff, j.by, c.Tick))
			return
		}
	}
}

// apply asks to be let in, once this peer has caught up and knows from a fingerprint that
// its world is the players'.
func (j *Joiner[S, I]) apply(passed time.Duration) {
	m := j.spectator
	if !m.begun || m.alike == 0 || m.archive.End()-m.next > smooth {
		return
	}
	if limit := m.cfg.JoinTimeout; limit > 0 {
		if j.waited += passed; j.waited >= limit {
			j.fail(fmt.Errorf("%w: this peer has caught up with tick %d, and the players have not let it in within %v; each of them must have a link to it", ErrNeverJoined, m.next, limit))
			return
		}
	}
	if j.applied && j.clock-j.appliedAt < applyEvery {
		return
	}
	j.applied, j.appliedAt = true, j.clock
	// The hello goes with it for those that were coming back themselves when they heard it.
	// Where there is no room both are said again.
	to := j.up &^ j.owed
	j.tellPlayers(to&^j.tellPlayers(to, j.hello), j.request)
}

// tellPlayers says something to some players, and returns those to whom it could not.
func (j *Joiner[S, I]) tellPlayers(peers wire.Peers, c wire.Control) (left wire.Peers) {
	b, err := wire.AppendControl(nil, c)
	if err != nil {
		return peers
	}
	for peer := range driftback.Peer(driftback.MaxPeers) {
		if peers.Has(peer) && j.config.Transport.SendReliable(peer, b) != nil {
			left |= wire.PeersOf(peer)
		}
	}
	return left
}

// Leave gives up, and tells the players.
func (j *Joiner[S, I]) Leave() {
	if j.session == nil {
		j.fail(ErrLeft)
	}
}

func (j *Joiner[S, I]) fail(err error) {
	if j.err != nil {
		return
	}
	if errors.Is(err, ErrFinished) {
		err = fmt.Errorf("%w: it came to its end, tick %d, while this peer was coming to it", err, j.spectator.next)
	}
	j.err = err
	j.spectator.fail(err)
	if !errors.Is(err, ErrFinished) {
		j.tellPlayers(j.up, wire.Leave{Reason: mesh.LeaveLeft, Tick: j.spectator.next, Text: mesh.Sendable(err.Error())})
	}
}
