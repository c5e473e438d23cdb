package relay

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// None switches a setting off.
const None = -1

// What a Config's zero values mean.
const (
	DefaultDeadline    = 50 * time.Millisecond
	DefaultPeerTimeout = 5 * time.Second
	DefaultJoinTimeout = time.Minute
	DefaultHistory     = 1024
)

const (
	// MaxDeadline is the longest deadline.
	MaxDeadline = 10 * time.Second
	// MaxHistory is the largest number of ticks that are kept.
	MaxHistory = 1 << 16
)

// Config says which match a relay is for. All else it is told by the players.
type Config struct {
	// Transport carries the messages; the relay does not close it.
	Transport transport.Transport
	// Self is the relay, 1 to 63 and none of Players. Players[p] is the peer that plays
	// participant p. Players must be given the same, and Self as their Relay.
	Self    driftback.Peer
	Players []driftback.Peer
	// Match and Settings must be alike on every peer. The relay may leave out what it does
	// not know: players are compared with one another.
	Match    uint64
	Settings []wire.Setting
	// Nonce is the relay's contribution to the match's seed. It must be random.
	Nonce uint64
	// Deadline is how long after it started a tick waits for inputs: up to MaxDeadline. 0 is
	// DefaultDeadline. With None it waits for as long as it takes, and one slow peer slows all.
	Deadline time.Duration
	// PeerTimeout is for how long a peer may be silent before it is cut, 0 is
	// DefaultPeerTimeout. JoinTimeout is how long all may take to come, 0 is
	// DefaultJoinTimeout. None is for ever.
	PeerTimeout, JoinTimeout time.Duration
	// History is how many ticks of the set are kept for a peer that has not acknowledged
	// them, at most MaxHistory; 0 is DefaultHistory. One that needs more is cut.
	History int
}

func (c Config) filled() (Config, error) {
	if c.Deadline == 0 {
		c.Deadline = DefaultDeadline
	}
	if c.PeerTimeout == 0 {
		c.PeerTimeout = DefaultPeerTimeout
	}
	if c.JoinTimeout == 0 {
		c.JoinTimeout = DefaultJoinTimeout
	}
	if c.History == 0 {
		c.History = DefaultHistory
	}
	c.Players = slices.Clone(c.Players)
	switch {
	case c.Transport == nil:
		return c, errors.New("relay: Transport is nil: a relay without one reaches nobody")
	case len(c.Players) == 0 || len(c.Players) > driftback.MaxParticipants:
		return c, fmt.Errorf("relay: Players has %d participants: from 1 to %d are allowed", len(c.Players), driftback.MaxParticipants)
	case c.Self == 0 || c.Self >= driftback.MaxPeers:
		return c, fmt.Errorf("relay: Self is peer %d: 1 to %d are allowed", c.Self, driftback.MaxPeers-1)
	case slices.Contains(c.Players, c.Self):
		return c, fmt.Errorf("relay: Self is peer %d, which plays a participant in Players: a relay plays nobody", c.Self)
	case slices.Max(c.Players) >= driftback.MaxPeers:
		return c, fmt.Errorf("relay: Players has peer %d: peers are numbered below %d", slices.Max(c.Players), driftback.MaxPeers)
	case c.Nonce == 0:
		return c, errors.New("relay: Nonce is 0: draw one at random for each match")
	case c.Deadline != None && (c.Deadline < 0 || c.Deadline > MaxDeadline):
		return c, fmt.Errorf("relay: Deadline is %v: up to %v is allowed, 0 for %v, or None", c.Deadline, MaxDeadline, DefaultDeadline)
	case c.PeerTimeout != None && c.PeerTimeout < 0:
		return c, fmt.Errorf("relay: PeerTimeout is %v: it must be positive, 0 for %v, or None", c.PeerTimeout, DefaultPeerTimeout)
	case c.JoinTimeout != None && c.JoinTimeout < 0:
		return c, fmt.Errorf("relay: JoinTimeout is %v: it must be positive, 0 for %v, or None", c.JoinTimeout, DefaultJoinTimeout)
	case c.History < 1 || c.History > MaxHistory:
		return c, fmt.Errorf("relay: History is %d ticks: 1 to %d are allowed, or 0 for %d", c.History, MaxHistory, DefaultHistory)
	}
	if _, err := wire.AppendControl(nil, mesh.OutsideHello(c.Match, c.Nonce, c.Settings, c.Players)); err != nil {
		return c, fmt.Errorf("relay: Settings cannot be sent: %w", err)
	}
	return c, nil
}
