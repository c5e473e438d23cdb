package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

func newHasher(t testingT) *fingerprint.Hasher[state] {
	t.Helper()
	h, err := fingerprint.New[state]()
	require.NoError(t, err)
	return h
}

// roots compares every fingerprint that a peer takes with the oracle's, in order
// and without leaving a due tick out.
type roots struct {
	hasher *fingerprint.Hasher[state]
	every  driftback.Tick
	next   map[driftback.Peer]driftback.Tick
}

func checkRoots(m *match, every int) *roots {
	r := &roots{hasher: newHasher(m.t), every: driftback.Tick(every), next: map[driftback.Peer]driftback.Tick{}}
	m.check = func(p *peer, _ session.Result) { r.compare(m, p) }
	return r
}

func (r *roots) compare(m *match, p *peer) {
	for {
		t := r.next[p.self] + r.every
		sum, ok := p.session.Root(t)
		if !ok {
			return
		}
		if want := r.hasher.Sum(m.oracle.at(t)); sum != want {
			m.t.Fatalf("peer %d's fingerprint of tick %d is %v, and the oracle's is %v", p.self, t, sum, want)
		}
		r.next[p.self] = t
	}
}

func TestOnlyConfirmedStatesAreFingerprintedAtEveryInterval(t *testing.T) {
	for _, every := range []int{1, 7, 64, 2048} {
		t.Run(fmt.Sprint("every ", every, " ticks"), func(t *testing.T) {
			m := newMatch(t, 2, func(c *session.Config[state, input]) { c.FingerprintEvery = every })
			r := checkRoots(m, every)
			m.impair(loopback.Impairment{Latency: 60 * ms, Jitter: 25 * ms, Loss: 0.1})
			ticks := driftback.Tick(max(1500, 2*every+200))
			m.runUntil(ticks)
			for _, p := range m.peers {
				require.GreaterOrEqual(t, r.next[p.self], ticks/r.every*r.every-r.every, "the last tick that was fingerprinted")
				require.GreaterOrEqual(t, p.session.Stats().Agreed, ticks-r.every-100, "the last tick that was agreed on")
				require.Greater(t, p.session.Stats().Loop.Rollbacks, uint64(100), "guesses were wrong meanwhile")
			}
		})
	}
}

func TestConfirmationThatJumpsPastDueTicksLeavesNoneOut(t *testing.T) {
	const every = 8
	m, taps := newTappedMatch(t, 2, func(c *session.Config[state, input]) {
		c.FingerprintEvery, c.PredictionWindow = every, 20
	})
	h := newHasher(t)
	published := map[uint64]bool{}
	taps[0].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
		p := parse(t, b)
		for i, sum := range p.Sums.List {
			index := p.Sums.First + uint64(i)
			if index > 0 {
				require.True(t, published[index-1], "fingerprint %d is published before the one before it", index)
			}
			published[index] = true
			require.Equal(t, h.Sum(m.oracle.at(driftback.Tick(index+1)*every)), fingerprint.Sum(sum))
		}
		pass(b)
	}
	jumps, last := 0, driftback.Tick(0)
	m.check = func(p *peer, r session.Result) {
		if p.self != 0 {
			return
		}
		if r.Confirmed/every > last/every && r.Confirmed%every != 0 {
			jumps++
		}
		last = r.Confirmed
	}
	m.impair(loopback.Impairment{Latency: 60 * ms, Jitter: 40 * ms, Loss: 0.3})
	m.runUntil(2000)
	require.Greater(t, jumps, 50, "due ticks that confirmation jumped past")
	require.GreaterOrEqual(t, len(published), 2000/every-3)
}

// diverging is the step with a difference planted at one tick.
func diverging(at driftback.Tick) driftback.Step[state, input] {
	return func(s *state, in []input, pass *driftback.Pass) {
		step(s, in, pass)
		if pass.Tick() == at {
			s.Pos[3]++
		}
	}
}

// plant lets the step of the match's peer 1 differ at one tick.
func plant(at driftback.Tick, change func(c *session.Config[state, input])) func(c *session.Config[state, input]) {
	return func(c *session.Config[state, input]) {
		if change != nil {
			change(c)
		}
		if c.Self == 1 {
			c.Step = diverging(at)
		}
	}
}

