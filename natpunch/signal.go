package natpunch

import (
	"context"
	"time"

	"github.com/driftback/driftback"
)

// MaxSignal is the size in bytes of the largest message that goes through a [Signal].
const MaxSignal = 2048

// Signal carries messages between the peers of one match before there is a path
// between them, and whenever a path has to be found anew. A message may be lost,
// repeated, overtaken or late: each one holds all that the other side needs, and is
// sent again until it has been answered. A lost server or connection is for the
// implementation to mend; meanwhile Send returns an error.
//
// Nothing that comes through it is believed but the addresses at which to try. It is
// called from several goroutines at once.
type Signal interface {
	// Send sends b, at most [MaxSignal] bytes, to a peer of the same match, whether or
	// not it is there. It does not keep b. It returns early when ctx ends.
	Send(ctx context.Context, to driftback.Peer, b []byte) error
	// Receive waits for the next message, which is the caller's to keep, and says which
	// peer sent it, as far as the implementation knows. It returns an error when ctx
	// ends, or when none will come for now, as when a connection is lost: then what has not
	// been answered is sent again, and it is called again at once or after a while.
	Receive(ctx context.Context) (from driftback.Peer, b []byte, err error)
}

// Patience with a signal that fails.
const (
	sendPatience  = 2 * time.Second
	receiveSpaced = 250 * time.Millisecond
)

// listen takes in what comes through the signal, until ctx ends.
func (t *Transport) listen(ctx context.Context) {
	var failed time.Time // when it did last
	for ctx.Err() == nil {
		from, b, err := t.signal.Receive(ctx)
		if err != nil {
			if ctx.Err() == nil {
				t.log.Debug("no signals for now", "reason", err)
			}
			if now := time.Now(); now.Sub(failed) > receiveSpaced {
				failed = now
				t.repeat()
			} else {
				sleep(ctx, receiveSpaced)
			}
			continue
		}
		if int(from) >= len(t.routes) || t.routes[from] == nil {
			t.counts.signals.Add(1)
			continue
		}
		var m message
		if err := m.parse(b); err != nil {
			t.counts.signals.Add(1)
			t.routes[from].misheard(err)
			continue
		}
		t.routes[from].hear(m)
	}
}

// repeat has all routes say at once what has not been answered: the signal worked until
// now, so that it is only now known to be lost. A connection through a router that has forgotten
// it fails when something is sent, which is mostly when a path has failed for the same reason.
func (t *Transport) repeat() {
	for _, r := range t.routes {
		if r == nil {
			continue
		}
		r.mu.Lock()
		unanswered := r.acked < r.version
		r.mu.Unlock()
		if unanswered {
			signal(r.speak)
		}
	}
}

// sleep waits, at most until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
