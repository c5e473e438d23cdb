package mesh

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// rosterSetting is the setting that the mesh adds to those it is given: who
// plays whom.
const rosterSetting = "players"

// startState is this peer's side of the agreement to begin.
type startState struct {
	ready bool
	msg   wire.Start
}

// hello returns this peer's hello.
func (m *Mesh) hello() wire.Hello {
	h := wire.Hello{Match: m.cfg.Match, Nonce: m.cfg.Nonce, Settings: m.cfg.Settings}
	for i, p := range m.own {
		h.Delays = append(h.Delays, wire.Delay{Participant: p, Ticks: m.cfg.delay(i)})
	}
	return h
}

// withRoster returns the settings, sorted, with the roster among them.
func withRoster(settings []wire.Setting, players []driftback.Peer) []wire.Setting {
	var roster strings.Builder
	for p, peer := range players {
		if p > 0 {
			roster.WriteByte(' ')
		}
		fmt.Fprintf(&roster, "%d", peer)
	}
	return sorted(append(slices.Clone(settings), wire.Setting{Name: rosterSetting, Value: roster.String()}))
}

// sorted sorts settings by name, in place.
func sorted(settings []wire.Setting) []wire.Setting {
	slices.SortFunc(settings, func(a, b wire.Setting) int { return strings.Compare(a.Name, b.Name) })
	return settings
}

func (m *Mesh) receiveHello(l *link, h wire.Hello) {
	same := l.hello != nil && matchIn(l.hello) == matchIn(&h)
	if l.greeted && !same && m.cfg.Rejoin && m.phase == Playing && h.Match == m.cfg.Match {
		l.greeted = false // who came back over a link that was up takes it for the old process's
	}
	switch {
	case l.greeted && same && m.phase == Ended && comesBack(&h): // it was let in as the match ended here
		return
	case same && m.phase == Playing && m.from != 0 && len(h.Delays) == 0:
		// As who feeds: it has not heard yet that this one plays.
		m.hear(l)
		return
	case l.greeted && same && m.phase == Playing && (comesBack(&h) || m.from != 0):
		// Who comes back says so until it is let in, and its first packet may overtake the last
		// of them. What its own peers say to it as who plays may come when one of them has let it in.
		l.hello = &h
		m.hear(l)
		return
	case l.greeted && (same || matchIn(&h) == l.past || m.phase != Ended && !l.finished && !l.left && !l.view.left):
		// One hello for each time the link comes up, and one more when the peer is through:
		// whoever goes on before that leaves first.
		m.refuse(Malformed)
		if m.phase != Ended {
			m.hear(l)
		}
		return
	case matchIn(&h) == l.past:
		l.mail.met = true // it has not come to this match yet
		return
	case m.phase == Ended && same:
		l.greeted, l.mail.met = true, true
		return
	case m.phase == Ended || l.greeted:
		l.mail.met = true
		m.keep(l, h)
		return
	}
	if l.hello != nil && l.hello.Nonce != h.Nonce {
		switch {
		case m.phase == Joining:
			// The process was restarted before anything was agreed with it.
			l.hello = nil
		case h.Match != m.cfg.Match && m.finish.ready:
			// It was through, and its link went down when it had gone on.
			l.mail.met = true
			m.keep(l, h)
			m.judgeFinish()
			return
		case m.cfg.Rejoin && m.phase == Playing && h.Match == m.cfg.Match && (m.playsOn() || !m.finish.ready && !m.dispute.open):
			m.replaced(l, h)
			return
		case m.playsOn():
			if m.leaves(l, nil); h.Match == m.cfg.Match {
				m.turnAway(l)
				return
			}
			l.mail.met = true
			m.keep(l, h)
			return
		default:
			m.end(&LostError{Peer: l.peer, Tick: m.heldFrom(l)}, wire.Leave{Reason: LeaveLost, Text: fmt.Sprintf("peer %d came back without the match", l.peer)})
			return
		}
	}
	if err := m.compare(l, &h); err != nil {
		m.end(err, wire.Leave{Reason: LeaveRefused, Text: "the settings differ"})
		return
	}
	l.greeted, l.mail.met = true, true
	m.hear(l)
	if l.hello != nil {
		return // the same process, after its link was down
	}
	l.hello = &h
	m.note(Event{Kind: PeerJoined, Peer: l.peer})
	m.agreeIfAll()
}

