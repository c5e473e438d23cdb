package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
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

// knows tells the oracle what a peer knows of cuts, and reports whether its state as
// tick t begins can be held against it: a peer that does not know of a cut yet may have
// gone on for some ticks as if there was none.
func (o *oracle) knows(p *peer, t driftback.Tick) bool {
	for q := range o.delays {
		cut, ok := p.session.Cut(driftback.Participant(q))
		known, have := o.cuts[q]
		if ok && (!have || cut < known) {
			if o.cuts == nil {
				o.cuts = map[int]driftback.Tick{}
			}
			o.cuts[q] = cut
			if o.next > cut {
				o.state, o.next = o.states[cut%4096], cut
			}
			known, have = cut, true
		}
		if have && (!ok || cut != known) && t > known {
			return false
		}
	}
	return true
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

// requireSurvivors runs the match until every peer that is awake is in a view and has
// gone on for n ticks, and holds against each other what they know.
func (m *match) requireSurvivors(view int, n driftback.Tick) {
	m.t.Helper()
	from := driftback.Tick(0)
	inView := func() bool {
		for _, p := range m.awake() {
			from = max(from, p.tick())
			if p.session.Stats().View < view {
				return false
			}
		}
		return true
	}
	m.runWhile(1000, "not in the view", func() bool { return !inView() })
	m.runWhile(2000, "no progress after the cut", func() bool {
		for _, p := range m.awake() {
			require.NoError(m.t, p.err)
			if p.confirmed < from+n {
				return true
			}
		}
		return false
	})
	first := m.awake()[0]
	for _, p := range m.awake() {
		s := p.session.Stats()
		require.Equal(m.t, view, s.View, "peer %d", p.self)
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
			m.requireSurvivors(1, 200)
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
