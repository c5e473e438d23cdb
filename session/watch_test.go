package session_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// spectator is a peer that watches a match, held to the match's oracle at every tick it
// comes to rest at.
type spectator struct {
	match   *match
	self    driftback.Peer
	session *session.Spectator[state, input]
	end     *loopback.Endpoint
	err     error
	asleep  bool
	first   driftback.Tick // where it began
	begun   bool
	ran     int // frames in which it ran something
	checked int
	most    driftback.Tick // ticks run in one call
	events  []session.Event
	effects map[session.Report]int
	result  session.Result
	// wrong is the first tick that differs, of one that is expected to.
	wrong        driftback.Tick
	maybeDiffers bool
}

// watch opens a spectator with the settings of peer 0.
func (m *match) watch(self driftback.Peer, change func(c *session.WatchConfig[state, input])) *spectator {
	m.t.Helper()
	s := &spectator{match: m, self: self, end: m.net.Open(self), effects: map[session.Report]int{}}
	c := session.WatchConfig[state, input]{Config: m.peers[0].config}
	c.Self, c.Transport, c.Nonce, c.MaxWatchers = self, s.end, uint64(self)+1000, 0
	if change != nil {
		change(&c)
	}
	var err error
	s.session, err = session.Watch(c)
	require.NoError(m.t, err)
	m.watchers = append(m.watchers, s)
	return s
}

func (s *spectator) turn() {
	before := s.result.Tick
	var err error
	s.result, err = s.session.Tick(s.match.net.Now() + 5*time.Hour)
	s.err = err
	s.events = append(s.events, s.result.Events...)
	for _, e := range s.result.Effects {
		s.effects[e]++
	}
	now := s.result.Tick
	if !s.begun && (s.result.Phase == session.Advanced || s.result.Phase == session.Stalled) {
		s.begun = true
		s.first = now
		if s.result.Phase == session.Advanced {
			s.first = 0 // somewhere before
		}
	}
	if !s.begun {
		return
	}
	if now > before {
		s.ran++
		if before > 0 {
			s.most = max(s.most, now-before)
		}
	}
	s.checked++
	if want := s.match.oracle.at(now); *s.session.State() != *want {
		if s.maybeDiffers {
			if s.wrong == 0 {
				s.wrong = now
			}
			return
		}
		s.match.t.Fatalf("spectator %d: the state as tick %d begins is %+v, and with every input on time it is %+v", s.self, now, *s.session.State(), *want)
	}
}

// impairWatching impairs both directions of every link of a spectator.
func (m *match) impairWatching(s *spectator, im loopback.Impairment) {
	for _, p := range m.peers {
		require.NoError(m.t, m.net.Impair(s.self, p.self, im))
		require.NoError(m.t, m.net.Impair(p.self, s.self, im))
	}
	for _, o := range m.watchers {
		if o != s {
			require.NoError(m.t, m.net.Impair(s.self, o.self, im))
			require.NoError(m.t, m.net.Impair(o.self, s.self, im))
		}
	}
}

func watched(n int) func(c *session.Config[state, input]) {
	return func(c *session.Config[state, input]) { c.MaxWatchers = n }
}

func (s *spectator) requireFinishedAt(at driftback.Tick) {
	s.match.t.Helper()
	require.ErrorIs(s.match.t, s.err, session.ErrFinished)
	require.Equal(s.match.t, at, s.result.Tick)
	require.Equal(s.match.t, *s.match.oracle.at(at), *s.session.State())
}

func TestASpectatorSeesWhatOneSimulationPlaysFromTheBeginning(t *testing.T) {
	m := newMatch(t, 2, watched(2))
	s := m.watch(9, nil)
	m.impair(loopback.Impairment{Latency: 50 * ms, Jitter: 20 * ms, Loss: 0.1})
	m.impairWatching(s, loopback.Impairment{Latency: 80 * ms, Jitter: 30 * ms, Loss: 0.2, Reorder: 0.2, Duplicate: 0.05})
	m.runUntil(2000)
	require.NoError(t, s.err)
	require.Greater(t, s.result.Tick, driftback.Tick(1950), "it keeps up")
	require.Greater(t, s.ran, 1200, "mostly a tick at a time")
	require.Greater(t, s.session.Agreed(), driftback.Tick(1900), "its states were compared with the players'")
	require.Zero(t, s.first)
	require.Equal(t, 1, m.peers[0].session.Watchers())
	require.Zero(t, m.peers[1].session.Watchers(), "one feeder is enough")
	at := m.peers[0].session.Stats().Tick + 20
	m.finish(at)
	m.run(200)
	for _, p := range m.peers {
		require.ErrorIs(t, p.err, session.ErrFinished)
	}
	s.requireFinishedAt(at)
	for e := range s.effects {
		require.NotEqual(t, session.Undone, e.Kind, "what is confirmed is never undone")
	}
	for e, n := range m.peers[0].effects {
		if e.Kind == session.Confirmed {
			require.Equal(t, n, s.effects[e], "%+v", e)
		}
	}
}

