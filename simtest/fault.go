package simtest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/driftback/driftback/transport/loopback"
)

// Bounds of a fault.
const (
	MaxFaultAt    = 600 * Second
	MaxFaultFor   = 60 * Second
	MinFaultEvery = 10 * Millisecond
	MaxFaultEvery = 10 * Second
	MaxFaultTurns = 1_000 // how often Every goes into For
)

// Fault is one thing that goes wrong for a while.
type Fault struct {
	Kind Kind `json:"kind"`
	// At is when it begins and For how long it lasts, unless that is for ever.
	At  Micros `json:"at"`
	For Micros `json:"for,omitzero"`
	// From and To are peers; Kind says what they mean to it.
	From []int `json:"from,omitempty"`
	To   []int `json:"to,omitempty"`
	// Share is from 0, exclusive, to 1.
	Share float64 `json:"share,omitzero"`
	By    Micros  `json:"by,omitzero"`
	Every Micros  `json:"every,omitzero"`
	// Rate is in bytes per second.
	Rate int `json:"rate,omitzero"`
	// Skew is in parts per million, as a peer's is.
	Skew int `json:"skew,omitzero"`
	// Tick is the tick at which it happens, for a kind that has no time.
	Tick int `json:"tick,omitzero"`
}

func (s *Scenario) validateFaults() error {
	crashed := map[int]bool{}
	for i, f := range s.Faults {
		if err := s.validateFault(i, f); err != nil {
			return err
		}
		if f.Kind == Crash || kindTraits[f.Kind].nature == comes {
			for _, p := range f.From {
				crashed[p] = true
			}
		}
	}
	switch {
	case len(crashed) == len(s.Peers):
		return fmt.Errorf("simtest: every peer crashes: one must be left to tell")
	case len(crashed) > 0 && s.PeerTimeout == 0:
		return fmt.Errorf("simtest: a peer crashes and peerTimeout is 0: nobody would ever miss it")
	}
	return nil
}

func (s *Scenario) validateFault(i int, f Fault) error {
	in := func(field string) string { return fmt.Sprintf("%s of fault %d (%s)", field, i, f.Kind) }
	u, ok := kindTraits[f.Kind]
	if !ok {
		return fmt.Errorf("simtest: fault %d is of kind %q: want one of %v", i, f.Kind, Kinds)
	}
	// zeroUnless is 0 for what means nothing to the kind, so that it must be 0.
	zeroUnless := func(used bool, v int64) int64 {
		if !used {
			return 0
		}
		return v
	}
	err := checkAll(
		bound{in("at"), int64(f.At), 0, zeroUnless(!u.tick, int64(MaxFaultAt)), false},
		bound{in("tick"), int64(f.Tick), 0, zeroUnless(u.tick, MaxTicks), false},
		bound{in("rate"), int64(f.Rate), zeroUnless(u.rate, MinRate), zeroUnless(u.rate, MaxRate), false},
		bound{in("skew"), int64(f.Skew), -zeroUnless(u.skew, MaxSkew), zeroUnless(u.skew, MaxSkew), false},
		bound{in("for"), int64(f.For), zeroUnless(u.lasts, int64(Millisecond)), zeroUnless(u.lasts, int64(MaxFaultFor)), false},
		bound{in("by"), int64(f.By), zeroUnless(u.by, int64(Millisecond)), zeroUnless(u.by, int64(MaxLatency)), false},
		bound{in("every"), int64(f.Every), zeroUnless(u.every, int64(MinFaultEvery)), zeroUnless(u.every, int64(MaxFaultEvery)), false},
		bound{in("the number of peers in from"), int64(len(f.From)), zeroUnless(u.from, 1), int64(len(s.Peers)), false},
		bound{in("the number of peers in to"), int64(len(f.To)), 0, zeroUnless(u.to, int64(len(s.Peers))), false},
	)
	switch {
	case err != nil:
		return err
	case u.every && f.For/MaxFaultTurns > f.Every:
		return fmt.Errorf("simtest: %s is %d and for is %d: that may be %d times as long at the most", in("every"), f.Every, f.For, MaxFaultTurns)
	case u.skew && f.Skew == 0:
		return fmt.Errorf("simtest: %s is 0: a clock that runs as it does is no fault", in("skew"))
	case !u.share && f.Share != 0:
		return fmt.Errorf("simtest: %s is %v, which means nothing to it", in("share"), f.Share)
	case u.share && !(f.Share > 0 && f.Share <= 1):
		return fmt.Errorf("simtest: %s is %v: above 0 and up to 1 is allowed", in("share"), f.Share)
	}
	for _, list := range [][]int{f.From, f.To} {
		for j, p := range list {
			if p < 0 || p >= len(s.Peers) || slices.Contains(list[:j], p) {
				return fmt.Errorf("simtest: fault %d (%s) names the peers %v: each of 0 to %d at most once", i, f.Kind, list, len(s.Peers)-1)
			}
		}
	}
	switch {
	case !u.peers && len(s.pairs(f)) == 0:
		return fmt.Errorf("simtest: fault %d (%s) is between no two peers", i, f.Kind)
	case f.Kind == Diverge:
		return s.validateDiverge(i, f)
	case kindTraits[f.Kind].nature == comes && !s.Rejoin:
		return fmt.Errorf("simtest: fault %d (%s) and rejoin is not set: nobody could come back", i, f.Kind)
	case f.Kind == Down && s.PeerTimeout == 0:
		return fmt.Errorf("simtest: fault %d (down) and peerTimeout is 0: a last word that is lost with the link would be waited for without end", i)
	}
	return nil
}

