package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// inTurns makes a peer publish every so many ticks, the others as the last one.
func inTurns(delay, window int, every ...int) func(c *session.Config[state, input]) {
	return func(c *session.Config[state, input]) {
		c.InputDelay, c.PredictionWindow, c.PublishEvery = delay, window, every[min(int(c.Self), len(every)-1)]
	}
}

func TestPeersThatPublishInTurnsPlayWhatOneSimulationPlays(t *testing.T) {
	lossy := loopback.Impairment{Latency: 45 * ms, Jitter: 20 * ms, Loss: 0.1, Reorder: 0.2, Duplicate: 0.05}
	for name, c := range map[string]struct {
		peers, delay, window int
		link                 loopback.Impairment
		uneven               bool // peer 0 publishes every tick
		// most is how many more calls than ticks there may be, in percent: each turn waits
		// longer for a packet that was lost.
		most int
	}{
		"over a clean link":                          {peers: 2, window: 16, most: 2},
		"lossy, reordered, doubled":                  {peers: 2, window: 24, link: lossy, most: 10},
		"with input delay":                           {peers: 2, delay: 4, window: 16, link: lossy, most: 12},
		"four peers":                                 {peers: 4, delay: 2, window: 24, link: lossy, most: 15},
		"without predictions, over a clean link":     {peers: 2, delay: 10, window: session.None, most: 2},
		"without predictions, at 50 ms":              {peers: 2, delay: 12, window: session.None, link: loopback.Impairment{Latency: 50 * ms}, most: 2},
		"without predictions, lossy":                 {peers: 2, delay: 16, window: session.None, link: lossy, most: 15},
		"where the window is hardly enough":          {peers: 2, window: 8, link: lossy, most: 160},
		"where the input delay is":                   {peers: 2, delay: 8, window: session.None, link: lossy, most: 160},
		"one publishing every tick":                  {peers: 2, window: 16, link: lossy, uneven: true, most: 10},
		"one publishing every tick, no predictions":  {peers: 2, delay: 16, window: session.None, link: lossy, uneven: true, most: 15},
		"at 100 ms, with 30 % loss, for long enough": {peers: 2, window: 60, link: loopback.Impairment{Latency: 100 * ms, Loss: 0.3}, most: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bytes := 0.0
			for _, k := range []int{1, 2, 4, 8} {
				every := []int{k}
				if c.uneven {
					every = []int{1, k}
				}
				m := newMatch(t, c.peers, inTurns(c.delay, c.window, every...))
				m.impair(c.link)
				const ticks = 3000
				m.runUntil(ticks)
				p := m.peers[len(m.peers)-1]
				s := p.session.Stats()
				sent := s.Peers[0]
				perSecond := func(n uint64) float64 { return float64(n) / float64(m.frames) * 60 }
				t.Logf("every %d ticks: %d calls, %.1f packets and %.0f bytes a second to each, %d rollbacks, %d stalls",
					k, m.frames, perSecond(sent.PacketsSent), perSecond(sent.BytesSent), s.Loop.Rollbacks, p.stalled)

				require.LessOrEqual(t, m.frames, ticks+ticks*c.most/100+50)
				require.Zero(t, s.Refused)
				require.GreaterOrEqual(t, s.Agreed, driftback.Tick(ticks-200), "states compared with the peer")
				require.Greater(t, p.checked, ticks/20, "states compared with the oracle")
				if c.window != session.None {
					require.Greater(t, s.Loop.Rollbacks, uint64(100))
				}
				if c.link.Loss > 0 {
					require.Greater(t, m.stats(p.self, 0).Lost, uint64(20))
				}
				// What is sent early, by one that waits, is at the most as much again.
				require.InDelta(t, 60/float64(k), perSecond(sent.PacketsSent), 60/float64(k)*0.35)
				if k > 1 {
					require.Less(t, perSecond(sent.BytesSent), bytes, "it costs less than half of the ticks did")
				}
				bytes = perSecond(sent.BytesSent)
			}
		})
	}
}

// Over a link that takes as long as the input delay and the window leave beside a turn, nobody ever
// waits; and with one tick less each turn does.
func TestATurnAndTheLinkFitInTheDelayAndTheWindow(t *testing.T) {
	for _, k := range []int{1, 2, 4, 8} {
		for _, window := range []int{session.None, 1, 5} {
			stalls := func(spare int) (n int) {
				m := newMatch(t, 2, inTurns(k-1+7+spare-max(window, 0), window, k))
				m.align()
				m.impair(loopback.Impairment{Latency: frame * 13 / 2})
				m.run(1000)
				for _, p := range m.peers {
					n += p.stalled
				}
				return n
			}
			require.Less(t, stalls(0), 20, "turns of %d ticks, a window of %d", k, window)
			require.Greater(t, stalls(-1), 100, "turns of %d ticks, a window of %d, a tick less", k, window)
		}
	}
}

func TestTurnsForWhichThereIsNoDelayAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		delay, window, every int
		want                 string
	}{
		"longer than the delay":                {3, session.None, 4, "InputDelay is 3 ticks, PredictionWindow none and PublishEvery 4: the others can run fewer ticks without this peer's inputs than these wait to be sent, so the delay must be at least 4"},
		"as long as the delay":                 {4, session.None, 4, ""},
		"longer than the window":               {0, 0, 9, "InputDelay is 0 ticks, PredictionWindow 8 and PublishEvery 9"},
		"as long as the window":                {0, 0, 8, ""},
		"longer than both":                     {2, 8, 11, "at least 3"},
		"as long as both":                      {3, 8, 11, ""},
		"longer than any":                      {60, 256, 61, "PublishEvery is 61 ticks: 1 to 60, or 0 for 1"},
		"negative":                             {0, 8, -1, "PublishEvery is -1 ticks"},
		"no longer than a tick, no prediction": {1, session.None, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newEmptyMatch(t)
			_, err := session.New(m.config(0, 2, func(s *session.Config[state, input]) {
				inTurns(c.delay, c.window, c.every)(s)
				s.Transport = m.net.Open(0)
			}))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
	t.Run("that look like silence", func(t *testing.T) {
		m := newEmptyMatch(t)
		_, err := session.New(m.config(0, 2, func(s *session.Config[state, input]) {
			inTurns(0, 8, 6)(s)
			s.Transport, s.PeerTimeout = m.net.Open(0), 300*ms
		}))
		require.ErrorContains(t, err, "PublishEvery is 6 ticks, which last 99.999996ms, and PeerTimeout 300ms")
	})
	t.Run("by a delay that is set later, or adapts", func(t *testing.T) {
		m := newMatch(t, 2, inTurns(9, session.None, 6))
		s := m.peers[1].session
		require.ErrorContains(t, s.SetInputDelay(1, 5), "the input delay of participant 1 is 5 ticks, PredictionWindow none and PublishEvery 6")
		require.NoError(t, s.SetInputDelay(1, 6))
		_, err := session.New(m.config(0, 2, func(s *session.Config[state, input]) {
			inTurns(9, session.None, 6)(s)
			s.Transport, s.AdaptDelay = m.net.Open(7), session.AdaptDelay{Min: 5, Max: 9}
		}))
		require.ErrorContains(t, err, "AdaptDelay.Min is 5 ticks")
	})
}

// The inputs of the last ticks are sent as they are made, and nobody waits for a turn to end.
func TestAMatchEndsInTheMiddleOfATurn(t *testing.T) {
	for _, delay := range []int{0, 3, 8} {
		for at := driftback.Tick(96); at <= 105; at++ {
			frames := func(k int) int {
				m := newMatch(t, 2, inTurns(delay, 8, k))
				m.impair(loopback.Impairment{Latency: 10 * ms})
				m.finish(at)
				m.runWhile(500, "not finished", func() bool { return !m.ended() })
				for _, p := range m.peers {
					require.ErrorIs(t, p.err, session.ErrFinished)
					require.Equal(t, at, p.confirmed)
					require.Equal(t, *m.oracle.at(at), *p.session.State())
				}
				return m.frames
			}
			require.Equal(t, frames(1), frames(8), "frames to the end at tick %d, with a delay of %d", at, delay)
		}
	}
	t.Run("over a bad link", func(t *testing.T) {
		for at := driftback.Tick(1); at <= 17; at += 4 {
			m := newMatch(t, 3, inTurns(1, 8, 1, 8, 5))
			m.impair(loopback.Impairment{Latency: 60 * ms, Jitter: 30 * ms, Loss: 0.3})
			m.finish(at)
			m.runWhile(5000, "not finished", func() bool { return !m.ended() })
			for _, p := range m.peers {
				require.ErrorIs(t, p.err, session.ErrFinished)
				require.Equal(t, *m.oracle.at(at), *p.session.State())
			}
		}
	})
}

// Two peers that use up their windows in the middle of a turn have, each, what the other waits for.
func TestAStallInTheMiddleOfATurn(t *testing.T) {
	for _, c := range []struct{ delay, window int }{{0, 12}, {12, session.None}} {
		m, taps := newTappedMatch(t, 2, inTurns(c.delay, c.window, 9))
		m.runUntil(100)
		newest := driftback.Tick(0) // the first tick whose input peer 0 has not sent
		taps[0].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
			for _, r := range parse(t, b).Runs {
				newest = max(newest, r.First+driftback.Tick(r.Count))
			}
			pass(b)
		}
		midway := 0
		for i := range 20 {
			m.run(30 + i)
			m.impair(loopback.Impairment{Blocked: true})
			p := m.peers[0]
			for p.stalled = 0; p.stalled == 0; {
				published := p.tick() + driftback.Tick(c.delay)
				if m.run(1); p.stalled > 0 && newest == published {
					midway++
				}
			}
			m.run(5)
			m.impair(loopback.Impairment{})
			m.requireProgress(40)
		}
		require.Equal(t, 20, midway, "stalls after which everything was sent at once")
		m.requireLive()
	}
}

