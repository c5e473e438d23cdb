package mesh

import (
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// With a relay this peer has one link, to a peer that plays nobody. What it publishes goes
// there and is held apart, in published; the histories have what the relay's set has, of
// this peer's own participants too.

// relaySetting is the setting that the mesh adds to those it is given: what a relay has to
// know of the match.
const relaySetting = "relay"

// RelayTerms are what a relay has to know of a match that it knows nothing else of.
type RelayTerms struct {
	Relay            driftback.Peer
	Stride           int           // bytes of an input
	TickLength       time.Duration // at the normal speed
	Window           int           // ticks; 0: nothing is predicted
	FingerprintEvery int           // ticks, or None
	PlayOn           bool          // without a peer that is lost or leaves
}

const termsForm = "peer %d: inputs of %d bytes, ticks of %d ns, window %d, fingerprints each %d, plays on %t"

func (c *Config) terms() RelayTerms {
	return RelayTerms{c.Relay, c.Stride, c.TickLength, c.Window, c.FingerprintEvery, c.PlayOn}
}

func (r RelayTerms) setting() wire.Setting {
	return wire.Setting{Name: relaySetting, Value: fmt.Sprintf(termsForm, r.Relay, r.Stride, r.TickLength, r.Window, r.FingerprintEvery, r.PlayOn)}
}

// TermsOf returns what a player's hello says to a relay. It is an error if it says nothing,
// or nothing that a mesh would.
func TermsOf(h *wire.Hello) (r RelayTerms, err error) {
	i := slices.IndexFunc(h.Settings, func(s wire.Setting) bool { return s.Name == relaySetting })
	if i < 0 {
		return r, fmt.Errorf("%w: its hello has no setting %q: it knows of no relay", ErrRefused, relaySetting)
	}
	value := h.Settings[i].Value
	_, err = fmt.Sscanf(value, termsForm, &r.Relay, &r.Stride, &r.TickLength, &r.Window, &r.FingerprintEvery, &r.PlayOn)
	switch {
	case err != nil || r.setting().Value != value:
	case r.Relay == 0 || r.Relay >= driftback.MaxPeers || r.Stride < 1 || r.Stride > wire.MaxStride || r.TickLength <= 0 || r.TickLength > MaxTurn:
	case r.Window < 0 || r.Window > MaxWindow || r.FingerprintEvery < 1 && r.FingerprintEvery != None || r.FingerprintEvery > MaxHistory/2:
	default:
		return r, nil
	}
	return RelayTerms{}, fmt.Errorf("%w: its setting %q is %q, which no relay can go by", ErrRefused, relaySetting, value)
}

// Span returns how many ticks beyond the first that a relay's set lacks an honest peer can
// have published.
func (r *RelayTerms) Span() driftback.Tick { return driftback.Tick(2*(r.Window+MaxDelay) + 1) }

func (c *Config) relayed() bool { return c.Relay != 0 }

func (m *Mesh) relayed() bool { return m.cfg.relayed() }

func (c *Config) validateRelay() error {
	switch {
	case !c.relayed():
	case c.Relay >= driftback.MaxPeers:
		return fmt.Errorf("mesh: Relay is peer %d: peers are numbered below %d", c.Relay, driftback.MaxPeers)
	case slices.Contains(c.Players, c.Relay):
		return fmt.Errorf("mesh: Relay is peer %d, which plays a participant in Players: a relay plays nobody", c.Relay)
	case c.Rejoin:
		return fmt.Errorf("mesh: Relay is peer %d and Rejoin is true: through a relay nobody comes back yet", c.Relay)
	case c.TickLength <= 0 || c.TickLength > MaxTurn:
		return fmt.Errorf("mesh: TickLength is %v and Relay peer %d: it must be positive, and at most %v", c.TickLength, c.Relay, MaxTurn)
	}
	return nil
}

// publishedOf returns what has been published of our participant number i.
func (m *Mesh) publishedOf(i int) *history {
	if m.relayed() {
		return &m.published[i]
	}
	return &m.histories[m.own[i]]
}

// publishing returns what has been published of p, a participant of this peer's.
func (m *Mesh) publishing(p driftback.Participant) *history {
	return m.publishedOf(slices.Index(m.own, p))
}

// Published returns the first tick for which this peer has not published an input of p, a
// participant of its own. Without a relay it is Held(p).
func (m *Mesh) Published(p driftback.Participant) driftback.Tick { return m.publishing(p).held }

// playsIn returns whom a peer plays by its own word: a relay plays nobody.
func (l *link) playsIn(m *Mesh) []driftback.Participant {
	if m.relayed() {
		return nil
	}
	return l.plays
}

// welcomed takes what the relay says that all peers have agreed on.
func (m *Mesh) welcomed(l *link, w *wire.Welcome) {
	if m.phase != Joining {
		return // said again after the link was down
	}
	refuse := func(what string) {
		m.end(fmt.Errorf("%w: peer %d welcomes this one to a match %s", ErrRefused, l.peer, what), wire.Leave{Reason: LeaveRefused, Text: "its welcome is wrong"})
	}
	if len(w.Delays) != len(m.delays) {
		refuse(fmt.Sprintf("of %d participants, and there are %d", len(w.Delays), len(m.delays)))
		return
	}
	for p, d := range w.Delays {
		if int(d.Participant) != p || d.Ticks > MaxDelay {
			refuse(fmt.Sprintf("in which participant %d has an input delay of %d ticks", d.Participant, d.Ticks))
			return
		}
		m.delays[p] = d.Ticks
	}
	for i, p := range m.own {
		if m.delays[p] != m.cfg.delay(i) {
			refuse(fmt.Sprintf("in which participant %d, whom this peer plays, has an input delay of %d ticks", p, m.delays[p]))
			return
		}
	}
	seed, _ := Digest(m.cfg.Match, w.Nonces, m.cfg.Players, m.delays, nil)
	if seed != w.Seed || !slices.Contains(w.Nonces, wire.Nonce{Peer: m.cfg.Self, Nonce: m.cfg.Nonce}) {
		refuse("whose seed is not of every peer's nonce")
		return
	}
	m.seed, m.digest, m.tag = w.Seed, w.Digest, w.Tag
	m.proceed()
}

// Late returns on how many ticks of the relay's set a participant's last input is repeated.
func (m *Mesh) Late(p driftback.Participant) uint64 { return m.late[p] }

// Dropped returns the entry that this peer published with its input of p for tick t, which has come
// in the relay's set with another input in its place; 0 if it is not so.
func (m *Mesh) Dropped(p driftback.Participant, t driftback.Tick) wire.Entry {
	if !m.relayed() || m.cfg.Players[p] != m.cfg.Self || m.histories[p].entry(t) != wire.EntryLate {
		return 0
	}
	if h := m.publishing(p); t >= h.oldest() && t < h.held {
		return h.entry(t)
	}
	return 0
}

// fromRelay returns what counts of an input in the relay's set. The relay does not know the
// game: what this refuses, all peers alike replace by the zero input, which nobody waits for.
func (m *Mesh) fromRelay(p driftback.Participant, in []byte, e wire.Entry) ([]byte, wire.Entry) {
	if m.cfg.Valid != nil && !m.cfg.Valid(in) {
		m.refuse(BadInput)
		in = m.views.neutral
	}
	if !e.Mark() && !m.may(p, e) {
		m.refuse(BadInput)
		e = 0
	}
	return in, e
}

// findMarks looks at what has come of participant p's in the set since it was held up to a
// tick.
func (m *Mesh) findMarks(p driftback.Participant, from driftback.Tick) {
	h, late := &m.histories[p], driftback.Tick(-1)
	for t := from; t < h.held; t++ {
		e := h.entry(t)
		if e == wire.EntryLate {
			m.late[p]++
			late = t
		}
		if e == wire.EntryGone && m.views.cuts[p] == never {
			m.views.cuts[p] = t
			m.add(Event{Kind: PeerCut, Peer: m.cfg.Players[p], Participant: p, Tick: t})
		}
	}
	if late >= 0 {
		m.add(Event{Kind: InputLate, Peer: m.cfg.Players[p], Participant: p, Tick: late})
	}
}

// leftByRelay takes that the match is over for this peer, by the relay's word.
func (m *Mesh) leftByRelay(told *ToldError, leave wire.Leave) {
	switch leave.Reason {
	case LeaveFinished:
		m.linkTo(told.Peer).left = true // its Finish came before this
		return
	case LeaveLost:
		told.Err = ErrPeerLost // of the players one is
	}
	m.end(told, wire.Leave{Reason: LeaveLeft, Text: "the relay says that the match is over"})
}

// disagreesWithRelay takes a fingerprint that is not this peer's: what most have, if this
// peer is one of the others, or what another has, if the match is over because of that. Where this peer does
// not know its own, the relay's last word says what has happened.
func (m *Mesh) disagreesWithRelay(l *link, d wire.Disagree) {
	ours, ok := m.Root(d.Tick)
	if m.finish.ready && m.finish.msg.HasSum && m.finish.msg.At == d.Tick {
		ours, ok = m.finish.msg.Sum, true
	}
	if m.phase == Playing && ok && ours != d.Sum {
		m.dispute.err = DesyncError{Tick: d.Tick, Peer: l.peer, Ours: ours, Theirs: d.Sum}
		m.endDispute()
	}
}
