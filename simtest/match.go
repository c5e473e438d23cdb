package simtest

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// joinTimeout is how long a handshake may take where a peer may have crashed in it.
const joinTimeout = 120 * time.Second

// event is something that happens at a virtual time: a frame of a peer, or a change of a
// fault. What the network delivers is the network's own queue.
type event struct {
	at     time.Duration
	id     uint64
	peer   int // −1: a change; outside: a watcher
	change int
}

// match is one play of a scenario.
type match[S any, I comparable] struct {
	game  Game[S, I]
	s     Scenario
	net   *loopback.Network
	peers []*peer[S, I]
	owner []driftback.Peer // by participant
	views []*view[S, I]    // in which somebody is or was, by number
	// press is what participants press for a tick, and workload what is published for it.
	press, workload func(p driftback.Participant, t driftback.Tick) I
	published       []*published // by participant
	values          [][]I        // by participant and tick: what is published, where delays change
	truth           *truth[S, I]

	queue  []event // the next one last
	nextID uint64
	events int
	trace  trace

	changes []change
	on      [][MaxPeers][MaxPeers]uint8 // by fault: how often a direction has it
	down    [MaxPeers][MaxPeers]uint8   // how many faults keep a link down, the lower peer first
	before  []uint64                    // by fault: what its directions had counted when it last began
	happens []bool                      // by fault

	window, every driftback.Tick
	outlook       outlook
	soon          soon
	measured      time.Duration // the longest round trip and twice its jitter that a peer has measured
	watch         watch
	causes        []cause
	thin          []pair        // the lines that may be too slow for what is sent
	starved       time.Duration // after what time the match was given up because of them
	// joined: everybody has begun to play; muddled: somebody was lost before that; tangled: somebody
	// was lost while others may have been deciding, so that nobody knows what it had agreed to.
	joined, muddled, tangled bool
	// disturbing is how many faults that pass are on, and disturbed when the last one ended.
	disturbing    int
	disturbed     time.Duration
	over          bool // something was planted, or found, that ends every peer's match
	violation     *Violation
	undone, moved uint64
	explained     int // peers that have said exactly in what they differ
	// adaptations is how often input delays have adapted, and leftOut and ranExtra in how many frames
	// peers that keep pace ran no tick and two.
	adaptations, leftOut, ranExtra uint64
	adaptedAt, together            time.Duration // when the last did, and since when all play
	evened                         bool          // it was so calm that peers had to be equally far ahead

	links [][]int  // by two peers: how often their link has been down
	mail  [][]mail // by sender and receiver

	returns[S, I]

	watchers   []*watcher[S, I]
	watchTrace trace
	watchQuiet time.Duration                                // when nothing befalls them any more
	watchDown  [MaxWatchers][FirstWatcher + MaxWatchers]int // how many faults keep a link down
	ended      time.Duration                                // when nobody played any more; 0: somebody does

	// Nil unless a peer is hostile.
	inputs *layout.Layout[I]
	lies   map[label]lie
	forks  map[forkAt]fork[I]
}

// peer is one process of the match.
type peer[S any, I comparable] struct {
	m       *match[S, I]
	self    driftback.Peer
	is      Peer
	end     *loopback.Endpoint
	session *session.Lockstep[S, I]
	sites   *buggify.Sites
	life    int            // how many processes were there in its place before
	from    driftback.Tick // the first that it plays, if it has come back
	comes   *coming[S, I]  // not nil: it comes back, and does not play yet
	fault   int            // that has brought it back
	// returned is by participant the tick of which it was told that it plays again.
	returned []driftback.Tick
	clock    time.Duration // what it shows at the next frame
	polled   time.Duration // what its clock showed at the last turn
	frozen   int
	turns    int   // in which it was not frozen
	skewed   []int // faults that its clock has
	gone     bool  // it has crashed
	bids     []int // faults that bid it leave or halt at its next turn
	err      error // why its match ended

	seed    uint64
	begun   bool
	playing bool
	next    driftback.Tick // the next to run
	// confirmed is the first tick that lacks an input, final the newest confirmed one
	// that has been reached.
	confirmed, final driftback.Tick
	silent           []time.Duration  // by peer: for how long it has been listened to in vain
	missed           []bool           // by peer: that was for too long
	view             *view[S, I]      // in which it is
	entered          time.Duration    // when it came to it
	most             driftback.Tick   // it can confirm no more, because others go on without it
	ending           time.Duration    // since when it is to end; 0: it is not
	inputs           []driftback.Tick // by participant: the first confirmed input not compared
	root             driftback.Tick   // the next due tick whose fingerprint is compared
	agreed           driftback.Tick
	waits            driftback.Tick // this one was confirmed at since and is to be agreed on
	since            time.Duration
	told             told
	truth            *truth[S, I] // what it is compared with
	runs             *runs[S, I]
	tally            tally
	traffic          traffic
	local            []I
	state            S
	tap              *tap
	liar             *liar[S, I] // its hostile side, if it has one
	met              []lie       // what has come of others' this turn
	adapted          adapted
	gait             gait
	refused          [mesh.Refusals]uint64
}

