package session_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// comeIn is a turn of a peer that comes back, and has no session yet. Its world is held to
// the oracle's at every tick it comes to rest at.
func (p *peer) comeIn() {
	r, err := p.joiner.Tick(p.match.net.Now() + p.drift)
	p.err = err
	p.events = append(p.events, r.Events...)
	if r.Phase == session.CatchingUp {
		if p.first == 0 {
			p.first = r.Tick
		}
		p.confirmed = r.Tick
		p.checked++
		if want := p.match.oracle.at(r.Tick); *p.joiner.State() != *want {
			p.match.t.Fatalf("peer %d, coming back: the state as tick %d begins is %+v, and with every input on time it is %+v", p.self, r.Tick, *p.joiner.State(), *want)
		}
	}
	p.session = p.joiner.Session()
}

// comeBack opens a new process of a peer that has crashed, over an endpoint of its own.
func (m *match) comeBack(self driftback.Peer, change func(c *session.JoinConfig[state, input])) *peer {
	m.t.Helper()
	for i, old := range m.peers {
		if old.self != self {
			continue
		}
		p := &peer{match: m, self: self, effects: map[session.Report]int{}, drift: old.drift + time.Minute, end: m.net.Open(self)}
		c := session.JoinConfig[state, input]{Config: old.config}
		c.Nonce += 100
		c.Transport = p.end
		if m.wrap != nil {
			c.Transport = m.wrap(p.end)
		}
		if change != nil {
			change(&c)
		}
		var err error
		p.joiner, err = session.Join(c)
		require.NoError(m.t, err)
		p.config = c.Config
		m.peers[i] = p
		return p
	}
	m.t.Fatalf("no peer %d", self)
	return nil
}

// newReturnMatch returns a match of n peers to which one that was lost may come back.
func newReturnMatch(t testingT, n int, change func(c *session.Config[state, input])) *match {
	t.Helper()
	return newViewMatch(t, n, func(c *session.Config[state, input]) {
		c.Rejoin = true
		if change != nil {
			change(c)
		}
	})
}

// runIn runs until a peer that comes back plays, and returns from which tick on.
func (m *match) runIn(p *peer) driftback.Tick {
	m.t.Helper()
	m.runWhile(1500, "not let in", func() bool {
		m.requireNoErrors()
		return p.session == nil
	})
	t, ok := p.session.Joined(driftback.Participant(p.self))
	require.True(m.t, ok)
	m.runWhile(1500, "not playing", func() bool {
		m.requireNoErrors()
		return p.advanced == 0
	})
	return t
}

// finishAll has the match finish some ticks from now, and holds every peer's last state to
// the oracle's.
func (m *match) finishAll() {
	m.t.Helper()
	at := driftback.Tick(0)
	for _, p := range m.awake() {
		at = max(at, p.tick()+30)
	}
	for _, p := range m.awake() {
		require.NoError(m.t, p.session.Finish(at))
	}
	live := m.awake()
	m.runWhile(1000, "not finished", func() bool { return len(m.awake()) > 0 })
	for _, p := range live {
		require.ErrorIs(m.t, p.err, session.ErrFinished, "peer %d", p.self)
		require.Equal(m.t, at, p.tick())
		require.Equal(m.t, *m.oracle.at(at), *p.session.State(), "peer %d", p.self)
	}
}

