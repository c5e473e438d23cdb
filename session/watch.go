package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// DefaultCatchUp is how many ticks a spectator that is behind runs in one call.
const DefaultCatchUp = 16

// maxWatchDelay bounds WatchConfig.Delay: a quarter of an hour at 60 ticks a second.
const maxWatchDelay = 54_000

// WatchConfig says what is watched. The embedded Config is that of the match, and what must
// be alike on every peer must be here too; but Self is a number that Players does not have. Of the
// rest, what is about inputs, predictions and saving does not matter here. PeerTimeout is
// for how long a feeder may be silent, and nobody be found to feed, before the spectator
// gives up; JoinTimeout for how long no feeder may be connected at the beginning.
type WatchConfig[S any, I comparable] struct {
	Config[S, I]
	// Feeders are the peers to be fed by, in the order in which they are asked: players
	// whose MaxWatchers lets them, or other spectators. None: all players.
	Feeders []driftback.Peer
	// Delay is how many ticks the spectator stays behind what it has been given, up to a
	// quarter of an hour at 60 ticks a second. A player that the others are about to go on
	// without does not know so, and gives what they will never have played: who has run that
	// cannot go on with them, and ends with [ErrNoFeeder]. Who stays behind by Window and
	// the players' longest InputDelay never has.
	Delay int
	// CatchUp is how many ticks one call of Tick runs at most, while it is behind;
	// 0 is DefaultCatchUp.
	CatchUp int
	// MaxState is the size in bytes of the largest state that is taken; 0 is 64 MiB.
	MaxState int
}

// Spectator watches a match. Create it with [Watch].
type Spectator[S any, I comparable] struct {
	cfg      WatchConfig[S, I]
	rules    rules[S, I]
	hasher   *fingerprint.Hasher[S] // nil: fingerprints are off
	bytes    stateBytes[S]
	canParse bool
	guard    *guard[S] // nil: Config.Guard is false

	archive  *feed.Archive
	follower *feed.Follower
	feeder   *feed.Feeder // nil: nobody watches by way of this one

	state    *S
	begun    bool
	next     driftback.Tick
	in       []I
	status   []driftback.Status
	pass     driftback.Pass
	controls controls
	effects  *ledger
	ours     *feed.Sums
	compared driftback.Tick // the newest due tick at which both have been, or that was left out
	alike    int            // at how many they were alike

	events        []Event
	eventsDropped int
	refused       [mesh.Refusals]uint64
	result        Result
	note          func(e mesh.Event, by driftback.Participant)
	// letIn takes a message that may let this one play; true: it does. Nil: it only watches.
	// introduced is feed.FollowerConfig's.
	letIn      func(msg transport.Message) bool
	introduced func(peer driftback.Peer) bool
	hurries    bool // it is to run all that it has
	err        error
}

// Watch returns a spectator that has not yet spoken to anybody. It may come at any time:
// before the match begins it waits, and afterwards it is given a state and goes on from there.
func Watch[S any, I comparable](c WatchConfig[S, I]) (*Spectator[S, I], error) {
	if slices.Contains(c.Players, c.Self) {
		return nil, fmt.Errorf("session: Self is peer %d: a spectator's number must be below %d, and none in Players", c.Self, driftback.MaxPeers)
	}
	m := &Spectator[S, I]{}
	if err := m.init(c); err != nil {
		return nil, err
	}
	return m, nil
}

// init makes a spectator, which may be one that is going to play.
func (m *Spectator[S, I]) init(c WatchConfig[S, I]) error {
	c, err := c.complete()
	if err != nil {
		return err
	}
	m.state = c.takeInitial()
	m.cfg = c
	if m.rules, err = newRules(c.Config); err != nil {
		return err
	}
	if c.FingerprintEvery != None {
		if m.hasher, err = fingerprint.New[S](); err != nil {
			return fmt.Errorf("session: the state cannot be compared with the players': %w", err)
		}
	}
	if m.guard, err = newGuard[S](c.Guard); err != nil {
		return err
	}
	m.bytes, m.canParse = newStateBytes[S]()
	m.in = make([]I, len(c.Players))
	m.status = make([]driftback.Status, len(c.Players))
	m.events = make([]Event, 0, maxWatchEvents)
	m.note = m.noteEntry
	m.begin(0, Control{Speed: NormalSpeed})
	m.remember()
	return m.connect()
}

