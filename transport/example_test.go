package transport_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/transporttest"
)

// room is a transport of your own in fifty lines: peers of one process that hand
// each other copies. Yours would hand them to a relay, a lobby service or a socket.
type room struct {
	self   driftback.Peer
	others map[driftback.Peer]*room // those that are there
	inbox  []transport.Message
	closed bool
}

const roomFor = 256 // messages that wait for one peer; a queue without a bound is a fault

func (r *room) Send(to driftback.Peer, b []byte) {
	if len(b) <= r.MaxDatagram() {
		_ = r.give(to, transport.Datagram, b) // a datagram may be lost
	}
}

func (r *room) SendReliable(to driftback.Peer, b []byte) error {
	if len(b) > transport.MaxReliable {
		return transport.ErrTooLong
	}
	return r.give(to, transport.Reliable, b)
}

func (r *room) give(to driftback.Peer, kind transport.Kind, b []byte) error {
	other, ok := r.others[to]
	switch {
	case r.closed:
		return transport.ErrClosed
	case !ok || other.closed:
		return transport.ErrNoLink
	case len(other.inbox) >= roomFor:
		return transport.ErrFull
	}
	other.inbox = append(other.inbox, transport.Message{Kind: kind, From: r.self, Data: slices.Clone(b)})
	return nil
}

func (r *room) Receive() (m transport.Message, ok bool) {
	if r.closed || len(r.inbox) == 0 {
		return m, false
	}
	m, r.inbox = r.inbox[0], r.inbox[1:]
	return m, true
}

func (r *room) MaxDatagram() int { return 1200 }

func (r *room) Close() error {
	for _, other := range r.others {
		if !r.closed && !other.closed {
			other.inbox = append(other.inbox, transport.Message{Kind: transport.Down, From: r.self, Err: errors.New("it left the room")})
			delete(other.others, r.self)
		}
	}
	r.closed = true
	return nil
}

// gather returns rooms whose links are all up.
func gather(peers int) []transport.Transport {
	ends := make([]transport.Transport, peers)
	for i := range ends {
		ends[i] = &room{self: driftback.Peer(i), others: map[driftback.Peer]*room{}}
	}
	for i, a := range ends {
		for j, b := range ends {
			if i != j {
				a.(*room).others[driftback.Peer(j)] = b.(*room)
				a.(*room).inbox = append(a.(*room).inbox, transport.Message{Kind: transport.Up, From: driftback.Peer(j)})
			}
		}
	}
	return ends
}

func TestTheExamplesTransportKeepsEveryPromise(t *testing.T) {
	transporttest.Run(t, func(_ *testing.T, peers int) transporttest.Match {
		return transporttest.Match{Ends: gather(peers), Step: func() {}}
	})
}

// Anything that can carry messages can be a transport; the suite in transporttest
// says whether it keeps the promises.
func Example() {
	ends := gather(2)
	ends[0].Send(1, []byte("jump"))
	if err := ends[0].SendReliable(1, []byte("good game")); err != nil {
		fmt.Println(err)
	}
	_ = ends[0].Close()
	for m, ok := ends[1].Receive(); ok; m, ok = ends[1].Receive() {
		fmt.Printf("%v %q\n", m.Kind, m.Data)
	}
	// Output:
	// up ""
	// datagram "jump"
	// reliable "good game"
	// down ""
}

func TestKindsHaveNames(t *testing.T) {
	for kind, name := range map[transport.Kind]string{
		transport.Datagram: "datagram", transport.Reliable: "reliable", transport.Up: "up", transport.Down: "down", 0: "unknown kind",
	} {
		if kind.String() != name {
			t.Errorf("kind %d is called %q, want %q", kind, kind, name)
		}
	}
}
