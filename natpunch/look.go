package natpunch

import (
	"slices"
	"time"
)

// look notices what has not happened.
func (r *route) look(now time.Time) {
	silent := r.listened(now)
	r.mu.Lock()
	n, settled := r.current, r.settled
	for len(r.retired) > 0 && settled != nil && now.Sub(settled.selected) > overlap {
		r.t.running.Go(r.retired[0].close)
		r.retired = slices.Delete(r.retired, 0, 1)
	}
	p := r.path.Load()
	switch {
	case p != nil && silent > r.t.idle:
		r.lose()
	case p == nil && r.last != nil && silent == 0: // it is there again
		r.path.Store(r.last)
		close(r.ready)
	}
	for _, n := range append([]*round{n, settled}, r.retired...) {
		if n != nil {
			n.budget.Store(checksPerLook)
		}
	}
	var again bool
	if n == settled {
		r.failed = 0
	}
	switch {
	case n == nil:
	case n != settled: // still looking; without the other end there is nothing to look at
		lost := p != nil && silent > r.silence()
		patience := roundPatience
		if lost { // more each time, since it may be that the peer is far away
			patience = min(hurriedPatience<<min(r.failed, 2), roundPatience)
		}
		if again = n.conn != nil && now.Sub(n.started) > patience; again {
			r.failed++
			if p == nil {
				r.fail(ErrNoPath)
			}
		}
		// One that was begun at leisure may be waiting for what has just died.
		again = again || lost && n.began.Before(r.heardAt)
	case silent > r.silence():
		again = true
		r.t.log.Info("silence", "peer", r.peer, "since", silent)
	case r.controlling && p != nil && (p.relayed || p.farRelayed) && r.better < len(r.t.better):
		if again = now.Sub(n.selected) > r.t.better[r.better]; again {
			r.better++
		}
	}
	if n != nil && !again && (p == nil || p.relayed) && now.Sub(r.lastBegun) >= minRound {
		again = r.t.outlived(n, now)
	}
	r.mu.Unlock()
	if again && now.Sub(r.lastBegun) >= minRound {
		r.begin(n.number+1, now)
	}
}

// listened counts what was heard since the last look, and returns for how long
// nothing was.
func (r *route) listened(now time.Time) time.Duration {
	heard := r.received.Load()
	r.looks++
	r.rate[r.looks%len(r.rate)] = heard - r.heard
	if heard != r.heard || r.heardAt.IsZero() {
		r.heard, r.heardAt = heard, now
	}
	return now.Sub(r.heardAt)
}

// silence is how long nothing may be heard before another path is looked for.
func (r *route) silence() time.Duration {
	var sum uint32
	for _, n := range r.rate {
		sum += n
	}
	if sum >= busy {
		return silenceBusy
	}
	return silenceIdle
}