// Play plays a scenario to its end, or to the first rule that does not hold. An error
// means that there was nothing to play: the scenario is not valid, or package session
// refuses the game.
func Play[S any, I comparable](g Game[S, I], s Scenario) (Report, error) {
	m, err := newMatch(g, s)
	if err != nil {
		return Report{}, err
	}
	m.run()
	return m.report(), nil
}

func newMatch[S any, I comparable](g Game[S, I], s Scenario) (*match[S, I], error) {
	if err := g.playable(&s); err != nil {
		return nil, err
	}
	hasher, err := fingerprint.New[S]()
	if err != nil {
		return nil, fmt.Errorf("simtest: the state cannot be compared: %w", err)
	}
	m := &match[S, I]{
		game: g, s: s, owner: s.players(), press: (&pressed[I]{ask: g.workload(&s)}).at,
		changes: s.changes(), outlook: s.outlook(),
		on:     make([][MaxPeers][MaxPeers]uint8, len(s.Faults)),
		before: make([]uint64, len(s.Faults)), happens: make([]bool, len(s.Faults)),
		window: driftback.Tick(s.window()), every: driftback.Tick(s.every()),
	}
	m.soon = s.soon(&m.outlook)
	m.thin = s.thin(int(reflect.TypeFor[I]().Size()))
	link := random(s.Seed, streamLink, 0)
	m.net = loopback.New(link.Uint64())
	delays := make([]int, len(m.owner))
	for p, peer := range m.owner {
		delays[p] = s.begins(int(peer))
	}
	for q := range m.owner {
		m.published = append(m.published, m.s.published(q))
	}
	m.values = make([][]I, len(m.owner))
	m.workload = func(q driftback.Participant, t driftback.Tick) (in I) {
		if m.s.delaysChange() {
			return m.says(int(q), t)
		}
		if from := m.published[q].at(t).from; from >= 0 && !m.unsaid(int(q), t) {
			in = m.press(q, from)
		}
		return in
	}
	m.truth = &truth[S, I]{game: &m.game, inputs: m.workload, delays: delays, hasher: hasher, scenario: &m.s}
	m.withReturns()
	m.withViews()
	m.withMessages()
	if s.hasNature(hostile) {
		if m.inputs, err = layout.OfInput[I](); err != nil {
			return nil, fmt.Errorf("simtest: an input cannot be sent: %w", err)
		}
		m.lies, m.forks = map[label]lie{}, map[forkAt]fork[I]{}
	}
	for i := range s.Peers {
		for j := range s.Peers {
			if i != j {
				m.impair(i, j)
			}
		}
	}
	if m.outlook.silences {
		m.silenceMay()
	}
	if m.inputs != nil {
		m.evidenceMay()
	}
	if s.disputed() {
		m.desyncMay()
	}
	if s.HaltAtLimit {
		m.limitMay()
	}
	// Changes come before frames at the same moment. They may be very many, and are in order.
	for i, c := range m.changes {
		m.queue = append(m.queue, event{at: c.at.Duration(), id: m.nextID, peer: -1, change: i})
		m.nextID++
	}
	slices.Reverse(m.queue)
	for i := range s.Peers {
		if err := m.add(i); err != nil {
			return nil, err
		}
	}
	m.withWatchers()
	return m, nil
}

// add opens a peer.
func (m *match[S, I]) add(i int) error {
	p, c := m.process(i)
	var err error
	if p.session, err = session.New(c); err != nil {
		return fmt.Errorf("simtest: peer %d: %w", i, err)
	}
	if err := p.session.Finish(driftback.Tick(m.s.Ticks)); err != nil {
		return fmt.Errorf("simtest: peer %d: %w", i, err)
	}
	m.peers = append(m.peers, p)
	m.at(p.is.Phase.Duration(), i, 0)
	return nil
}

// process makes a process of a peer, and what its session is told.
func (m *match[S, I]) process(i int) (*peer[S, I], session.Config[S, I]) {
	is := m.s.Peers[i]
	p := &peer[S, I]{
		m: m, self: driftback.Peer(i), is: is, life: m.lives[i], end: m.net.Open(driftback.Peer(i)),
		clock: (is.Ahead + is.Phase).Duration(), polled: (is.Ahead + is.Phase).Duration(),
		silent: make([]time.Duration, len(m.s.Peers)), missed: make([]bool, len(m.s.Peers)), view: m.views[0], most: never, inputs: make([]driftback.Tick, len(m.owner)),
		root:  m.every,
		truth: m.world(i), tally: newTally(len(m.s.Peers), int(m.window)), traffic: newTraffic[I](len(m.s.Peers)),
	}
	p.tap = &tap{Endpoint: p.end, trace: &m.trace, silent: p.silent, sent: p.tally.turn}
	p.withHostility()
	p.withAdapted()
	p.runs = newRuns(p)
	if m.s.Buggify {
		sites := random(m.s.Seed, streamSites, uint64(i))
		p.sites = buggify.New(sites.Uint64())
	}
	c := p.config()
	// What diverges does so inside what is watched, and what is planted around it.
	if t, fault := m.s.doubles(i); fault >= 0 {
		c.Step = doubled(c.Step, t)
	}
	c.Step = p.around(c.Step)
	if m.game.plant != nil {
		m.game.plant(p.self, &c)
	}
	if m.s.EffectTolerance > 0 {
		c.Step = watched(c.Step, p.retracing, &p.told.moves)
	}
	return p, c
}