func (p *peer) countEvents(kind mesh.EventKind) (n int) {
	for _, e := range p.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func TestAPeerThatCrashedComesBackAndPlaysOn(t *testing.T) {
	for name, c := range map[string]struct {
		peers, delay, window int
		link                 loopback.Impairment
		away                 int // frames
	}{
		"three peers":                 {peers: 3, link: loopback.Impairment{Latency: 30 * ms}, away: 200},
		"at once":                     {peers: 3, link: loopback.Impairment{Latency: 30 * ms}, away: 5},
		"with input delay":            {peers: 3, delay: 4, link: loopback.Impairment{Latency: 30 * ms}, away: 200},
		"without predictions":         {peers: 3, delay: 4, window: session.None, link: loopback.Impairment{Latency: 20 * ms}, away: 200},
		"four peers over a bad link":  {peers: 4, delay: 1, link: loopback.Impairment{Latency: 50 * ms, Jitter: 20 * ms, Loss: 0.1, Reorder: 0.1, Duplicate: 0.05}, away: 400},
		"when the start is long gone": {peers: 3, link: loopback.Impairment{Latency: 30 * ms}, away: 1500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newReturnMatch(t, c.peers, func(s *session.Config[state, input]) { s.InputDelay, s.PredictionWindow = c.delay, c.window })
			m.impair(c.link)
			m.runUntil(200)
			lost := driftback.Peer(c.peers - 1)
			m.peers[lost].crash()
			m.run(c.away)
			p := m.comeBack(lost, nil)
			from := m.runIn(p)
			away := m.oracle.away[int(lost)]
			require.Len(t, away, 1)
			require.Equal(t, from, away[0].to)
			require.Greater(t, away[0].from, driftback.Tick(150))
			require.Greater(t, from, away[0].from+60, "the control: for some ticks nobody played")
			require.Equal(t, c.away > 300, p.first > 500, "it was given a state, where the beginning is too long ago")
			m.runUntil(from + 300)
			m.requireOneView()
			for _, q := range m.awake() {
				s := q.session.Stats()
				require.Greater(t, s.Agreed, from+200, "fingerprints are compared again, at peer %d", q.self)
				require.Equal(t, driftback.Playing, s.Status[lost])
				if q != p {
					require.Equal(t, 1, q.countEvents(session.PeerReturned), "peer %d", q.self)
				}
			}
			require.Greater(t, p.caught, 0)
			require.Greater(t, p.advanced, 250)
			m.finishAll()
		})
	}
}

// awakeUntil runs until every peer that is awake has confirmed tick t.
func (m *match) awakeUntil(t driftback.Tick) {
	m.t.Helper()
	m.runWhile(3000, "not so far", func() bool {
		m.requireNoErrors()
		return slices.ContainsFunc(m.awake(), func(p *peer) bool { return p.confirmed < t })
	})
}

// stalls returns how often each member stalled, of three peers of which the last crashes
// and comes back, or does not.
func stalls(t *testing.T, back bool, change func(c *session.Config[state, input])) (members []uint64, ticks []driftback.Tick) {
	t.Helper()
	m := newReturnMatch(t, 3, change)
	m.impair(loopback.Impairment{Latency: 30 * ms})
	m.runUntil(200)
	m.peers[2].crash()
	m.run(300)
	if back {
		p := m.comeBack(2, nil)
		for range 600 {
			m.run(1)
			m.requireNoErrors()
		}
		require.Greater(t, p.advanced, 300, "the control: it plays")
	} else {
		m.run(600)
	}
	for _, p := range m.peers[:2] {
		s := p.session.Stats()
		members, ticks = append(members, s.Stalled), append(ticks, s.Tick)
	}
	return members, ticks
}

func TestNobodyStallsATickMoreBecauseAPeerComesBack(t *testing.T) {
	for name, change := range map[string]func(c *session.Config[state, input]){
		"as it comes":       nil,
		"with a delay of 2": func(c *session.Config[state, input]) { c.InputDelay = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			without, ran := stalls(t, false, change)
			with, runs := stalls(t, true, change)
			require.Equal(t, without, with)
			require.Equal(t, ran, runs)
			require.Positive(t, without[0], "the control: they stalled while the crash was found")
			t.Logf("each member stalled %d times, with and without", without)
		})
	}
}

func TestOfTwoPeersOneComesBackToTheOther(t *testing.T) {
	for name, away := range map[string]int{"at once": 5, "when the other waits": 200} {
		t.Run(name, func(t *testing.T) {
			m := newReturnMatch(t, 2, func(c *session.Config[state, input]) { c.RejoinGrace = 10 * time.Second })
			m.impair(loopback.Impairment{Latency: 30 * ms, Loss: 0.05})
			m.runUntil(200)
			m.peers[1].crash()
			m.run(away)
			from := m.runIn(m.comeBack(1, nil))
			m.runUntil(from + 200)
			m.requireOneView()
			m.finishAll()
		})
	}
}

