package session_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

func drawImpairment(t *rapid.T, name string) loopback.Impairment {
	if rapid.IntRange(0, 9).Draw(t, name+" is blocked") == 0 {
		return loopback.Impairment{Blocked: true}
	}
	return loopback.Impairment{
		Latency:   time.Duration(rapid.IntRange(0, 150).Draw(t, name+" latency")) * ms,
		Jitter:    time.Duration(rapid.IntRange(0, 60).Draw(t, name+" jitter")) * ms,
		Loss:      float64(rapid.IntRange(0, 50).Draw(t, name+" loss")) / 100,
		Reorder:   float64(rapid.IntRange(0, 40).Draw(t, name+" reorder")) / 100,
		Duplicate: float64(rapid.IntRange(0, 20).Draw(t, name+" duplicate")) / 100,
	}
}

func TestWhateverTheLinksDoThePeersPlayWhatTheOraclePlays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		peers := rapid.IntRange(2, 3).Draw(t, "peers")
		window := rapid.SampledFrom([]int{session.None, 1, 2, 5, 8, 8, 8, 20, 100}).Draw(t, "window")
		spacing := rapid.IntRange(0, 12).Draw(t, "spacing")
		every := rapid.SampledFrom([]int{session.None, 1, 3, 8, 64}).Draw(t, "fingerprint interval")
		m := newEmptyMatch(t)
		m.script = play(rapid.Int64Range(1, 12).Draw(t, "hold"))
		for i := range peers {
			m.add(m.config(i, peers, func(c *session.Config[state, input]) {
				c.PredictionWindow, c.FingerprintEvery, c.PeerTimeout = window, every, session.None
				c.Spacing = spacing
				c.InputDelay = rapid.SampledFrom([]int{0, 0, 1, 2, 3, 9, 60}).Draw(t, "delay")
				if window == session.None {
					c.InputDelay = max(c.InputDelay, 1)
				}
				c.Redundancy = rapid.SampledFrom([]int{session.None, 1, 5, 40, 256}).Draw(t, "redundancy")
			}))
		}
		m.runUntil(1)
		frames := rapid.IntRange(300, 2000).Draw(t, "frames")
		for m.frames < frames {
			for a := range driftback.Peer(peers) {
				for b := range driftback.Peer(peers) {
					if a != b {
						if err := m.net.Impair(a, b, drawImpairment(t, "link")); err != nil {
							t.Fatal(err)
						}
					}
				}
				m.peers[a].asleep = rapid.IntRange(0, 4).Draw(t, "asleep") == 0
				m.peers[a].drift += time.Duration(rapid.IntRange(-2000, 2000).Draw(t, "clock jump")) * ms
			}
			for range rapid.IntRange(5, 200).Draw(t, "for frames") {
				m.run(1)
			}
		}
		m.requireLive()
		m.impair(loopback.Impairment{Latency: 20 * ms})
		for _, p := range m.peers {
			p.asleep = false
		}
		m.run(200)
		from := m.frames
		m.requireProgress(200)
		if took := m.frames - from; took > 800 {
			t.Fatalf("200 ticks took %d frames after the links had healed", took)
		}
		at := driftback.Tick(0)
		for _, p := range m.peers {
			at = max(at, p.tick())
		}
		m.finish(at + 10)
		m.runWhile(1000, "not finished", func() bool { return !m.ended() })
		for _, p := range m.peers {
			if p.confirmed != at+10 {
				t.Fatalf("peer %d ended at tick %d with %v", p.self, p.confirmed, p.err)
			}
		}
	})
}
