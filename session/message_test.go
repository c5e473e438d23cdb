package session_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// A talk is what one peer says to every other one, numbered, and what it has heard.
type talk struct {
	to     []driftback.Peer
	said   map[driftback.Peer]uint32
	heard  map[driftback.Peer]uint32
	phases map[session.Phase]int // messages heard by what the call found
	full   int
}

func newTalk(self driftback.Peer, n int) *talk {
	k := &talk{said: map[driftback.Peer]uint32{}, heard: map[driftback.Peer]uint32{}, phases: map[session.Phase]int{}}
	for q := range n {
		if driftback.Peer(q) != self {
			k.to = append(k.to, driftback.Peer(q))
		}
	}
	return k
}

// say sends the next message to everybody, of a size that its number gives.
func (k *talk) say(t testingT, p *peer) {
	t.Helper()
	for _, to := range k.to {
		data := make([]byte, 4+k.said[to]*37%300)
		binary.LittleEndian.PutUint32(data, k.said[to])
		switch err := p.session.Send(to, data); {
		case err == nil:
			k.said[to]++
		case errors.Is(err, session.ErrFull), errors.Is(err, session.ErrNoLink):
			k.full++
		default:
			t.Fatalf("peer %d: %v", p.self, err)
		}
	}
}

// hear checks that what has come is the next.
func (k *talk) hear(t testingT, p *peer, r session.Result) {
	t.Helper()
	for _, m := range r.Messages {
		n := binary.LittleEndian.Uint32(m.Data)
		if want := k.heard[m.From]; n != want || len(m.Data) != int(4+n*37%300) {
			t.Fatalf("peer %d heard message %d of peer %d, of %d bytes, and the next is %d", p.self, n, m.From, len(m.Data), want)
		}
		k.heard[m.From]++
		k.phases[r.Phase]++
	}
}

// talking has every peer of a match talk at every so manieth of its calls.
func talking(m *match, every int) []*talk {
	talks := make([]*talk, len(m.peers))
	for i, p := range m.peers {
		talks[i] = newTalk(p.self, len(m.peers))
	}
	m.check = func(p *peer, r session.Result) {
		k := talks[p.self]
		k.hear(m.t, p, r)
		if m.frames%every == 0 || r.Phase == session.Joining {
			k.say(m.t, p)
		}
	}
	return talks
}

func TestMessagesArriveOnceAndInOrderBeforeDuringAndAfterAMatch(t *testing.T) {
	for _, n := range []int{2, 4} {
		t.Run(fmt.Sprintf("%d peers", n), func(t *testing.T) {
			m := newMatch(t, n, nil)
			m.impair(loopback.Impairment{Latency: 80 * ms, Jitter: 30 * ms, Loss: 0.1, Reorder: 0.2, Duplicate: 0.1})
			require.NoError(t, m.net.Impair(0, 1, loopback.Impairment{Latency: 300 * ms, Loss: 0.1}))
			talks := talking(m, 7)
			m.runUntil(600)
			// The first is through early, and waits for the others with a message or two.
			m.finish(m.peers[0].tick() + 60)
			m.runWhile(2000, "not finished", func() bool { return !m.ended() })
			for range 30 { // what is on its way comes when the match has ended
				m.net.Advance(frame)
				for _, p := range m.peers {
					r, err := p.session.Poll(m.net.Now() + p.drift)
					require.ErrorIs(t, err, session.ErrFinished)
					talks[p.self].hear(t, p, r)
				}
			}
			for _, p := range m.peers {
				k := talks[p.self]
				require.ErrorIs(t, p.err, session.ErrFinished)
				require.Equal(t, [mesh.Refusals]uint64{}, p.session.Stats().Refused)
				for _, q := range k.to {
					require.Greater(t, k.said[q], uint32(90))
					require.Equal(t, k.said[q], talks[q].heard[p.self], "from peer %d to peer %d", p.self, q)
				}
				require.Positive(t, k.phases[session.Advanced])
				require.Positive(t, k.phases[session.Ended])
			}
			if n > 2 {
				require.Positive(t, talks[0].phases[session.Joining], "before the match, which waits for the slow link")
			}
			require.Positive(t, m.stats(0, 1).Lost, "the control: datagrams are lost")
		})
	}
}

func TestMessagesAreLostOnlyWhenALinkGoesDown(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.RejoinGrace = session.DefaultPeerTimeout })
	m.impair(loopback.Impairment{Latency: 60 * ms, Loss: 0.1})
	m.runUntil(60)
	said, last, downs, gaps := uint32(0), int64(-1), 0, 0
	m.check = func(p *peer, r session.Result) {
		if p.self == 0 {
			data := binary.LittleEndian.AppendUint32(nil, said)
			if p.session.Send(1, data) == nil {
				said++
			}
			return
		}
		for _, e := range r.Events {
			if e.Kind == session.PeerDown {
				downs++
			}
		}
		for _, g := range r.Messages {
			n := int64(binary.LittleEndian.Uint32(g.Data))
			require.Greater(t, n, last, "in order and once")
			if n != last+1 {
				gaps++
			}
			last = n
		}
		require.LessOrEqual(t, gaps, downs, "what is lost is lost with the link")
	}
	for range 5 {
		m.run(60)
		require.NoError(t, m.net.TakeDown(0, 1))
		m.run(20)
		require.NoError(t, m.net.BringUp(0, 1))
	}
	m.run(100)
	require.NoError(t, m.peers[0].err)
	require.Equal(t, 5, downs)
	require.Equal(t, 5, gaps, "the control: the link took some with it")
	require.Greater(t, last, int64(200))
}

func TestAFloodOfMessagesDoesNotHoldUpTheMatch(t *testing.T) {
	// The line has room for the inputs and for the messages that may be sent, which a
	// flood of others would fill many times over.
	play := func(flood bool) (ticks, stalls int) {
		m := newMatch(t, 2, nil)
		m.impair(loopback.Impairment{Latency: 40 * ms, BytesPerSecond: 40 << 10})
		sent, full := 0, 0
		m.check = func(p *peer, _ session.Result) {
			for i := 0; flood && i < 100; i++ {
				switch err := p.session.Send(1-p.self, make([]byte, session.MaxMessage)); {
				case err == nil:
					sent++
				case errors.Is(err, session.ErrFull):
					full++
				}
			}
		}
		m.run(1200)
		for _, p := range m.peers {
			require.NoError(t, p.err)
			require.Equal(t, [mesh.Refusals]uint64{}, p.session.Stats().Refused)
		}
		if flood {
			require.Greater(t, sent, 500)
			require.Greater(t, full, 100_000, "the control: far more was to be sent")
		}
		return m.peers[0].advanced, m.peers[0].stalled
	}
	ticks, stalls := play(false)
	floodedTicks, floodedStalls := play(true)
	t.Logf("%d ticks and %d stalls without, %d and %d with a flood", ticks, stalls, floodedTicks, floodedStalls)
	require.GreaterOrEqual(t, floodedTicks, ticks-60)
	require.LessOrEqual(t, floodedStalls, stalls+60)
}
