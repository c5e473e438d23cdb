package natpunch

import (
	"context"
	"errors"
	"slices"
	"time"
)

// hear takes in a signal.
func (r *route) hear(m message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.instance != r.theirs.instance {
		if slices.Contains(r.past[:], m.instance) {
			return // of a process that is gone
		}
		if r.theirs.instance != 0 {
			r.past[r.pasts%len(r.past)] = r.theirs.instance
			r.pasts++
		}
		r.acked = 0
	} else if m.version < r.theirs.version {
		return
	}
	r.theirs, r.fresh = m, true
	if m.heardInstance == r.t.instance {
		r.acked = max(r.acked, min(m.heardVersion, r.version))
	}
	if m.ask {
		signal(r.speak)
	}
	signal(r.wake)
}

// misheard takes in that a signal made no sense: why there is no path, if none has made any.
func (r *route) misheard(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.theirs.instance == 0 && errors.Is(err, ErrVersion) {
		r.fail(err)
	}
}

// changed notes that there is something new to say. The caller holds r.mu.
func (r *route) changed() {
	r.version++
	signal(r.speak)
}

// say returns what there is to say, and whether an answer is wanted.
func (r *route) say() (b []byte, ask bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := message{
		ask: r.acked < r.version, instance: r.t.instance, version: r.version,
		heardInstance: r.theirs.instance, heardVersion: r.theirs.version,
	}
	if n := r.current; n != nil {
		m.round, m.ufrag, m.password = n.number, n.ufrag, n.password
		m.candidateCount = copy(m.candidates[:], n.candidates)
	}
	return m.bytes(), m.ask
}

// tell sends what there is to say until it is answered, and again whenever it
// changes, until ctx ends.
func (r *route) tell(ctx context.Context) {
	again := time.NewTimer(0)
	defer again.Stop()
	wait := minResend
	var paid time.Time // until when the signals sent so far last, one every tellEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.speak:
			wait = minResend
			sleep(ctx, gather)
		case <-again.C:
			wait = min(wait*3/2, maxResend)
		}
		// Whatever is asked for, and however often.
		now := time.Now()
		if paid.Before(now) {
			paid = now
		}
		paid = paid.Add(tellEvery)
		sleep(ctx, paid.Sub(now)-tellAtOnce*tellEvery)
		b, ask := r.say()
		patience, cancel := context.WithTimeout(ctx, sendPatience)
		err := r.t.signal.Send(patience, r.peer, b)
		cancel()
		if err != nil && ctx.Err() == nil {
			r.t.log.Debug("signal not sent", "peer", r.peer, "reason", err)
		}
		again.Stop()
		if ask || err != nil {
			again.Reset(wait)
		}
	}
}
