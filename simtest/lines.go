package simtest

import (
	"time"

	"github.com/driftback/driftback"
)

// besides is what a datagram holds beside inputs when nothing is wrong, in bytes.
const besides = 100

// thin returns the directions that carry less, for good, than what their peer may have to
// send: once such a line is full it may stay so, because what is repeated fills it again, and
// nobody can promise that a match goes on over it.
func (s *Scenario) thin(stride int) (list []pair) {
	for _, l := range s.Links {
		p := s.Peers[l.From]
		n := max(p.Redundancy+1, 2*(s.window()+s.delay())+1) // as far as a peer may be ahead
		inputs := len(p.Plays) * n * (stride*3/2 + 2)
		round := inputs + (1+inputs/leastFull)*besides
		_, fastest := s.skews(l.From)
		turn := s.Frame * 1_000_000 / Micros(1_000_000+fastest)
		if l.BytesPerSecond > 0 && Micros(round)*Second/turn > Micros(l.BytesPerSecond) {
			list = append(list, pair{l.From, l.To})
		}
	}
	return list
}

// overflowed returns how many datagrams have found a thin line full.
func (m *match[S, I]) overflowed() (n uint64) {
	for _, d := range m.thin {
		n += m.net.Stats(driftback.Peer(d.from), driftback.Peer(d.to)).Overflowed
	}
	return n
}

// starves reports whether what should go on, or be done, is not because a thin line has been full
// since; the play then ends, as it proves nothing more.
func (m *match[S, I]) starves(since uint64, waited time.Duration) bool {
	if m.overflowed() == since {
		return false
	}
	m.starved = waited
	return true
}
