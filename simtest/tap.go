package simtest

import (
	"time"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
)

// tap stands between a session and its endpoint, and sees what is sent and who is
// heard. The functions are those of hostile peers and of their victims, and may be nil.
type tap struct {
	*loopback.Endpoint
	trace  *trace
	silent []time.Duration
	sent   []Sent // by peer, of the session's own
	// alter returns what is sent in place of a datagram, and said sees a message.
	alter func(to driftback.Peer, b []byte) []byte
	said  func(to driftback.Peer)
	// came reports whether what has come counts as having heard its sender.
	came func(m transport.Message) bool
}

// plays reports whether a peer plays: what passes between this one and those who watch is
// none of the match's.
func (t *tap) plays(p driftback.Peer) bool { return int(p) < len(t.sent) }

func (t *tap) Send(to driftback.Peer, b []byte) {
	if !t.plays(to) {
		t.Endpoint.Send(to, b)
		return
	}
	t.sent[to].add(Sent{1, uint64(len(b))}) // by the session, whatever a hostile side makes of it
	if t.alter != nil {
		b = t.alter(to, b)
	}
	t.pass(to, b)
}

func (t *tap) pass(to driftback.Peer, b []byte) {
	t.trace.add(1, uint64(to), xxh3.Hash(b))
	t.Endpoint.Send(to, b)
}

func (t *tap) SendReliable(to driftback.Peer, b []byte) error {
	if !t.plays(to) {
		return t.Endpoint.SendReliable(to, b)
	}
	err := t.passReliable(to, b)
	if err == nil && t.said != nil {
		t.said(to)
	}
	return err
}

func (t *tap) passReliable(to driftback.Peer, b []byte) error {
	err := t.Endpoint.SendReliable(to, b)
	if err == nil {
		t.trace.add(2, uint64(to), xxh3.Hash(b))
	}
	return err
}

func (t *tap) Receive() (transport.Message, bool) {
	m, ok := t.Endpoint.Receive()
	if ok && t.plays(m.From) {
		t.trace.add(3, uint64(m.From), uint64(m.Kind), uint64(len(m.Data)))
		if m.Kind != transport.Down && (t.came == nil || t.came(m)) {
			t.silent[m.From] = 0
		}
	}
	return m, ok
}

// trace is a hash of everything that happened, in order.
type trace uint64

func (t *trace) add(values ...uint64) {
	for _, v := range values {
		x := (uint64(*t) ^ v) * 0x9e3779b97f4a7c15
		*t = trace(x ^ x>>32)
	}
}
