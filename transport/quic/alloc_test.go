package quic

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transport"
)

func TestTheGamesSideOfADatagramDoesNotAllocate(t *testing.T) {
	a, b := linked(t)
	message := make([]byte, 64)
	// The other goroutines allocate meanwhile, and AllocsPerRun counts for the whole
	// process; so they are given nothing to do.
	a.mu.Lock()
	out := &a.remotes[0].told.outbox
	in := &b.remotes[0].told.received
	a.mu.Unlock()
	now := time.Now()
	var dst [MaxDatagram]byte
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		a.mu.Lock() // the link's own goroutine may just begin to look into it
		defer a.mu.Unlock()
		out.push(message, now)
		if _, ok := out.next(now); ok {
			out.pop(dst[:])
		}
	}))
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		b.mu.Lock()
		in.push(message)
		b.mu.Unlock()
		m, ok := b.Receive()
		if !ok || m.Kind != transport.Datagram {
			t.Fatal("what was pushed was not received")
		}
		b.Receive()
	}))
}