func TestASpectatorThatComesLateIsGivenAStateAndCatchesUp(t *testing.T) {
	for name, late := range map[string]int{"while the beginning is kept": 200, "when the beginning is long gone": 6000} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 3, func(c *session.Config[state, input]) { c.MaxWatchers, c.InputDelay = 1, 2 })
			m.impair(loopback.Impairment{Latency: 40 * ms, Jitter: 20 * ms, Loss: 0.1})
			m.runUntil(driftback.Tick(late))
			s := m.watch(40, nil)
			m.impairWatching(s, loopback.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.15})
			m.run(200)
			require.NoError(t, s.err)
			behind := m.peers[0].confirmed - s.result.Tick
			require.Less(t, behind, driftback.Tick(40), "it has caught up")
			require.Greater(t, s.most, driftback.Tick(1), "faster than the match")
			require.LessOrEqual(t, s.most, driftback.Tick(session.DefaultCatchUp))
			m.runUntil(driftback.Tick(late) + 1000)
			require.Greater(t, s.session.Agreed(), driftback.Tick(late+900))
			at := m.peers[0].session.Stats().Tick + 20
			m.finish(at)
			m.run(200)
			s.requireFinishedAt(at)
		})
	}
}

func TestASpectatorThatComesBeforeTheMatchRunsNothingUntilThereIsSomething(t *testing.T) {
	m := newEmptyMatch(t)
	m.add(m.config(0, 2, watched(1)))
	s := m.watch(9, func(c *session.WatchConfig[state, input]) { c.Feeders = []driftback.Peer{0} })
	m.run(500)
	require.NoError(t, s.err)
	require.False(t, s.begun)
	require.Zero(t, s.result.Tick)
	require.Equal(t, session.Joining, s.result.Phase)
	require.Equal(t, 1, m.peers[0].session.Watchers())
	p := m.add(m.config(1, 2, nil))
	p.asleep = true
	m.run(20)
	require.Zero(t, s.result.Tick)
	p.asleep = false
	m.runUntil(300)
	require.Greater(t, s.result.Tick, driftback.Tick(250))
	require.Zero(t, s.first)
}

func TestASpectatorStaysBehindAsAskedAndSeesTheEndNevertheless(t *testing.T) {
	m := newMatch(t, 2, watched(1))
	s := m.watch(9, func(c *session.WatchConfig[state, input]) { c.Delay = 300 })
	m.runUntil(250)
	require.Zero(t, s.result.Tick, "nothing is old enough")
	m.runUntil(1500)
	require.InDelta(t, 1200, int(s.result.Tick), 20)
	require.GreaterOrEqual(t, s.result.Confirmed-s.result.Tick, driftback.Tick(300))
	at := m.peers[0].session.Stats().Tick + 10
	m.finish(at)
	m.run(100)
	require.NoError(t, s.err)
	require.Less(t, s.result.Tick, at-150, "at the pace of the match until the end")
	m.run(400)
	s.requireFinishedAt(at)
}

// trace is all of a player's match that watchers might have changed.
type trace struct {
	results []session.Result
	inputs  []input
	roots   []any
	sent    any
}

func traceOf(t *testing.T, spectators func(m *match, frame int)) []trace {
	t.Helper()
	m := newMatch(t, 2, watched(3))
	m.impair(loopback.Impairment{Latency: 60 * ms, Jitter: 30 * ms, Loss: 0.15, Reorder: 0.1})
	traces := make([]trace, 2)
	m.check = func(p *peer, r session.Result) {
		tr := &traces[p.self]
		r.Events = slices.DeleteFunc(slices.Clone(r.Events), func(e session.Event) bool {
			return e.Kind == session.WatcherCame || e.Kind == session.WatcherGone
		})
		r.Effects, r.WaitingFor = slices.Clone(r.Effects), slices.Clone(r.WaitingFor)
		if len(r.Events) == 0 {
			r.Events = nil
		}
		tr.results = append(tr.results, r)
		for q := range p.config.Players {
			in, _, _ := p.session.Input(driftback.Participant(q), r.Confirmed-1)
			tr.inputs = append(tr.inputs, in)
		}
		sum, ok := p.session.Root(r.Confirmed - r.Confirmed%8)
		tr.roots = append(tr.roots, sum, ok)
	}
	for frame := range 1500 {
		if spectators != nil {
			spectators(m, frame)
		}
		m.run(1)
		m.requireLive()
	}
	for i := range traces {
		traces[i].sent = m.stats(driftback.Peer(i), driftback.Peer(1-i))
	}
	return traces
}

func TestPlayersPlayTheSameToTheLastBitWithAndWithoutSpectators(t *testing.T) {
	without := traceOf(t, nil)
	with := traceOf(t, func(m *match, frame int) {
		switch frame {
		case 0:
			m.impairWatching(m.watch(9, nil), loopback.Impairment{Latency: 90 * ms, Loss: 0.3})
		case 700:
			m.watch(10, nil)
		case 900:
			m.watchers[0].session.Leave()
		case 1499:
			require.Greater(m.t, m.watchers[1].result.Tick, driftback.Tick(1200))
		}
	})
	require.Equal(t, without, with)
}

func TestASpectatorThatStopsIsDroppedAndNobodyWaitsForIt(t *testing.T) {
	without := traceOf(t, nil)
	var dropped []session.Event
	with := traceOf(t, func(m *match, frame int) {
		switch frame {
		case 0:
			m.watch(9, nil)
		case 400:
			require.Equal(m.t, 1, m.peers[0].session.Watchers())
			m.watchers[0].asleep = true
		case 1499:
			require.Zero(m.t, m.peers[0].session.Watchers())
			dropped = slices.DeleteFunc(m.peers[0].events, func(e session.Event) bool { return e.Kind != session.WatcherGone })
			m.peers[0].events = nil
		}
	})
	require.Equal(t, without, with)
	require.Len(t, dropped, 1)
	require.EqualValues(t, 9, dropped[0].Peer)
	require.ErrorIs(t, dropped[0].Err, session.ErrDropped)
}
