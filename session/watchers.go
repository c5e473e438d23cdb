package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// watchers are those who watch this peer's match.
type watchers[S any] struct {
	feeder  *feed.Feeder
	archive *feed.Archive
	bytes   stateBytes[S]
	start   uint64 // the start state's fingerprint
	hasSum  bool
	begun   bool
	summed  driftback.Tick     // the newest due tick whose fingerprint is in the archive
	status  []driftback.Status // by participant: who is behind its newest input in the archive
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

// letWatch makes ready for watchers, if there may be any. before has what is known of the
// ticks before this peer's first; nil: there are none.
func (m *Lockstep[S, I]) letWatch(before *feed.Archive) (err error) {
	if !m.cfg.feeds() {
		return nil
	}
	w := &watchers[S]{archive: before, status: make([]driftback.Status, len(m.cfg.Players))}
	can := false
	if w.bytes, can = newStateBytes[S](); can && m.hasher != nil {
		w.bytes.ready(m.loop.State())
	}
	if before == nil {
		w.archive, err = feed.NewArchive(len(m.cfg.Players), m.inputs.Size(), m.cfg.History, max(m.cfg.FingerprintEvery, 0))
		if err != nil {
			return fmt.Errorf("session: History is %d ticks: %w", m.cfg.History, err)
		}
	}
	w.summed = w.archive.SumsEnd()
	w.archive.Statuses(w.archive.End()-1, w.status)
	returning := wire.Peers(0)
	if m.cfg.Rejoin {
		for _, peer := range m.mesh.Peers() {
			returning |= wire.PeersOf(peer)
		}
	}
	w.feeder, err = feed.NewFeeder(feed.FeederConfig{
		Transport: m.cfg.Transport, Hello: m.mesh.Hello(), Archive: w.archive,
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

// feed gives watchers what has become final: ticks that this peer has run, so that where
// the match is to end can still be said.
func (m *Lockstep[S, I]) feed(now time.Duration) {
	w := m.watchers
	if w == nil || m.err != nil || m.mesh.Phase() == mesh.Ended {
		return
	}
	if m.mesh.Phase() == mesh.Playing {
		if !w.begun {
			w.begun = true
			w.feeder.Begin(m.mesh.Seed(), w.start, w.hasSum)
		}
		m.archive()
	}
	w.feeder.Poll(now, m.mesh.Agreed())
}

func (m *Lockstep[S, I]) archive() {
	a := m.watchers.archive
	for t := a.End(); t < m.final(); t++ {
		for p := range m.cfg.Players {
			p := driftback.Participant(p)
			if now := m.mesh.Status(p, t); now != m.watchers.status[p] && a.PutStatus(p, t, now) {
				m.watchers.status[p] = now
			}
			a.Put(p, m.mesh.Input(p, t), m.mesh.Entry(p, t))
		}
		a.Next()
	}
	every := driftback.Tick(m.cfg.FingerprintEvery)
	for agreed := m.mesh.Agreed(); m.watchers.summed < agreed; {
		m.watchers.summed += every
		if sum, ok := m.mesh.Root(m.watchers.summed); ok {
			a.PutSum(m.watchers.summed, sum)
		}
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
