package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/snapshot"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// None switches a setting off.
const None = -1

// What a Config's zero values mean.
const (
	DefaultWindow           = 8
	DefaultFingerprintEvery = 8
	// MaxSpacing is what Config.Spacing is at most.
	MaxSpacing         = mesh.MaxWindow + 2
	DefaultRedundancy  = 1
	DefaultHistory     = 4096
	DefaultTickRate    = 60
	DefaultPeerTimeout = 5 * time.Second
	DefaultJoinTimeout = time.Minute
)

// Limit says what happens when the prediction window is used up.
type Limit uint8

const (
	// Stall waits: the session keeps polling and sending and uses no input.
	Stall Limit = iota
	// Halt ends the match with [ErrPredictionLimit].
	Halt
)

// Config says what a match is. Fields marked "alike" must be the same on every
// peer. The handshake compares all but functions and refuses the match by name; of
// Initial and Start it compares the start state, unless fingerprints are off. A Step
// that differs is found as a desync, and a Valid that differs ends the match when it
// refuses what a peer sends.
type Config[S any, I comparable] struct {
	// Step advances the game by one tick. Required; alike.
	Step driftback.Step[S, I]
	// Initial is the world as tick 0 begins, unless Start changes it; nil is the zero
	// value. It is copied as assignment copies, once, so memory that its fields point to
	// belongs to the session from then on.
	Initial *S
	// Start is called once, before the start states are compared, with a seed that
	// every peer had a hand in. It may change the start state. Alike.
	Start func(seed uint64, s *S)

	// Transport carries the messages; the session does not close it. Nil is training
	// mode, in which Self must play every participant.
	Transport transport.Transport
	// Self is this peer, which must play a participant. Players[p] is the peer that
	// plays participant p. Alike.
	Self    driftback.Peer
	Players []driftback.Peer
	// Relay is the peer through which everybody plays, 1 to 63, which plays nobody: see
	// package relay. This peer then has one link, to it, and its own inputs are guesses too until
	// the relay has them in its set: one that is later than the relay waits is replaced by
	// a repeat of the last one, for everybody alike, this peer included. 0 is none, and peers speak with each
	// other. Through a relay nobody returns, there is no rematch, and games cannot send each other messages. Alike.
	Relay driftback.Peer
	// Match tells this match from others between the same peers. Game and Build are
	// the game's name and version. Alike; an empty Build is read from the program's
	// build information and is not compared where that is missing on either side.
	Match       uint64
	Game, Build string
	// Nonce must be random, and drawn anew for each process and match. Training mode
	// needs none.
	Nonce uint64

	// MayPause says which participants may pause, resume and change the speed: bit p is
	// participant p's, 0 is everybody, None is nobody. An entry of anybody else's is
	// refused with its input. Alike.
	MayPause int

	// InputDelay is how many ticks after it was read an input takes effect: 0 to
	// mesh.MaxDelay. 0 is no delay. A participant's first InputDelay ticks run on the
	// zero input. InputDelays has one for each participant that this peer plays, in order,
	// in place of it. Peers may differ. See [Lockstep.SetInputDelay] for what may change
	// later.
	InputDelay  int
	InputDelays []int
	// AdaptDelay has the input delays follow the links as they are. The zero value leaves
	// them alone. Peers may differ.
	AdaptDelay AdaptDelay
	// Fill makes the inputs that are missing where an input delay has become longer, from
	// the last one that was published: without what was pressed just then, say. Nil
	// repeats it, as the others guess. Merge puts what was read where an input delay has
	// become shorter, and whose tick has an input already, into the next input that is
	// published: the buttons that were pressed, say. Nil leaves it out. What they return
	// must be an input that Valid knows, or the match ends. Peers may differ.
	Fill  func(last I) I
	Merge func(into, discarded I) I
	// PredictionWindow is how many ticks may run beyond the confirmed ones: 1 to
	// mesh.MaxWindow, 0 is DefaultWindow, None waits for every input and needs an
	// InputDelay of at least 1. Alike.
	PredictionWindow int
	// TickRate is how many ticks a second has when nobody is ahead; 0 is
	// DefaultTickRate. It is what Load in PaceStats is a share of. Alike.
	TickRate int
	// AtLimit says what happens when the window is used up.
	AtLimit Limit
	// FingerprintEvery is how many ticks lie between compared states; 0 is
	// DefaultFingerprintEvery, None compares nothing. Alike. History is for how many
	// ticks fingerprints are kept, 0 is DefaultHistory; it must be at least twice the
	// interval. Against other peers the states of the newest 65 due ticks are kept
	// too, as Save puts them away, and what was done since, up to History ticks: from there the ticks are
	// run once more when peers differ, to find out where that began. See [DesyncError].
	FingerprintEvery, History int
	// FingerprintRotate has each due tick compare one subsystem of the state, the next one each
	// time and then the first again, so that no tick takes the time of hashing all of a large
	// world. What differs is found when it is the next one: within as many due ticks as there
	// are Subsystems, see package fingerprint, if it still differs then. The start state, the
	// one that the match ends with and one that is handed over are compared whole. Alike.
	FingerprintRotate bool
	// Redundancy is how many of the newest inputs a packet with a new one carries at
	// least, even if the peer has acknowledged them: up to mesh.MaxRedundancy; 0 is
	// DefaultRedundancy, None is none. What has not been acknowledged is always
	// carried. Many make large packets: where the network takes fewer bytes than that,
	// the match waits for it.
	Redundancy int
	// PublishEvery is after how many ticks this peer's new inputs go out, all of them
	// together, where fewer and larger packets matter more than a few ticks: 1 to
	// mesh.MaxPublishEvery, 0 is 1. At the normal speed they may last mesh.MaxTurn, and a
	// quarter of PeerTimeout. What is acknowledged, or repeated after a loss, waits as long; what
	// goes to those who watch does not. An input comes up to PublishEvery-1 ticks later by
	// it: each InputDelay and the PredictionWindow must together be as many ticks and what the
	// link takes, or the others stall in each turn, and New refuses less than PublishEvery. A peer
	// that stalls sends at once what it has, but not twice in the time of so many
	// ticks. Peers may differ.
	PublishEvery int
	// PeerTimeout is for how long a peer may be silent before the match stalls, 0 is
	// DefaultPeerTimeout, None is for ever. A peer with nothing to say still speaks
	// every 100 ms, or once in PublishEvery ticks if these last longer: allow it several of
	// these. RejoinGrace is for how long after that its
	// link may come back before the peer is lost; 0 is not at all. A process that was
	// started anew has lost the match. JoinTimeout is how long
	// the handshake may take, 0 is DefaultJoinTimeout, None is for ever.
	PeerTimeout, RejoinGrace, JoinTimeout time.Duration
	// WhenLost says what happens when a peer is lost or leaves. Alike.
	WhenLost Loss
	// Rejoin lets a peer that was lost, or has left, take its place again, as a new process
	// that has nothing of the match: see [Join]. It needs a WhenLost of PlayOn,
	// fingerprints, and a state that can be made of its bytes. Of two peers the other one
	// plays on alone then, but only while the one that returns is there. The inputs of
	// History ticks are kept for it, with the memory of one state, and it is given a state at
	// WatchRate. Alike.
	Rejoin bool

	// MaxWatchers is how many peers that play nobody may watch at once: see [Watch]. Their numbers
	// are any that Players does not have; 0 lets nobody watch. WatchRate is how many bytes
	// of a state go to each of them in a second, at least feed.MinRate; 0 is
	// feed.DefaultRate. One that does not acknowledge what it is sent for PeerTimeout is
	// dropped, as is one that floods; nobody ever waits for a watcher. Peers may differ.
	// The inputs of History ticks are kept for them, and the memory of one state, into which
	// one that is handed over is copied: its bytes are made as they go out. Where a state
	// has bytes of its own, all are made at once.
	MaxWatchers, WatchRate int

	// Predict guesses an input from the participant's newest confirmed one, which is
	// age ticks older; nil repeats it. It must be pure. Peers may differ.
	Predict func(last I, age int) I
	// Save says how states are put away; nil is snapshot.For. A policy of the game's own
	// may leave out what no tick changes; under it a due state that is compared costs up to
	// a save and two loads, under nil at most a load.
	Save snapshot.Policy[S]
	// Spacing is how many ticks may lie from one state that is put away to the next, 1 to MaxSpacing, of
	// which as many as the prediction window has and 2 count; 0 is 1: every tick's is. With more the state is copied less often, in a
	// match whose inputs come in time once in so many ticks, and a rollback runs up to Spacing-1 ticks more, on the
	// inputs that they had: it pays where a copy takes longer than a step. A due state is always
	// put away. What is confirmed is the same with any; peers may differ.
	//
	// AdaptSpacing has it follow what a copy and a step are measured to take, by Clock, and how often guesses are wrong:
	// from 1 to Spacing, of which 0 is MaxSpacing then.
	Spacing      int
	AdaptSpacing bool
	// Valid reports whether an input is one that the game knows; nil knows all. What
	// it refuses is dropped, counted and never acknowledged. Alike.
	Valid func(in I) bool
	// EffectTolerance is by how many ticks a re-simulation may move an effect before
	// the game is told, 0 to 60: within it, the effect is taken to be the same. One
	// that is undone later is reported with the tick that it was moved to.
	EffectTolerance int
	// Clock, if given, is read around re-simulation and steps, for Stats and for the
	// others: when they need more than nine tenths of a tick's time, the Rate of every
	// peer's Pace falls, so that all play slower rather than wait for each other.
	Clock func() time.Duration
	// Guard is for debugging: it finds what draws, or anything else outside the step, and writes to
	// the world that State lends. Each call of Tick or Poll holds the world against what the
	// one before has left, and where it differs the match ends with a [*WrittenError] that names the
	// field. That costs two passes over the state's bytes a call, or two calls of its AppendBinary and, where it has no
	// UnmarshalBinary, one of its CopyTo: where a step does next to nothing, a call takes up to about
	// twice as long, which BenchmarkAGuardedWorld measures. What its AppendBinary leaves out is not looked at. A
	// state with bytes of its own is guarded once the match has begun, any other from the
	// beginning. Peers may differ.
	Guard bool
	// Buggify forces rare paths in a simulation. It is this session's alone, and nil in
	// every real match.
	Buggify *buggify.Sites
}

