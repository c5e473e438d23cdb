package simtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// outside is the peer of an event that is about a watcher.
const outside = -2

// watcher is one process that watches.
type watcher[S any, I comparable] struct {
	m       *match[S, I]
	i       int
	self    driftback.Peer
	is      *Watcher
	end     *loopback.Endpoint
	session *session.Spectator[S, I]
	clock   time.Duration
	came    time.Duration // true time
	on      []int         // by fault: how often it is on
	gone    bool          // it has crashed
	leaves  bool
	err     error // why it ended

	// disturbed: a fault of its own has begun; then it may end by name where another may not.
	disturbed bool
	begun     bool
	first     driftback.Tick // where it began
	next      driftback.Tick
	confirmed driftback.Tick
	runs      driftback.Tick // the next that its step is to run
	ran       int            // how many it has run in this turn
	view      int            // the place of the view that it saw last
	ranIn     int            // the place of the newest view that the tick it ran last fits
	told      told
	feeder    driftback.Peer // who fed it last
	fed       bool
	owed      bool           // who fed it has finished, so that it must see the end
	owes      driftback.Peer // who that was
	look      watcherLook
}

// WatcherReport is what one watcher has seen.
type WatcherReport struct {
	// Began is the first tick that it saw as it began, and Next the first that it has not run.
	Began, Next driftback.Tick
	// Finished: it has seen the end. Err is why it ended otherwise; nil: it crashed.
	Finished bool
	Err      error
}

func (w *watcher[S, I]) report() WatcherReport {
	r := WatcherReport{Began: w.first, Next: w.next, Finished: is(session.ErrFinished)(w.err)}
	if !r.Finished {
		r.Err = w.err
	}
	return r
}

// withWatchers makes ready for those who come, and for what befalls them. They have events
// with numbers of their own, so that nothing of the players' depends on them.
func (m *match[S, I]) withWatchers() {
	for i := range m.s.Watchers {
		is := &m.s.Watchers[i]
		w := &watcher[S, I]{
			m: m, i: i, self: driftback.Peer(FirstWatcher + i), is: is, on: make([]int, len(is.Faults)),
			clock: time.Hour,
		}
		m.watchers = append(m.watchers, w)
		for _, q := range m.s.others(FirstWatcher + i) {
			w.impair(q)
		}
		for j, f := range is.Faults {
			m.watchAt(f.At.Duration(), i, 1+2*j)
			if kindTraits[f.Kind].nature == passes {
				m.watchAt(f.end().Duration(), i, 2+2*j)
			}
			m.watchQuiet = max(m.watchQuiet, f.end().Duration())
		}
		m.watchQuiet = max(m.watchQuiet, is.At.Duration())
		m.watchAt(is.At.Duration(), i, 0)
	}
}

// watchAt puts an event of a watcher into the queue: change 0 is a frame, 1+2j the begin of its
// fault j and 2+2j the end.
func (m *match[S, I]) watchAt(t time.Duration, watcher, change int) {
	m.insert(event{at: t, id: uint64(watcher), peer: outside, change: change*MaxWatchers + watcher})
}

// watched handles an event of a watcher.
func (m *match[S, I]) watched(e event) {
	w, change := m.watchers[e.change%MaxWatchers], e.change/MaxWatchers
	if change == 0 {
		w.frame(e.at)
		return
	}
	w.befall((change-1)/2, change%2 == 1)
}

// others returns the numbers of all that a watcher has links to.
func (s *Scenario) others(self int) (list []int) {
	for i := range s.Peers {
		list = append(list, i)
	}
	for i := range s.Watchers {
		if FirstWatcher+i != self {
			list = append(list, FirstWatcher+i)
		}
	}
	return list
}

// impair sets both directions of a link to what it and the faults of its ends make of it.
func (w *watcher[S, I]) impair(other int) {
	m, ends := w.m, []*watcher[S, I]{w}
	if i := other - FirstWatcher; i >= 0 && i < len(m.watchers) {
		ends = append(ends, m.watchers[i])
	}
	later := slices.MaxFunc(ends, func(a, b *watcher[S, I]) int { return a.i - b.i })
	im := later.is.impairment()
	for _, end := range ends {
		far := other
		if end != w {
			far = int(w.self)
		}
		for j, f := range end.is.Faults {
			if end.on[j] > 0 && (len(f.To) == 0 || slices.Contains(f.To, far)) {
				f.worsen(&im)
			}
		}
	}
	for _, pair := range [][2]driftback.Peer{{w.self, driftback.Peer(other)}, {driftback.Peer(other), w.self}} {
		if err := m.net.Impair(pair[0], pair[1], im); err != nil {
			panic(err) // valid scenarios have valid impairments
		}
	}
}