func TestWhoIsNotWaitedForAnyMoreIsLost(t *testing.T) {
	m := newReturnMatch(t, 2, func(c *session.Config[state, input]) { c.RejoinGrace = 2 * time.Second })
	m.runUntil(200)
	m.peers[1].crash()
	m.run(100)
	at := m.peers[0].tick()
	m.run(40)
	require.NoError(t, m.peers[0].err)
	require.Equal(t, at, m.peers[0].tick(), "it does not play on alone")
	m.run(100)
	require.ErrorIs(t, m.peers[0].err, session.ErrPeerLost)
}

func TestAPeerComesBackAgainAndAgain(t *testing.T) {
	m := newReturnMatch(t, 3, nil)
	m.impair(loopback.Impairment{Latency: 40 * ms, Jitter: 10 * ms, Loss: 0.05})
	m.runUntil(100)
	for round := range 3 {
		lost := []driftback.Peer{2, 2, 0}[round]
		for i, p := range m.peers {
			if p.self == lost {
				m.peers[i].crash()
			}
		}
		m.run(60 + 60*round)
		p := m.comeBack(lost, func(c *session.JoinConfig[state, input]) { c.Nonce += uint64(1000 * round) })
		from := m.runIn(p)
		m.runUntil(from + 100)
		m.requireOneView()
	}
	require.Len(t, m.oracle.away[2], 2)
	require.Len(t, m.oracle.away[0], 1)
	m.finishAll()
}

func TestTwoComeBackAtOnce(t *testing.T) {
	m := newReturnMatch(t, 5, nil)
	m.impair(loopback.Impairment{Latency: 30 * ms, Jitter: 10 * ms, Loss: 0.05})
	m.runUntil(100)
	m.peers[4].crash()
	m.peers[3].crash()
	m.run(200)
	a, b := m.comeBack(3, nil), m.comeBack(4, nil)
	m.runWhile(2000, "not both in", func() bool {
		m.requireNoErrors()
		return a.advanced == 0 || b.advanced == 0
	})
	m.runUntil(max(a.tick(), b.tick()) + 200)
	m.requireOneView()
	m.finishAll()
}

func TestASpectatorWatchesAPeerGoAndComeBack(t *testing.T) {
	m := newReturnMatch(t, 3, watched(2))
	s := m.watch(9, nil)
	m.impair(loopback.Impairment{Latency: 30 * ms, Loss: 0.05})
	m.impairWatching(s, loopback.Impairment{Latency: 50 * ms, Jitter: 20 * ms, Loss: 0.1})
	m.runUntil(200)
	m.peers[2].crash()
	m.run(150)
	p := m.comeBack(2, nil)
	from := m.runIn(p)
	// Whoever has come back can be watched too, by one who must be told what happened before.
	late := m.watch(10, func(c *session.WatchConfig[state, input]) { c.Feeders = []driftback.Peer{2} })
	m.runUntil(from + 300)
	require.NoError(t, s.err)
	require.NoError(t, late.err)
	require.Greater(t, s.session.Agreed(), from+200)
	require.Greater(t, late.session.Agreed(), from+200)
	require.Equal(t, 1, p.session.Watchers())
	m.finishAll()
	m.run(60)
	s.requireFinishedAt(p.tick())
	late.requireFinishedAt(p.tick())
}

