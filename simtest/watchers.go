package simtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/transport/loopback"
)

// Bounds of spectators.
const (
	MaxWatchers      = 3
	MaxWatcherFaults = 16
	MaxWatchDelay    = 600 // ticks
	MinHistory       = 128 // ticks, so that a state can be handed over before it is too old
)

// FirstWatcher is the number of the first spectator as a peer. It is beyond all that play,
// so that it does not depend on how many these are.
const FirstWatcher = MaxPeers

// Watcher is one that watches: watcher i is peer FirstWatcher+i.
type Watcher struct {
	// At is when it comes.
	At Micros `json:"at,omitzero"`
	// Feeders are the peers that feed it, in the order in which it asks them: players, or
	// other watchers by their numbers. Empty: all players.
	Feeders []int `json:"feeders,omitempty"`
	// Delay is session.WatchConfig's.
	Delay int `json:"delay,omitzero"`
	// Skew is by how many parts per million its clock and its frames are faster.
	Skew int `json:"skew,omitzero"`
	// The rest is what its links do, in both directions, as a Link says it. Between two
	// watchers it is that of the later one.
	Latency   Micros  `json:"latency,omitzero"`
	Jitter    Micros  `json:"jitter,omitzero"`
	ReorderBy Micros  `json:"reorderBy,omitzero"`
	Loss      float64 `json:"loss,omitzero"`
	Reorder   float64 `json:"reorder,omitzero"`
	Duplicate float64 `json:"duplicate,omitzero"`
	// Faults are its own: of its links to the peers of To, in both directions, or of
	// itself. From is empty.
	Faults []Fault `json:"faults,omitempty"`
}

// watcherKinds are the kinds of faults that a watcher may have.
var watcherKinds = [...]Kind{Loss, Delay, Reorder, Duplicate, Block, Down, Freeze, Crash, Leave}

func (w *Watcher) impairment() loopback.Impairment {
	return loopback.Impairment{
		Latency: w.Latency.Duration(), Jitter: w.Jitter.Duration(), ReorderBy: w.ReorderBy.Duration(),
		Loss: w.Loss, Reorder: w.Reorder, Duplicate: w.Duplicate,
	}
}

// watchers returns how many are fed by a peer, at the most.
func (s *Scenario) watchers(peer int) (n int) {
	for _, w := range s.Watchers {
		if slices.Contains(w.Feeders, peer) || len(w.Feeders) == 0 && peer < FirstWatcher {
			n++
		}
	}
	return n
}

// reachable reports whether a number is that of a peer or of a watcher.
func (s *Scenario) reachable(peer int) bool {
	return peer >= 0 && (peer < len(s.Peers) || peer >= FirstWatcher && peer < FirstWatcher+len(s.Watchers))
}

