package session_test

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
)

// The game of these tests is made to notice everything: each input of each tick,
// in order, changes the state for good.

type input struct{ Buttons uint16 }

type state struct {
	Ticks  int64
	Digest uint64
	Pos    [4]int32
	Held   [4]int16 // for how long each has held button 0
	Level  [4]int32 // by how much each drifts, which no tick changes
}

const (
	effectPress = iota + 1
	effectRound
)

func step(s *state, in []input, pass *driftback.Pass) {
	for p, i := range in {
		s.Digest = (s.Digest ^ uint64(i.Buttons) ^ uint64(p)<<16) * 0x9e3779b97f4a7c15
		s.Digest ^= s.Digest >> 29
		p %= len(s.Pos) // more than four share what follows
		s.Pos[p] += int32(i.Buttons&3) - 1 + s.Level[p]
		if i.Buttons&1 == 0 {
			s.Held[p] = 0
			continue
		}
		if s.Held[p] == 0 {
			pass.Raise(driftback.Effect{Kind: effectPress, Args: [3]int32{int32(p)}})
		}
		s.Held[p]++
	}
	s.Ticks++
	if s.Ticks%100 == 0 {
		pass.RaiseConfirmed(driftback.Effect{Kind: effectRound, Args: [3]int32{int32(s.Digest)}})
	}
}

// script says what participant p presses for tick t: something held for a few
// ticks at a time, as people do.
type script func(p int, t driftback.Tick) input

func play(hold int64) script {
	return func(p int, t driftback.Tick) input {
		x := uint64(int64(t)/hold)*0x9e3779b97f4a7c15 + uint64(p+1)*0xbf58476d1ce4e5b9
		x ^= x >> 31
		x *= 0x94d049bb133111eb
		return input{Buttons: uint16(x >> 48)}
	}
}

// oracle is one simulation that is given every input on time: a plain loop over
// the step, which keeps the states of the last ticks.
type oracle struct {
	state  state
	next   driftback.Tick
	inputs script
	delays []int
	step   driftback.Step[state, input]
	states [4096]state
	away   map[int][]span // by participant: the ticks it does not play
}

// span is some ticks, up to before to; a to of 0 is no end.
type span struct{ from, to driftback.Tick }

// plays reports whether participant p plays on tick t.
func (o *oracle) plays(p int, t driftback.Tick) bool {
	for _, s := range o.away[p] {
		if t >= s.from && (s.to == 0 || t < s.to) {
			return false
		}
	}
	return true
}

func (o *oracle) at(t driftback.Tick) *state {
	var pass driftback.Pass
	in := make([]input, len(o.delays))
	statuses := make([]driftback.Status, len(o.delays))
	if o.next == 0 {
		o.states[0] = o.state
	}
	for o.next < t {
		for p, delay := range o.delays {
			in[p] = input{}
			if o.next >= driftback.Tick(delay) {
				in[p] = o.inputs(p, o.next)
			}
			statuses[p] = driftback.Playing
			if !o.plays(p, o.next) {
				in[p], statuses[p] = input{}, driftback.Replaced
			}
		}
		pass.Begin(o.next, statuses)
		o.step(&o.state, in, &pass)
		o.next++
		o.states[o.next%4096] = o.state
	}
	return &o.states[t%4096]
}

// frame is the time between two calls of Tick.
const frame = 16667 * time.Microsecond

// testingT is what both a test and a property have.
type testingT interface {
	require.TestingT
	Helper()
	Fatalf(format string, args ...any)
}

// A match is some peers over one network and one clock, and the oracle.
type match struct {
	t      testingT
	net    *loopback.Network
	oracle *oracle
	start  state // as tick 0 begins, if that is not the zero value
	peers  []*peer
	// watchers are those who watch; they have no part in the oracle.
	watchers []*spectator
	script   script
	frames   int
	wrap     func(e *loopback.Endpoint) transport.Transport
	// used is called when a peer's inputs have been used, for the ticks that r names.
	used func(p *peer, r session.Result)
	// changing: input delays change.
	changing bool
	// check is called after every turn of every peer.
	check func(p *peer, r session.Result)
}

type peer struct {
	match   *match
	self    driftback.Peer
	config  session.Config[state, input]
	session *session.Lockstep[state, input]
	joiner  *session.Joiner[state, input] // of one that comes back, until it has a session
	end     *loopback.Endpoint
	err     error
	// asleep: the peer's loop does not run.
	asleep bool
	// drift is what this peer's clock is ahead.
	drift     time.Duration
	confirmed driftback.Tick
	checked   int // confirmed ticks compared with the oracle
	advanced  int
	stalled   int
	caught    int            // calls that took no input because it was coming in
	dead      bool           // its process has died
	first     driftback.Tick // of one that came back: the first that it came to rest at
	effects   map[session.Report]int
	events    []session.Event
	local     []input          // what the next Tick is given
	wants     []driftback.Tick // and for which ticks
	// wrong is the first confirmed tick that differs from the oracle, of a peer that
	// is expected to differ; others fail the test.
	wrong        driftback.Tick
	maybeDiffers bool
}

// newMatch returns a match of n peers that play one participant each.
func newMatch(t testingT, n int, change func(c *session.Config[state, input])) *match {
	t.Helper()
	return newMatchOver(t, n, nil, change)
}

// newMatchOver is newMatch with something between a peer and its endpoint.
func newMatchOver(t testingT, n int, wrap func(e *loopback.Endpoint) transport.Transport, change func(c *session.Config[state, input])) *match {
	t.Helper()
	m := newEmptyMatch(t)
	m.wrap = wrap
	for i := range n {
		m.add(m.config(i, n, change))
	}
	return m
}