// config returns what the scenario and the game say about the peer's session.
func (p *peer[S, I]) config() session.Config[S, I] {
	m := p.m
	nonce := random(m.s.Seed, streamGame, uint64(p.self)|uint64(p.life)<<8)
	c := session.Config[S, I]{
		Step: m.game.Step, Transport: p.tap,
		Self: p.self, Players: m.owner, Match: m.s.Seed, Game: m.game.Name, Build: "simtest",
		Nonce:      nonce.Uint64() | 1<<63, // never 0
		InputDelay: p.is.InputDelay, Redundancy: p.is.Redundancy, PublishEvery: p.is.PublishEvery, Spacing: p.is.Spacing,
		PredictionWindow: m.s.Window, FingerprintEvery: m.s.FingerprintEvery,
		PeerTimeout: session.None, JoinTimeout: session.None,
		EffectTolerance: m.s.EffectTolerance, Predict: m.game.Predict, Save: m.game.Save, Valid: m.game.Valid,
		Buggify: p.sites, History: m.s.History, MaxWatchers: m.s.watchers(int(p.self)),
		Start: func(seed uint64, s *S) {
			// What Save leaves out is in what a confirmed state is copied to already.
			p.seed, p.begun = seed, true
			m.game.start(seed, &p.state)
			if m.game.Start != nil {
				m.game.Start(seed, s)
			}
		},
	}
	if m.s.Adapt.on() {
		c.AdaptDelay = session.AdaptDelay(m.s.Adapt)
	}
	if m.s.Fill {
		c.Fill = m.game.fill
	}
	if m.s.Merge {
		c.Merge = m.game.merge
	}
	if m.s.keepsPace() {
		c.TickRate = m.s.tickRate()
	}
	if m.game.Initial != nil {
		initial := m.game.Initial()
		c.Initial = &initial
	}
	if m.s.PeerTimeout != 0 {
		c.PeerTimeout = m.s.PeerTimeout.Duration()
		c.RejoinGrace = m.s.RejoinGrace.Duration()
	}
	if m.s.PlayOn {
		c.WhenLost, c.Rejoin = session.PlayOn, m.s.Rejoin
	}
	if m.s.HaltAtLimit {
		c.AtLimit = session.Halt
	}
	if m.s.ends() {
		c.JoinTimeout = joinTimeout
	}
	return c
}

// at puts an event into the queue.
func (m *match[S, I]) at(t time.Duration, peer, change int) {
	m.insert(event{at: t, id: m.nextID, peer: peer, change: change})
	m.nextID++
}

func (m *match[S, I]) insert(e event) {
	i := len(m.queue)
	// The newest number goes behind all others of its time.
	for i > 0 && m.queue[i-1].at <= e.at {
		i--
	}
	m.queue = slices.Insert(m.queue, i, e)
}

// run handles one event after the other.
func (m *match[S, I]) run() {
	for m.violation == nil && m.starved == 0 && m.live() {
		e := m.take()
		if e.peer != outside {
			m.trace.add(uint64(e.at), e.id, uint64(e.peer+1), uint64(e.change))
		}
		m.handle(e)
	}
	m.ended = m.net.Now()
	if m.violation == nil && m.starved == 0 {
		m.checkSettled()
	}
	for i := range m.on {
		m.stop(i)
	}
	for _, p := range m.peers {
		p.diverged()
	}
	for m.violation == nil && m.starved == 0 && m.watching() {
		// What else there is to come is nothing to those who play no more.
		if e := m.take(); e.peer == outside {
			m.handle(e)
		}
	}
}

// take takes the next event, and goes on to its time.
func (m *match[S, I]) take() event {
	e := m.queue[len(m.queue)-1]
	m.queue = m.queue[:len(m.queue)-1]
	m.net.Advance(e.at - m.net.Now())
	m.events++
	return e
}

// handle handles one event, and is the only one to meet a panic of the truth's step.
func (m *match[S, I]) handle(e event) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case stepPanic:
			m.panicked(e, why)
		default:
			panic(why)
		}
	}()
	switch {
	case e.peer == outside:
		m.watched(e)
		return
	case e.peer < 0:
		m.apply(m.changes[e.change])
	default:
		m.turn(e)
	}
	if m.violation == nil {
		m.watchProgress()
	}
}

// live reports whether somebody still plays.
func (m *match[S, I]) live() bool {
	for i, p := range m.peers {
		if !p.gone && p.err == nil || m.coming[i] != nil {
			return true
		}
	}
	return false
}
