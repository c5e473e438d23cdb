package transporttest

import (
	"slices"
	"testing"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
)

// broken is a good transport with one fault planted in it: the functions that
// are set stand in for its methods.
type broken struct {
	transport.Transport
	self         driftback.Peer
	send         func(to driftback.Peer, b []byte)
	sendReliable func(to driftback.Peer, b []byte) error
	receive      func() (transport.Message, bool)
	maxDatagram  func() int
	close        func() error
	step         func()          // called before the clock moves
	end          <-chan struct{} // of the test, for a call that blocks
}

// block does not return before the test ends.
func (b *broken) block() { <-b.end }

func (b *broken) Send(to driftback.Peer, data []byte) {
	if b.send != nil {
		b.send(to, data)
		return
	}
	b.Transport.Send(to, data)
}

func (b *broken) SendReliable(to driftback.Peer, data []byte) error {
	if b.sendReliable != nil {
		return b.sendReliable(to, data)
	}
	return b.Transport.SendReliable(to, data)
}

func (b *broken) Receive() (transport.Message, bool) {
	if b.receive != nil {
		return b.receive()
	}
	return b.Transport.Receive()
}

func (b *broken) MaxDatagram() int {
	if b.maxDatagram != nil {
		return b.maxDatagram()
	}
	return b.Transport.MaxDatagram()
}

func (b *broken) Close() error {
	if b.close != nil {
		return b.close()
	}
	return b.Transport.Close()
}

// each changes every message of one kind as it is received.
func (b *broken) each(kind transport.Kind, change func(m *transport.Message)) {
	b.receive = func() (transport.Message, bool) {
		m, ok := b.Transport.Receive()
		if ok && m.Kind == kind {
			change(&m)
		}
		return m, ok
	}
}

// held receives ahead, copying, so that a fault can change what comes when.
func (b *broken) held(change func(queue []transport.Message) []transport.Message) {
	var queue []transport.Message
	b.receive = func() (transport.Message, bool) {
		for m, ok := b.Transport.Receive(); ok; m, ok = b.Transport.Receive() {
			m.Data = slices.Clone(m.Data)
			queue = append(queue, m)
		}
		queue = change(queue)
		if len(queue) == 0 {
			return transport.Message{}, false
		}
		m := queue[0]
		queue = queue[1:]
		return m, true
	}
}

// openBroken opens peers over a perfect link, each with the same fault.
func openBroken(t *testing.T, peers int, plant func(b *broken)) Match {
	net := loopback.New(1)
	var ends []*broken
	m := Match{Steps: 300, Quiet: 20, atOnce: 10000}
	m.Step = func() {
		for _, b := range ends {
			if b.step != nil {
				b.step()
			}
		}
		net.Advance(time.Millisecond)
	}
	for i := range peers {
		b := &broken{Transport: net.Open(driftback.Peer(i)), self: driftback.Peer(i), end: t.Context().Done()}
		plant(b)
		ends = append(ends, b)
		m.Ends = append(m.Ends, b)
	}
	return m
}
