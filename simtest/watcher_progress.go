package simtest

import (
	"encoding"
	"slices"
	"strconv"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/session"
)

const (
	// watchJoin is for how long a watcher waits for a link at the beginning.
	watchJoin = 10 * time.Second
	// mayLag is how many ticks it may be behind without hurrying, and what comes in one
	// packet.
	mayLag = 32
)

func itoa(n int) string { return strconv.Itoa(n) }

// watchTimeout is for how long a watcher listens to a feeder in vain.
func (s *Scenario) watchTimeout() time.Duration {
	if s.PeerTimeout == 0 {
		return session.DefaultPeerTimeout
	}
	return s.PeerTimeout.Duration()
}

// watcherLook looks for watchers that do not go on.
type watcherLook struct {
	mark   driftback.Tick // what was there to be run
	since  time.Duration  // since when it is
	unfed  time.Duration  // since when nobody feeds it; 0: somebody does
	ending time.Duration
}

// late returns by how much a datagram to or from one who watches is late at the most when nothing
// befalls it, and delayed by how much more its own faults make that.
func (w *Watcher) late() Micros { return w.Latency + w.Jitter + w.ReorderBy }

func (w *Watcher) delayed() (by Micros) {
	for _, f := range w.Faults {
		by += f.By
	}
	return by
}

// behind returns how long what is there to be fed may take to be run: it comes on the reliable
// channel, a few times a second, and then a few ticks are run in each frame.
func (w *watcher[S, I]) behind() time.Duration {
	return (2*Second + w.word() + 48*w.m.s.slowest()).Duration()
}

// patience returns how long it may take to be fed by one who can.
func (w *watcher[S, I]) patience() time.Duration {
	late := w.is.late() + w.is.delayed()
	slow := w.m.s.slowest()
	return (2*Second + 17*(late+w.m.s.late()) + 64*slow).Duration()
}

// word returns for how long what is said reliably, and the answer, may be under way: it is late by a
// round trip for each time that it was lost, eight times at the most.
func (w *watcher[S, I]) word() Micros {
	late := w.is.late() + w.is.delayed()
	if w.is.Loss > 0 {
		return 17 * late
	}
	return 2 * late
}

// wordsAreSlow reports whether that may be longer than the watcher waits.
func (w *watcher[S, I]) wordsAreSlow() bool { return w.word().Duration() > w.m.s.watchTimeout() }

// settles is when what was sent to a watcher while something befell its links has come: a reliable
// message is late by a round trip for each time that it was lost.
func (w *watcher[S, I]) settles() time.Duration {
	late, bad := w.is.late(), false
	for _, o := range w.m.watchers {
		if o != w && !slices.Contains(w.feeders(), int(o.self)) {
			continue
		}
		late += o.is.delayed()
		bad = bad || slices.ContainsFunc(o.is.Faults, func(f Fault) bool { return kindTraits[f.Kind].nature == passes })
	}
	if !bad {
		return w.m.watchQuiet
	}
	return w.m.watchQuiet + (17 * (late + 25*Millisecond)).Duration()
}

// hopeless is how long it may take to ask all feeders in vain.
func (w *watcher[S, I]) hopeless() time.Duration {
	return time.Duration(len(w.feeders())+1)*(w.m.s.watchTimeout()+w.patience())*5/4 + watchJoin
}

// checkProgress checks that a watcher goes on once it is quiet, and ends with the match.
func (w *watcher[S, I]) checkProgress(now time.Duration) {
	m, l := w.m, &w.look
	if now < max(m.outlook.quiet, w.settles()) || m.violation != nil {
		*l = watcherLook{}
		return
	}
	if m.ended > 0 {
		if l.ending == 0 {
			l.ending = now
		}
		delay := time.Duration(w.is.Delay+mayLag) * m.s.Frame.Duration() * 5 / 4
		if now-l.ending > w.hopeless()*time.Duration(1+len(m.watchers))+delay {
			w.breaks(RuleWatchEnd, w.next, "the match is over, and for %v it has not ended here", now-l.ending)
		}
		return
	}
	fed := w.fed && !m.crashed(w.feeder) // by one who still does
	if fed {
		l.unfed = 0
	} else if l.unfed == 0 {
		l.unfed = now
	}
	if there := w.given(); !fed || w.next >= l.mark || there > w.confirmed+m.s.kept() { // that is not there any more
		l.mark, l.since = there-driftback.Tick(w.is.Delay)-mayLag, now
	}
	switch {
	case fed && now-l.since > w.behind():
		w.breaks(RuleWatchEnd, w.next, "peer %d feeds it, and for %v it has not come to tick %d, which is %d ticks behind what was there", w.feeder, now-l.since, l.mark, w.is.Delay+mayLag)
	case !fed && now-l.unfed > w.hopeless()*time.Duration(1+len(m.watchers))+m.outlook.patience && m.given(w):
		w.breaks(RuleWatchEnd, w.next, "nobody has fed it for %v, and it neither ends nor goes on", now-l.unfed)
	}
}

// given returns the first tick that its feeder lacks.
func (w *watcher[S, I]) given() driftback.Tick {
	if w.feeder >= FirstWatcher {
		return w.m.watchers[w.feeder-FirstWatcher].confirmed
	}
	return w.m.peers[w.feeder].final
}

// given reports whether there is something that w could be fed with: its states are not too old when
// they arrive.
func (m *match[S, I]) given(w *watcher[S, I]) bool {
	trip := (w.is.Latency + w.is.Jitter).Duration()
	return m.joined && 8*trip < time.Duration(int(m.s.kept())/2-2*m.s.every())*m.s.Frame.Duration()
}

// kept returns for how many ticks inputs are kept for those who watch.
func (s *Scenario) kept() driftback.Tick {
	if s.History == 0 {
		return session.DefaultHistory
	}
	return driftback.Tick(s.History)
}

// watching reports whether somebody still watches.
func (m *match[S, I]) watching() bool {
	for _, w := range m.watchers {
		if !w.gone && w.err == nil {
			return true
		}
	}
	return false
}

// handsOver reports whether a game's states can be handed over.
func handsOver[S any]() bool {
	if l, err := layout.Of[S](); err == nil {
		return l.Size() > 0
	}
	_, writes := any((*S)(nil)).(encoding.BinaryAppender)
	_, reads := any((*S)(nil)).(encoding.BinaryUnmarshaler)
	return writes && reads
}
