package session

import (
	"errors"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// watchers are those who watch this peer's match.
type watchers[S any] struct {
	feeder *feed.Feeder
	bytes  stateBytes[S]
	start  uint64 // the start state's fingerprint
	hasSum bool
	begun  bool
}

// feeds reports whether anybody may be fed: to watch, or to come back.
func (c *Config[S, I]) feeds() bool { return c.MaxWatchers > 0 || c.Rejoin && c.Transport != nil }

// outside returns who takes the messages of peers that play nobody; nil: nobody.
func (m *Lockstep[S, I]) outside() func(msg transport.Message) {
	if !m.cfg.feeds() {
		return nil
	}
	return func(msg transport.Message) { m.watchers.feeder.Receive(msg) }
}

// letWatch makes ready for watchers, if there may be any.
func (m *Lockstep[S, I]) letWatch() (err error) {
	if !m.cfg.feeds() {
		return nil
	}
	w, can := &watchers[S]{}, false
	if w.bytes, can = newStateBytes[S](); can && m.hasher != nil {
		w.bytes.ready(m.loop.State())
	}
	returning := wire.Peers(0)
	if m.cfg.Rejoin {
		for _, peer := range m.mesh.Peers() {
			returning |= wire.PeersOf(peer)
		}
	}
	w.feeder, err = feed.NewFeeder(feed.FeederConfig{
		Transport: m.cfg.Transport, Hello: m.mesh.Hello(), Archive: m.past.archive,
		Most: m.cfg.MaxWatchers, Players: returning, Rate: m.cfg.WatchRate, Timeout: max(m.cfg.PeerTimeout, 0),
		CanGive: can && m.hasher != nil, Refuse: m.mesh.Refuse, Note: m.mesh.Note,
	})
	m.watchers = w
	return err
}

func (w *watchers[S]) startsFrom(sum uint64, hasSum bool) {
	if w != nil {
		w.start, w.hasSum = sum, hasSum
	}
}

// feed gives watchers what has become final.
func (m *Lockstep[S, I]) feed(now time.Duration) {
	w := m.watchers
	if m.err != nil || m.mesh.Phase() == mesh.Ended {
		return
	}
	if m.mesh.Phase() == mesh.Playing {
		if w != nil && !w.begun {
			w.begun = true
			w.feeder.Begin(m.mesh.Seed(), w.start, w.hasSum)
		}
		m.archive()
	}
	if w != nil {
		w.feeder.Poll(now, m.mesh.Agreed())
	}
}

// giveState gives the state as due tick t begins to those who wait for one.
func (m *Lockstep[S, I]) giveState(t driftback.Tick, s *S, sum uint64) {
	w := m.watchers
	if w == nil || m.err != nil || !w.feeder.WantsState() {
		return
	}
	control, ok := m.ControlAt(t)
	if !ok {
		return
	}
	if m.cfg.FingerprintRotate {
		sum, _ = m.sum(s) // what is handed over is compared whole
	}
	m.check(w.bytes.give(w.feeder, t, s, sum, control))
}

// endFeed tells the watchers that the match is over.
func (m *Lockstep[S, I]) endFeed() {
	w := m.watchers
	switch {
	case w == nil:
	case errors.Is(m.err, ErrFinished):
		m.archive()
		sum, hasSum := m.sum(m.loop.State())
		w.feeder.Finish(m.finishAt, sum, hasSum)
	default:
		// One who is coming back may be let in and not know it yet: it is told what players are.
		leave := m.mesh.Parting()
		w.feeder.End(leave.Reason, leave.Text)
	}
}

// Watchers returns how many peers watch this one's match.
func (m *Lockstep[S, I]) Watchers() int {
	if m.watchers == nil {
		return 0
	}
	return m.watchers.feeder.Watchers()
}
