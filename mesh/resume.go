package mesh

import (
	"errors"
	"fmt"
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// Resume returns the mesh of a peer that has come back to a match and was let in: it plays
// from the start. w is the first welcome that came, and from who sent it. first is the first
// tick of which this peer has not run; it has all inputs below it, and asks for the others.
//
// The error wraps [ErrBehind] if first is so low that inputs would be missing: run on, and
// try again with the same welcome. Say with [Mesh.LinkUp] which links are up.
func Resume(c Config, w wire.Welcome, from driftback.Peer, first driftback.Tick) (*Mesh, error) {
	if !c.Rejoin {
		return nil, errors.New("mesh: Rejoin is off, and without it nobody comes back to a match")
	}
	m, err := New(c)
	if err != nil {
		return nil, err
	}
	if m.linkTo(from) == nil {
		return nil, fmt.Errorf("mesh: peer %d welcomes this peer, and the match does not have it", from)
	}
	t, err := m.admitted(&w)
	if err != nil {
		return nil, fmt.Errorf("%w: the welcome of peer %d %w", ErrRefused, from, err)
	}
	if behind := m.behindTick(&w); first < behind || first > t || t-first > m.span {
		return nil, fmt.Errorf("%w: it has run up to tick %d, and has to come to one from %d to %d, from which on it plays", ErrBehind, first, max(behind, t-m.span), t)
	}
	m.resume(&w, first, t)
	return m, nil
}

// admitted returns from which tick on a welcome says that this peer plays.
func (m *Mesh) admitted(w *wire.Welcome) (t driftback.Tick, err error) {
	members := wire.Peers(0)
	for _, c := range w.Value.Cuts {
		if int(c.Participant) >= len(m.cfg.Players) {
			return 0, fmt.Errorf("cuts participant %d, and the match has %d", c.Participant, len(m.cfg.Players))
		}
		members |= wire.PeersOf(m.cfg.Players[c.Participant])
	}
	if members.Has(m.cfg.Self) || len(w.Delays) != len(m.cfg.Players) || w.View == 0 {
		return 0, errors.New("does not let this peer in, or does not have its participants")
	}
	for i, d := range w.Delays {
		if int(d.Participant) != i || d.Ticks > MaxDelay {
			return 0, fmt.Errorf("has a delay of %d ticks for participant %d: one of at most %d for each is allowed", d.Ticks, d.Participant, MaxDelay)
		}
	}
	back := 0
	for _, a := range w.Absences {
		if int(a.Participant) >= len(m.cfg.Players) || a.From > a.To {
			return 0, fmt.Errorf("has participant %d away from tick %d to tick %d", a.Participant, a.From, a.To)
		}
		if m.cfg.Players[a.Participant] == m.cfg.Self {
			t, back = a.To, back+1
		}
	}
	for i := range m.links {
		if !hasNonce(w, m.links[i].peer) {
			return 0, fmt.Errorf("does not tell the process of peer %d", m.links[i].peer)
		}
	}
	for _, j := range w.Value.Joins {
		if j.Peer == m.cfg.Self && j.Nonce == m.cfg.Nonce && j.Tick == t && back == len(m.own) {
			return t, nil
		}
	}
	return 0, errors.New("lets in another process than this one")
}

func hasNonce(w *wire.Welcome, peer driftback.Peer) bool {
	for _, n := range w.Nonces {
		if n.Peer == peer {
			return true
		}
	}
	return false
}

// behindTick returns the tick below which inputs matter that nobody sends a peer that comes
// back: those that participants gave before they were cut.
func (m *Mesh) behindTick(w *wire.Welcome) (t driftback.Tick) {
	for _, c := range w.Value.Cuts {
		if !slices.ContainsFunc(w.Absences, func(a wire.Absence) bool { return a.Participant == c.Participant && a.To == c.Tick }) {
			t = max(t, c.Tick)
		}
	}
	for _, a := range w.Absences {
		t = max(t, a.From)
	}
	return t
}

// resume takes over what the members have agreed on, at tick first, to play from tick t on.
func (m *Mesh) resume(w *wire.Welcome, first, t driftback.Tick) {
	v := &m.views
	m.cfg.Settings = asReturning(m.cfg.Settings)
	m.agreed, m.digest, m.seed, m.tag, m.phase = true, w.Digest, w.Seed, w.Tag, Playing
	m.start = startState{ready: true, msg: wire.Start{Digest: w.Digest, Seed: w.Seed}}
	m.from = t
	v.number, v.base, v.avoid = w.View, w.View, append([]uint16(nil), w.Avoid...)
	for _, c := range w.Value.Cuts {
		v.cuts[c.Participant] = c.Tick
		v.members &^= wire.PeersOf(m.cfg.Players[c.Participant])
	}
	for _, a := range w.Absences {
		v.absences[a.Participant] = append(v.absences[a.Participant], a)
	}
	for p := range m.histories {
		h := &m.histories[p]
		m.delays[p] = w.Delays[p].Ticks
		h.begin(first)
		for to := m.joined(driftback.Participant(p)); h.held < to; {
			h.append(v.neutral)
		}
	}
	nonces := map[driftback.Peer]uint64{}
	for _, n := range w.Nonces {
		nonces[n.Peer] = n.Nonce
	}
	if m.prints.every != 0 {
		m.prints.begin(m.prints.after(t))
	}
	for i := range m.links {
		l := &m.links[i]
		l.hello, l.started = &wire.Hello{Match: m.cfg.Match, Nonce: nonces[l.peer]}, true
		l.view.known, l.view.cut, l.view.deaf = v.number, !v.members.Has(l.peer), true
		l.view.over, l.view.unaware = l.view.cut, true
		for p := range l.view.shared {
			l.view.shared[p] = -1
		}
		for j := range m.own {
			l.acked[j], l.told[j], l.sent[j] = t, t, t
		}
		if m.prints.every != 0 {
			since := t
			for _, p := range l.plays { // what it has run before that it does not tell
				since = max(since, m.joined(p))
			}
			l.prints.restart(m.prints.after(since))
		}
	}
	m.prints.agreed = m.prints.next
	m.fill()
}

// LinkUp says, after [Resume] and before the first Poll, that the link to a peer is up, and
// that [ReturnHello] has been sent over it.
func (m *Mesh) LinkUp(peer driftback.Peer) {
	l := m.linkTo(peer)
	if l == nil || m.from == 0 || m.polled {
		return
	}
	l.up = true
	if !l.view.cut {
		l.greeted, l.mail.said, l.mail.met = true, true, true
	}
}

// Supply gives, after [Resume] and before the first Poll, the input and the entry that
// participant p gave for the tick before the oldest that is known: first that before the
// one at which this peer resumed, and so on back. This peer may have been fed with inputs
// by one who is lost since, that nobody else has. It reports whether there is room for more;
// a few hundred ticks are enough.
func (m *Mesh) Supply(p driftback.Participant, in []byte, e wire.Entry) bool {
	return m.from != 0 && !m.polled && len(in) == m.cfg.Stride && m.histories[p].before(in, e)
}

// receiveWelcome takes a welcome that comes after the first: it says nothing new.
func (m *Mesh) receiveWelcome(l *link, w wire.Welcome) {
	if m.relayed() {
		m.welcomed(l, &w)
		return
	}
	if m.from == 0 || w.Digest != m.digest || w.Seed != m.seed {
		m.refuse(BadVote)
		return
	}
	l.view.known = max(l.view.known, min(w.View, m.views.number))
}

// From returns the first tick that this peer publishes for, if it has come back, and 0
// otherwise. Held says the same of each of its participants until it has published.
func (m *Mesh) From() driftback.Tick { return m.from }
