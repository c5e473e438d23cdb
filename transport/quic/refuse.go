package quic

import (
	"context"
	"errors"
	"net"
	"slices"

	quicgo "github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"

	"github.com/driftback/driftback/identity"
)

// Whoever calls and is refused is told why by TLS or by the code that its connection is
// closed with. This side keeps the newest reason, for those who wait for a call that never comes.

var (
	// errUnprovenHere is ErrUnproven as the other side hears of it.
	errUnprovenHere = errors.New("it says that we do not hold the key of our certificate")
	// errBadCode is ErrCodeRefused as the side knows it that refuses.
	errBadCode = errors.New("it called with a code that is wrong or has been used")
)

// refused takes notice of why a caller was refused.
func (t *Transport) refused(from net.Addr, err error) {
	addr := t.describe(from)
	t.log.Debug("caller refused", "addr", addr, "reason", err)
	switch {
	case errors.Is(err, ErrUnproven), errors.Is(err, ErrVersion), errors.Is(err, ErrReplayed):
		t.counts.refused.Add(1)
	case errors.Is(err, identity.ErrNotPinned), errors.Is(err, ErrRefused), errors.Is(err, errBadCode), errors.Is(err, errUnprovenHere):
	default:
		return // it went away, or said nothing that could be called a reason
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turnedAway.addr, t.turnedAway.err = addr, err
}

// trouble returns why there is no link with a peer: what this side's calls or the last
// link have met; of one that has to call, what the newest caller was refused for. The caller holds Transport.mu.
func (t *Transport) trouble(r *remote) error {
	if r.lastErr == nil && r.current == nil && r.addr == "" && t.turnedAway.err != nil {
		return &LinkError{Peer: r.peer, Addr: t.turnedAway.addr, Err: t.turnedAway.err}
	}
	return r.lastErr
}

// maxSpent bounds the calls that are known to have been made: the newest that were
// let in, so that strangers push none out.
const maxSpent = 256

// begun is told by quic-go of every call, by the number that its caller has drawn for
// it. A copy of one that led to a link cannot be completed: who made it lacks the caller's secrets,
// and holds one of the few places for those whose address is not proved until our patience ends.
// What begun returns would be told more.
func (t *Transport) begun(ctx context.Context, _ bool, id quicgo.ConnectionID) qlogwriter.Trace {
	s, _ := ctx.Value(slotKey{}).(*slot)
	if s == nil {
		return nil
	}
	s.id = id
	t.mu.Lock()
	spent := id.Len() > 0 && slices.Contains(t.spentCalls.places, id)
	t.mu.Unlock()
	if spent {
		t.refused(s.addr, ErrReplayed)
	}
	return nil
}

// spend remembers a call that has led to a link.
func (t *Transport) spend(id quicgo.ConnectionID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spentCalls.full() {
		t.spentCalls.pop()
	}
	t.spentCalls.push(id)
}