func TestWhoComesBackFindsTheMatchPausedAndAtItsSpeed(t *testing.T) {
	m := newReturnMatch(t, 3, nil)
	m.impair(loopback.Impairment{Latency: 30 * ms})
	held := session.Control{Speed: session.NormalSpeed}
	m.oracle.step = func(s *state, in []input, pass *driftback.Pass) {
		c, ok := m.peers[0].session.ControlAt(pass.Tick() + 1)
		if ok {
			held = c
		}
		if !held.Paused {
			viewStep(s, in, pass)
		}
	}
	m.runUntil(200)
	m.peers[2].crash()
	m.run(150)
	require.NoError(t, m.peers[0].session.SetSpeed(12))
	m.run(30)
	require.NoError(t, m.peers[0].session.Pause())
	m.run(60)
	paused, _ := m.peers[0].session.Paused()
	require.True(t, paused, "the control")
	p := m.comeBack(2, nil)
	from := m.runIn(p)
	paused, _ = p.session.Paused()
	speed, _ := p.session.Speed()
	require.True(t, paused)
	require.EqualValues(t, 12, speed)
	m.runUntil(from + 50)
	require.NoError(t, p.session.Resume())
	m.run(60)
	for _, q := range m.peers {
		paused, _ := q.session.Paused()
		require.False(t, paused, "peer %d", q.self)
	}
	m.finishAll()
}

func TestWhatTheOldProcessSentChangesNothingForTheNewOne(t *testing.T) {
	type sent struct {
		to driftback.Peer
		b  []byte
	}
	var old []sent
	m, taps := newTappedMatch(t, 3, func(c *session.Config[state, input]) {
		c.Step, c.WhenLost, c.PeerTimeout, c.Rejoin = viewStep, session.PlayOn, time.Second, true
	})
	m.oracle.step = viewStep
	taps[2].datagram = func(to driftback.Peer, b []byte, pass func(b []byte)) {
		old = append(old, sent{to, append([]byte(nil), b...)})
		pass(b)
	}
	m.impair(loopback.Impairment{Latency: 30 * ms})
	m.runUntil(200)
	m.peers[2].crash()
	old = old[len(old)-200:]
	m.run(100)
	m.wrap = nil
	p := m.comeBack(2, nil)
	again := func() {
		for _, s := range old[:20] {
			p.end.Send(s.to, s.b)
		}
	}
	for p.session == nil {
		m.run(1)
		m.requireNoErrors()
		again()
	}
	from := m.runIn(p)
	for m.peers[0].confirmed < from+100 {
		again()
		m.run(1)
		m.requireNoErrors()
	}
	require.Positive(t, m.peers[0].refused(mesh.OtherMatch)+m.peers[0].refused(mesh.CutOff), "the control: they came")
	m.finishAll()
}

// Who was frozen lets in the process before, and says so over the link to this one.
func TestAWelcomeForTheProcessBeforeIsNotForThisOne(t *testing.T) {
	m := newMatch(t, 3, func(c *session.Config[state, input]) {
		c.Step, c.WhenLost, c.PeerTimeout, c.Rejoin = viewStep, session.PlayOn, time.Second, true
	})
	m.oracle.step = viewStep
	m.impair(loopback.Impairment{Latency: 30 * ms})
	m.runUntil(200)
	m.peers[2].crash()
	m.run(100)
	p := m.comeBack(2, nil)
	welcome, err := wire.AppendControl(nil, wire.Welcome{View: 1, Value: wire.Value{
		Joins: []wire.Join{{Peer: 2, Nonce: 12345, Tick: 100, Delays: []wire.Delay{{Participant: 2}}}},
	}})
	require.NoError(t, err)
	sent := 0
	for p.session == nil {
		if m.peers[0].end.SendReliable(2, welcome) == nil {
			sent++
		}
		m.run(1)
		m.requireNoErrors()
	}
	require.Greater(t, sent, 5, "the control")
	m.runIn(p)
	m.finishAll()
}

