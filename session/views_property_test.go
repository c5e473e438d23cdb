package session_test

import (
	"errors"
	"time"

	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// agreed holds against each other what peers know of each view.
type agreed map[int][]driftback.Tick

func (a agreed) check(p *peer) {
	view := p.session.Stats().View
	cuts := make([]driftback.Tick, len(p.config.Players))
	for q := range cuts {
		cuts[q] = -1
		if t, ok := p.session.Cut(driftback.Participant(q)); ok {
			cuts[q] = t
		}
	}
	if errors.Is(p.err, session.ErrCutOff) {
		return // it does not take part in the view
	}
	if want, ok := a[view]; !ok {
		a[view] = cuts
	} else if !equal(want, cuts) {
		p.match.t.Fatalf("view %d at peer %d has %v, and at another %v", view, p.self, cuts, want)
	}
}

func equal(a, b []driftback.Tick) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestWhateverBefallsPeersTheSurvivorsPlayWhatTheOraclePlays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 6).Draw(t, "peers")
		window := rapid.SampledFrom([]int{session.None, 1, 4, 8, 8, 30}).Draw(t, "window")
		spacing := rapid.IntRange(0, 12).Draw(t, "spacing")
		grace := time.Duration(rapid.SampledFrom([]int{0, 0, 700}).Draw(t, "grace")) * ms
		m := newViewMatch(t, n, func(c *session.Config[state, input]) {
			c.PredictionWindow, c.RejoinGrace = window, grace
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
		dead := map[driftback.Peer]bool{}
		for range rapid.IntRange(1, 8).Draw(t, "faults") {
			p := m.peers[rapid.IntRange(0, n-1).Draw(t, "whom")]
			q := m.peers[rapid.IntRange(0, n-1).Draw(t, "and whom")]
			switch rapid.SampledFrom([]string{"crash", "leave", "block", "block", "part", "down", "up", "sleep", "heal"}).Draw(t, "what") {
			case "crash":
				if !dead[p.self] {
					p.crash()
					dead[p.self] = true
				}
			case "leave":
				if !dead[p.self] {
					p.session.Leave()
					p.err = session.ErrLeft
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
					require.NoError(t, m.net.TakeDown(p.self, q.self))
				}
			case "up":
				if p != q {
					require.NoError(t, m.net.BringUp(p.self, q.self))
				}
			case "sleep":
				p.asleep = true
			case "heal":
				m.impair(link)
				for _, p := range m.peers {
					p.asleep = dead[p.self]
				}
			}
			m.run(rapid.OneOf(rapid.IntRange(1, 10), rapid.IntRange(40, 80)).Draw(t, "frames"))
		}
		m.impair(link)
		for _, p := range m.peers {
			p.asleep = dead[p.self]
			for _, q := range m.peers {
				if p != q {
					require.NoError(t, m.net.BringUp(p.self, q.self))
				}
			}
		}
		m.run(900)
		before := map[driftback.Peer]driftback.Tick{}
		for _, p := range m.awake() {
			before[p.self] = p.confirmed
		}
		m.run(300)
		for _, p := range m.awake() {
			if p.confirmed < before[p.self]+10 {
				t.Fatalf("peer %d neither goes on nor ends: from tick %d to %d: %+v", p.self, before[p.self], p.confirmed, p.session.Stats())
			}
		}
		if len(m.awake()) > 0 {
			m.requireOneView()
		}
	})
}