func TestAPlantedDivergenceHaltsBothAtTheFirstDueTick(t *testing.T) {
	// Where a word takes a second they have not told each other all when five are over.
	const tooFar = "every tick, with a window longer than 64 checks"
	for name, c := range map[string]struct {
		at, due driftback.Tick
		every   int
		window  int
		link    loopback.Impairment
	}{
		"every 8 ticks over a clean link":    {at: 100, due: 104, every: 8},
		"just before a due tick":             {at: 103, due: 104, every: 8},
		"at a due tick it shows at the next": {at: 104, due: 112, every: 8},
		"at tick 0":                          {at: 0, due: 8, every: 8, link: loopback.Impairment{Latency: 40 * ms}},
		"every tick":                         {at: 100, due: 101, every: 1, link: loopback.Impairment{Latency: 60 * ms, Jitter: 20 * ms}},
		"every tick at 30 % loss":            {at: 100, due: 101, every: 1, link: loopback.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.3}},
		"every 8 ticks at 30 % loss":         {at: 201, due: 208, every: 8, link: loopback.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.3}},
		"every 2,048 ticks":                  {at: 1, due: 2048, every: 2048, link: loopback.Impairment{Latency: 60 * ms}},
		tooFar:                               {at: 300, due: 301, every: 1, window: 200, link: loopback.Impairment{Latency: 900 * ms, Loss: 0.1}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, plant(c.at, func(s *session.Config[state, input]) {
				s.FingerprintEvery, s.PredictionWindow = c.every, c.window
			}))
			m.peers[1].maybeDiffers = true
			m.impair(c.link)
			m.runWhile(20_000, "not halted", func() bool { return m.peers[0].err == nil || m.peers[1].err == nil })
			if name == tooFar {
				for _, p := range m.peers {
					require.Equal(t, c.due, desyncOf(t, p).Tick)
				}
				return
			}
			requireDesync(t, m, m.peers[0], m.peers[1], c.at+1, c.due)
			if wrong := m.peers[1].wrong; wrong != 0 {
				require.Greater(t, wrong, c.at, "nothing differed before the plant")
			}
		})
	}
}

func TestWithoutThePlantAndWithoutComparingNothingHalts(t *testing.T) {
	// The same match as above, sound.
	m := newMatch(t, 2, nil)
	m.runUntil(500)
	// And diverging, with fingerprints off: it goes on, which shows that it is the
	// comparison that finds it.
	m = newMatch(t, 2, plant(100, func(c *session.Config[state, input]) { c.FingerprintEvery = session.None }))
	m.peers[1].maybeDiffers = true
	m.runUntil(500)
	require.Equal(t, driftback.Tick(101), m.peers[1].wrong)
	_, ok := m.peers[0].session.Root(8)
	require.False(t, ok)
}

func TestADivergenceBetweenDueTicksIsFoundAtTheFinish(t *testing.T) {
	for name, link := range map[string]loopback.Impairment{
		"over a clean link": {},
		"at 30 % loss":      {Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.3},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, plant(80, func(c *session.Config[state, input]) { c.FingerprintEvery = 64 }))
			m.peers[1].maybeDiffers = true
			m.impair(link)
			for _, p := range m.peers {
				require.NoError(t, p.session.Finish(100))
			}
			m.runWhile(2000, "not halted", func() bool { return m.peers[0].err == nil || m.peers[1].err == nil })
			requireDesync(t, m, m.peers[0], m.peers[1], 81, 100)
		})
	}
}

func TestADivergenceAtAnEarlierDueTickWinsOverTheFinish(t *testing.T) {
	m := newMatch(t, 2, plant(80, nil))
	m.peers[1].maybeDiffers = true
	m.impair(loopback.Impairment{Latency: 100 * ms, Loss: 0.3})
	for _, p := range m.peers {
		require.NoError(t, p.session.Finish(90))
	}
	m.runWhile(2000, "not halted", func() bool { return m.peers[0].err == nil || m.peers[1].err == nil })
	requireDesync(t, m, m.peers[0], m.peers[1], 81, 88)
}

