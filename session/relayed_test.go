package session_test

import (
	"errors"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/relay"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

const relayPeer driftback.Peer = 40

// looks is how often the relay looks at what has come while there is one frame.
const looks = 8

// A relayed match is some players, the relay, and one simulation that is given on time what
// the players press, and in its place what the relay has marked.
type relayed struct {
	t       testingT
	net     *loopback.Network
	relay   *relay.Relay
	err     error // the relay's
	still   bool  // nobody calls it
	players []*relayedPlayer
	owners  []driftback.Peer // by participant
	delays  []driftback.Tick
	script  script
	step    driftback.Step[state, input]
	sent    script // what the relay is given of it, if that is something else
	frames  int
	// plain has the states as ticks begin, by the set, and truth what was raised.
	plain  []state
	paused bool // as the newest of them begins
	truth  cast
	lates  []uint64 // by participant: how often the set says so
	gones  []uint64
	// valid says which inputs the game knows; nil: all. In place of others is the zero input.
	valid func(in input) bool
}

type relayedPlayer struct {
	self      driftback.Peer
	plays     []int
	session   *session.Lockstep[state, input]
	end       *loopback.Endpoint
	err       error
	asleep    bool
	phase     int // which of a frame's looks its turn comes after
	confirmed driftback.Tick
	checked   int
	advanced  int
	events    []session.Event
	told      []session.Report
	follows   bool // the advice about its pace
	times     int  // how often it is called in a frame, in place of once
	skip      pacing.Skip
	differs   driftback.Tick // from here on its states are its own; 0: they never are
}

// relaying is what a relayed match is set up with.
type relaying struct {
	players int
	owners  []driftback.Peer // by participant; nil: one for each player
	seed    uint64
	relay   relay.Config
	session func(c *session.Config[state, input])
	// wrap, if given, puts something between a peer, the relay among them, and its endpoint.
	wrap func(p driftback.Peer, e *loopback.Endpoint) transport.Transport
}

func newRelayed(t testingT, n int, deadline time.Duration, change func(c *session.Config[state, input])) *relayed {
	t.Helper()
	return newRelayedOf(t, relaying{players: n, relay: relay.Config{Deadline: deadline}, session: change})
}

func newRelayedOf(t testingT, o relaying) *relayed {
	t.Helper()
	if o.owners == nil {
		for i := range o.players {
			o.owners = append(o.owners, driftback.Peer(i))
		}
	}
	if o.wrap == nil {
		o.wrap = func(_ driftback.Peer, e *loopback.Endpoint) transport.Transport { return e }
	}
	n := len(o.owners)
	m := &relayed{
		t: t, net: loopback.New(777 + o.seed), script: play(5), step: step, owners: o.owners, plain: make([]state, 1),
		delays: make([]driftback.Tick, n), lates: make([]uint64, n), gones: make([]uint64, n),
	}
	r := o.relay
	r.Transport, r.Self, r.Players, r.Match, r.Nonce = o.wrap(relayPeer, m.net.Open(relayPeer)), relayPeer, o.owners, 77, 99
	var err error
	m.relay, err = relay.New(r)
	require.NoError(t, err)
	for i := range o.players {
		p := &relayedPlayer{self: driftback.Peer(i), phase: looks - 1}
		p.end = m.net.Open(p.self)
		c := session.Config[state, input]{
			Step: step, Self: p.self, Players: o.owners, Relay: relayPeer, Match: 77, Game: "test", Nonce: uint64(i + 1),
			Transport: o.wrap(p.self, p.end), WhenLost: session.PlayOn,
		}
		if o.session != nil {
			o.session(&c)
		}
		p.session, err = session.New(c)
		require.NoError(t, err)
		for q, owner := range o.owners {
			if owner == p.self {
				p.plays = append(p.plays, q)
				m.delays[q] = driftback.Tick(p.session.InputDelay(driftback.Participant(q)))
			}
		}
		m.players = append(m.players, p)
	}
	return m
}

// link sets the impairment of a player's link with the relay.
func (m *relayed) link(p int, im loopback.Impairment) {
	require.NoError(m.t, m.net.Impair(driftback.Peer(p), relayPeer, im))
	require.NoError(m.t, m.net.Impair(relayPeer, driftback.Peer(p), im))
}

func (m *relayed) run(n int) {
	for range n {
		m.frames++
		for look := range looks {
			m.net.Advance(frame / looks)
			if m.err == nil && !m.still {
				m.err = m.relay.Poll(m.net.Now())
			}
			m.simulate()
			for _, p := range m.players {
				if p.phase == look && p.err == nil && !p.asleep {
					m.turn(p)
				}
			}
		}
	}
}

// restart puts another process in the relay's place.
func (m *relayed) restart() {
	var err error
	m.relay, err = relay.New(relay.Config{Transport: m.net.Open(relayPeer), Self: relayPeer, Players: m.owners, Match: 77, Nonce: 100})
	require.NoError(m.t, err)
}

// simulate runs what the relay has closed.
func (m *relayed) simulate() {
	in, statuses := make([]input, len(m.owners)), make([]driftback.Status, len(m.owners))
	for t := driftback.Tick(len(m.plain) - 1); t < m.relay.Closed(); t++ {
		s := m.plain[t]
		for p := range m.owners {
			b, e, ok := m.relay.Set(driftback.Participant(p), t)
			if !ok {
				m.t.Fatalf("the relay does not have the set of tick %d, which it has just closed", t)
			}
			in[p], statuses[p] = m.means(p, t, input{Buttons: uint16(b[0]) | uint16(b[1])<<8}, e)
			if m.valid != nil && !m.valid(in[p]) {
				in[p] = input{}
			}
			// Of several participants' entries the last one's counts.
			if e == wire.EntryPause || e == wire.EntryResume {
				m.paused = e == wire.EntryPause
			}
		}
		if !m.paused {
			var pass driftback.Pass
			pass.Begin(t, statuses)
			m.step(&s, in, &pass)
			for _, e := range pass.Raised() {
				m.truth.raised = append(m.truth.raised, session.Report{Kind: session.Happened, Tick: t, Effect: e})
			}
			for _, e := range pass.RaisedConfirmed() {
				m.truth.confirmed = append(m.truth.confirmed, session.Report{Kind: session.Confirmed, Tick: t, Effect: e})
			}
		}
		m.plain = append(m.plain, s)
	}
}

// means returns what counts of a participant's place in the set of tick t, and requires that
// it is right: what its owner pressed, or what is to stand there.
func (m *relayed) means(p int, t driftback.Tick, in input, e wire.Entry) (input, driftback.Status) {
	want, status := input{}, driftback.Playing
	switch {
	case e == wire.EntryLate:
		if m.lates[p]++; t > 0 {
			b, _, ok := m.relay.Set(driftback.Participant(p), t-1)
			if !ok {
				m.t.Fatalf("the relay has not kept tick %d", t-1)
			}
			want = input{Buttons: uint16(b[0]) | uint16(b[1])<<8}
		}
	case e == wire.EntryGone:
		m.gones[p]++
		status = driftback.Replaced
	case m.gones[p] > 0:
		m.t.Fatalf("participant %d plays again on tick %d", p, t)
	case t >= m.delays[p]:
		if want = m.script(p, t); m.sent != nil {
			want = m.sent(p, t)
		}
	}
	if in != want {
		m.t.Fatalf("the set has %+v of participant %d for tick %d, entry %v, in place of %+v", in, p, t, e, want)
	}
	return in, status
}

func (m *relayed) turn(p *relayedPlayer) {
	times := max(1, p.times)
	if p.follows {
		switch p.skip {
		case pacing.LeaveOut:
			times = 0
		case pacing.RunExtra:
			times = 2
		case pacing.Keep:
		}
	}
	now := m.net.Now() + time.Duration(p.self)*time.Hour
	if times == 0 {
		r, err := p.session.Poll(now)
		m.took(p, r, err)
	}
	for ; times > 0 && p.err == nil; times-- {
		next := p.session.Stats().Tick
		local, wants := make([]input, len(p.plays)), make([]driftback.Tick, len(p.plays))
		for i, q := range p.plays {
			wants[i] = next + driftback.Tick(p.session.InputDelay(driftback.Participant(q)))
			local[i] = m.script(q, wants[i])
		}
		r, err := p.session.Tick(now, local...)
		if r.Phase == session.Advanced {
			p.advanced++
			if !slices.Equal(r.InputFor, wants) {
				m.t.Fatalf("peer %d: the inputs for ticks %d were published for ticks %d", p.self, wants, r.InputFor)
			}
		}
		m.took(p, r, err)
	}
}

// took takes what a call of a player's session found.
func (m *relayed) took(p *relayedPlayer, r session.Result, err error) {
	p.err, p.skip = err, r.Pace.Skip
	p.events = append(p.events, r.Events...)
	p.told = append(p.told, r.Effects...)
	m.compare(p)
}

// compare holds a player's newest confirmed state to the simulation.
func (m *relayed) compare(p *relayedPlayer) {
	var s state
	t, err := p.session.ConfirmedState(&s)
	switch {
	case err != nil:
		m.t.Fatalf("peer %d: %v", p.self, err)
	case t < p.confirmed:
		m.t.Fatalf("peer %d confirmed tick %d after tick %d", p.self, t, p.confirmed)
	case t >= driftback.Tick(len(m.plain)):
		m.t.Fatalf("peer %d has confirmed tick %d, and the relay has closed those below %d", p.self, t, m.relay.Closed())
	case t > p.confirmed && (p.differs == 0 || t < p.differs):
		if s != m.plain[t] {
			m.t.Fatalf("peer %d: the confirmed state as tick %d begins is %+v, and by the set it is %+v", p.self, t, s, m.plain[t])
		}
		p.checked++
	}
	p.confirmed = t
}

// compareEffects holds what a player was told to what happened.
func (m *relayed) compareEffects(p *relayedPlayer) {
	var c cast
	for _, r := range m.truth.raised {
		if r.Tick < p.confirmed {
			c.raised = append(c.raised, r)
		}
	}
	for _, r := range m.truth.confirmed {
		if r.Tick < p.confirmed {
			c.confirmed = append(c.confirmed, r)
		}
	}
	if err := checkReports(p.told, c, p.confirmed); err != nil {
		m.t.Fatalf("peer %d: %v", p.self, err)
	}
}

func (m *relayed) runUntil(t driftback.Tick) {
	m.t.Helper()
	for from := m.frames; ; m.run(1) {
		done := true
		for _, p := range m.players {
			if !errors.Is(p.err, session.ErrFinished) {
				require.NoError(m.t, p.err)
			}
			done = done && p.confirmed >= t
		}
		require.NoError(m.t, m.err)
		if done {
			return
		}
		require.Less(m.t, m.frames-from, 20*int(t)+1000, "tick %d is not confirmed: %+v, refused %v, closed %d", t, m.players[0].session.Stats(), m.relay.Refused(), m.relay.Closed())
	}
}

func (p *relayedPlayer) saw(kind mesh.EventKind) (n int) {
	for _, e := range p.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}
