package server

import (
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/driftback/driftback/signalling/internal/frame"
)

// One message of the usual size from one member to another, over loopback sockets: what a signal costs
// the server and both ends.
func BenchmarkCarry(b *testing.B) {
	_, url := open(b, Config{MessageRate: 10_000, TotalMessageRate: 10_000_000})
	from, to := enter(b, url, roomOf(1), 0, newIdentity(b)), enter(b, url, roomOf(1), 1, newIdentity(b))
	f := (&frame.Frame{Kind: frame.Message, Peer: 1, Data: []byte(strings.Repeat("x", 300))}).Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := from.ws.Write(from.ctx, websocket.MessageBinary, f); err != nil {
			b.Fatal(err)
		}
		to.hears()
	}
}

// One member that comes, is told who is there, and leaves.
func BenchmarkEnter(b *testing.B) {
	_, url := open(b, Config{ConnectsPerMinute: 1_000_000, RoomsPerMinute: 100_000})
	enter(b, url, roomOf(1), 0, newIdentity(b))
	id := newIdentity(b)
	b.ReportAllocs()
	for b.Loop() {
		c := enter(b, url, roomOf(1), 1, id)
		c.say(&frame.Frame{Kind: frame.Leave})
		_ = c.ws.CloseNow()
	}
}
