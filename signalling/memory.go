// Package signalling carries the few messages with which peers find a path to each
// other (package natpunch), between peers of one process. Package signalling/web
// does so over a network, and signalling/server is what it speaks to there.
//
// It owns how the messages travel and refuses to own what they say: they are opaque
// and bounded, and may be lost. A [Member] may be used by several goroutines at once.
package signalling

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/driftback/driftback"
)

// MaxMessage is the size in bytes of the largest message.
const MaxMessage = 4096

// maxWaiting is how many messages wait for a member. The oldest goes.
const maxWaiting = 64

// ErrLeft means that the member has left.
var ErrLeft = errors.New("signalling: it has left the room")

// Room is a room in memory. Messages to peers that are not in it are lost.
type Room struct {
	mu      sync.Mutex
	members [driftback.MaxPeers]*Member
}

// NewRoom makes an empty room.
func NewRoom() *Room { return &Room{} }

// Member is a peer in a room. It is a natpunch.Signal.
type Member struct {
	room  *Room
	self  driftback.Peer
	inbox chan letter
	gone  chan struct{}
}

type letter struct {
	from driftback.Peer
	data []byte
}

// Join enters the room as a peer. A member with the same number has to leave, as the
// peer has come back. self must be below driftback.MaxPeers.
func (r *Room) Join(self driftback.Peer) *Member {
	m := &Member{room: r, self: self, inbox: make(chan letter, maxWaiting), gone: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.members[self]; old != nil {
		close(old.gone)
	}
	r.members[self] = m
	return m
}

// Leave leaves the room. Leaving twice is leaving once.
func (m *Member) Leave() {
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	if m.room.members[m.self] == m {
		m.room.members[m.self] = nil
		close(m.gone)
	}
}

// Send sends b to a peer. It copies b and never waits.
func (m *Member) Send(_ context.Context, to driftback.Peer, b []byte) error {
	if len(b) > MaxMessage {
		return fmt.Errorf("signalling: a message of %d bytes, and %d is the most", len(b), MaxMessage)
	}
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	if m.room.members[m.self] != m {
		return ErrLeft
	}
	if int(to) >= len(m.room.members) || m.room.members[to] == nil {
		return nil
	}
	inbox := m.room.members[to].inbox
	if len(inbox) == cap(inbox) {
		select {
		case <-inbox:
		default:
		}
	}
	inbox <- letter{m.self, append([]byte(nil), b...)} // only senders, one at a time, fill it
	return nil
}

// Receive waits for the next message.
func (m *Member) Receive(ctx context.Context) (from driftback.Peer, b []byte, err error) {
	select {
	case l := <-m.inbox:
		return l.from, l.data, nil
	case <-m.gone:
		return 0, nil, ErrLeft
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
}