const (
	maxEffectTolerance = 60
	maxTickRate        = 1000
)

// filled returns the config with its defaults, or an error that names the field,
// the value and what is allowed.
func (c Config[S, I]) filled() (Config[S, I], error) {
	orDefault := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	orDefault(&c.PredictionWindow, DefaultWindow)
	orDefault(&c.FingerprintEvery, DefaultFingerprintEvery)
	orDefault(&c.Redundancy, DefaultRedundancy)
	orDefault(&c.History, DefaultHistory)
	orDefault(&c.TickRate, DefaultTickRate)
	orDefault(&c.PublishEvery, 1)
	if c.AdaptSpacing {
		orDefault(&c.Spacing, MaxSpacing)
	}
	orDefault(&c.Spacing, 1)
	if c.PeerTimeout == 0 {
		c.PeerTimeout = DefaultPeerTimeout
	}
	if c.JoinTimeout == 0 {
		c.JoinTimeout = DefaultJoinTimeout
	}
	if c.Redundancy == None {
		c.Redundancy = 0
	}
	c.Players = slices.Clone(c.Players)
	switch {
	case c.Step == nil:
		return c, errors.New("session: Step is nil: it must be the game's step function")
	case c.PredictionWindow != None && (c.PredictionWindow < 1 || c.PredictionWindow > mesh.MaxWindow):
		return c, fmt.Errorf("session: PredictionWindow is %d ticks: 1 to %d, 0 for %d, or None", c.PredictionWindow, mesh.MaxWindow, DefaultWindow)
	case c.PublishEvery < 1 || c.PublishEvery > mesh.MaxPublishEvery:
		return c, fmt.Errorf("session: PublishEvery is %d ticks: 1 to %d, or 0 for 1", c.PublishEvery, mesh.MaxPublishEvery)
	case c.AdaptSpacing && c.Clock == nil:
		return c, errors.New("session: AdaptSpacing is true and Clock is nil: without a clock nothing is measured")
	case c.Spacing < 1 || c.Spacing > MaxSpacing:
		return c, fmt.Errorf("session: Spacing is %d ticks: 1 to %d, or 0 for 1", c.Spacing, MaxSpacing)
	case c.WhenLost > PlayOn:
		return c, fmt.Errorf("session: WhenLost is %d: it must be End or PlayOn", c.WhenLost)
	case c.TickRate < 1 || c.TickRate > maxTickRate:
		return c, fmt.Errorf("session: TickRate is %d ticks a second: 1 to %d, or 0 for %d", c.TickRate, maxTickRate, DefaultTickRate)
	case c.AtLimit > Halt:
		return c, fmt.Errorf("session: AtLimit is %d: it must be Stall or Halt", c.AtLimit)
	case c.AtLimit == Halt && c.PredictionWindow == None:
		return c, errors.New("session: AtLimit is Halt and PredictionWindow is None: a match that waits for every input would halt at once")
	case c.Nonce == 0 && c.Transport != nil:
		return c, errors.New("session: Nonce is 0: draw one at random for each match, for example with rand.Uint64 of math/rand/v2")
	case c.MayPause != None && (c.MayPause < 0 || c.MayPause >= 1<<len(c.Players)):
		return c, fmt.Errorf("session: MayPause is %#b: it must have a bit for some of the %d participants, 0 for everybody, or None", c.MayPause, len(c.Players))
	case c.MaxWatchers < 0 || c.MaxWatchers > driftback.MaxPeers:
		return c, fmt.Errorf("session: MaxWatchers is %d: 0 to %d are allowed", c.MaxWatchers, driftback.MaxPeers)
	case c.MaxWatchers > 0 && c.Transport == nil:
		return c, fmt.Errorf("session: MaxWatchers is %d and Transport is nil: without a transport nobody can watch", c.MaxWatchers)
	case c.WatchRate != 0 && c.WatchRate < feed.MinRate:
		return c, fmt.Errorf("session: WatchRate is %d bytes a second: at least %d, or 0 for %d", c.WatchRate, feed.MinRate, feed.DefaultRate)
	case c.Relay != 0 && c.Transport == nil:
		return c, fmt.Errorf("session: Relay is peer %d and Transport is nil: without a transport it cannot be reached", c.Relay)
	case c.Relay != 0 && c.Rejoin:
		return c, fmt.Errorf("session: Relay is peer %d and Rejoin is true: through a relay nobody returns yet", c.Relay)
	case c.Rejoin && c.WhenLost != PlayOn:
		return c, errors.New("session: Rejoin is true and WhenLost is End: only to a match that plays on can a peer return")
	case c.Rejoin && c.FingerprintEvery == None:
		return c, errors.New("session: Rejoin is true and FingerprintEvery is None: a peer that returns is held to the others' fingerprints")
	case c.FingerprintRotate && c.FingerprintEvery == None:
		return c, errors.New("session: FingerprintRotate is true and FingerprintEvery is None: nothing is compared, one subsystem at a time or all at once")
	case c.EffectTolerance < 0 || c.EffectTolerance > maxEffectTolerance:
		return c, fmt.Errorf("session: EffectTolerance is %d ticks: 0 to %d are allowed", c.EffectTolerance, maxEffectTolerance)
	}
	if _, ok := newStateBytes[S](); c.Rejoin && !ok {
		return c, errors.New("session: Rejoin is true, and a state cannot be made of its bytes: it needs UnmarshalBinary beside AppendBinary")
	}
	c.Spacing = min(c.Spacing, c.depth())
	if err := c.fillDelays(); err != nil {
		return c, err
	}
	for _, text := range []wire.Setting{{Name: "Game", Value: c.Game}, {Name: "Build", Value: c.Build}} {
		if _, err := wire.AppendControl(nil, wire.Hello{Settings: []wire.Setting{text}}); err != nil {
			return c, fmt.Errorf("session: %s is %q: %w", text.Name, text.Value, err)
		}
	}
	return c, nil
}

// window returns the prediction window as a number of ticks.
func (c *Config[S, I]) window() driftback.Tick {
	return driftback.Tick(max(c.PredictionWindow, 0))
}

// depth returns how many states are put away at most: those that the window may have to go back to, the one about to
// run, and the newest final one.
func (c *Config[S, I]) depth() int { return int(c.window()) + 2 }

// reach returns how many ticks before the next one may be run again that are final already.
func (c *Config[S, I]) reach() int {
	if c.Spacing == 1 {
		return 0
	}
	return c.depth() + c.Spacing
}

// predict returns how inputs are guessed; nil repeats them.
func (c *Config[S, I]) predict() func(last I, age int) I {
	if c.Buggify == nil {
		return c.Predict
	}
	sites, guess := c.Buggify, c.Predict
	// What a log has guessed it keeps until the tick is run again, so that a guess is as
	// good as any other.
	return func(last I, age int) I {
		var zero I
		switch {
		case sites.Fires(buggify.WrongGuess):
			return zero
		case guess == nil:
			return last
		}
		return guess(last, age)
	}
}
