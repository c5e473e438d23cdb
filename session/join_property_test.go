package session_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// over reports whether a peer neither plays nor comes back any more.
func (p *peer) over() bool { return p.err != nil || p.end == nil || p.dead }

func TestWhateverBefallsPeersThatComeBackAllPlayWhatTheOraclePlays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "peers")
		window := rapid.SampledFrom([]int{session.None, 4, 8, 8, 30}).Draw(t, "window")
		spacing := rapid.IntRange(0, 12).Draw(t, "spacing")
		grace := time.Duration(rapid.SampledFrom([]int{0, 700, 3000}).Draw(t, "grace")) * ms
		m := newReturnMatch(t, n, func(c *session.Config[state, input]) {
			c.PredictionWindow, c.RejoinGrace, c.JoinTimeout = window, grace, 8*time.Second
			c.Spacing = spacing
			c.InputDelay = rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "delay")
			if window == session.None {
				c.InputDelay = max(c.InputDelay, 1)
			}
		})
		views := agreed{}
		m.check = func(p *peer, _ session.Result) { views.check(p) }
		link := loopback.Impairment{
			Latency: time.Duration(rapid.IntRange(0, 80).Draw(t, "latency")) * ms,
			Loss:    float64(rapid.IntRange(0, 30).Draw(t, "loss")) / 100,
			Jitter:  10 * ms,
		}
		m.impair(link)
		m.runUntil(20)
		for range rapid.IntRange(2, 12).Draw(t, "faults") {
			p := m.peers[rapid.IntRange(0, n-1).Draw(t, "whom")]
			q := m.peers[rapid.IntRange(0, n-1).Draw(t, "and whom")]
			switch rapid.SampledFrom([]string{"crash", "crash", "leave", "return", "return", "return", "block", "part", "down", "up", "sleep", "heal"}).Draw(t, "what") {
			case "crash":
				p.crash()
				p.dead = true
			case "leave":
				if !p.over() {
					if p.session != nil {
						p.session.Leave()
					} else {
						p.joiner.Leave()
					}
					p.err = session.ErrLeft
				}
			case "return":
				if p.over() {
					p.end.Crash()
					m.comeBack(p.self, nil)
				}
			case "block":
				if p != q {
					blocked := link
					blocked.Blocked = true
					m.impairOne(p.self, q.self, blocked)
				}
			case "part":
				for _, other := range m.peers {
					if other != p {
						m.impairOne(p.self, other.self, loopback.Impairment{Blocked: true})
						m.impairOne(other.self, p.self, loopback.Impairment{Blocked: true})
					}
				}
			case "down":
				if p != q {
					_ = m.net.TakeDown(p.self, q.self)
				}
			case "up":
				if p != q {
					_ = m.net.BringUp(p.self, q.self)
				}
			case "sleep":
				p.asleep = true
			case "heal":
				m.impair(link)
				for _, p := range m.peers {
					p.asleep = p.dead
				}
			}
			m.run(rapid.OneOf(rapid.IntRange(1, 10), rapid.IntRange(10, 40), rapid.IntRange(40, 100)).Draw(t, "frames"))
		}
		m.impair(link)
		for _, p := range m.peers {
			p.asleep = p.dead
			for _, q := range m.peers {
				if p != q {
					_ = m.net.BringUp(p.self, q.self)
				}
			}
		}
		m.run(900)
		before := map[driftback.Peer]driftback.Tick{}
		for _, p := range m.awake() {
			before[p.self] = p.confirmed
		}
		m.run(300)
		playing := false
		for _, p := range m.awake() {
			if p.confirmed < before[p.self]+10 {
				t.Fatalf("peer %d neither goes on nor ends: from tick %d to %d", p.self, before[p.self], p.confirmed)
			}
			if p.session == nil {
				t.Fatalf("peer %d is neither let in nor told why not", p.self)
			}
			playing = true
		}
		for _, p := range m.peers {
			if playing && !p.dead && errors.Is(p.err, session.ErrNeverJoined) {
				t.Fatalf("peer %d was not let in by those who play: %v", p.self, p.err)
			}
			if errors.Is(p.err, session.ErrNoFeeder) {
				continue // nobody played any more, for whatever reasons
			}
			for _, err := range []error{session.ErrInternal, session.ErrRefused, session.ErrHalted, session.ErrState} {
				require.NotErrorIs(t, p.err, err, "peer %d", p.self)
			}
			var desync *session.DesyncError
			require.False(t, errors.As(p.err, &desync), "peer %d: %v", p.self, p.err)
		}
		if playing {
			m.requireOneView()
		}
	})
}
