package mesh

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

const (
	// MaxMessage is the size in bytes of the largest message of a game's.
	MaxMessage = wire.MaxMessage
	// MaxUntaken is how many messages to one peer may be on their way at once. It is
	// half of what a transport's reliable queue holds, so that there is always room for
	// what the match has to say, and it is what a peer must have room for.
	MaxUntaken = 32
	// MessageRate bounds the messages to one peer, in bytes per second and in bytes at
	// once, so that they leave the line to the inputs. Each costs messageCost more than
	// its data.
	MessageRate = 16 << 10
	messageCost = 32
	// takenEvery is after how many messages a peer is told that they have been taken.
	takenEvery = MaxUntaken / 4
)

var (
	// ErrFull means that as many messages to this peer as may be are on their way, or
	// that they were sent too fast. Nothing was sent; try again at a later tick.
	ErrFull = errors.New("mesh: no more messages to this peer now")
	// ErrNoLink means that there is no link to this peer, that hellos have not been
	// exchanged since it came up, or that one of the two has come back to the match and
	// the other has not heard of that yet. Nothing was sent.
	ErrNoLink = errors.New("mesh: no link to this peer")
)

// Message is what a peer's game has sent.
type Message struct {
	From driftback.Peer
	Data []byte // 1 to [MaxMessage] bytes
}

// mail is what is known about the messages of one link since it came up. It outlasts
// the match.
type mail struct {
	said, met   bool   // our hello has been sent, and the peer's has come
	sent, taken uint64 // ours: how many have been sent, and how many its game has
	got, told   uint64 // the peer's: how many have come, and how many it knows of
	came        int    // in this Poll
	// spent is what the newest messages cost, in bytes, less what time has made good
	// until at.
	spent int
	at    time.Duration
}

// Messages returns what has arrived since the last Poll began, in order for each peer.
// It is borrowed until the next Poll.
func (m *Mesh) Messages() []Message { return m.messages }

// Send sends a message of the game's to a peer: in any phase, as soon as hellos have
// been exchanged, and after the end until another match has the links. It copies data, of 1
// to [MaxMessage] bytes. Messages arrive once and in order, unless the link goes down:
// then those that had not arrived are lost. The error wraps [ErrFull] or [ErrNoLink] if
// it may be tried again.
func (m *Mesh) Send(to driftback.Peer, data []byte) error {
	l := m.linkTo(to)
	switch {
	case len(data) == 0 || len(data) > MaxMessage:
		return fmt.Errorf("mesh: a message of %d bytes to peer %d: from 1 to %d are allowed", len(data), to, MaxMessage)
	case l == nil:
		return fmt.Errorf("mesh: a message to peer %d, which this match does not have", to)
	case m.followed:
		return fmt.Errorf("mesh: a message to peer %d, but another match has the links now", to)
	case !l.up || !l.mail.said || !l.mail.met:
		return fmt.Errorf("%w: peer %d", ErrNoLink, to)
	case l.view.unaware || l.view.awaits:
		return fmt.Errorf("%w: peer %d, one of the two having just been let in, and the other not having heard of that", ErrNoLink, to)
	}
	b := &l.mail
	made := (m.clock - b.at).Seconds() * MessageRate
	spent := max(0, b.spent-int(min(made, MessageRate)))
	cost := len(data) + messageCost
	switch {
	case b.sent-b.taken >= MaxUntaken:
		return fmt.Errorf("%w: peer %d has not taken %d", ErrFull, to, b.sent-b.taken)
	case spent+cost > MessageRate:
		return fmt.Errorf("%w: peer %d is sent at most %d bytes per second", ErrFull, to, MessageRate)
	case m.cfg.Buggify.Fires(buggify.FullChannel):
		return fmt.Errorf("%w: peer %d", ErrFull, to)
	}
	out, err := wire.AppendControl(m.out[:0], wire.Message{Taken: b.got, Data: data})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInternal, err)
	}
	m.out = out
	switch err := m.cfg.Transport.SendReliable(to, out); {
	case errors.Is(err, transport.ErrFull):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case errors.Is(err, transport.ErrNoLink):
		return fmt.Errorf("%w: %w", ErrNoLink, err)
	case err != nil:
		return fmt.Errorf("mesh: a message to peer %d: %w", to, err)
	}
	b.sent++
	b.told = b.got
	b.spent, b.at = spent+cost, m.clock
	return nil
}

func (m *Mesh) receiveMessage(l *link, c wire.Message) {
	b := &l.mail
	if !b.met {
		m.refuse(Early)
		return
	}
	if l.greeted && l.next == nil && m.phase != Ended {
		m.hear(l)
	}
	if c.Taken < b.taken || c.Taken > b.sent {
		m.refuse(BadAck)
		return
	}
	b.taken = c.Taken
	switch {
	case len(c.Data) == 0:
	case b.came == MaxUntaken: // no honest peer has more on their way
		m.refuse(Flood)
	default:
		b.came++
		b.got++
		start := len(m.letters)
		m.letters = append(m.letters, c.Data...)
		m.messages = append(m.messages, Message{From: l.peer, Data: m.letters[start:len(m.letters):len(m.letters)]})
	}
}

// forgetMessages makes room for those of another Poll.
func (m *Mesh) forgetMessages() {
	if len(m.messages) == 0 {
		return
	}
	m.messages, m.letters = m.messages[:0], m.letters[:0]
	for i := range m.links {
		m.links[i].mail.came = 0
	}
}

// thank tells peers that their messages have been taken, now and then.
func (m *Mesh) thank() {
	for i := range m.links {
		l := &m.links[i]
		if b := &l.mail; l.up && b.said && b.got-b.told >= takenEvery && m.sendControl(l, wire.Message{Taken: b.got}) {
			b.told = b.got
		}
	}
}