func TestAFingerprintThatArrivesBeforeOursIsKeptAndCompared(t *testing.T) {
	// Peer 0 has published ten ticks ahead when it pauses, so peer 1 confirms and
	// fingerprints ticks that peer 0 has not reached.
	early := func(at driftback.Tick) (*match, int) {
		var plantAt func(c *session.Config[state, input])
		delayed := func(c *session.Config[state, input]) { c.FingerprintEvery, c.InputDelay = 2, 10 }
		if plantAt = delayed; at > 0 {
			plantAt = plant(at, delayed)
		}
		m, taps := newTappedMatch(t, 2, plantAt)
		m.peers[1].maybeDiffers = at > 0
		n := 0
		taps[0].received = func(msg transport.Message) {
			if msg.Kind != transport.Datagram {
				return
			}
			if sums := &parse(t, msg.Data).Sums; len(sums.List) > 0 {
				last := driftback.Tick(sums.First+uint64(len(sums.List))) * 2
				if _, known := m.peers[0].session.Root(last); !known && last > m.peers[0].tick() {
					n++
				}
			}
		}
		m.impair(loopback.Impairment{Latency: 20 * ms})
		m.runUntil(50)
		for range 20 {
			m.peers[0].asleep = true
			m.run(15)
			m.peers[0].asleep = false
			m.run(5)
		}
		return m, n
	}
	m, n := early(0)
	m.requireLive()
	require.Greater(t, n, 20, "fingerprints that arrived for ticks not yet run")
	m.requireProgress(50)
	require.Greater(t, m.peers[0].session.Stats().Agreed, driftback.Tick(100))

	m, _ = early(101)
	require.Error(t, m.peers[0].err)
	requireDesync(t, m, m.peers[0], m.peers[1], 102, 102)
}

func TestTheStateThatDiffersIsKeptUntilTheReportHoweverLateThatIs(t *testing.T) {
	for _, every := range []int{1, 8} {
		t.Run(fmt.Sprint("every ", every, " ticks"), func(t *testing.T) {
			m, taps := newTappedMatch(t, 2, plant(100, func(c *session.Config[state, input]) { c.FingerprintEvery = every }))
			m.peers[1].maybeDiffers = true
			due := driftback.Tick(100/every+1) * driftback.Tick(every)
			m.runUntil(95)
			// From that tick on fingerprints do not get through, so that its state is the
			// oldest of all that wait.
			index := uint64(due)/uint64(every) - 1
			for _, p := range taps {
				p.datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
					pass(rewrite(t, b, func(p *wire.Packet) {
						for len(p.Sums.List) > 0 && p.Sums.First+uint64(len(p.Sums.List)) > index {
							p.Sums.List = p.Sums.List[:len(p.Sums.List)-1]
						}
					}))
				}
			}
			m.run(1000)
			m.requireLive()
			for _, p := range m.peers {
				require.Equal(t, due-driftback.Tick(every), p.session.Stats().Agreed)
				require.GreaterOrEqual(t, p.confirmed, due+driftback.Tick(63*every), "as many wait as may")
				require.Greater(t, p.confirmed, due+driftback.Tick(session.DefaultWindow)+20, "the state has left the loop's own snapshots")
			}
			for _, p := range taps {
				p.datagram = nil
			}
			m.run(100)
			requireDesync(t, m, m.peers[0], m.peers[1], 101, due)
		})
	}
}

func TestTheMatchStallsRatherThanForgetAnUncomparedState(t *testing.T) {
	m, taps := newTappedMatch(t, 2, func(c *session.Config[state, input]) { c.FingerprintEvery = 1 })
	m.runUntil(50)
	for _, p := range taps {
		p.datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
			pass(rewrite(t, b, func(p *wire.Packet) { p.Sums.List = nil }))
		}
	}
	m.run(300)
	m.requireLive()
	stopped := m.peers[0].confirmed
	require.InDelta(t, 50+64, int(stopped), 20, "where the match stalled")
	m.run(50)
	require.Equal(t, stopped, m.peers[0].confirmed)
	for _, p := range taps {
		p.datagram = nil
	}
	m.requireProgress(200)
}

func TestOneOfThreeDivergesAndAllHalt(t *testing.T) {
	m := newMatch(t, 3, plant(100, nil))
	m.peers[1].maybeDiffers = true
	m.impair(loopback.Impairment{Latency: 30 * ms, Loss: 0.05})
	m.runWhile(2000, "not halted", func() bool {
		return m.peers[0].err == nil || m.peers[1].err == nil || m.peers[2].err == nil
	})
	found := 0
	for _, p := range m.peers {
		var desync *session.DesyncError
		if ok := errorAs(p.err, &desync); ok {
			require.Equal(t, driftback.Tick(104), desync.Found)
			require.Equal(t, driftback.Tick(101), desync.Tick)
			require.True(t, p.self == 1 || desync.Peer == 1, "peer %d blames peer %d", p.self, desync.Peer)
			found++
			continue
		}
		require.ErrorIs(t, p.err, session.ErrHalted)
		require.ErrorContains(t, p.err, "the states differ as tick 104 begins")
	}
	require.GreaterOrEqual(t, found, 2)
}