// newEmptyMatch returns a match to which nobody has come.
func newEmptyMatch(t testingT) *match {
	m := &match{t: t, net: loopback.New(12345), script: play(7)}
	m.oracle = &oracle{inputs: func(p int, t driftback.Tick) input { return m.script(p, t) }, step: step}
	return m
}

// config returns what peer i of n is configured with. Every second peer's world is guarded, so that
// each of these matches shows that the session itself is not taken for somebody who writes to it.
func (m *match) config(i, n int, change func(c *session.Config[state, input])) session.Config[state, input] {
	c := session.Config[state, input]{
		Step: step, Self: driftback.Peer(i), Match: 77, Game: "test", Nonce: uint64(i + 1),
		Guard: i%2 == 0,
	}
	for q := range n {
		c.Players = append(c.Players, driftback.Peer(q))
	}
	if change != nil {
		change(&c)
	}
	return c
}

// add opens one more peer.
func (m *match) add(c session.Config[state, input]) *peer {
	p := &peer{match: m, self: c.Self, effects: map[session.Report]int{}, drift: time.Duration(c.Self) * time.Hour}
	p.end = m.net.Open(c.Self)
	c.Transport = p.end
	if m.wrap != nil {
		c.Transport = m.wrap(p.end)
	}
	p.open(c)
	m.peers = append(m.peers, p)
	if m.oracle.delays == nil {
		m.oracle.delays = make([]int, len(c.Players))
	}
	for q, owner := range c.Players {
		if owner == c.Self {
			m.oracle.delays[q] = p.session.InputDelay(driftback.Participant(q))
		}
	}
	return p
}

func (p *peer) open(c session.Config[state, input]) {
	s, err := session.New(c)
	require.NoError(p.match.t, err)
	p.config, p.session = c, s
}

// impair sets the impairment of every direction of every link.
func (m *match) impair(im loopback.Impairment) {
	for _, a := range m.peers {
		for _, b := range m.peers {
			if a != b {
				require.NoError(m.t, m.net.Impair(a.self, b.self, im))
			}
		}
	}
}

// run runs n frames, or fewer if every peer has ended.
func (m *match) run(n int) {
	for range n {
		m.frames++
		m.net.Advance(frame)
		live := false
		for _, p := range m.peers {
			if !p.asleep && p.err == nil {
				p.turn()
				live = true
			}
		}
		for _, s := range m.watchers {
			if !s.asleep && s.err == nil {
				s.turn()
				live = true
			}
		}
		if !live {
			return
		}
	}
}

// runUntil runs frames until every peer that is awake has confirmed tick t.
func (m *match) runUntil(t driftback.Tick) {
	m.t.Helper()
	for from := m.frames; ; {
		m.run(1)
		done := true
		for _, p := range m.peers {
			require.NoError(m.t, p.err)
			done = done && p.confirmed >= t
		}
		if done {
			return
		}
		if m.frames-from > 20*int(t)+2000 {
			m.t.Fatalf("after %d frames tick %d is not confirmed: %+v", m.frames, t, m.peers[0].session.Stats())
		}
	}
}

func (p *peer) turn() {
	if p.session == nil {
		p.comeIn()
		return
	}
	next := p.session.Stats().Tick
	p.local, p.wants = p.local[:0], p.wants[:0]
	for q, owner := range p.config.Players {
		if owner == p.self {
			at := next + driftback.Tick(p.session.InputDelay(driftback.Participant(q)))
			p.wants = append(p.wants, at)
			p.local = append(p.local, p.match.script(q, at))
		}
	}
	r, err := p.session.Tick(p.match.net.Now()+p.drift, p.local...)
	p.err = err
	switch r.Phase {
	case session.Advanced:
		p.advanced++
		if !p.match.changing && !slices.Equal(r.InputFor, p.wants) {
			p.match.t.Fatalf("the inputs for ticks %d were published for ticks %d", p.wants, r.InputFor)
		}
		if p.match.used != nil {
			p.match.used(p, r)
		}
	case session.Stalled:
		p.stalled++
	case session.CatchingUp:
		p.caught++
	case session.Joining, session.Ended:
	}
	for _, e := range r.Effects {
		p.effects[e]++
	}
	p.events = append(p.events, r.Events...)
	for _, e := range r.Events {
		if q := slices.Index(p.config.Players, e.Peer); e.Kind == session.PeerCut && q >= 0 {
			p.match.oracle.cut(q, e.Tick) // it may be let in again by the same call
		}
	}
	p.match.oracle.knows(p, 0)
	p.compare()
	if p.match.check != nil {
		p.match.check(p, r)
	}
}

// compare holds the newest confirmed state against the oracle.
func (p *peer) compare() {
	s := p.match.start
	t, err := p.session.ConfirmedState(&s)
	if err != nil {
		p.match.t.Fatalf("peer %d: %v", p.self, err)
	}
	if t < p.confirmed {
		p.match.t.Fatalf("peer %d confirmed tick %d after tick %d", p.self, t, p.confirmed)
	}
	if t == p.confirmed {
		return
	}
	p.confirmed = t
	if !p.match.oracle.knows(p, t) {
		return
	}
	p.checked++
	if want := p.match.oracle.at(t); s != *want {
		if p.maybeDiffers {
			if p.wrong == 0 {
				p.wrong = t
			}
			return
		}
		p.match.t.Fatalf("peer %d: the confirmed state as tick %d begins is %+v, and with every input on time it is %+v", p.self, t, s, *want)
	}
}

// stats returns what one direction of a link has done.
func (m *match) stats(from, to driftback.Peer) loopback.Stats { return m.net.Stats(from, to) }

var _ transport.Transport = (*loopback.Endpoint)(nil)
