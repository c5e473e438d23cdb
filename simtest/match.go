package simtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
)

// joinTimeout is how long a handshake may take where a peer may have crashed in it.
const joinTimeout = 120 * time.Second

// event is something that happens at a virtual time: a frame of a peer, or a change of a
// fault. What the network delivers is the network's own queue.
type event struct {
	at     time.Duration
	id     uint64
	peer   int // −1: a change
	change int
}

// match is one play of a scenario.
type match[S any, I comparable] struct {
	game     Game[S, I]
	s        Scenario
	net      *loopback.Network
	peers    []*peer[S, I]
	owner    []driftback.Peer // by participant
	workload func(p driftback.Participant, t driftback.Tick) I
	truth    *truth[S, I]
	diverged *diverged[S, I] // nil: no world is to be another

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
	watch         watch
	causes        []cause
	over          bool              // something was planted, or found, that ends every peer's match
	inputs        *layout.Layout[I] // and what follows: nil unless a peer is hostile
	lies          map[label]lie
	forks         map[forkAt]fork[I]
	violation     *Violation
	undone, moved uint64
}

// peer is one process of the match.
type peer[S any, I comparable] struct {
	m       *match[S, I]
	self    driftback.Peer
	is      Peer
	end     *loopback.Endpoint
	session *session.Lockstep[S, I]
	sites   *buggify.Sites
	clock   time.Duration // what it shows at the next frame
	period  time.Duration // of its frames, in true time
	polled  time.Duration // what its clock showed at the last turn
	frozen  int
	gone    bool  // it has crashed
	bids    []int // faults that bid it leave or halt at its next turn
	err     error // why its match ended

	seed    uint64
	begun   bool
	playing bool
	next    driftback.Tick // the next to run
	// confirmed is the first tick that lacks an input, final the newest confirmed one
	// that has been reached.
	confirmed, final driftback.Tick
	published        driftback.Tick   // the first for which it has pressed nothing
	silent           []time.Duration  // by peer: for how long it has been listened to in vain
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
		game: g, s: s, owner: s.players(), workload: (&pressed[I]{ask: g.workload(&s)}).at,
		changes: s.changes(), outlook: s.outlook(),
		on:     make([][MaxPeers][MaxPeers]uint8, len(s.Faults)),
		before: make([]uint64, len(s.Faults)), happens: make([]bool, len(s.Faults)),
		window: driftback.Tick(s.window()), every: driftback.Tick(s.every()),
	}
	m.soon = s.soon(&m.outlook)
	link := random(s.Seed, streamLink, 0)
	m.net = loopback.New(link.Uint64())
	delays := make([]int, len(m.owner))
	for p, peer := range m.owner {
		delays[p] = s.Peers[peer].InputDelay
	}
	m.truth = &truth[S, I]{game: &m.game, inputs: m.workload, delays: delays, hasher: hasher}
	if slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Kind.hostile() }) {
		if m.inputs, err = layout.OfInput[I](); err != nil {
			return nil, fmt.Errorf("simtest: an input cannot be sent: %w", err)
		}
		m.lies, m.forks = map[label]lie{}, map[forkAt]fork[I]{}
	}
	m.diverge()
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
	if s.HaltAtLimit {
		m.limitMay()
	}
	// Changes come before frames at the same moment.
	for i, c := range m.changes {
		m.at(c.at.Duration(), -1, i)
	}
	for i := range s.Peers {
		if err := m.add(i); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// add opens a peer.
func (m *match[S, I]) add(i int) error {
	is := m.s.Peers[i]
	p := &peer[S, I]{
		m: m, self: driftback.Peer(i), is: is, end: m.net.Open(driftback.Peer(i)),
		clock: (is.Ahead + is.Phase).Duration(), polled: (is.Ahead + is.Phase).Duration(),
		period: time.Duration(int64(m.s.Frame) * 1000 * 1_000_000 / int64(1_000_000+is.Skew)),
		silent: make([]time.Duration, len(m.s.Peers)), inputs: make([]driftback.Tick, len(m.owner)),
		root: m.every, published: driftback.Tick(is.InputDelay),
		truth: m.truth, tally: newTally(len(m.s.Peers), int(m.window)), traffic: newTraffic[I](len(m.s.Peers)),
	}
	p.tap = &tap{Endpoint: p.end, trace: &m.trace, silent: p.silent, sent: p.tally.turn}
	p.withHostility()
	p.runs = newRuns(p)
	nonce := random(m.s.Seed, streamGame, uint64(i))
	c := session.Config[S, I]{
		Step: m.game.Step, Transport: p.tap,
		Self: p.self, Players: m.owner, Match: m.s.Seed, Game: m.game.Name, Build: "simtest",
		Nonce:      nonce.Uint64() | 1<<63, // never 0
		InputDelay: is.InputDelay, Redundancy: is.Redundancy,
		PredictionWindow: m.s.Window, FingerprintEvery: m.s.FingerprintEvery,
		PeerTimeout: session.None, JoinTimeout: session.None,
		EffectTolerance: m.s.EffectTolerance, Predict: m.game.Predict, Save: m.game.Save, Valid: m.game.Valid,
		Start: func(seed uint64, s *S) {
			// What Save leaves out is in what a confirmed state is copied to already.
			p.seed, p.begun, p.state = seed, true, m.game.start(seed)
			if m.game.Start != nil {
				m.game.Start(seed, s)
			}
		},
	}
	if m.game.Initial != nil {
		c.Initial = m.game.Initial()
	}
	if m.s.PeerTimeout != 0 {
		c.PeerTimeout = m.s.PeerTimeout.Duration()
		c.RejoinGrace = m.s.RejoinGrace.Duration()
	}
	if m.s.HaltAtLimit {
		c.AtLimit = session.Halt
	}
	if m.s.ends() {
		c.JoinTimeout = joinTimeout
	}
	if m.s.Buggify {
		sites := random(m.s.Seed, streamSites, uint64(i))
		p.sites = buggify.New(sites.Uint64())
		c.Buggify = p.sites
	}
	// What diverges does so inside what is watched, and what is planted around it.
	if d := m.diverged; d != nil && d.peer == p.self {
		p.truth, c.Step = d.truth, doubled(c.Step, d.tick)
	}
	c.Step = p.runs.around(c.Step)
	if m.game.plant != nil {
		m.game.plant(p.self, &c)
	}
	if m.s.EffectTolerance > 0 {
		c.Step = watched(c.Step, &p.told.moves)
	}
	var err error
	if p.session, err = session.New(c); err != nil {
		return fmt.Errorf("simtest: peer %d: %w", i, err)
	}
	if err := p.session.Finish(driftback.Tick(m.s.Ticks)); err != nil {
		return fmt.Errorf("simtest: peer %d: %w", i, err)
	}
	m.peers = append(m.peers, p)
	m.at(is.Phase.Duration(), i, 0)
	return nil
}

// at puts an event into the queue.
func (m *match[S, I]) at(t time.Duration, peer, change int) {
	e := event{at: t, id: m.nextID, peer: peer, change: change}
	m.nextID++
	i := len(m.queue)
	// The newest number goes behind all others of its time.
	for i > 0 && m.queue[i-1].at <= t {
		i--
	}
	m.queue = slices.Insert(m.queue, i, e)
}

// run handles one event after the other.
func (m *match[S, I]) run() {
	for m.violation == nil && m.live() {
		e := m.queue[len(m.queue)-1]
		m.queue = m.queue[:len(m.queue)-1]
		m.net.Advance(e.at - m.net.Now())
		m.events++
		m.trace.add(uint64(e.at), e.id, uint64(e.peer+1), uint64(e.change))
		if e.peer < 0 {
			m.apply(m.changes[e.change])
		} else {
			m.peers[e.peer].frame(e.at)
		}
		if m.violation == nil {
			m.watchProgress()
		}
	}
	for i := range m.on {
		m.stop(i)
	}
	if d := m.diverged; d != nil && m.peers[d.peer].final > d.tick && m.truth.at(d.tick+1).sum != d.truth.at(d.tick+1).sum {
		m.happens[d.fault] = true
	}
}

// live reports whether somebody still plays.
func (m *match[S, I]) live() bool {
	for _, p := range m.peers {
		if !p.gone && p.err == nil {
			return true
		}
	}
	return false
}

// impair sets a direction to what its link and the faults that it has make of it.
func (m *match[S, I]) impair(from, to int) {
	im := m.s.link(from, to)
	for i, f := range m.s.Faults {
		if m.on[i][from][to] > 0 {
			f.worsen(&im)
		}
	}
	// Valid scenarios have valid impairments.
	if err := m.net.Impair(driftback.Peer(from), driftback.Peer(to), im); err != nil {
		panic(err)
	}
}

// apply lets a fault begin or end.
func (m *match[S, I]) apply(c change) {
	f := m.s.Faults[c.fault]
	m.stop(c.fault)
	for _, d := range c.pairs {
		if c.on {
			m.on[c.fault][d.from][d.to]++
		} else {
			m.on[c.fault][d.from][d.to]--
		}
		m.impair(d.from, d.to)
	}
	if c.on {
		m.before[c.fault] = m.count(c.fault)
		switch f.Kind {
		case Equivocate:
			m.part(c.fault, c.pairs)
		case Misreport:
			m.misreport(c.fault, c.pairs)
		default:
		}
	}
	if f.Kind == Down {
		m.takeDown(c)
	}
	for _, i := range c.peers {
		m.peers[i].befall(c.fault, c.on)
	}
}

// takeDown lets links go down or come up again.
func (m *match[S, I]) takeDown(c change) {
	for _, d := range c.pairs {
		var err error
		switch down := &m.down[d.from][d.to]; {
		case d.from > d.to: // a link is both of its directions
		case c.on:
			*down++
			err = m.net.TakeDown(driftback.Peer(d.from), driftback.Peer(d.to))
		default:
			if *down--; *down == 0 {
				err = m.net.BringUp(driftback.Peer(d.from), driftback.Peer(d.to))
			}
		}
		if err != nil {
			panic(err) // the peers of a valid scenario are peers of the network
		}
	}
}

// befall lets a fault that is about peers begin or end for this one.
func (p *peer[S, I]) befall(fault int, on bool) {
	switch kind := p.m.s.Faults[fault].Kind; {
	case kind == Freeze && on:
		p.frozen++
	case kind == Freeze:
		p.frozen--
	case kind == Leave || kind == Halt:
		p.bids = append(p.bids, fault)
	case kind == Crash && !p.gone:
		if p.err == nil {
			p.m.happens[fault] = true
			p.m.gone(p.self, true)
		}
		p.gone = true
		p.end.Crash()
	}
}

// stop notes whether a fault has done something since it began.
func (m *match[S, I]) stop(fault int) {
	if m.count(fault) > m.before[fault] {
		m.happens[fault] = true
	}
}

// count returns what the directions that now have a fault have counted of it.
func (m *match[S, I]) count(fault int) (n uint64) {
	for a := range m.peers {
		for b := range m.peers {
			if m.on[fault][a][b] > 0 {
				n += m.s.Faults[fault].Kind.happened(m.net.Stats(driftback.Peer(a), driftback.Peer(b)))
			}
		}
	}
	return n
}

// frame is one turn of a peer's loop.
func (p *peer[S, I]) frame(at time.Duration) {
	if p.gone || p.err != nil {
		return
	}
	p.m.at(at+p.period, int(p.self), 0)
	now := p.clock
	p.clock += p.m.s.Frame.Duration()
	if p.frozen > 0 {
		for i, f := range p.m.s.Faults {
			if f.Kind == Freeze && slices.Contains(f.From, int(p.self)) && at >= f.At.Duration() && at < f.end().Duration() {
				p.m.happens[i] = true
			}
		}
		return
	}
	// A peer that was frozen could not have heard anybody meanwhile.
	passed := min(now-p.polled, p.m.s.PeerTimeout.Duration()/4)
	for q := range p.silent {
		p.silent[q] += passed
	}
	p.polled = now
	p.local = p.local[:0]
	for _, q := range p.is.Plays {
		p.local = append(p.local, p.m.workload(driftback.Participant(q), p.next+driftback.Tick(p.is.InputDelay)))
	}
	p.obey()
	r, ok, err := p.tick(now)
	if !ok {
		return
	}
	stats := p.session.Stats()
	p.checkTraffic(now, r.Tick > p.next, &stats)
	p.tally.count(at, p.next, driftback.Tick(p.m.s.Ticks), &r, &stats)
	p.check(&r, err)
	if p.liar != nil {
		p.liar.turn()
	}
}

// tap stands between a session and its endpoint, and sees what is sent and who is
// heard. The functions are those of hostile peers and of their victims, and may be nil.
type tap struct {
	*loopback.Endpoint
	trace  *trace
	silent []time.Duration
	sent   []Sent // by peer, of the session's own
	// alter returns what is sent in place of a datagram, and said sees a message.
	alter func(to driftback.Peer, b []byte) []byte
	said  func(to driftback.Peer)
	// came reports whether what has come counts as having heard its sender.
	came func(m transport.Message) bool
}

func (t *tap) Send(to driftback.Peer, b []byte) {
	t.sent[to].add(Sent{1, uint64(len(b))}) // by the session, whatever a hostile side makes of it
	if t.alter != nil {
		b = t.alter(to, b)
	}
	t.pass(to, b)
}

func (t *tap) pass(to driftback.Peer, b []byte) {
	t.trace.add(1, uint64(to), xxh3.Hash(b))
	t.Endpoint.Send(to, b)
}

func (t *tap) SendReliable(to driftback.Peer, b []byte) error {
	err := t.passReliable(to, b)
	if err == nil && t.said != nil {
		t.said(to)
	}
	return err
}

func (t *tap) passReliable(to driftback.Peer, b []byte) error {
	err := t.Endpoint.SendReliable(to, b)
	if err == nil {
		t.trace.add(2, uint64(to), xxh3.Hash(b))
	}
	return err
}

func (t *tap) Receive() (transport.Message, bool) {
	m, ok := t.Endpoint.Receive()
	if ok {
		t.trace.add(3, uint64(m.From), uint64(m.Kind), uint64(len(m.Data)))
		if m.Kind != transport.Down && (t.came == nil || t.came(m)) {
			t.silent[m.From] = 0
		}
	}
	return m, ok
}

// trace is a hash of everything that happened, in order.
type trace uint64

func (t *trace) add(values ...uint64) {
	for _, v := range values {
		x := (uint64(*t) ^ v) * 0x9e3779b97f4a7c15
		*t = trace(x ^ x>>32)
	}
}

// report sums the match up.
func (m *match[S, I]) report() Report {
	r := Report{
		Trace: uint64(m.trace), Violation: m.violation, Events: m.events, Simulated: m.net.Now(),
		Confirmed: driftback.Tick(m.s.Ticks), Undone: m.undone, Moved: m.moved,
	}
	for _, p := range m.peers {
		one := p.report()
		r.Peers = append(r.Peers, one)
		r.Rollbacks += one.Rollbacks
		r.Resimulated += one.Resimulated
		r.Deepest = max(r.Deepest, one.Depth(100))
		r.Stalls += one.Stalls
		for why, n := range p.refused {
			r.Refused[why] += n
		}
		if !p.gone {
			r.Confirmed = min(r.Confirmed, p.final)
		}
		for to := range m.peers {
			l := m.net.Stats(p.self, driftback.Peer(to))
			r.Datagrams += l.Sent
			r.Lost += l.Lost
			r.Blocked += l.Blocked
		}
	}
	r.Buggified = m.buggified()
	for _, k := range Kinds {
		c := FaultCount{Kind: k}
		begun := false
		for i, f := range m.s.Faults {
			if f.Kind == k {
				c.Planned++
				// What ends a match is planted, and then leaves nothing to happen to.
				begun = begun || !m.over || f.At.Duration() < m.net.Now()
				if m.happens[i] {
					c.Happened++
				}
			}
		}
		if c.Planned > 0 {
			r.Faults = append(r.Faults, c)
		}
		if c.Planned > 0 && c.Happened == 0 && begun && m.violation == nil {
			r.Vacuous = append(r.Vacuous, fmt.Sprintf("no %s happened, of %d planned", k, c.Planned))
		}
	}
	if m.violation != nil {
		return r // it stopped there, which proves enough
	}
	if r.Rollbacks == 0 && m.s.needsGuesses() && !m.over {
		r.Vacuous = append(r.Vacuous, "nothing was rolled back, although the links are slow enough: does the workload press anything?")
	}
	if r.Confirmed == 0 {
		r.Vacuous = append(r.Vacuous, "no tick was confirmed")
	}
	return r
}
