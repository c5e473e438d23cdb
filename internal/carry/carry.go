// Package carry plays a relay's part in a process: it polls a match's [relay.Relay] until the
// match is over. It owns the clock that the relay refuses to own, and neither the relay nor its
// links.
package carry

import (
	"context"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/relay"
)

// Peer is a relay's number in the matches of our commands: above all players'.
const Peer driftback.Peer = driftback.MaxPeers - 1

// polls is how often the relay looks at what has come. It is what a deadline can be
// off by, and what an input may wait on its way.
const polls = time.Millisecond

// lastWords is how often it looks once more when the match is over.
const lastWords = 200

// Match carries a match to its end, and returns why it has ended: an error that wraps
// [github.com/driftback/driftback/mesh.ErrFinished] if it is played to its last tick. When ctx ends the match is
// halted for everybody, and the error is that of ctx.
func Match(ctx context.Context, r *relay.Relay) error {
	began := time.Now() // of which only the monotonic reading is used
	beat := time.NewTicker(polls)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			r.Halt("the relay was stopped")
			_ = r.Poll(time.Since(began)) // it says why the match has ended, which is known
			return ctx.Err()
		case <-beat.C:
		}
		err := r.Poll(time.Since(began))
		if err == nil {
			continue
		}
		for range lastWords { // what there was no room for may still go
			<-beat.C
			_ = r.Poll(time.Since(began))
		}
		return err
	}
}
