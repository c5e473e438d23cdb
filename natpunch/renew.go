package natpunch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pion/stun/v4"
)

// Patience with whoever gives servers.
const (
	// minRenew is the least time between two questions for servers, and maxRenew the most when
	// there was no good answer: each time twice as long is waited.
	minRenew = time.Second
	maxRenew = time.Minute
	// renewedJust is how old servers may be when a path is looked for, without others being asked for.
	renewedJust = 5 * time.Second
	// renewPatience is how long an answer is waited for.
	renewPatience = 10 * time.Second
	// renewApart is the time between two peers' new rounds for the sake of new passwords, so that
	// not all relays are held twice at once: a relay counts them.
	renewApart = 4 * time.Second
)

// errNotRenewed means that the same servers were given again.
var errNotRenewed = errors.New("they are those that there were")

// servers are what the rounds that begin now find addresses with. They are replaced, never changed.
type servers struct {
	list []Server
	urls []*stun.URI
	// due is when others should be there: when two thirds of the time are over for which the
	// passwords hold. Zero is never.
	due time.Time
	// apart is the time between two rounds for the sake of those that come next.
	apart time.Duration
}

// newServers checks some servers, and notes until when they do.
func newServers(list []Server, peers int, now time.Time) (*servers, error) {
	urls, err := parseServers(list)
	if err != nil {
		return nil, err
	}
	s := &servers{list: slices.Clone(list), urls: urls}
	var left time.Duration
	for _, one := range list {
		if ends := one.Ends.Sub(now); !one.Ends.IsZero() && (s.due.IsZero() || ends < left) {
			left = ends
			s.due = now.Add(max(ends*2/3, 0))
		}
	}
	s.apart = min(renewApart, max(left, 0)/3/time.Duration(max(peers, 1)))
	return s, nil
}

// old reports whether passwords end soon.
func (s *servers) old(now time.Time) bool { return !s.due.IsZero() && !now.Before(s.due) }

// renewing asks for other servers before the passwords of those that there are end, and when a path is looked
// for, until ctx ends.
func (t *Transport) renewing(ctx context.Context) {
	var wait time.Duration // none before the first failure
	var asked time.Time
	if len(t.servers.Load().list) > 0 {
		asked = time.Now() // whoever gave them has done so just now
	}
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		switch s := t.servers.Load(); {
		case !s.due.IsZero():
			alarm.Reset(max(time.Until(s.due), time.Until(asked.Add(wait))))
		case t.unrenewed.Load() != nil:
			alarm.Reset(time.Until(asked.Add(wait)))
		default:
			alarm.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-alarm.C:
		case <-t.search:
			if time.Since(asked) < renewedJust {
				continue
			}
		}
		wait = min(2*wait, maxRenew)
		if t.ask(ctx) {
			wait = 0
		}
		wait, asked = max(wait, minRenew), time.Now()
	}
}

// ask asks for servers once, and says whether it was given others.
func (t *Transport) ask(ctx context.Context) bool {
	patience, cancel := context.WithTimeout(ctx, renewPatience)
	list, err := t.renew(patience)
	cancel()
	if ctx.Err() != nil {
		return false
	}
	old := t.servers.Load()
	var s *servers
	if err == nil {
		s, err = newServers(list, t.peers, time.Now())
	}
	if err == nil && len(list) > 0 && slices.Equal(list, old.list) {
		if !old.old(time.Now()) { // there is nothing newer, and need not be
			t.unrenewed.Store(nil)
			return true
		}
		err = errNotRenewed
	}
	if err != nil {
		t.counts.unrenewed.Add(1)
		t.unrenewed.Store(&err)
		t.log.Warn("servers not renewed", "reason", err)
		return false
	}
	t.unrenewed.Store(nil)
	t.servers.Store(s)
	t.log.Info("servers renewed", "servers", len(list), "due", s.due)
	return true
}

// outlived says whether a round's relays have passwords that end soon while there are newer ones, and it
// is this peer's turn to begin another. The rounds of several peers begin one after the other.
func (t *Transport) outlived(n *round, now time.Time) bool {
	s := t.servers.Load()
	if n.servers == s || !n.servers.old(now) {
		return false
	}
	last := t.switched.Load()
	return (last == nil || now.Sub(*last) >= n.servers.apart) && t.switched.CompareAndSwap(last, &now)
}