func (s *Scenario) validateWatchers() error {
	err := checkAll(bound{"the number of watchers", int64(len(s.Watchers)), 0, MaxWatchers, false})
	switch {
	case err != nil:
		return err
	case s.History != 0 && (s.History < max(MinHistory, 2*s.every()) || s.History > feed.MaxHistory):
		return fmt.Errorf("simtest: history is %d: from %d to %d are allowed, or 0 for the default", s.History, max(MinHistory, 2*s.every()), feed.MaxHistory)
	case len(s.Watchers) > 0 && s.hasNature(hostile):
		return fmt.Errorf("simtest: somebody watches and somebody is hostile: whoever is lied to shows another match")
	case len(s.Watchers) > 0 && len(s.Peers) < 2:
		return fmt.Errorf("simtest: somebody watches a match without another peer: there is no network")
	}
	for i := range s.Watchers {
		if err := s.validateWatcher(i, &s.Watchers[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scenario) validateWatcher(i int, w *Watcher) error {
	in := func(field string) string { return fmt.Sprintf("%s of watcher %d", field, i) }
	err := checkAll(
		bound{in("at"), int64(w.At), 0, int64(MaxFaultAt), false},
		bound{in("delay"), int64(w.Delay), 0, MaxWatchDelay, false},
		bound{in("skew"), int64(w.Skew), -MaxSkew, MaxSkew, false},
		bound{in("latency"), int64(w.Latency), 0, int64(MaxLatency), false},
		bound{in("jitter"), int64(w.Jitter), 0, int64(MaxLatency), false},
		bound{in("reorderBy"), int64(w.ReorderBy), 0, int64(MaxLatency), false},
		bound{in("the number of faults"), int64(len(w.Faults)), 0, MaxWatcherFaults, false},
	)
	if err != nil {
		return err
	}
	err = errors.Join(checkShare(in("loss"), w.Loss, MaxLoss), checkShare(in("reorder"), w.Reorder, 1), checkShare(in("duplicate"), w.Duplicate, 1))
	if err != nil {
		return err
	}
	for j, f := range w.Feeders {
		if !s.reachable(f) || f == FirstWatcher+i || slices.Contains(w.Feeders[:j], f) {
			return fmt.Errorf("simtest: watcher %d is fed by the peers %v: each of 0 to %d, or from %d on another watcher, at most once", i, w.Feeders, len(s.Peers)-1, FirstWatcher)
		}
	}
	for j, f := range w.Faults {
		if err := s.validateWatcherFault(i, j, f); err != nil {
			return err
		}
	}
	return nil
}

// validateWatcherFault refuses what a fault of a peer would be refused for, and more.
func (s *Scenario) validateWatcherFault(i, j int, f Fault) error {
	if !slices.Contains(watcherKinds[:], f.Kind) {
		return fmt.Errorf("simtest: fault %d of watcher %d is of kind %q: want one of %v", j, i, f.Kind, watcherKinds)
	}
	if len(f.From) > 0 {
		return fmt.Errorf("simtest: fault %d of watcher %d (%s) is from the peers %v: it is the watcher's own", j, i, f.Kind, f.From)
	}
	for k, p := range f.To {
		if !s.reachable(p) || p == FirstWatcher+i || slices.Contains(f.To[:k], p) || kindTraits[f.Kind].peers {
			return fmt.Errorf("simtest: fault %d of watcher %d (%s) names the peers %v: of those that it has links to, each at most once", j, i, f.Kind, f.To)
		}
	}
	f.To = nil
	if kindTraits[f.Kind].from {
		f.From = []int{0}
	}
	peers := []Peer{{Plays: []int{0}}, {Plays: []int{1}}}
	alone := Scenario{Peers: peers, PeerTimeout: MinPeerTimeout}
	if err := alone.validateFault(j, f); err != nil {
		return fmt.Errorf("%w; watcher %d", err, i)
	}
	return nil
}

// removeWatcher takes one watcher out, with all that names it.
func (s *Scenario) removeWatcher(gone int) {
	s.Watchers = slices.Delete(s.Watchers, gone, gone+1)
	s.withoutPeer(FirstWatcher+gone, FirstWatcher+len(s.Watchers))
}

// withoutPeer takes a peer's number, which is one up to last, out of what watchers name.
func (s *Scenario) withoutPeer(gone, last int) {
	closeUp := func(list []int) []int {
		list = slices.DeleteFunc(list, func(p int) bool { return p == gone })
		for i, p := range list {
			if p > gone && p <= last {
				list[i]--
			}
		}
		return list
	}
	for i := range s.Watchers {
		w := &s.Watchers[i]
		w.Feeders = closeUp(w.Feeders)
		w.Faults = slices.DeleteFunc(w.Faults, func(f Fault) bool { return len(f.To) == 1 && f.To[0] == gone })
		for j := range w.Faults {
			w.Faults[j].To = closeUp(w.Faults[j].To)
		}
	}
}

// unwatched returns the scenario without those who watch.
func (s Scenario) unwatched() Scenario {
	s.Watchers = nil
	return s
}

// fewerWatchers takes watchers out, and makes those that are left plainer.
func fewerWatchers(s Scenario, _ *Violation, try func(Scenario) bool) (cut bool) {
	for i := len(s.Watchers) - 1; i >= 0; i-- {
		if edit(&s, try, func(c *Scenario) { c.removeWatcher(i) }) {
			cut = true
			continue
		}
		for j := len(s.Watchers[i].Faults) - 1; j >= 0; j-- {
			cut = edit(&s, try, func(c *Scenario) {
				c.Watchers[i].Faults = slices.Delete(c.Watchers[i].Faults, j, j+1)
			}) || cut
		}
		for _, plain := range []func(w *Watcher){
			func(w *Watcher) { w.Feeders = nil },
			func(w *Watcher) { w.Reorder, w.ReorderBy = 0, 0 },
			func(w *Watcher) { w.Duplicate = 0 },
			func(w *Watcher) { w.Loss = 0 },
			func(w *Watcher) { w.Jitter = 0 },
			func(w *Watcher) { w.Latency = 0 },
			func(w *Watcher) { w.Skew = 0 },
			func(w *Watcher) { w.Delay = 0 },
			func(w *Watcher) { w.At = 0 },
			func(w *Watcher) { w.At = (w.At / 2).round() },
		} {
			cut = edit(&s, try, func(c *Scenario) { plain(&c.Watchers[i]) }) || cut
		}
	}
	return cut
}