// agreeIfAll agrees once every hello has come. In a rematch this peer's own have to be on
// their way too: until then another's may be of an attempt that it has given up since.
func (m *Mesh) agreeIfAll() {
	if m.phase != Joining || m.relayed() {
		return
	}
	for i := range m.links {
		if l := &m.links[i]; l.hello == nil || l.past.known && l.owed&owesHello != 0 {
			return
		}
	}
	m.agree()
}

// compare returns an error that names the first setting in which a peer differs.
func (m *Mesh) compare(l *link, h *wire.Hello) error {
	if h.Nonce == m.cfg.Nonce {
		return fmt.Errorf("%w: peer %d has the same nonce as this peer, %s: draw it at random in each process",
			ErrRefused, l.peer, hex(h.Nonce))
	}
	if h.Match != m.cfg.Match {
		return &MismatchError{Peer: l.peer, Setting: "match", Ours: hex(m.cfg.Match), Theirs: hex(h.Match)}
	}
	if err := compareSettings(l.peer, m.cfg.Settings, h.Settings); err != nil {
		return err
	}
	named := make([]driftback.Participant, len(h.Delays))
	for i, d := range h.Delays {
		named[i] = d.Participant
		if d.Ticks > MaxDelay {
			return &MismatchError{Peer: l.peer, Setting: fmt.Sprintf("the input delay of participant %d", d.Participant),
				Ours: fmt.Sprintf("at most %d", MaxDelay), Theirs: fmt.Sprint(d.Ticks)}
		}
	}
	if plays := l.playsIn(m); !slices.Equal(named, plays) {
		return &MismatchError{Peer: l.peer, Setting: "who plays whom (Players, Self)",
			Ours: fmt.Sprintf("peer %d plays %d", l.peer, plays), Theirs: fmt.Sprintf("peer %d plays %d", l.peer, named)}
	}
	return nil
}

func hex(v uint64) string { return fmt.Sprintf("%016x", v) }

// agree works out what every peer now knows: the delays, the seed, the digest of
// all that was agreed and the tag that its packets carry.
func (m *Mesh) agree() {
	nonces := map[driftback.Peer]uint64{m.cfg.Self: m.cfg.Nonce}
	for i, p := range m.own {
		m.delays[p] = m.cfg.delay(i)
	}
	for i := range m.links {
		l := &m.links[i]
		nonces[l.peer] = l.hello.Nonce
		for _, d := range l.hello.Delays {
			m.delays[d.Participant] = d.Ticks
		}
	}
	var list []wire.Nonce
	for peer := range driftback.Peer(driftback.MaxPeers) {
		if nonce, ok := nonces[peer]; ok {
			list = append(list, wire.Nonce{Peer: peer, Nonce: nonce})
		}
	}
	m.seed, m.digest = Digest(m.cfg.Match, list, m.cfg.Players, m.delays, m.hellos())
	m.views.avoid = m.avoided()
	m.tag = tagOf(m.digest, m.views.avoid)
	m.proceed()
}

// Digest returns the hash of every peer's nonce, which is a match's seed, and the hash of all
// that is agreed on: that, who plays whom, the input delays by participant, and the settings that
// any hello knows. Nonces are in ascending order of peer.
func Digest(match uint64, nonces []wire.Nonce, players []driftback.Peer, delays []int, hellos []*wire.Hello) (seed, digest uint64) {
	b := binary.LittleEndian.AppendUint16(nil, wire.Version)
	b = binary.LittleEndian.AppendUint64(b, match)
	for _, n := range nonces {
		b = append(b, byte(n.Peer))
		b = binary.LittleEndian.AppendUint64(b, n.Nonce)
	}
	seed = xxh3.Hash(b)
	for p, peer := range players {
		b = append(b, byte(p), byte(peer), byte(delays[p]))
	}
	for _, s := range known(hellos) {
		b = append(append(b, s.Name...), 0)
		b = append(append(b, s.Value...), 0)
	}
	return seed, xxh3.Hash(b)
}

// proceed takes what has been agreed on.
func (m *Mesh) proceed() {
	m.agreed = true
	for p := range m.histories {
		// Before a participant's own delay nobody can have pressed anything.
		m.histories[p].skip(m.delays[p])
	}
	for i := range m.published {
		m.published[i].skip(m.delays[m.own[i]])
	}
	for i := range m.links {
		for j, p := range m.own {
			m.links[i].acked[j] = driftback.Tick(m.delays[p])
		}
	}
	m.phase = Agreeing
}

