package session_test

import (
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

// viewStep is step for any number of participants, and notices who is behind each.
func viewStep(s *state, in []input, pass *driftback.Pass) {
	for p, i := range in {
		s.Digest = (s.Digest ^ uint64(i.Buttons) ^ uint64(p)<<16 ^ uint64(pass.Status(driftback.Participant(p)))<<32) * 0x9e3779b97f4a7c15
		s.Digest ^= s.Digest >> 29
		if i.Buttons&1 != 0 {
			pass.Raise(driftback.Effect{Kind: effectPress, Args: [3]int32{int32(p)}})
		}
	}
	s.Ticks++
}

// knows tells the oracle what a peer knows of cuts and returns, and reports whether its
// state as tick t begins can be held against it: a peer that does not know of one yet may
// have gone on for some ticks as if there was none.
func (o *oracle) knows(p *peer, t driftback.Tick) bool {
	for q := range o.delays {
		cut, isCut := p.session.Cut(driftback.Participant(q))
		joined, isJoined := p.session.Joined(driftback.Participant(q))
		if isCut {
			o.cut(q, cut)
		}
		if isJoined {
			o.joined(q, joined)
		}
		// What it knows last, and what comes after that.
		last := driftback.Tick(-1)
		if isCut {
			last = cut
		} else if isJoined {
			last = joined
		}
		for _, s := range o.away[q] {
			if s.from > last && t > s.from || s.to > last && t > s.to {
				return false
			}
			if isCut && s.to == 0 && cut > s.from && t > s.from {
				return false
			}
		}
	}
	return true
}

// cut notes from when on a participant does not play; one that is known already may only
// become lower.
func (o *oracle) cut(q int, t driftback.Tick) {
	list := o.away[q]
	n := len(list)
	switch {
	case n == 0 || list[n-1].to != 0 && t >= list[n-1].to:
		if o.away == nil {
			o.away = map[int][]span{}
		}
		o.away[q] = append(list, span{from: t})
	case list[n-1].to == 0 && t < list[n-1].from && (n == 1 || t >= list[n-2].to):
		list[n-1].from = t
	default:
		return
	}
	o.back(t)
}

// joined notes from when on it plays again.
func (o *oracle) joined(q int, t driftback.Tick) {
	if n := len(o.away[q]); n > 0 && o.away[q][n-1].to == 0 && t > o.away[q][n-1].from {
		o.away[q][n-1].to = t
		o.back(t)
	}
}

// back has the oracle run again what is played otherwise from tick t on.
func (o *oracle) back(t driftback.Tick) {
	if o.next > t {
		o.state, o.next = o.states[t%4096], t
	}
}

// newViewMatch returns a match of n peers that play on when one is lost.
func newViewMatch(t testingT, n int, change func(c *session.Config[state, input])) *match {
	t.Helper()
	m := newMatch(t, n, func(c *session.Config[state, input]) {
		c.Step, c.WhenLost, c.PeerTimeout = viewStep, session.PlayOn, time.Second
		if change != nil {
			change(c)
		}
	})
	m.oracle.step = viewStep
	return m
}

// crash ends a peer as if its process had died.
func (p *peer) crash() {
	p.asleep = true
	p.end.Crash()
}

// awake returns the peers whose loop runs.
func (m *match) awake() (list []*peer) {
	for _, p := range m.peers {
		if !p.asleep && p.err == nil {
			list = append(list, p)
		}
	}
	return list
}

// holds returns the first tick of participant q, from the confirmed one on, whose input
// a peer does not hold.
func (p *peer) holds(q driftback.Participant) driftback.Tick {
	t := p.session.Stats().Confirmed
	for {
		if _, confirmed, _ := p.session.Input(q, t); !confirmed {
			return t
		}
		t++
	}
}

// requireSurvivors runs the match until every peer that is awake has cut the
// participants of the lost and has gone on for n ticks, and holds against each other
// what they know.
func (m *match) requireSurvivors(n driftback.Tick, lost ...driftback.Peer) {
	m.t.Helper()
	from := driftback.Tick(0)
	m.runWhile(1500, "not everybody has cut the lost", func() bool {
		m.requireNoErrors()
		for _, p := range m.awake() {
			from = max(from, p.tick())
			for _, q := range lost {
				if _, ok := p.session.Cut(driftback.Participant(q)); !ok {
					return true
				}
			}
		}
		return false
	})
	m.runWhile(3000, "no progress after the cut", func() bool {
		m.requireNoErrors()
		for _, p := range m.awake() {
			if p.confirmed < from+n {
				return true
			}
		}
		return false
	})
	m.requireOneView()
	require.Len(m.t, m.awake(), len(m.peers)-len(lost))
}

// requireNoErrors fails the test when a match has ended for a peer whose loop runs.
func (m *match) requireNoErrors() {
	m.t.Helper()
	for _, p := range m.peers {
		if !p.asleep {
			require.NoError(m.t, p.err, "peer %d, in frame %d", p.self, m.frames)
		}
	}
}

// requireOneView holds against each other what the survivors know.
func (m *match) requireOneView() {
	m.t.Helper()
	first := m.awake()[0]
	for _, p := range m.awake() {
		s := p.session.Stats()
		require.Equal(m.t, first.session.Stats().View, s.View, "peer %d", p.self)
		for q := range p.config.Players {
			q := driftback.Participant(q)
			want, cut := first.session.Cut(q)
			got, ok := p.session.Cut(q)
			require.Equal(m.t, cut, ok)
			require.Equal(m.t, want, got, "participant %d at peer %d", q, p.self)
			require.Equal(m.t, cut, s.Status[q] == driftback.Replaced)
		}
	}
}

func TestTheSurvivorsOfACrashGoOnFromTheSameTick(t *testing.T) {
	for name, c := range map[string]struct {
		peers int
		lost  driftback.Peer
		link  loopback.Impairment
		delay int
		win   int
	}{
		"the last of three":             {peers: 3, lost: 2},
		"the first of three":            {peers: 3, lost: 0},
		"one of four, over bad links":   {peers: 4, lost: 1, link: loopback.Impairment{Latency: 40 * ms, Jitter: 15 * ms, Loss: 0.2, Reorder: 0.1}},
		"one of eight, over bad links":  {peers: 8, lost: 0, link: loopback.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.1}},
		"one of three with input delay": {peers: 3, lost: 1, link: loopback.Impairment{Latency: 40 * ms}, delay: 3},
		"one of three in lockstep":      {peers: 3, lost: 1, link: loopback.Impairment{Latency: 20 * ms}, delay: 3, win: session.None},
	} {
		t.Run(name, func(t *testing.T) {
			m := newViewMatch(t, c.peers, func(s *session.Config[state, input]) { s.InputDelay, s.PredictionWindow = c.delay, c.win })
			m.impair(c.link)
			m.runUntil(200)
			// One survivor misses what the lost player did last.
			blind := m.peers[(int(c.lost)+1)%c.peers]
			blocked := c.link
			blocked.Blocked = true
			m.impairOne(c.lost, blind.self, blocked)
			m.run(5)
			m.peers[c.lost].crash()
			m.impairOne(c.lost, blind.self, c.link)
			m.run(30)
			low, high := m.held(driftback.Participant(c.lost))
			require.Less(t, low, high, "the control: some survivors hold more of the lost player's inputs than others")
			m.requireSurvivors(200, c.lost)
			for _, p := range m.awake() {
				cut, ok := p.session.Cut(driftback.Participant(c.lost))
				require.True(t, ok)
				require.Equal(t, high, cut, "nothing that a survivor held is lost")
				require.Equal(t, []session.Event{{Kind: session.PeerCut, Peer: c.lost, Tick: cut}}, only(p.events, session.PeerCut))
			}
		})
	}
}