// Two that stalled for long go on at the pace that they had.
func TestAfterALongSilenceTurnsGoOn(t *testing.T) {
	for _, k := range []int{2, 4, 8} {
		m := newMatch(t, 2, inTurns(k+2, session.None, k))
		m.impair(loopback.Impairment{Latency: 10 * ms})
		m.runUntil(100)
		for i := range 20 {
			m.impair(loopback.Impairment{Latency: 10 * ms, Blocked: true})
			m.run(60 + i)
			m.impair(loopback.Impairment{Latency: 10 * ms})
			m.run(30)
			before := m.peers[0].tick()
			m.run(100)
			require.GreaterOrEqual(t, m.peers[0].tick(), before+97, "turns of %d ticks", k)
		}
	}
}

func TestFingerprintsThatWaitForATurnAreNotRepeatedMeanwhile(t *testing.T) {
	for _, k := range []int{1, 4, 8} {
		// The other's turn begins as much later.
		for later := range k {
			m, taps := newTappedMatch(t, 2, inTurns(0, 24, k))
			m.impair(loopback.Impairment{Latency: 20 * ms})
			m.runUntil(5)
			m.peers[1].asleep = true
			m.run(later)
			m.peers[1].asleep = false
			n := 0
			taps[0].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
				n += len(parse(t, b).Sums.List)
				pass(b)
			}
			m.runUntil(1600)
			require.InDelta(t, 1600/session.DefaultFingerprintEvery, n, 20, "turns of %d ticks", k)
		}
	}
}

func TestAPauseComesWithItsTurn(t *testing.T) {
	m := newMatch(t, 2, inTurns(2, 16, 8))
	m.impair(loopback.Impairment{Latency: 40 * ms, Loss: 0.1})
	m.runUntil(100)
	for _, p := range m.peers {
		p.maybeDiffers = true // the oracle never pauses; the peers' fingerprints are compared
	}
	require.NoError(t, m.peers[0].session.Pause())
	m.run(100)
	for _, p := range m.peers {
		paused, _ := p.session.Paused()
		require.True(t, paused)
	}
}

func TestTheOthersGoOnWhenOneLeavesInTheMiddleOfATurn(t *testing.T) {
	m := newViewMatch(t, 3, func(c *session.Config[state, input]) { inTurns(0, 16, 8)(c) })
	m.impair(loopback.Impairment{Latency: 30 * ms})
	m.runUntil(103)
	m.peers[2].session.Leave()
	m.peers[2].asleep = true
	m.run(60)
	m.requireSurvivors(100, 2)
}

func TestADelayThatAdaptsCountsTheTurn(t *testing.T) {
	settles := func(k int) int {
		a := adapt(t, 2, 0, session.AdaptDelay{Max: 20}, func(c *session.Config[state, input]) { c.PublishEvery = k })
		a.impair(loopback.Impairment{Latency: 80 * time.Millisecond})
		a.seconds(30)
		return a.delays()[0]
	}
	require.InDelta(t, settles(1)+7, settles(8), 1)
}

func TestLeadsOfTurnsThatAreLostStayTogether(t *testing.T) {
	bad := loopback.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.05}
	for name, s := range map[string]situation{
		"two players":  {peers: 2, window: 30, fast: 0.01, turns: []int{8}, impair: alike(bad)},
		"four players": {peers: 4, window: 30, fast: 0.01, turns: []int{4}, impair: alike(bad)},
	} {
		for way, how := range map[string]follows{"the rate": rates, "the skips": skips} {
			t.Run(fmt.Sprintf("%s follow %s", name, way), func(t *testing.T) {
				w := s.walk(t, how, everybody, nil)
				f := w.figures(10)
				t.Log(f)
				require.Less(t, f.amplitude, 1.0)
				require.Less(t, f.residual, 0.35)
				for _, k := range w.walkers {
					require.InDelta(t, 60*72, int(k.firstRuns), 60*72*0.015, "nobody runs away")
				}
			})
		}
	}
}
