package mesh

import (
	"bytes"
	"errors"
	"hash/maphash"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// A table is a match whose seats play as sessions do, and whose processes can be lost and
// come back. Each input that is confirmed must be what its owner's script says, or neutral
// where the status says that nobody plays; and all members must have confirmed the same.
type table struct {
	*match
	delay   driftback.Tick
	players []*player // by peer
	nonces  uint64
	latency func() time.Duration
	loses   func() bool // whether a datagram is lost; nil: none is
	seed    maphash.Seed
}

// confirmed is a tick that somebody has confirmed.
type confirmed struct {
	inputs   [][]byte
	statuses []driftback.Status
	hash     uint64 // of all before it
}

// player is a seat and the game above it: a mesh, or one who watches and wants to come
// back.
type player struct {
	*seat
	table *table
	next  driftback.Tick // the tick that its game is going to run
	done  driftback.Tick // the ticks that have been looked at
	hash  uint64
	log   []confirmed    // what it has confirmed
	start driftback.Tick // from here on
	waits int            // turns in which it played and could not go on
	quiet bool           // it plays nothing more

	// Who comes back:
	config     Config
	up         map[driftback.Peer]bool
	applied    time.Duration
	welcome    *wire.Welcome
	from       driftback.Peer
	lag        driftback.Tick         // how far its feed is behind
	mute       bool                   // it does not apply
	early      int                    // how often it had to run further
	fed        map[driftback.Peer]int // messages handed to the floor above, by peer
	later      []later
	last       map[driftback.Peer]time.Duration
	eventsSeen []Event
}

type later struct {
	at  time.Duration
	msg transport.Message
}

const playWindow = 8

func newTable(t rapid.TB, n int, change func(c *Config)) *table {
	tb := &table{match: &match{t: t}, delay: 2, seed: maphash.MakeSeed(), nonces: 100}
	for i := range n {
		p := &player{table: tb, seat: &seat{match: tb.match, self: driftback.Peer(i), room: 1200}}
		tb.seats = append(tb.seats, p.seat)
		tb.players = append(tb.players, p)
	}
	for i, p := range tb.players {
		c := Config{
			Self: driftback.Peer(i), Stride: 2, Window: playWindow, Delay: int(tb.delay), FingerprintEvery: 16, History: 512, Match: 7,
			Nonce: uint64(i + 1), PeerTimeout: time.Second, RejoinGrace: 0, JoinTimeout: 10 * time.Second, PlayOn: true, Rejoin: true,
		}
		for q := range n {
			c.Players = append(c.Players, driftback.Peer(q))
		}
		if change != nil {
			change(&c)
		}
		p.fresh(c)
		var err error
		p.mesh, err = New(p.config)
		require.NoError(t, err)
	}
	for _, a := range tb.players {
		for _, b := range tb.players {
			if a != b {
				a.inbox = append(a.inbox, transport.Message{Kind: transport.Up, From: b.self})
			}
		}
	}
	tb.turns(10)
	for _, p := range tb.players {
		require.Equal(t, Playing, p.mesh.Phase(), "peer %d: %v", p.self, p.mesh.Err())
	}
	return tb
}

// fresh makes the player a new process.
func (p *player) fresh(c Config) {
	c.Transport = p
	c.Outside = func(msg transport.Message) { p.fed[msg.From]++ }
	p.config, p.seat.config, p.mesh, p.inbox, p.later = c, c, nil, nil, nil
	p.up, p.last, p.fed = map[driftback.Peer]bool{}, map[driftback.Peer]time.Duration{}, map[driftback.Peer]int{}
	p.welcome, p.applied, p.closed = nil, -time.Hour, false
	p.next, p.done, p.hash, p.waits, p.early = 0, 0, 0, 0, 0
	p.log, p.start = nil, 0
	p.eventsSeen = nil
}

// crash ends a player's process; the others hear nothing of it.
func (tb *table) crash(who int) { tb.players[who].closed = true }

// back starts a process in place of a player's, which comes back to the match.
func (tb *table) back(who int) {
	p := tb.players[who]
	c := p.config
	tb.nonces++
	c.Nonce = tb.nonces
	p.fresh(c)
	for _, q := range tb.players {
		if q != p && !q.closed {
			tb.relink(p, q)
		}
	}
}

// relink breaks the link of two players and brings it up again.
func (tb *table) relink(a, b *player) {
	for _, two := range [2][2]*player{{a, b}, {b, a}} {
		p, q := two[0], two[1]
		p.later = slices.DeleteFunc(p.later, func(l later) bool { return l.msg.From == q.self })
		p.inbox = slices.DeleteFunc(p.inbox, func(m transport.Message) bool { return m.From == q.self })
		p.inbox = append(p.inbox, transport.Message{Kind: transport.Down, From: q.self, Err: errors.New("broken")},
			transport.Message{Kind: transport.Up, From: q.self})
		delete(p.last, q.self)
	}
}

// Send and SendReliable are the transport's, with latency.
func (p *player) Send(to driftback.Peer, b []byte) {
	far := p.table.players[to]
	if far.closed || p.apart[to] || p.table.loses != nil && p.table.loses() {
		return
	}
	far.arrives(p, transport.Datagram, b)
}

func (p *player) SendReliable(to driftback.Peer, b []byte) error {
	if far := p.table.players[to]; !far.closed && !p.apart[to] {
		far.arrives(p, transport.Reliable, b)
	}
	return nil
}

func (p *player) arrives(from *player, kind transport.Kind, b []byte) {
	at := p.match.now
	if p.table.latency != nil {
		at += p.table.latency()
	}
	if kind == transport.Reliable {
		at = max(at, p.last[from.self])
		p.last[from.self] = at
	}
	p.later = append(p.later, later{at, transport.Message{Kind: kind, From: from.self, Data: bytes.Clone(b)}})
}

func (p *player) deliver() {
	slices.SortStableFunc(p.later, func(a, b later) int { return int(a.at - b.at) })
	for len(p.later) > 0 && p.later[0].at <= p.match.now {
		p.inbox = append(p.inbox, p.later[0].msg)
		p.later = p.later[1:]
	}
}

func (tb *table) turns(n int) {
	tb.t.Helper()
	for range n {
		tb.now += frame
		for _, p := range tb.players {
			if !p.closed {
				p.deliver()
				p.turn()
			}
		}
	}
}

// until lets frames pass until something holds.
func (tb *table) until(what string, holds func() bool) {
	tb.t.Helper()
	for range 2000 {
		if holds() {
			return
		}
		tb.turns(1)
	}
	for _, p := range tb.players {
		if p.mesh != nil {
			tb.t.Logf("peer %d: %v %v, view %d, confirmed %d", p.self, p.mesh.Phase(), p.mesh.Err(), p.mesh.View(), p.mesh.Confirmed())
		}
	}
	tb.t.Fatalf("it never came to this: %s", what)
}

func (p *player) turn() {
	p.match.t.Helper()
	if p.mesh == nil {
		p.watch()
		return
	}
	p.mesh.Poll(p.match.now)
	p.eventsSeen = append(p.eventsSeen, p.mesh.Events()...)
	if p.mesh.Phase() == Agreeing && !p.mesh.start.ready {
		require.NoError(p.match.t, p.mesh.Begin(1, true))
	}
	if p.mesh.Phase() == Playing && !p.quiet {
		p.compare()
		p.play()
	}
	p.mesh.Flush()
}

// play runs what may run, as a session does.
func (p *player) play() {
	m := p.mesh
	most := 1
	if p.next+p.table.delay < m.From() {
		most = 16
	}
	ran := false
	for range most {
		if m.Blocked() || p.next >= m.Confirmed()+playWindow {
			break
		}
		for _, own := range m.own {
			for t := m.Held(own); t <= p.next+p.table.delay; t++ {
				require.NoError(p.match.t, m.Publish(own, t, scripted(own, t, p.config.Stride)))
			}
		}
		p.next++
		ran = true
	}
	if !ran {
		p.waits++
	}
}

// compare holds what is confirmed here against what was elsewhere and what it must be.
func (p *player) compare() {
	m, tb := p.mesh, p.table
	for ; p.done < m.Confirmed(); p.done++ {
		if due, ok := m.Due(); ok && due == p.done {
			require.NoError(tb.t, m.Fingerprint(due, p.hash))
		} else if !ok {
			return
		}
		var c confirmed
		for q := range p.config.Players {
			q := driftback.Participant(q)
			in, status := bytes.Clone(m.Input(q, p.done)), m.Status(q, p.done)
			want := scripted(q, p.done, p.config.Stride)
			if status != driftback.Playing || p.done < driftback.Tick(m.Delay(q)) {
				want = make([]byte, p.config.Stride)
			}
			if !bytes.Equal(in, want) {
				tb.t.Fatalf("peer %d has %x of participant %d at tick %d, %v, and it must be %x", p.self, in, q, p.done, status, want)
			}
			c.inputs, c.statuses = append(c.inputs, in), append(c.statuses, status)
		}
		c.hash = p.hash
		p.log = append(p.log, c)
		p.hash = c.after(tb)
	}
}

// after returns the hash of all up to the tick itself.
func (c *confirmed) after(tb *table) uint64 {
	b := append(bytes.Join(c.inputs, nil), byte(c.hash), byte(c.hash>>8), byte(c.hash>>16), byte(c.hash>>24))
	for _, s := range c.statuses {
		b = append(b, byte(s))
	}
	return maphash.Bytes(tb.seed, b)
}

// agree requires that all who are in the newest view have confirmed the same.
func (tb *table) agree() {
	tb.t.Helper()
	members := tb.members()
	for _, p := range members {
		a := members[0]
		for t := max(a.start, p.start); t < min(a.done, p.done); t++ {
			x, y := a.log[t-a.start], p.log[t-p.start]
			if x.hash != y.hash || x.after(tb) != y.after(tb) {
				tb.t.Fatalf("peers %d and %d have confirmed different things for tick %d: %+v and %+v", a.self, p.self, t, x, y)
			}
		}
	}
}

// watch is what the floor above does for who comes back: it says hello and applies, and
// resumes with the first welcome from what its feed, which is a member's log, has come to.
func (p *player) watch() {
	for {
		msg, ok := p.Receive()
		if !ok {
			break
		}
		switch msg.Kind {
		case transport.Up:
			p.up[msg.From] = true
			hello := ReturnHello(&p.config)
			b, err := wire.AppendControl(nil, hello)
			require.NoError(p.match.t, err)
			_ = p.SendReliable(msg.From, b)
		case transport.Down:
			delete(p.up, msg.From)
		case transport.Reliable:
			c, err := wire.ParseControl(msg.Data)
			require.NoError(p.match.t, err)
			if w, ok := c.(wire.Welcome); ok && p.welcome == nil {
				p.welcome, p.from = &w, msg.From
			}
			if d, ok := c.(wire.Decide); ok && p.welcome != nil && d.View > p.welcome.View && tickOf(d.Value, driftback.Participant(p.self)) != never {
				p.closed = true // it was let in, and has been cut since
				return
			}
		}
	}
	members := p.table.members()
	if p.welcome != nil && len(members) > 0 {
		feeder := members[0]
		first := max(feeder.start, feeder.done-p.lag)
		m, err := Resume(p.config, *p.welcome, p.from, first)
		if errors.Is(err, ErrBehind) {
			p.early++
			p.lag = max(0, p.lag-1) // it runs on, though who feeds it may wait for it
			return
		}
		require.NoError(p.match.t, err)
		p.mesh, p.next, p.done, p.start, p.hash = m, first, first, first, feeder.hash
		if first < feeder.done {
			p.hash = feeder.log[first-feeder.start].hash
		}
		for t := first - 1; t >= max(feeder.start, first-100); t-- {
			for q, in := range feeder.log[t-feeder.start].inputs {
				require.True(p.match.t, m.Supply(driftback.Participant(q), in, 0))
			}
		}
		for _, l := range m.Peers() {
			if p.up[l] {
				m.LinkUp(l)
			}
		}
		return
	}
	if p.mute {
		for peer := range driftback.Peer(len(p.table.players)) {
			if p.up[peer] {
				p.Send(peer, []byte{0}) // of its feed, for the floor above
			}
		}
		return
	}
	if p.match.now-p.applied >= repeatEvery {
		p.applied = p.match.now
		for peer := range driftback.Peer(len(p.table.players)) {
			if p.up[peer] {
				b, err := wire.AppendControl(nil, ReturnHello(&p.config))
				require.NoError(p.match.t, err)
				_ = p.SendReliable(peer, b)
				b, err = wire.AppendControl(nil, wire.Apply{Match: p.config.Match, Nonce: p.config.Nonce, Delays: ReturnHello(&p.config).Delays})
				require.NoError(p.match.t, err)
				_ = p.SendReliable(peer, b)
			}
		}
	}
}

// members returns those that are in the newest view that is known to anybody who plays.
func (tb *table) members() (list []*player) {
	newest := -1
	for _, p := range tb.players {
		if !p.closed && p.mesh != nil && p.mesh.Phase() == Playing {
			newest = max(newest, p.mesh.View())
		}
	}
	for _, p := range tb.players {
		if !p.closed && p.mesh != nil && p.mesh.Phase() == Playing && p.mesh.View() == newest {
			list = append(list, p)
		}
	}
	return list
}
