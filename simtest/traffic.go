package simtest

import (
	"reflect"
	"time"

	"github.com/driftback/driftback/session"
)

const (
	// What a datagram holds beside inputs, in bytes, at the most, and what one that is
	// followed by another holds of inputs at the least.
	maxBesides = 300
	leastFull  = 500
	// fullRound is a number of datagrams after which the rest of a round may come at
	// the next turn.
	fullRound = 32
	// mostShared is what the datagram holds at the most in which a peer passes on inputs of
	// one that was cut.
	mostShared = 1200
)

// traffic watches what a peer sends to each other in each turn. An engine that sends
// everything always, or at every moment, plays soundly, and floods a real network.
type traffic struct {
	stride  int // an input is not larger than this, in bytes
	unacked []int
	sentAt  []time.Duration // by the peer's own clock
	last    []uint64        // datagrams, when it last sent some
}

func newTraffic[I any](peers int) traffic {
	return traffic{
		stride:  int(reflect.TypeFor[I]().Size()),
		unacked: make([]int, peers), sentAt: make([]time.Duration, peers), last: make([]uint64, peers),
	}
}

// checkTraffic checks what a turn has sent: what was not acknowledged as it began, what is
// new, what the redundancy asks for, and no more; and without anything new not again within a
// heartbeat.
func (p *peer[S, I]) checkTraffic(now time.Duration, advanced bool, stats *session.Stats) {
	c, sent := &p.traffic, p.tally.turn
	least, news := p.is.Redundancy, 0
	if advanced {
		news = p.publishes()
	}
	switch least {
	case 0:
		least = session.DefaultRedundancy
	case None:
		least = 0
	}
	for i := range stats.Peers {
		to := &stats.Peers[i]
		s, q := sent[to.Peer], to.Peer
		n := max(c.unacked[q], least)
		n += news
		c.unacked[q] = to.Unacknowledged
		if s.Datagrams == 0 {
			continue
		}
		// Alternating groups of the shortest inputs take half as much again.
		inputs := uint64(len(p.is.Plays) * n * (c.stride*3/2 + 2))
		datagrams := uint64(len(p.is.Plays)) + (inputs+leastFull-1)/leastFull
		if p.m.back(q) {
			continue // what it holds is not known until it says so
		}
		shares := p.shares()
		if shares {
			datagrams, inputs = datagrams+1, inputs+mostShared
		}
		switch bytes := datagrams*maxBesides + inputs; {
		case p.m.s.Buggify: // it sends more, and at other times, by force
		case s.Datagrams > datagrams || s.Bytes > bytes:
			p.breaks(RuleThrift, p.next, "it has sent %d datagrams of together %d bytes to peer %d in one turn, and %d ticks' inputs are to be sent: %d datagrams of %d bytes are enough",
				s.Datagrams, s.Bytes, q, n, datagrams, bytes)
		case p.is.PublishEvery > 1: // what it has not sent may be sent early
		case news == 0 && !shares && c.last[q] > 0 && c.last[q] < fullRound && now-c.sentAt[q] < heartbeat.Duration():
			p.breaks(RuleThrift, p.next, "it has nothing new to say, and has sent to peer %d again after %v", q, now-c.sentAt[q])
		}
		c.sentAt[q], c.last[q] = now, s.Datagrams
	}
}
