package mesh

import (
	"fmt"
	"time"
)

const (
	// MaxPublishEvery is the largest number of ticks whose inputs go out together.
	MaxPublishEvery = 60
	// MaxTurn is the longest time that these ticks may last: a peer says nothing meanwhile.
	MaxTurn = time.Second
	// turnsHeard is how many turns PeerTimeout has to last at least, so that a few losses in a
	// row do not look like a peer that is gone.
	turnsHeard = 4
)

// turns are what there is to know about sending once in a turn, which is
// [Config.PublishEvery] ticks.
//
// A turn is counted from what was sent last, to each peer by itself: whatever makes a packet go
// early begins a new turn and is not followed by another packet soon. Its length in ticks
// says when new inputs go. Its length in time, at the rate at which a game is to run, says
// when all else does: what is repeated or acknowledged, and new inputs of a game that has stopped
// or runs slower. So a peer sends about once in that time whether or not the match goes
// on, and nothing waits for longer.
type turns struct {
	// length is how long a turn lasts; 0: there are none, and inputs go with every tick.
	length time.Duration
	// hurried: the owner waits for the others.
	hurried bool
}

func (c *Config) newTurns() turns {
	if c.PublishEvery <= 1 {
		return turns{}
	}
	return turns{length: time.Duration(c.PublishEvery) * c.TickLength}
}

func (c *Config) validateTurns() error {
	turn := c.newTurns().length
	switch {
	case c.PublishEvery < 0 || c.PublishEvery > MaxPublishEvery:
		return fmt.Errorf("mesh: PublishEvery is %d ticks: from 1 to %d are allowed, or 0 for 1", c.PublishEvery, MaxPublishEvery)
	case c.PublishEvery <= 1:
		return nil
	case c.TickLength <= 0 || c.TickLength > MaxTurn:
		return fmt.Errorf("mesh: TickLength is %v and PublishEvery %d ticks: it must be positive, and at most %v", c.TickLength, c.PublishEvery, MaxTurn)
	case turn > MaxTurn:
		return fmt.Errorf("mesh: PublishEvery is %d ticks, which last %v: at most %v are allowed", c.PublishEvery, turn, MaxTurn)
	case c.PeerTimeout != None && c.PeerTimeout < turnsHeard*turn:
		return fmt.Errorf("mesh: PublishEvery is %d ticks, which last %v, and PeerTimeout %v: a peer speaks no more often than that, so it must be at least %v",
			c.PublishEvery, turn, c.PeerTimeout, turnsHeard*turn)
	}
	return nil
}

// Hurry says that the owner cannot run its next tick before it has heard from the others. As
// they may be waiting for what it has not sent, that goes with the next Flush. To each peer
// this is done once in a turn's time: where a link is too slow for the window they wait
// all the time, and more packets would make it no faster.
func (m *Mesh) Hurry() { m.turns.hurried = m.turns.length > 0 }

// due reports whether inputs that have not been sent to a peer, of which there are some, go
// now.
func (m *Mesh) due(l *link) bool {
	if m.turns.length == 0 {
		return true
	}
	for i := range m.own {
		held := m.publishedOf(i).held
		// Nothing comes after the last tick for which these could wait.
		ends := m.last > 0 && l.sent[i] < m.last && held >= m.last
		if ends || int(held-l.sent[i]) >= m.cfg.PublishEvery {
			return true
		}
	}
	if m.turns.hurried && m.clock-l.hurriedAt >= m.turns.length {
		l.hurriedAt = m.clock
		return true
	}
	return false
}

// interval returns the time after which a peer is sent a packet without new inputs, which
// is as given where there are no turns. What one packet does not hold does not wait for a turn:
// each would leave more behind.
func (m *Mesh) interval(l *link, beat time.Duration) time.Duration {
	f := &m.prints
	if l.midway || f.every != 0 && f.next-max(l.prints.sentTo, l.prints.acked) >= f.perPacket {
		return beat
	}
	return max(beat, m.turns.length)
}
