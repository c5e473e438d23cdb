package mesh

import (
	"errors"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// returnSetting is the setting by which a hello says that its sender comes back to a match
// that goes on.
const returnSetting = "returns"

// errReturned, errReplaced and errLate are why the link to who came back is down for the floor
// above.
var (
	errReturned = errors.New("mesh: it plays again")
	errReplaced = errors.New("mesh: another process has come in its place")
	errLate     = errors.New("mesh: it was let in, and did not come in time")
)

// returning is what is known about a peer that comes back as another process.
type returning struct {
	// fresh: the hello of that process has come since the link came up. Nothing that it
	// says is the match's, but its apply.
	fresh bool
	hello wire.Hello
	apply *wire.Apply
	// awaits: it has been let in, in the view since, and none of its packets has come;
	// blank has a bit for each of our participants for whom its word for what it holds has not
	// come either: not every packet has it. It is told nothing but welcome, last at
	// welcomedAt.
	awaits     bool
	blank      uint16
	since      uint64
	welcome    wire.Welcome
	welcomedAt time.Duration
	// fed: the floor above has been given its messages since the link came up.
	fed bool
	// As a member, whom it would let in, and whether it waits for a view because of one.
	ready wire.Peers
	waits bool
}

// apart reports whether what the members say to each other is not for a peer.
func (r *returning) apart() bool { return r.fresh || r.awaits }

// ReturnHello is the hello with which a peer comes back to a match: c is what [Resume] will
// be given.
func ReturnHello(c *Config) wire.Hello {
	h := wire.Hello{Match: c.Match, Nonce: c.Nonce, Settings: asReturning(withRoster(c.Settings, c.Players))}
	for p, peer := range c.Players {
		if peer == c.Self {
			h.Delays = append(h.Delays, wire.Delay{Participant: driftback.Participant(p), Ticks: c.delay(len(h.Delays))})
		}
	}
	return h
}

func asReturning(settings []wire.Setting) []wire.Setting {
	return sorted(append(settings, wire.Setting{Name: returnSetting, Value: "1"}))
}

func comesBack(h *wire.Hello) bool {
	return slices.ContainsFunc(h.Settings, func(s wire.Setting) bool { return s.Name == returnSetting && s.Value != "" })
}

// replaced takes the hello of another process in place of a member's, which proves that the
// member has lost the match.
func (m *Mesh) replaced(l *link, h wire.Hello) {
	if m.views.members.Len() > 2 {
		m.leaves(l, nil)
	} else {
		m.goAlone(l)
	}
	if m.phase == Playing {
		m.returnsAs(l, h)
	}
}

// returnsAs takes the hello of another process in place of a peer's that is lost or cut.
func (m *Mesh) returnsAs(l *link, h wire.Hello) {
	if !m.cfg.Rejoin || !comesBack(&h) {
		m.turnAway(l)
		return
	}
	if err := m.compare(l, &h); err != nil {
		m.sendControl(l, wire.Leave{Reason: LeaveRefused, Text: Sendable(err.Error())})
		return
	}
	l.view.fresh, l.view.hello, l.view.apply, l.silence = true, h, nil, 0
	m.feed(l, &h)
}

// feed gives the floor above the hello of a peer that comes back, over a link that is new
// to it.
func (m *Mesh) feed(l *link, h *wire.Hello) {
	if m.cfg.Outside == nil {
		return
	}
	l.view.fed = true
	m.cfg.Outside(transport.Message{Kind: transport.Up, From: l.peer})
	b, err := wire.AppendControl(nil, *h)
	if err != nil {
		m.broken(err)
		return
	}
	m.cfg.Outside(transport.Message{Kind: transport.Reliable, From: l.peer, Data: b})
}

// unfeed takes a peer from the floor above.
func (m *Mesh) unfeed(l *link, why error) {
	if l.view.fed {
		l.view.fed = false
		m.cfg.Outside(transport.Message{Kind: transport.Down, From: l.peer, Err: why})
	}
}

// receiveReturning takes a message of a peer that comes back, or has been let in and has
// sent no packet yet, and reports whether it was not for the match.
func (m *Mesh) receiveReturning(l *link, msg transport.Message) (taken bool) {
	if l.view.fresh {
		l.silence = 0
	}
	switch msg.Kind {
	case transport.Up, transport.Down:
		m.unfeed(l, msg.Err)
		l.view.fresh, l.view.apply = false, nil
		return false
	case transport.Datagram:
		if tag, ok := wire.TagOf(msg.Data); l.view.awaits && !l.view.fresh && ok && (tag == m.tag || slices.Contains(m.views.tags, tag)) {
			return false
		}
		m.handOn(l, msg)
		return true
	case transport.Reliable:
	}
	if _, packet := wire.TagOf(msg.Data); packet {
		m.handOn(l, msg)
		return true
	}
	c, err := wire.ParseControl(msg.Data)
	if err != nil {
		return false
	}
	switch c := c.(type) {
	case wire.Apply:
		if l.view.fresh && c.Match == m.cfg.Match && c.Nonce == l.view.hello.Nonce && delaysOf(l, c.Delays) {
			l.view.apply = &c
		}
		return true
	case wire.Hello:
		switch {
		case l.view.fresh && c.Nonce == l.view.hello.Nonce, l.greeted && c.Nonce == l.hello.Nonce:
			return true // it says so until it is let in
		case l.view.fresh:
			m.unfeed(l, errReplaced)
			l.view.fresh = false
			return false
		case c.Nonce == l.hello.Nonce:
			m.feed(l, &c)
		}
		return false
	case wire.Leave:
		m.handOn(l, msg)
		if l.view.fresh {
			l.view.fresh, l.view.fed, l.view.apply = false, false, nil
			return true
		}
		return false
	case wire.Watch, wire.TransferOffer, wire.TransferTake, wire.TransferChunk, wire.TransferAck, wire.TransferEnd, wire.TransferStop:
	default:
		if !l.view.fresh {
			return false
		}
		m.refuse(Early) // others have let it in, and this peer has not heard of that: it says so again
		return true
	}
	m.handOn(l, msg)
	return true
}

// handOn hands a message to the floor above.
func (m *Mesh) handOn(l *link, msg transport.Message) {
	if l.view.fed {
		m.cfg.Outside(msg)
		return
	}
	m.refuse(CutOff)
}

// comes notes that a peer that has been let in plays.
func (m *Mesh) comes(l *link) {
	if l.view.awaits {
		l.view.awaits = false
		m.unfeed(l, errReturned)
	}
}

// takeWord takes which of our inputs a peer that has come back holds: it is sent the rest,
// if that is still to be had.
func (m *Mesh) takeWord(l *link, p *wire.Packet) {
	m.comes(l)
	if l.view.blank == 0 {
		return
	}
	for _, a := range p.Acks {
		i := slices.Index(m.own, a.Participant)
		if i < 0 || l.view.blank>>i&1 == 0 || a.Next > m.histories[a.Participant].held {
			continue
		}
		l.view.blank &^= 1 << i
		if a.Next < m.histories[a.Participant].oldest() {
			m.leaves(l, nil) // it can never come on
			return
		}
		l.acked[i], l.told[i], l.sent[i] = a.Next, a.Next, a.Next
	}
}

// renew makes the link to a peer that is let in what it is to a new process.
func (m *Mesh) renew(l *link, j *wire.Join) {
	before := l.view.returning
	here := l.up && before.fresh && before.hello.Nonce == j.Nonce
	hello := wire.Hello{Match: m.cfg.Match, Nonce: j.Nonce, Settings: before.hello.Settings, Delays: j.Delays}
	*l = link{
		peer: l.peer, plays: l.plays, up: l.up, downWhy: l.downWhy, hello: &hello, started: true, greeted: here,
		owed: l.owed & owesHello, mail: mail{said: here, met: here},
		acked: l.acked, told: l.told, sent: l.sent, meter: meter{next: l.meter.next}, stats: l.stats, prints: l.prints,
		view: linkView{known: m.views.number, shared: l.view.shared, returning: returning{
			awaits: true, blank: 1<<len(m.own) - 1, since: m.views.number, welcomedAt: -repeatEvery, fed: before.fed,
		}},
	}
	if here {
		l.owed = 0
	}
	if m.finish.ready {
		l.owed |= owesFinish
	}
	if m.dispute.open {
		l.owed |= owesDisagree
	}
	for i, p := range m.own {
		l.acked[i], l.told[i], l.sent[i] = m.histories[p].held, m.histories[p].held, m.histories[p].held
	}
	if m.prints.every != 0 {
		l.prints.restart(max(m.prints.after(j.Tick), m.prints.first))
	}
	if before.fresh && !here {
		// The process that was to be let in has been replaced since.
		l.view.fresh, l.view.hello = true, before.hello
		m.leaves(l, nil)
	}
}

// sendWelcomes tells those that have been let in all they need, until they play.
func (m *Mesh) sendWelcomes() {
	for i := range m.links {
		l := &m.links[i]
		if !l.view.awaits || l.view.fresh || !l.up || !l.greeted || l.owed&owesHello != 0 || m.clock-l.view.welcomedAt < repeatEvery {
			continue
		}
		l.view.welcomedAt = m.clock
		m.sendControl(l, l.view.welcome)
	}
}

// makeWelcomes makes what those are told that the newest view has let in.
func (m *Mesh) makeWelcomes(value *wire.Value) {
	v := &m.views
	w := wire.Welcome{
		View: v.number, Value: *value, Digest: m.digest, Seed: m.seed, Tag: m.tag, Avoid: slices.Clone(v.avoid),
	}
	for p := range m.cfg.Players {
		w.Delays = append(w.Delays, wire.Delay{Participant: driftback.Participant(p), Ticks: m.delays[p]})
		if list := v.absences[p]; len(list) > 0 {
			w.Absences = append(w.Absences, list[len(list)-1])
		}
	}
	for peer := range driftback.Peer(driftback.MaxPeers) {
		if peer == m.cfg.Self {
			w.Nonces = append(w.Nonces, wire.Nonce{Peer: peer, Nonce: m.cfg.Nonce})
		} else if l := m.linkTo(peer); l != nil && l.hello != nil {
			w.Nonces = append(w.Nonces, wire.Nonce{Peer: peer, Nonce: l.hello.Nonce})
		}
	}
	for _, j := range value.Joins {
		m.linkTo(j.Peer).view.welcome = w
	}
}

// goAlone decides alone that the last other member, whose process is known to have lost the
// match, does not play: nobody else could decide anything.
func (m *Mesh) goAlone(l *link) {
	v := &m.views
	l.view.over = true // the process that was cut is no more, and none that comes has been
	if v.acceptedIn != 0 {
		m.install(v.accepted, m.cfg.Self) // that one may have decided so, and told
	}
	if m.phase != Playing {
		return
	}
	if m.leaves(l, nil); !v.members.Has(l.peer) || v.members.Len() != 2 {
		return
	}
	var value wire.Value
	for p, peer := range m.cfg.Players {
		if peer == l.peer || v.cuts[p] != never {
			value.Cuts = append(value.Cuts, wire.Cut{Participant: driftback.Participant(p), Tick: min(m.histories[p].held, v.cuts[p])})
		}
	}
	m.install(value, m.cfg.Self)
}

// waitsAlone reports whether this peer is the only member, and nobody has been heard of late
// who comes back: it does not go on by itself.
func (m *Mesh) waitsAlone() bool {
	if !m.cfg.Rejoin || m.phase != Playing || len(m.links) == 0 || m.views.members.Len() > 1 {
		return false
	}
	for i := range m.links {
		if l := &m.links[i]; l.up && l.view.fresh && m.hears(l) {
			return false
		}
	}
	return true
}

// judgeAlone ends the match when nobody has come back to a last member for too long.
func (m *Mesh) judgeAlone(passed time.Duration) {
	if !m.waitsAlone() || m.finish.ready {
		m.views.alone = 0
		return
	}
	if m.views.alone += passed; m.longEnough(m.views.alone) {
		l := &m.links[0]
		m.end(&LostError{Peer: l.peer, Tick: m.heldFrom(l), Silence: m.views.alone, Down: l.downWhy}, wire.Leave{Reason: LeaveLost, Text: "nobody has come back to it"})
	}
}