// hellos returns what every peer has said, this one among them.
func (m *Mesh) hellos() []*wire.Hello {
	all := make([]*wire.Hello, 1, 1+len(m.links))
	all[0] = &wire.Hello{Settings: m.cfg.Settings}
	for i := range m.links {
		all = append(all, m.links[i].hello)
	}
	return all
}

// known returns the settings that any peer knows, in an order that is the same on
// every peer: one that does not know a setting has agreed to what the others say.
func known(hellos []*wire.Hello) (all []wire.Setting) {
	for _, h := range hellos {
		all = append(all, h.Settings...)
	}
	all = slices.DeleteFunc(all, func(s wire.Setting) bool { return s.Value == "" })
	slices.SortFunc(all, func(a, b wire.Setting) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value))
	})
	return slices.Compact(all)
}

// Seed returns the hash of every peer's nonce, once the phase is [Agreeing].
func (m *Mesh) Seed() uint64 { return m.seed }

// Delay returns the input delay in ticks with which a participant began, once the phase
// is [Agreeing]. Its inputs for ticks below that are held, and neutral. What it is later
// concerns nobody but its owner, who publishes the inputs.
func (m *Mesh) Delay(p driftback.Participant) int { return m.delays[p] }

// Begin says from which state this peer starts: its fingerprint, unless
// fingerprints are off. It is called once, in phase [Agreeing].
func (m *Mesh) Begin(state uint64, hasState bool) error {
	if m.phase != Agreeing || m.start.ready {
		return errors.New("mesh: Begin is called once, when every peer has said hello and before the match is played")
	}
	m.start = startState{ready: true, msg: wire.Start{Digest: m.digest, Seed: m.seed, State: state, HasState: hasState}}
	for i := range m.links {
		m.links[i].owed |= owesStart
		if s := m.links[i].early; s != nil {
			m.links[i].early = nil
			m.receiveStart(&m.links[i], *s)
			if m.phase == Ended {
				return nil
			}
		}
	}
	m.play()
	return nil
}

func (m *Mesh) receiveStart(l *link, s wire.Start) {
	if !m.start.ready {
		l.early = &s
		return
	}
	ours := &m.start.msg
	err := &MismatchError{Peer: l.peer}
	switch {
	case s.Seed != ours.Seed && m.cfg.Rejoin:
		// It has begun with a process that was here before, for which it took this one as the
		// link came up. It will hear this one's hello, and say what follows.
		m.refuse(Early)
		return
	case s.Seed != ours.Seed:
		err.Setting, err.Ours, err.Theirs = "the seed", hex(ours.Seed), hex(s.Seed)
	case s.HasState && ours.HasState && s.State != ours.State:
		err.Setting, err.Ours, err.Theirs = "the start state (Initial, Start)", hex(ours.State), hex(s.State)
	case s.Digest != ours.Digest:
		err.Setting, err.Ours, err.Theirs = "the digest of all that was agreed", hex(ours.Digest), hex(s.Digest)
	default:
		l.started = true
		m.play()
		return
	}
	m.end(err, wire.Leave{Reason: LeaveRefused, Text: "we start from different states"})
}

// play begins the match when every peer starts from the same state.
func (m *Mesh) play() {
	if m.phase != Agreeing || !m.start.ready {
		return
	}
	for i := range m.links {
		if !m.links[i].started {
			return
		}
	}
	for i := range m.links {
		// Who had said everything had nothing to repeat while another was waited for.
		m.links[i].silence = 0
	}
	m.phase = Playing
	m.judgeLast() // a peer that needs no inputs may be through already
}

// missing says who has kept the match from beginning.
func (m *Mesh) missing() string {
	var who []string
	for i := range m.links {
		l := &m.links[i]
		_, why := m.why(l)
		switch {
		case l.started:
		case l.hello != nil && m.phase == Joining: // it waits for somebody, as we do
		case l.hello != nil:
			who = append(who, fmt.Sprintf("peer %d said hello but has not begun", l.peer))
		case l.up && l.past.known:
			who = append(who, fmt.Sprintf("peer %d is connected but has not come to this match after the one before", l.peer))
		case l.up:
			who = append(who, fmt.Sprintf("peer %d is connected but said nothing", l.peer))
		case why != nil:
			who = append(who, fmt.Sprintf("peer %d is not connected (%v)", l.peer, why))
		default:
			who = append(who, fmt.Sprintf("peer %d is not connected", l.peer))
		}
	}
	return fmt.Sprintf("within %v: %s", m.cfg.JoinTimeout, strings.Join(who, "; "))
}