func TestWhoDoesNotKnowThatTheMatchGoesOnIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		away int
		idle int // for so many frames it says nothing, and is taken for the old process
	}{
		"before it is cut":                     {5, 0},
		"before it is cut, and it is slow":     {5, 20},
		"when it has been cut":                 {100, 0},
		"when it has been cut, and it is slow": {100, 20},
	} {
		t.Run(name, func(t *testing.T) {
			m := newReturnMatch(t, 3, nil)
			m.impair(loopback.Impairment{Latency: 30 * ms})
			m.runUntil(200)
			m.peers[2].crash()
			m.run(c.away)
			config := m.peers[2].config
			config.Nonce += 50
			end := m.net.Open(2)
			config.Transport = end
			s, err := session.New(config)
			require.NoError(t, err)
			m.run(c.idle)
			m.runWhile(300, "not told", func() bool {
				_, err = s.Tick(m.net.Now(), input{})
				return err == nil
			})
			require.ErrorIs(t, err, session.ErrUnderWay)
			require.ErrorContains(t, err, "come to it with session.Join")
			s.Leave()
			require.NoError(t, end.Close())
			from := m.runIn(m.comeBack(2, nil))
			m.runUntil(from + 100)
			m.finishAll()
		})
	}
}

func TestAProcessThatIsNotInTheMatchCannotEndIt(t *testing.T) {
	for frames := 1; frames < 16; frames++ {
		m := newReturnMatch(t, 3, nil)
		m.impair(loopback.Impairment{Latency: 30 * ms})
		m.runUntil(200)
		m.peers[2].crash()
		m.run(5)
		config := m.peers[2].config
		config.Nonce += 50
		end := m.net.Open(2)
		config.Transport = end
		s, err := session.New(config)
		require.NoError(t, err)
		for range frames {
			m.run(1)
			_, _ = s.Tick(m.net.Now(), input{})
		}
		s.Halt("it is not my match")
		m.run(10)
		require.NoError(t, end.Close())
		m.run(100)
		m.requireNoErrors()
		from := m.runIn(m.comeBack(2, nil))
		m.runUntil(from + 50)
		m.finishAll()
	}
}

func TestAMatchThatEndsMeanwhileEndsWhoComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(m *match)
		want error
	}{
		"finished": {func(m *match) {
			at := m.peers[0].tick() + 10
			for _, p := range m.peers[:2] {
				require.NoError(m.t, p.session.Finish(at))
			}
		}, session.ErrFinished},
		"halted": {func(m *match) { m.peers[0].session.Halt("enough") }, session.ErrNoFeeder},
	} {
		t.Run(name, func(t *testing.T) {
			m := newReturnMatch(t, 3, nil)
			m.impair(loopback.Impairment{Latency: 30 * ms})
			m.runUntil(200)
			m.peers[2].crash()
			m.run(100)
			p := m.comeBack(2, nil)
			m.run(10)
			c.end(m)
			m.runWhile(600, "not over", func() bool { return p.err == nil })
			require.ErrorIs(t, p.err, c.want)
			require.Nil(t, p.session)
			if errors.Is(c.want, session.ErrFinished) {
				require.Equal(t, *m.peers[0].session.State(), *p.joiner.State())
			}
			_, err := p.joiner.Tick(m.net.Now() + p.drift)
			require.ErrorIs(t, err, c.want)
			require.ErrorIs(t, p.joiner.Err(), c.want)
		})
	}
}

func TestWhoGivesUpComingBackIsForgotten(t *testing.T) {
	for name, frames := range map[string]int{"at once": 3, "when it has asked to be let in": 30} {
		t.Run(name, func(t *testing.T) {
			m := newReturnMatch(t, 3, nil)
			m.impair(loopback.Impairment{Latency: 30 * ms})
			m.runUntil(200)
			m.peers[2].crash()
			m.run(100)
			p := m.comeBack(2, nil)
			m.run(frames)
			if p.session == nil {
				p.joiner.Leave()
				require.ErrorIs(t, p.joiner.Err(), session.ErrLeft)
			} else {
				p.session.Leave()
			}
			p.asleep = true
			m.run(200)
			m.requireNoErrors()
			require.NoError(t, p.end.Close())
			m.run(30)
			from := m.runIn(m.comeBack(2, func(c *session.JoinConfig[state, input]) { c.Nonce++ }))
			m.runUntil(from + 100)
			m.requireOneView()
			m.finishAll()
		})
	}
}

