package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
)

func TestStatsTellOneLinkFromAnother(t *testing.T) {
	m := newMatch(t, 3, func(c *session.Config[state, input]) { c.PredictionWindow = 20 })
	for _, far := range []driftback.Peer{0, 1} {
		m.impairOne(2, far, loopback.Impairment{Latency: 100 * ms})
		m.impairOne(far, 2, loopback.Impairment{Latency: 100 * ms})
	}
	m.runUntil(200)
	links := m.peers[0].session.Stats().Peers
	require.Len(t, links, 2)
	require.EqualValues(t, 1, links[0].Peer)
	require.Less(t, links[0].RoundTrip, 50*ms)
	require.EqualValues(t, 2, links[1].Peer)
	require.Greater(t, links[1].RoundTrip, 200*ms)
	for _, l := range links {
		require.Positive(t, l.BytesSent)
		require.Positive(t, l.BytesReceived)
	}
}

// flapping is a transport whose link to peer 1 goes down and comes up again often
// between two calls.
type flapping struct {
	transport.Transport
	left int
}

func (f *flapping) Receive() (transport.Message, bool) {
	if f.left == 0 {
		return f.Transport.Receive()
	}
	f.left--
	return transport.Message{Kind: []transport.Kind{transport.Up, transport.Down}[f.left%2], From: 1}, true
}

func TestEventsBeyondTheBoundOfACallAreCounted(t *testing.T) {
	var f *flapping
	m := newMatchOver(t, 2, func(e *loopback.Endpoint) transport.Transport {
		if e.Self() != 0 {
			return e
		}
		f = &flapping{Transport: e}
		return f
	}, nil)
	m.runUntil(10)
	s := m.peers[0].session
	require.Zero(t, s.Stats().EventsDropped)
	f.left = 500
	r, err := s.Poll(time.Hour)
	require.NoError(t, err)
	require.Less(t, len(r.Events), 500)
	require.EqualValues(t, 500-len(r.Events), s.Stats().EventsDropped)
}
