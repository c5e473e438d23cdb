package simtest

import (
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// Sent is an amount of datagrams. Bytes is their payload: what a transport adds to a
// datagram is not in it.
type Sent struct{ Datagrams, Bytes uint64 }

func (s *Sent) add(o Sent) {
	s.Datagrams += o.Datagrams
	s.Bytes += o.Bytes
}

// PeerReport is what one peer of a match did. Playing, Frames, Sent, To and Carried
// cover the time from the frame that ran its first tick to the frame that ran its last,
// the latter excluded: handshake and end are in none of them, so that they divide
// to rates.
type PeerReport struct {
	// Playing is how long that was, in virtual time.
	Playing time.Duration
	// Frames counts its turns: those that ran a tick and those that could not.
	Frames uint64
	// Ticks is how many ticks it ran, Confirmed the first that it has not confirmed.
	Ticks, Confirmed driftback.Tick
	// Rollbacks and Resimulated count how often it went back and how many ticks it ran
	// again. Depths[n] counts the rollbacks that ran n ticks again; its length is
	// one more than the prediction window, which bounds them.
	Rollbacks, Resimulated uint64
	Depths                 []uint64
	// Stalls counts the turns that ran no tick, and Pauses how often it came to a
	// standstill, for however many turns.
	Stalls, Pauses uint64
	// Sent is all that it sent, and To what it sent to each peer, by number.
	Sent Sent
	To   []Sent
	// Carried counts the ticks of its own inputs that a peer had not acknowledged when
	// it was sent a datagram, over all datagrams: Carried/Sent.Datagrams of them is how
	// far a datagram reaches back on average.
	Carried uint64
}

// Depth returns the least depth that percent of the rollbacks do not exceed; 0 if
// there were none.
func (r *PeerReport) Depth(percent int) int {
	var below uint64
	for depth, n := range r.Depths {
		if below += n; below > 0 && 100*below >= uint64(percent)*r.Rollbacks {
			return depth
		}
	}
	return 0
}

// tally counts what becomes a peer's report.
type tally struct {
	PeerReport
	began   bool
	first   time.Duration // when its first tick ran
	stalled bool
	// turn is what this turn sends, by peer. The others are what has been counted since
	// the turn that ran the newest tick, that turn included; they count only once
	// another tick has run.
	turn, since     []Sent
	frames, carried uint64
}

func newTally(peers, window int) tally {
	return tally{
		PeerReport: PeerReport{Depths: make([]uint64, window+1), To: make([]Sent, peers)},
		turn:       make([]Sent, peers), since: make([]Sent, peers),
	}
}

// count takes one turn, which found next as the next tick to run of a match that ends
// at the tick last. waits: it was to leave out its tick.
func (c *tally) count(at time.Duration, next, last driftback.Tick, waits bool, r *session.Result, s *session.Stats) {
	if n := r.Rerun.Len(); n > 0 && n < len(c.Depths) {
		c.Depths[n]++
	}
	stalled := r.Phase == session.Stalled && r.Tick < last
	if stalled && !c.stalled && !waits {
		c.Pauses++
	}
	if !waits {
		c.stalled = stalled
	}
	if r.Tick > next {
		c.advanced(at)
	}
	c.frames++
	for i := range s.Peers {
		p := &s.Peers[i]
		sent := &c.turn[p.Peer]
		c.carried += sent.Datagrams * uint64(p.Unacknowledged)
		c.since[p.Peer].add(*sent)
		*sent = Sent{}
	}
}

// advanced books what was counted between two ticks.
func (c *tally) advanced(at time.Duration) {
	c.Ticks++
	if !c.began {
		c.began, c.first = true, at
	} else {
		for i, s := range c.since {
			c.To[i].add(s)
			c.Sent.add(s)
		}
		c.Frames += c.frames
		c.Carried += c.carried
		c.Playing = at - c.first
	}
	clear(c.since)
	c.frames, c.carried = 0, 0
}

// report returns the peer's figures.
func (p *peer[S, I]) report() PeerReport {
	r := p.tally.PeerReport
	s := p.session.Stats()
	r.Confirmed, r.Stalls = p.final, s.Stalled
	r.Rollbacks, r.Resimulated = s.Loop.Rollbacks, s.Loop.Resimulated
	return r
}

// allOf returns the figures of a peer with those of the processes that were in its place before.
func (m *match[S, I]) allOf(p *peer[S, I]) PeerReport {
	r := p.report()
	for _, q := range m.former {
		if q.self != p.self {
			continue
		}
		o := q.report()
		r.Playing += o.Playing
		r.Frames, r.Ticks, r.Carried = r.Frames+o.Frames, r.Ticks+o.Ticks, r.Carried+o.Carried
		r.Rollbacks, r.Resimulated = r.Rollbacks+o.Rollbacks, r.Resimulated+o.Resimulated
		r.Stalls, r.Pauses = r.Stalls+o.Stalls, r.Pauses+o.Pauses
		r.Sent.add(o.Sent)
		for i := range o.To {
			r.To[i].add(o.To[i])
		}
		for i := range o.Depths {
			r.Depths[i] += o.Depths[i]
		}
	}
	return r
}