func TestWhoComesBackPlaysTheRematch(t *testing.T) {
	m := newReturnMatch(t, 3, nil)
	m.impair(loopback.Impairment{Latency: 30 * ms, Loss: 0.05})
	m.runUntil(200)
	m.peers[2].crash()
	m.run(100)
	from := m.runIn(m.comeBack(2, nil))
	m.runUntil(from + 50)
	m.finishAll()
	m.anew(play(5), []int{0, 0, 0})
	m.oracle.step = viewStep
	for _, p := range m.peers {
		p.rematch(nil)
	}
	m.runUntil(200)
	m.finishAll()
}

func TestTheDelayOfWhoComesBackIsItsOwnAffair(t *testing.T) {
	m := newReturnMatch(t, 3, func(c *session.Config[state, input]) { c.InputDelay = 2 })
	m.impair(loopback.Impairment{Latency: 60 * ms})
	m.runUntil(200)
	m.peers[2].crash()
	m.run(100)
	p := m.comeBack(2, func(c *session.JoinConfig[state, input]) {
		c.InputDelay, c.AdaptDelay = 5, session.AdaptDelay{Min: 1, Max: 8, Depth: 3}
	})
	from := m.runIn(p)
	require.Equal(t, 5, p.session.InputDelay(2))
	m.changing = true
	m.runUntil(from + 1200)
	require.NotEqual(t, 5, p.session.InputDelay(2), "the control: it follows the links")
	m.finishAll()
}

// TestASponsorThatCrashesIsReplacedByAnother has it crash at every moment of a join.
func TestASponsorThatCrashesIsReplacedByAnother(t *testing.T) {
	for _, frames := range []int{2, 4, 6, 8, 10, 12, 15, 20, 25, 30, 40} {
		m := newReturnMatch(t, 5, nil)
		m.impair(loopback.Impairment{Latency: 30 * ms})
		m.runUntil(600)
		m.peers[4].crash()
		m.run(100)
		p := m.comeBack(4, nil)
		m.run(frames)
		feeder, feeds := p.joiner.Feeder()
		m.peers[feeder].crash()
		from := m.runIn(p)
		t.Logf("peer %d crashed after %d frames (it fed: %v), and tick %d is the first of the one that came back", feeder, frames, feeds, from)
		m.awakeUntil(from + 100)
		m.finishAll()
	}
}

func TestEveryErrorOfAJoinConfigNamesTheField(t *testing.T) {
	good := session.JoinConfig[state, input]{Config: session.Config[state, input]{
		Step: step, Transport: loopback.New(1).Open(1), Self: 1, Players: []driftback.Peer{0, 1, 2}, Nonce: 1,
		WhenLost: session.PlayOn, Rejoin: true,
	}}
	_, err := session.Join(good)
	require.NoError(t, err)
	for want, change := range map[string]func(c *session.JoinConfig[state, input]){
		"Self is peer 7":           func(c *session.JoinConfig[state, input]) { c.Self = 7 },
		"Rejoin is false":          func(c *session.JoinConfig[state, input]) { c.Rejoin = false },
		"WhenLost is End":          func(c *session.JoinConfig[state, input]) { c.WhenLost = session.End },
		"FingerprintEvery is None": func(c *session.JoinConfig[state, input]) { c.FingerprintEvery = session.None },
		"Transport is nil":         func(c *session.JoinConfig[state, input]) { c.Transport = nil },
		"Nonce is 0":               func(c *session.JoinConfig[state, input]) { c.Nonce = 0 },
		"Feeders has peer 1":       func(c *session.JoinConfig[state, input]) { c.Feeders = []driftback.Peer{0, 1} },
		"Feeders are the peers":    func(c *session.JoinConfig[state, input]) { c.Feeders = []driftback.Peer{0, 9} },
		"CatchUp is 257":           func(c *session.JoinConfig[state, input]) { c.CatchUp = 257 },
		"MaxState is -1":           func(c *session.JoinConfig[state, input]) { c.MaxState = -1 },
	} {
		c := good
		change(&c)
		_, err := session.Join(c)
		require.ErrorContains(t, err, want)
	}
	type closed struct{ Hidden []byte }
	_, err = session.New(session.Config[closed, input]{
		Step: func(*closed, []input, *driftback.Pass) {}, Transport: loopback.New(1).Open(1), Self: 1,
		Players: []driftback.Peer{0, 1, 2}, Nonce: 1, WhenLost: session.PlayOn, Rejoin: true,
	})
	require.ErrorContains(t, err, "Rejoin is true, and a state cannot be made of its bytes")
}