// end returns when a fault's effect ends.
func (f Fault) end() Micros {
	switch f.Kind {
	case Clog:
		return f.At + f.For + Micros(2*len(f.From)-2)*f.Every
	case Throttle:
		return f.At + f.For + backlog(f.Rate) // what waits keeps its time
	default:
		return f.At + f.For
	}
}

// pair is one direction.
type pair struct{ from, to int }

// pairs returns the directions that a fault is about.
func (s *Scenario) pairs(f Fault) (list []pair) {
	has := func(peers []int, p int) bool { return len(peers) == 0 || slices.Contains(peers, p) }
	for a := range s.Peers {
		for b := range s.Peers {
			concerned := false
			switch f.Kind {
			case Partition:
				concerned = slices.Contains(f.From, a) != slices.Contains(f.From, b)
			case Clog:
				concerned = slices.Contains(f.From, a) || slices.Contains(f.From, b)
			case Down:
				concerned = has(f.From, a) && has(f.To, b) || has(f.From, b) && has(f.To, a)
			default:
				concerned = has(f.From, a) && has(f.To, b)
			}
			if a != b && concerned && !kindTraits[f.Kind].peers {
				list = append(list, pair{a, b})
			}
		}
	}
	return list
}

// A change is a moment at which a fault begins or ends for some directions, or for some
// peers.
type change struct {
	at    Micros
	fault int
	on    bool
	pairs []pair
	peers []int
}

// changes returns the moments at which the scenario's faults begin and end, by time.
// Every fault draws from a sequence of its own, so that leaving one out moves no other.
func (s *Scenario) changes() []change {
	var list []change
	for i, f := range s.Faults {
		r := random(s.Seed, streamFaults, uint64(f.At))
		pairs := s.pairs(f)
		switch f.Kind {
		case Bursts:
			on := true
			for at := f.At; at < f.end(); at += 1 + Micros(r.Uint64n(uint64(2*f.Every))) {
				list = append(list, change{at, i, on, pairs, nil})
				on = !on
			}
			if !on { // the last change began something
				list = append(list, change{f.end(), i, false, pairs, nil})
			}
		case Clog:
			for j, p := range f.From {
				alone := s.pairs(Fault{Kind: Clog, From: []int{p}})
				list = append(list, change{f.At + Micros(j)*f.Every, i, true, alone, nil})
			}
			released := slices.Clone(f.From)
			for j := range released {
				k := j + r.IntN(len(released)-j)
				released[j], released[k] = released[k], released[j]
				alone := s.pairs(Fault{Kind: Clog, From: released[j : j+1]})
				list = append(list, change{f.At + f.For + Micros(len(released)-1+j)*f.Every, i, false, alone, nil})
			}
		case Crash, Leave, Halt:
			list = append(list, change{f.At, i, true, nil, f.From})
		case Diverge: // its time is a tick
		case Equivocate, Misreport: // what has been told is told for ever
			list = append(list, change{f.At, i, true, pairs, nil})
		case Freeze, Skew, Restart, Reopen, Return:
			list = append(list, change{f.At, i, true, nil, f.From}, change{f.end(), i, false, nil, f.From})
		default:
			list = append(list, change{f.At, i, true, pairs, nil}, change{f.At + f.For, i, false, pairs, nil})
		}
	}
	slices.SortStableFunc(list, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return list
}

// worsen makes an impairment worse by a fault that is on.
func (f Fault) worsen(im *loopback.Impairment) {
	// Rounded before the subtraction, so that no machine fuses the two.
	either := func(a, b float64) float64 { return 1 - float64((1-a)*(1-b)) }
	switch f.Kind {
	case Loss, Bursts:
		im.Loss = either(im.Loss, f.Share)
	case Delay:
		im.Latency += f.By.Duration()
	case Reorder:
		im.Reorder = either(im.Reorder, f.Share)
		im.ReorderBy = max(im.ReorderBy, f.By.Duration())
	case Duplicate:
		im.Duplicate = either(im.Duplicate, f.Share)
	case Throttle:
		if im.BytesPerSecond == 0 || im.BytesPerSecond > f.Rate {
			im.BytesPerSecond = f.Rate
		}
	case Block, Partition, Clog:
		im.Blocked = true
	default:
	}
}

// happened returns which of a direction's counts shows that a fault of this kind
// happened.
func (k Kind) happened(s loopback.Stats) uint64 {
	switch k {
	case Loss, Bursts:
		return s.Lost
	case Delay:
		return s.Sent
	case Reorder:
		return s.Reordered
	case Duplicate:
		return s.Duplicated
	case Throttle:
		return s.Queued + s.Overflowed
	case Down:
		return s.Downs
	case Block, Partition, Clog:
		return s.Blocked
	default:
		return 0
	}
}