// held returns the least and the most that a survivor holds of a participant.
func (m *match) held(q driftback.Participant) (low, high driftback.Tick) {
	low = m.awake()[0].holds(q)
	for _, p := range m.awake() {
		low, high = min(low, p.holds(q)), max(high, p.holds(q))
	}
	return low, high
}

func only(events []session.Event, kind mesh.EventKind) (list []session.Event) {
	for _, e := range events {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

func TestTwoThatCrashAtOnceAreCutTogetherOrOneAfterTheOther(t *testing.T) {
	for name, c := range map[string]struct {
		peers int
		lost  []driftback.Peer
	}{
		"two of five, the first": {5, []driftback.Peer{0, 1}},
		"two of five":            {5, []driftback.Peer{1, 4}},
		"three of eight":         {8, []driftback.Peer{0, 1, 7}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newViewMatch(t, c.peers, nil)
			link := loopback.Impairment{Latency: 30 * ms, Loss: 0.2}
			m.impair(link)
			m.runUntil(100)
			blocked := link
			blocked.Blocked = true
			for i, lost := range c.lost {
				m.impairOne(lost, driftback.Peer(2+i), blocked)
			}
			m.run(3)
			for _, lost := range c.lost {
				m.peers[lost].crash()
			}
			m.impair(link)
			m.requireSurvivors(100, c.lost...)
		})
	}
}

func TestACrashAtAnyMomentOfAViewChange(t *testing.T) {
	// Peer 3 is lost; peer 0, who decides, or peer 2, who may be the only one to hold
	// what peer 3 did last, follows at any moment of what comes then.
	views := map[int]int{}
	lowered := 0
	for _, second := range []driftback.Peer{0, 2} {
		for after := range 40 {
			if testing.Short() && after%4 != 0 {
				continue
			}
			m := newViewMatch(t, 5, nil)
			link := loopback.Impairment{Latency: 25 * ms, Jitter: 5 * ms}
			m.impair(link)
			m.runUntil(60)
			for _, p := range m.peers {
				if p.self != 2 && p.self != 3 {
					m.impairOne(3, p.self, loopback.Impairment{Blocked: true})
				}
			}
			m.run(5)
			m.peers[3].crash()
			m.run(50 + after)
			first := driftback.Tick(-1)
			if cut, ok := m.peers[2].session.Cut(3); ok {
				first = cut
			}
			m.peers[second].crash()
			m.requireSurvivors(60, 3, second)
			views[m.awake()[0].session.Stats().View]++
			if cut, _ := m.awake()[0].session.Cut(3); first >= 0 && cut < first {
				lowered++
			}
		}
	}
	t.Logf("views: %v; lowered: %d", views, lowered)
	require.Positive(t, views[1], "both were cut together")
	require.Positive(t, views[2], "one was cut after the other")
}

func TestWhoLeavesIsCutAndTheOthersGoOn(t *testing.T) {
	for _, lost := range []driftback.Peer{0, 1, 2} {
		m := newViewMatch(t, 3, func(c *session.Config[state, input]) { c.PeerTimeout = session.DefaultPeerTimeout })
		m.impair(loopback.Impairment{Latency: 40 * ms, Jitter: 10 * ms, Loss: 0.1})
		m.runUntil(100)
		m.peers[lost].session.Leave()
		m.peers[lost].asleep = true
		require.NoError(t, m.peers[lost].end.Close())
		from := m.frames
		m.requireSurvivors(100, lost)
		require.Less(t, m.frames-from, 250, "nobody waited for a time-out")
		for _, p := range m.awake() {
			require.Len(t, only(p.events, session.PeerLeft), 1)
			require.Len(t, only(p.events, session.PeerCut), 1)
			require.Empty(t, only(p.events, session.PeerInterrupted))
		}
		// Of the two that are left neither can go on alone.
		last := m.awake()
		last[0].session.Leave()
		m.run(20)
		require.ErrorIs(t, last[1].err, session.ErrPeerLeft)
	}
}

func TestOfTwoThatDoNotHearEachOtherTheHigherIsCut(t *testing.T) {
	for _, c := range [][2]driftback.Peer{{0, 1}, {0, 2}, {1, 2}, {1, 3}} {
		for _, both := range []bool{true, false} {
			m := newViewMatch(t, 4, nil)
			m.impair(loopback.Impairment{Latency: 20 * ms})
			m.runUntil(60)
			require.NoError(t, m.net.Impair(c[0], c[1], loopback.Impairment{Blocked: true}))
			if both {
				require.NoError(t, m.net.Impair(c[1], c[0], loopback.Impairment{Blocked: true}))
			}
			m.runWhile(1000, "nobody was cut", func() bool { return m.peers[c[1]].err == nil })
			var cut *session.CutOffError
			require.ErrorAs(t, m.peers[c[1]].err, &cut)
			require.ErrorIs(t, m.peers[c[1]].err, session.ErrCutOff)
			require.True(t, cut.Self)
			require.EqualValues(t, c[1], cut.Participant)
			m.peers[c[1]].asleep = true
			m.requireSurvivors(100, c[1])
		}
	}
}

func TestAPartitionLeavesOnlyAMajority(t *testing.T) {
	for name, c := range map[string]struct {
		players []driftback.Peer // who plays each participant
		apart   []driftback.Peer
		goOn    []driftback.Peer
	}{
		"two of four":                        {[]driftback.Peer{0, 1, 2, 3}, []driftback.Peer{2, 3}, nil},
		"three of five":                      {[]driftback.Peer{0, 1, 2, 3, 4}, []driftback.Peer{1, 3}, []driftback.Peer{0, 2, 4}},
		"three of five, without the first":   {[]driftback.Peer{0, 1, 2, 3, 4}, []driftback.Peer{1, 3, 4}, []driftback.Peer{1, 3, 4}},
		"one with most participants of four": {[]driftback.Peer{0, 1, 2, 2, 2}, []driftback.Peer{0, 1}, []driftback.Peer{2}},
		"one with half of the participants":  {[]driftback.Peer{0, 1, 2, 2}, []driftback.Peer{0, 1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := newEmptyMatch(t)
			m.oracle.step = viewStep
			for self := range c.players[len(c.players)-1] + 1 {
				m.add(m.config(int(self), 0, func(s *session.Config[state, input]) {
					s.Step, s.WhenLost, s.PeerTimeout, s.Players = viewStep, session.PlayOn, time.Second, c.players
				}))
			}
			m.impair(loopback.Impairment{Latency: 20 * ms})
			m.runUntil(60)
			apart := map[driftback.Peer]bool{}
			for _, p := range c.apart {
				apart[p] = true
			}
			for _, a := range m.peers {
				for _, b := range m.peers {
					if apart[a.self] != apart[b.self] {
						m.impairOne(a.self, b.self, loopback.Impairment{Blocked: true})
					}
				}
			}
			m.run(300)
			goOn := map[driftback.Peer]bool{}
			for _, p := range c.goOn {
				goOn[p] = true
			}
			for _, p := range m.peers {
				if goOn[p.self] {
					require.NoError(t, p.err)
					require.Greater(t, p.confirmed, driftback.Tick(150))
				} else {
					require.ErrorIs(t, p.err, session.ErrPeerLost)
				}
			}
		})
	}
}

func TestAPartitionThatHealsInTimeChangesNothing(t *testing.T) {
	for name, frames := range map[string]int{"before anybody is accused": 50, "with accusations and promises on their way": 90} {
		t.Run(name, func(t *testing.T) {
			m := newViewMatch(t, 4, nil)
			m.impair(loopback.Impairment{Latency: 20 * ms})
			m.runUntil(60)
			for _, a := range m.peers {
				for _, b := range m.peers {
					if a.self%2 != b.self%2 {
						m.impairOne(a.self, b.self, loopback.Impairment{Blocked: true})
					}
				}
			}
			m.run(frames)
			m.requireLive()
			interrupted := len(only(m.peers[0].events, session.PeerInterrupted)) > 0
			require.Equal(t, frames > 60, interrupted, "the control")
			m.impair(loopback.Impairment{Latency: 20 * ms})
			m.requireProgress(200)
			for _, p := range m.peers {
				require.Zero(t, p.session.Stats().View)
			}
		})
	}
}

func TestWhoSleptForTooLongHearsThatItWasCut(t *testing.T) {
	m := newViewMatch(t, 3, nil)
	m.runUntil(60)
	m.peers[1].asleep = true
	m.requireSurvivors(100, 1)
	m.peers[1].asleep = false
	m.run(20)
	require.ErrorIs(t, m.peers[1].err, session.ErrCutOff)
	require.ErrorContains(t, m.peers[1].err, "participant 1 does not play from tick")
	m.peers[1].asleep = true
	m.requireSurvivors(100, 1)
}

func TestAMatchThatLostAPlayerFinishes(t *testing.T) {
	m := newViewMatch(t, 4, nil)
	m.impair(loopback.Impairment{Latency: 30 * ms, Loss: 0.1})
	m.runUntil(60)
	m.peers[0].crash()
	m.requireSurvivors(50, 0)
	at := driftback.Tick(0)
	for _, p := range m.awake() {
		at = max(at, p.tick())
	}
	for _, p := range m.awake() {
		require.NoError(t, p.session.Finish(at+20))
	}
	m.runWhile(1000, "not finished", func() bool { return len(m.awake()) > 0 })
	for _, p := range m.peers[1:] {
		require.ErrorIs(t, p.err, session.ErrFinished)
		require.Equal(t, at+20, p.confirmed)
	}
}

func TestACrashBeforeTheLastTickKeepsNobodyFromIt(t *testing.T) {
	// One survivor has every input of the lost player and could end; the other lacks
	// some, and only the first can give them to it.
	m := newViewMatch(t, 3, nil)
	m.runUntil(60)
	m.align()
	at := m.peers[0].tick() + 4
	m.finish(at)
	m.impairOne(2, 1, loopback.Impairment{Blocked: true})
	m.run(20)
	require.Equal(t, at, m.peers[0].confirmed)
	require.Less(t, m.peers[1].confirmed, at)
	m.peers[2].crash()
	m.runWhile(1000, "not finished", func() bool { return len(m.awake()) > 0 })
	for _, p := range m.peers[:2] {
		require.ErrorIs(t, p.err, session.ErrFinished)
		require.Equal(t, at, p.confirmed)
	}
}

func TestAWarmFrameAfterACutAllocatesNothing(t *testing.T) {
	m := newViewMatch(t, 3, nil)
	m.runUntil(60)
	m.peers[2].crash()
	m.requireSurvivors(200, 2)
	turn := func() {
		m.net.Advance(frame)
		for _, p := range m.peers[:2] {
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

func TestTicksRunAgainForWhoIsReplacedAlthoughNoInputChanges(t *testing.T) {
	// The lost player pressed nothing, which is what others guessed, and what its
	// replacement does: the step is told who is behind it, and nothing else changes.
	m := newViewMatch(t, 3, nil)
	pressed := m.script
	m.script = func(p int, t driftback.Tick) input {
		if p == 1 {
			return input{}
		}
		return pressed(p, t)
	}
	m.impair(loopback.Impairment{Latency: 30 * ms})
	m.runUntil(60)
	m.peers[1].crash()
	m.run(50)
	for _, p := range m.awake() {
		require.Greater(t, p.tick(), p.holds(1), "the control: ticks ran as if it played")
	}
	m.requireSurvivors(100, 1)
}

func TestInputsBeyondTheCutAreTakenBack(t *testing.T) {
	// Peer 1 holds more of the lost player's inputs than others and says that it does
	// not: they are cut where the others' end, and it goes on from there like them.
	var taps []*tap
	m := newMatchOver(t, 4, func(e *loopback.Endpoint) transport.Transport {
		taps = append(taps, &tap{Endpoint: e})
		return taps[len(taps)-1]
	}, func(c *session.Config[state, input]) {
		c.Step, c.WhenLost, c.PeerTimeout = viewStep, session.PlayOn, time.Second
	})
	m.oracle.step = viewStep
	m.runUntil(60)
	for _, to := range []driftback.Peer{0, 2} {
		m.impairOne(3, to, loopback.Impairment{Blocked: true})
	}
	// It has confirmed none of them as long as it lacks another's too.
	taps[0].datagram = func(to driftback.Peer, b []byte, pass func(b []byte)) {
		pass(rewrite(t, b, func(p *wire.Packet) {
			if to == 1 && m.peers[1].session.Stats().View == 0 {
				p.Runs = nil
			}
		}))
	}
	m.run(5)
	m.peers[3].crash()
	low, high := m.held(3)
	require.Less(t, low, high, "the control")
	require.Equal(t, high, m.peers[1].holds(3))
	lies := 0
	taps[1].reliable = func(_ driftback.Peer, b []byte, pass func(b []byte)) {
		pass(rewriteControl(t, b, func(c wire.Control) wire.Control {
			if p, ok := c.(wire.Promise); ok && len(p.Held) > 0 {
				lies++
				p.Held[0].Tick = low
				return p
			}
			return c
		}))
	}
	m.requireSurvivors(100, 3)
	require.Positive(t, lies)
	cut, _ := m.peers[1].session.Cut(3)
	require.Equal(t, low, cut)
}

func TestWhatALostPlayerDidToTheMatchItselfCountsForAll(t *testing.T) {
	// Its last word is a pause that one survivor alone has heard, and what it does after
	// the tick at which it is cut is nobody's.
	m := newViewMatch(t, 3, nil)
	m.runUntil(60)
	for _, p := range m.peers {
		p.maybeDiffers = true // a pause is not in the oracle
	}
	m.impairOne(2, 1, loopback.Impairment{Blocked: true})
	m.run(2)
	require.NoError(t, m.peers[2].session.Pause())
	m.run(2)
	m.peers[2].crash()
	paused := func(p *peer) bool {
		on, _ := p.session.Paused()
		return on
	}
	m.run(10)
	require.True(t, paused(m.peers[0]))
	require.False(t, paused(m.peers[1]), "the control: it has not heard")
	m.runWhile(1000, "not cut", func() bool { return m.peers[0].session.Stats().View == 0 || m.peers[1].session.Stats().View == 0 })
	m.run(60)
	require.True(t, paused(m.peers[0]))
	require.True(t, paused(m.peers[1]))
	require.NoError(t, m.peers[1].session.Resume())
	m.run(30)
	require.False(t, paused(m.peers[0]))
	require.Equal(t, m.peers[0].session.Stats().Agreed, m.peers[1].session.Stats().Agreed)
	require.Greater(t, m.peers[0].session.Stats().Agreed, driftback.Tick(120))
}