func TestAWarmFrameAfterAReturnAllocatesNothing(t *testing.T) {
	m := newReturnMatch(t, 3, nil)
	m.runUntil(60)
	m.peers[2].crash()
	m.run(100)
	from := m.runIn(m.comeBack(2, nil))
	m.runUntil(from + 100)
	turn := func() {
		m.net.Advance(frame)
		for _, p := range m.peers {
			if _, err := p.session.Tick(m.net.Now()+p.drift, input{Buttons: uint16(p.tick())}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 100 {
		turn()
	}
	require.Zero(t, testing.AllocsPerRun(200, turn))
}

func TestTicksThatRanBeforeTheOthersAgreedRunAgainForWhoReturns(t *testing.T) {
	m := newReturnMatch(t, 3, func(c *session.Config[state, input]) {
		c.PredictionWindow, c.PeerTimeout = 100, 5*time.Second
	})
	m.script = func(p int, t driftback.Tick) input {
		if p == 2 {
			return input{} // who plays shows in nothing else
		}
		return play(7)(p, t)
	}
	m.impair(loopback.Impairment{Latency: 500 * ms})
	m.runUntil(200)
	m.peers[2].crash()
	m.run(600)
	beyond := driftback.Tick(0)
	m.check = func(p *peer, r session.Result) {
		for _, e := range r.Events {
			if e.Kind == session.PeerReturned {
				beyond = max(beyond, r.Tick-e.Tick)
			}
		}
	}
	from := m.runIn(m.comeBack(2, nil))
	require.Positive(t, beyond, "the control: somebody had run on as if nobody came")
	m.awakeUntil(from + 300)
	m.finishAll()
}

func TestWhetherWhoIsLostMayReturnIsAlikeOnEveryPeer(t *testing.T) {
	errs := meet(t, func(self driftback.Peer, tr transport.Transport) starter {
		return started(t, self, tr, func(c *session.Config[state, input]) { c.WhenLost, c.Rejoin = session.PlayOn, self == 1 })
	})
	var mismatch *session.MismatchError
	require.ErrorAs(t, errs[0], &mismatch)
	require.Equal(t, session.MismatchError{Peer: 1, Setting: "when a peer is lost", Ours: "play on", Theirs: "play on, and let it return"}, *mismatch)
	require.ErrorIs(t, errs[1], session.ErrRefused)
}

// One that has been let in plays, and says what it confirms, from some ticks later on. A cut that
// comes before those takes nothing of that back.
func TestOthersAreLostBeforeWhoWasLetInPlays(t *testing.T) {
	m := newReturnMatch(t, 5, func(c *session.Config[state, input]) {
		c.PredictionWindow, c.JoinTimeout, c.InputDelay = session.None, 8*time.Second, max(1, 2-2*int(c.Self))
	})
	m.impair(loopback.Impairment{Jitter: 10 * ms})
	m.runUntil(20)
	crash := func(p *peer, frames int) {
		p.crash()
		p.dead, p.asleep = true, true
		m.run(frames)
	}
	crash(m.peers[3], 67)
	m.peers[3].end.Crash()
	m.comeBack(3, nil)
	m.run(1)
	crash(m.peers[4], 85)
	crash(m.peers[1], 8)
	m.run(600)
	require.Len(t, m.awake(), 3)
	m.requireNoErrors()
	before := m.peers[0].confirmed
	m.run(100)
	require.GreaterOrEqual(t, m.peers[0].confirmed, before+50, "the others are lost, and those three go on")
	m.requireOneView()
}
