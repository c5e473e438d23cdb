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

const (
	// DefaultRate is how many bytes of a state go to a watcher in a second, and MinRate
	// the least.
	DefaultRate = 1 << 20
	MinRate     = 64 << 10
	// fromStart is the newest confirmed tick up to which a watcher is given the match from
	// its beginning rather than a state.
	fromStart = 512
	// fresh is for how many ticks a state that was made for one watcher does for others.
	fresh = 512
)

// ErrDropped means that a watcher was dropped, or was not let in. The error that wraps it says why.
var ErrDropped = errors.New("feed: the watcher is dropped")

// FeederConfig says what a feeder feeds.
type FeederConfig struct {
	Transport transport.Transport
	// Hello is this side's, and what a watcher's is held to.
	Hello wire.Hello
	// Archive has what is fed. Who owns the feeder puts it there.
	Archive *Archive
	// Most is how many watchers there may be, and Rate how many bytes of a state go to
	// each of them in a second: from MinRate; 0 is DefaultRate.
	Most, Rate int
	// Players are fed too, each as long as it plays nobody because it was lost and is
	// coming back. They do not count among Most.
	Players wire.Peers
	// Timeout is for how long a watcher may be silent, and acknowledge nothing.
	Timeout time.Duration
	// CanGive says whether there are states to give: with none, a watcher that cannot be
	// given the match from its beginning is turned away.
	CanGive bool
	// Refuse is told of what was dropped, and Note of what has happened.
	Refuse func(r mesh.Refusal)
	Note   func(e mesh.Event)
}

// Feeder feeds watchers. Make one with NewFeeder.
type Feeder struct {
	cfg      FeederConfig
	archive  *Archive
	watchers []*watcher // who has been let in, in the order of coming
	byNum    [driftback.MaxPeers]*watcher

	begun   bool
	begins  wire.Feed // what a watcher is told, but for where its feed begins
	state   *state    // the newest one that may be given
	pending *state    // one on which the players have not yet agreed
	wants   bool      // a watcher waits for one

	clock, given time.Duration
	ended        bool
	last         wire.Leave // what is said since
	blobs        uint64     // how many have been made

	packet, incoming wire.Packet
	runs, entries    []byte
	out              []byte
	send             func(c wire.Control) bool // to sendTo
	sendTo           *watcher
}

// state is one that can be handed over.
type state struct {
	id     uint64
	tick   driftback.Tick
	sum    uint64
	source transfer.Source // of the state's bytes, then the log's
	size   int             // of the state
	log    int
}

// NewFeeder returns a feeder that lets nobody in before the match has begun.
func NewFeeder(c FeederConfig) (*Feeder, error) {
	if c.Rate == 0 {
		c.Rate = DefaultRate
	}
	if c.Most < 0 || c.Most+c.Players.Len() < 1 || c.Most > driftback.MaxPeers || c.Rate < MinRate {
		return nil, fmt.Errorf("feed: %d watchers at %d bytes a second: 1 to %d and at least %d are allowed", c.Most, c.Rate, driftback.MaxPeers, MinRate)
	}
	f := &Feeder{cfg: c, archive: c.Archive}
	f.send = func(c wire.Control) bool { return f.sendControl(f.sendTo, c) }
	return f, nil
}

// Begin says that the match has begun, from a seed and a start state with a fingerprint,
// if there are any.
func (f *Feeder) Begin(seed, state uint64, hasState bool) {
	f.begun, f.begins = true, wire.Feed{Seed: seed, State: state, HasState: hasState}
}

// WantsState reports whether a watcher waits for a state.
func (f *Feeder) WantsState() bool { return f.wants && f.pending == nil && !f.ended }

// Give takes the state as due tick t begins, with its fingerprint: where the bytes of the
// state come from, size of them, and then those of the log that belongs to it. Each
// watcher has them made for itself, as they go out to it, so that source is asked for
// places in any order. The feeder keeps it while Uses says so of id.
func (f *Feeder) Give(t driftback.Tick, sum uint64, source transfer.Source, size, log int) (id uint64) {
	f.blobs++
	f.pending = &state{id: f.blobs<<32 ^ f.cfg.Hello.Nonce, tick: t, sum: sum, source: source, size: size, log: log}
	f.wants = false
	return f.pending.id
}

// Uses reports whether the source of a state that was given may be asked again.
func (f *Feeder) Uses(id uint64) bool {
	if f.state != nil && f.state.id == id || f.pending != nil && f.pending.id == id {
		return true
	}
	return slices.ContainsFunc(f.watchers, func(w *watcher) bool { return w.sender != nil && w.sender.Offer().ID == id })
}