// befall lets a fault of the watcher's own begin or end.
func (w *watcher[S, I]) befall(fault int, on bool) {
	f := &w.is.Faults[fault]
	if on {
		w.on[fault]++
		w.disturbed = true
	} else {
		w.on[fault]--
	}
	switch f.Kind {
	case Freeze: // seen at its next frame
	case Crash:
		if w.gone = true; w.end != nil {
			w.end.Crash()
		}
	case Leave:
		w.leaves = true
	default:
		for _, q := range w.m.s.others(int(w.self)) {
			if len(f.To) == 0 || slices.Contains(f.To, q) {
				w.cut(f.Kind == Down, on, driftback.Peer(q))
				w.impair(q)
			}
		}
	}
}

// cut takes a link down, or brings it up.
func (w *watcher[S, I]) cut(down, on bool, q driftback.Peer) {
	if !down {
		return
	}
	n := &w.m.watchDown[w.i][q]
	var err error
	if on {
		*n++
		err = w.m.net.TakeDown(w.self, q)
	} else if *n--; *n == 0 {
		err = w.m.net.BringUp(w.self, q)
	}
	if err != nil {
		panic(err)
	}
}

// frozen reports whether a freeze is on.
func (w *watcher[S, I]) frozen() bool {
	for j, f := range w.is.Faults {
		if f.Kind == Freeze && w.on[j] > 0 {
			return true
		}
	}
	return false
}

// open has the watcher come.
func (w *watcher[S, I]) open(at time.Duration) error {
	m := w.m
	w.end, w.came = m.net.Open(w.self), at
	p := m.peers[0]
	c := session.WatchConfig[S, I]{Config: p.config(), Delay: w.is.Delay}
	nonce := random(m.s.Seed, streamWatchers, uint64(w.self))
	c.Self, c.Transport, c.Nonce, c.Buggify = w.self, w.end, nonce.Uint64()|1<<63, nil
	c.InputDelay, c.PublishEvery, c.Redundancy, c.MaxWatchers = 1, 0, 0, m.s.watchers(int(w.self))
	c.PeerTimeout, c.JoinTimeout = m.s.watchTimeout(), watchJoin
	start := m.game.Start
	c.Start = func(seed uint64, s *S) {
		if start != nil {
			start(seed, s)
		}
	}
	for _, f := range w.is.Feeders {
		c.Feeders = append(c.Feeders, driftback.Peer(f))
	}
	c.Step = w.around(c.Step)
	if m.game.plantWatch != nil {
		m.game.plantWatch(w.self, &c)
	}
	var err error
	if w.session, err = session.Watch(c); err != nil {
		return fmt.Errorf("simtest: watcher %d: %w", w.i, err)
	}
	return nil
}

// frame is one turn of a watcher's loop.
func (w *watcher[S, I]) frame(at time.Duration) {
	m := w.m
	if w.gone || w.err != nil {
		return
	}
	frame := time.Duration(int64(m.s.Frame) * 1000 * 1_000_000 / int64(1_000_000+w.is.Skew))
	m.watchAt(at+frame, w.i, 0)
	now := w.clock
	w.clock += m.s.Frame.Duration()
	if w.frozen() {
		return
	}
	if w.session == nil {
		if err := w.open(at); err != nil {
			w.breaks(RuleWatch, 0, "%v", err)
			return
		}
	}
	if w.leaves {
		w.session.Leave()
	}
	r, ok, err := w.tick(now)
	if ok {
		w.check(at, &r, err)
	}
}

// tick is the session's, but does not panic. ok is false if that did.
func (w *watcher[S, I]) tick(now time.Duration) (r session.Result, ok bool, err error) {
	defer func() {
		if why := recover(); why != nil {
			place := culprit()
			w.breaks(RuleInternal, w.next, "it panicked at %s: %v", place, why)
			w.m.violation.place = place
		}
	}()
	r, err = w.session.Tick(now)
	return r, true, err
}

func (w *watcher[S, I]) breaks(rule Rule, t driftback.Tick, format string, args ...any) {
	w.m.breaks(w.self, rule, t, format, args...)
}
