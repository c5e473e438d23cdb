package session_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// stride is the size of an input of these tests in bytes.
const stride = 2

// tap sits between a session and its endpoint. A test sees through it what a peer
// sends and receives, and makes a peer send what a sound one would not.
type tap struct {
	*loopback.Endpoint
	// datagram and reliable, if set, are given what the session sends and call pass
	// with what is to be sent instead: once, several times, or never.
	datagram func(to driftback.Peer, b []byte, pass func(b []byte))
	reliable func(to driftback.Peer, b []byte, pass func(b []byte))
	// received, if set, sees what the session is about to be handed.
	received func(m transport.Message)
}

func (t *tap) Send(to driftback.Peer, b []byte) {
	if t.datagram == nil {
		t.Endpoint.Send(to, b)
		return
	}
	t.datagram(to, b, func(b []byte) { t.Endpoint.Send(to, b) })
}

func (t *tap) SendReliable(to driftback.Peer, b []byte) error {
	if t.reliable == nil {
		return t.Endpoint.SendReliable(to, b)
	}
	var err error
	t.reliable(to, b, func(b []byte) { err = t.Endpoint.SendReliable(to, b) })
	return err
}

func (t *tap) Receive() (transport.Message, bool) {
	m, ok := t.Endpoint.Receive()
	if ok && t.received != nil {
		t.received(m)
	}
	return m, ok
}

// newTappedMatch returns a match of n peers with a tap on each, by peer.
func newTappedMatch(t testing.TB, n int, change func(c *session.Config[state, input])) (*match, []*tap) {
	t.Helper()
	var taps []*tap
	m := newMatchOver(t, n, func(e *loopback.Endpoint) transport.Transport {
		taps = append(taps, &tap{Endpoint: e})
		return taps[len(taps)-1]
	}, change)
	return m, taps
}

// parse reads a packet of these tests.
func parse(t testingT, b []byte) *wire.Packet {
	t.Helper()
	var p wire.Packet
	require.NoError(t, p.Parse(b, stride))
	return &p
}

// rewrite returns the packet b as change leaves it.
func rewrite(t testingT, b []byte, change func(p *wire.Packet)) []byte {
	t.Helper()
	p := parse(t, b)
	change(p)
	out, err := p.Append(nil, stride)
	require.NoError(t, err)
	return out
}

// rewriteControl returns a reliable message as change leaves it.
func rewriteControl(t testing.TB, b []byte, change func(c wire.Control) wire.Control) []byte {
	t.Helper()
	c, err := wire.ParseControl(b)
	require.NoError(t, err)
	out, err := wire.AppendControl(nil, change(c))
	require.NoError(t, err)
	return out
}

// refused returns how often a peer dropped something for a reason.
func (p *peer) refused(why mesh.Refusal) int { return int(p.session.Stats().Refused[why]) }

// tick returns the next tick that a peer will run.
func (p *peer) tick() driftback.Tick { return p.session.Stats().Tick }

// runWhile runs frames for as long as more holds, and fails after limit.
func (m *match) runWhile(limit int, what string, more func() bool) {
	m.t.Helper()
	for from := m.frames; more(); m.run(1) {
		if m.frames-from >= limit {
			m.t.Fatalf("after %d frames still %s: %+v", limit, what, m.peers[0].session.Stats())
		}
	}
}

// requireLive fails if a peer's match has ended.
func (m *match) requireLive() {
	m.t.Helper()
	for _, p := range m.peers {
		require.NoError(m.t, p.err, "peer %d", p.self)
	}
}

// requireProgress runs until every peer has confirmed n more ticks.
func (m *match) requireProgress(n driftback.Tick) {
	m.t.Helper()
	low := m.peers[0].confirmed
	for _, p := range m.peers {
		low = max(low, p.confirmed)
	}
	m.runUntil(low + n)
}

// align makes every peer's next tick the same, by holding back those ahead.
func (m *match) align() {
	m.t.Helper()
	m.runUntil(1)
	m.runWhile(1000, "not aligned", func() bool {
		low, high := m.peers[0].tick(), m.peers[0].tick()
		for _, p := range m.peers {
			low, high = min(low, p.tick()), max(high, p.tick())
		}
		for _, p := range m.peers {
			p.asleep = low < high && p.tick() > low
		}
		return low < high
	})
}

// impairOne sets the impairment of one direction.
func (m *match) impairOne(from, to driftback.Peer, im loopback.Impairment) {
	m.t.Helper()
	require.NoError(m.t, m.net.Impair(from, to, im))
}

// errorAs is errors.As for one type.
func errorAs[E error](err error, target *E) bool { return errors.As(err, target) }
