package session

import (
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
)

// MaxMessage is the size in bytes of the largest message that Send takes.
const MaxMessage = mesh.MaxMessage

// Send sends a message of the game's to a peer's, for what no tick depends on: a choice
// of characters before the match, chat, a wish for a rematch. It copies data, of 1 to
// [MaxMessage] bytes, and never blocks.
//
// It works from [PeerJoined] on, before, during and after the match, until Rematch is
// called. Messages arrive once and in the order they were sent; when the link goes down, of
// which a [PeerDown] tells, those that had not arrived are lost, and no more can be
// sent until hellos have been exchanged again. At most mesh.MaxUntaken may be on their
// way to a peer, and mesh.MessageRate bytes go there per second: beyond that the error
// wraps [ErrFull], and without a link [ErrNoLink]. Nothing has been sent then.
func (m *Lockstep[S, I]) Send(to driftback.Peer, data []byte) error {
	return m.mesh.Send(to, data)
}

// Rematch returns a session that plays another match between the same peers, or some of
// them, over the same links: settings may differ from those of m, who plays whom included.
// c.Transport is not used. c.Nonce must be drawn anew; a c.Match that differs from m's tells the
// two apart by name. m is over then: it is left if it had not ended, and has no links any
// more. On an error m is as it was.
//
// Each peer calls it when it likes. Packets of the match before are told from those of
// the new one, in which a peer is waited for, for JoinTimeout, until it comes too;
// [PeerRematch] tells it that it is. Until Rematch is called keep calling Poll, which takes messages
// after the end as well.
//
// Peers that agree on it by messages may go on before the end. Whoever does so first
// ends m for the others with [ErrPeerLeft], and they follow.
func (m *Lockstep[S, I]) Rematch(c Config[S, I]) (*Lockstep[S, I], error) {
	c.Transport = m.cfg.Transport
	next, err := New(c)
	if err != nil {
		return nil, err
	}
	if err := next.mesh.Follow(m.mesh); err != nil {
		return nil, err
	}
	if m.err == nil {
		m.err = m.explain(m.mesh.Err())
	}
	return next, nil
}

// after is what a call finds when the match is over: what peers still say, for the
// lobby and for a rematch.
func (m *Lockstep[S, I]) after(now time.Duration) Result {
	m.mesh.Poll(now)
	m.mesh.Flush()
	r := m.standing(Ended)
	r.Events, r.Messages = m.mesh.Events(), m.mesh.Messages()
	return r
}