// Watchers returns how many watch, without those that are coming back to play.
func (f *Feeder) Watchers() (n int) {
	for _, w := range f.watchers {
		if !f.cfg.Players.Has(w.peer) {
			n++
		}
	}
	return n
}

// Poll sends what is due. agreed is the newest due tick on which the players have agreed.
// now is the time since any fixed moment.
func (f *Feeder) Poll(now time.Duration, agreed driftback.Tick) {
	passed := max(now-f.given, 0)
	if f.cfg.Timeout > 0 {
		passed = min(passed, max(f.cfg.Timeout/4, 1))
	}
	f.given = now
	f.clock += passed
	if f.pending != nil && f.pending.tick <= agreed {
		f.state, f.pending = f.pending, nil
	}
	f.takeBack()
	f.letGo()
	for i := 0; i < len(f.watchers); i++ {
		w := f.watchers[i]
		w.silence += passed
		w.messages = 0
		if err := f.serve(w, passed); err != nil {
			f.drop(w, err)
			i--
		}
	}
	for _, w := range f.byNum {
		if w != nil {
			w.messages = 0
		}
	}
}

// takeBack has those begin anew who were sent what has been taken back since.
func (f *Feeder) takeBack() {
	low := f.archive.low
	f.archive.low = none
	for _, w := range f.watchers {
		if w.phase == feeding && w.sent > low {
			w.phase, w.from = wanting, low
		}
	}
}

// stateFor returns a state to begin a feed with, or nil and asks for one.
func (f *Feeder) stateFor() *state {
	if f.state == nil {
		f.wants = f.pending == nil
	}
	return f.state
}

// letGo lets go of a state that is too old to begin with. Those who are being handed it
// go on.
func (f *Feeder) letGo() {
	if s := f.state; s != nil && (s.tick < f.archive.Oldest() || f.archive.End()-s.tick > min(fresh, f.archive.mask/2)) {
		f.state = nil
	}
}

// Finish says that the match is over at tick at, with the fingerprint of the state then, if
// there is one. Whatever a watcher lacks is sent at once, as far as the transport takes it.
func (f *Feeder) Finish(at driftback.Tick, sum uint64, hasSum bool) {
	f.end(func(w *watcher) {
		if w.fed() && f.sendAll(w) {
			f.sendControl(w, wire.Finish{At: at, Sum: sum, HasSum: hasSum})
		}
	}, mesh.LeaveFinished, "the match is finished")
}

// End says that the feed is over, for a reason of package mesh and in words.
func (f *Feeder) End(reason uint8, words string) {
	f.end(func(w *watcher) {
		if w.fed() {
			f.sendAll(w)
		}
	}, reason, words)
}

func (f *Feeder) end(rest func(w *watcher), reason uint8, words string) {
	if f.ended {
		return
	}
	f.takeBack()
	f.ended, f.last = true, wire.Leave{Reason: reason, Tick: f.archive.End(), Text: mesh.Sendable(words)}
	for _, w := range f.watchers {
		if w.phase == wanting && w.from > 0 && f.begun {
			_ = f.begin(w) // if it cannot, it is told the reason alone
		}
		rest(w)
		f.sendControl(w, f.last)
		w.phase = ignored
	}
	f.watchers = f.watchers[:0]
}

// drop gives a watcher up, and tells it.
func (f *Feeder) drop(w *watcher, why error) {
	f.sendControl(w, wire.Leave{Reason: mesh.LeaveUnfed, Tick: f.archive.End(), Text: mesh.Sendable(why.Error())})
	f.remove(w, fmt.Errorf("%w: %w", ErrDropped, why))
	w.phase = ignored
}

// remove takes a watcher out, if it was in.
func (f *Feeder) remove(w *watcher, why error) {
	if i := slices.Index(f.watchers, w); i >= 0 {
		f.watchers = slices.Delete(f.watchers, i, i+1)
		f.cfg.Note(mesh.Event{Kind: mesh.WatcherGone, Peer: w.peer, Err: why, Tick: w.acked})
	}
	w.sender, w.phase = nil, ignored
}

func (f *Feeder) sendControl(w *watcher, c wire.Control) bool {
	b, err := wire.AppendControl(f.out[:0], c)
	if err != nil {
		return false
	}
	f.out = b
	return f.cfg.Transport.SendReliable(w.peer, b) == nil
}