// complete returns the config with its defaults, or an error that names the field, the
// value and what is allowed.
func (c WatchConfig[S, I]) complete() (WatchConfig[S, I], error) {
	var err error
	if c.Config, err = c.filled(); err != nil {
		return c, err
	}
	if c.Feeders = slices.Clone(c.Feeders); len(c.Feeders) == 0 {
		for _, peer := range c.Players {
			if peer != c.Self && !slices.Contains(c.Feeders, peer) {
				c.Feeders = append(c.Feeders, peer)
			}
		}
	}
	if c.CatchUp == 0 {
		c.CatchUp = DefaultCatchUp
	}
	switch {
	case c.Transport == nil:
		return c, errors.New("session: Transport is nil: a spectator needs one")
	case len(c.Players) == 0 || len(c.Players) > driftback.MaxParticipants:
		return c, fmt.Errorf("session: Players has %d participants: from 1 to %d are allowed", len(c.Players), driftback.MaxParticipants)
	case c.Self >= driftback.MaxPeers:
		return c, fmt.Errorf("session: Self is peer %d: a spectator's number must be below %d, and none in Players", c.Self, driftback.MaxPeers)
	case slices.Contains(c.Feeders, c.Self):
		return c, fmt.Errorf("session: Feeders has peer %d, which is Self", c.Self)
	case c.Delay < 0 || c.Delay > maxWatchDelay:
		return c, fmt.Errorf("session: Delay is %d ticks: 0 to %d are allowed", c.Delay, maxWatchDelay)
	case c.CatchUp < 1 || c.CatchUp > mesh.MaxWindow:
		return c, fmt.Errorf("session: CatchUp is %d ticks: 1 to %d, or 0 for %d", c.CatchUp, mesh.MaxWindow, DefaultCatchUp)
	case c.MaxState < 0 || c.MaxState > wire.MaxTransferState:
		return c, fmt.Errorf("session: MaxState is %d bytes: 1 to %d, or 0 for the most", c.MaxState, wire.MaxTransferState)
	}
	return c, nil
}

// connect makes what speaks with others.
func (m *Spectator[S, I]) connect() (err error) {
	c := &m.cfg
	history, every := max(c.History, feed.Room(c.Delay)), max(c.FingerprintEvery, 0)
	if m.archive, err = feed.NewArchive(len(c.Players), m.rules.inputs.Size(), history, every); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	m.ours = feed.NewSums(history, every)
	hello := mesh.OutsideHello(c.Match, c.Nonce, m.rules.settings(), c.Players)
	m.follower, err = feed.NewFollower(feed.FollowerConfig{
		Transport: c.Transport, Hello: hello, Feeders: c.Feeders, Archive: m.archive, Introduced: m.introduced,
		Delay: driftback.Tick(c.Delay), MaxState: c.MaxState,
		Timeout: max(c.PeerTimeout, 0), JoinTimeout: max(c.JoinTimeout, 0),
		Valid: m.rules.valid, ValidEntry: m.rules.mayPause, Note: m.noteEvent,
	})
	if err != nil || c.MaxWatchers == 0 {
		return err
	}
	m.bytes.ready(m.state)
	m.feeder, err = feed.NewFeeder(feed.FeederConfig{
		Transport: c.Transport, Hello: hello, Archive: m.archive,
		Most: c.MaxWatchers, Rate: c.WatchRate, Timeout: max(c.PeerTimeout, 0),
		CanGive: m.canParse && m.hasher != nil, Refuse: m.refuse, Note: m.noteEvent,
	})
	return err
}

// begin makes ready for tick t.
func (m *Spectator[S, I]) begin(t driftback.Tick, control Control) {
	m.next = t
	m.controls = newControls(2*mesh.MaxWindow, t, control)
	m.effects = newLedger(m.cfg.CatchUp+2, 0)
	m.effects.end, m.effects.final = t, t
	if m.hasher != nil {
		m.compared = t - t%driftback.Tick(m.cfg.FingerprintEvery)
	}
}

const maxWatchEvents = 64

func (m *Spectator[S, I]) noteEvent(e mesh.Event) {
	if len(m.events) == maxWatchEvents {
		m.eventsDropped++
		return
	}
	m.events = append(m.events, e)
}

func (m *Spectator[S, I]) noteEntry(e mesh.Event, by driftback.Participant) {
	e.Participant, e.Peer = by, m.cfg.Players[by]
	m.noteEvent(e)
}

func (m *Spectator[S, I]) refuse(r mesh.Refusal) { m.refused[r]++ }

func (m *Spectator[S, I]) receive(msg transport.Message) {
	switch {
	case m.follower.Feeds(msg.From):
		m.follower.Receive(msg)
	case m.feeder != nil && !slices.Contains(m.cfg.Players, msg.From):
		m.feeder.Receive(msg)
	case msg.Kind == transport.Datagram || msg.Kind == transport.Reliable:
		m.refuse(mesh.Stranger)
	}
}
