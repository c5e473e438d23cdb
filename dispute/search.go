package dispute

import (
	"fmt"

	"github.com/driftback/driftback"
)

// A round is what both peers say at one time, and what follows from it.
type round uint8

const (
	roundRoots round = iota // the fingerprints of the ticks
	roundSizes              // which states are kept, and how large they are
	roundSums               // the sums of the parts of parts that differ; as many rounds as the tree is high
	roundBytes              // the bytes of blocks that differ
	roundOver
)

// Search is one peer's side of the search.
type Search struct {
	agreed, found driftback.Tick
	witness       Witness

	round round
	// number counts rounds, for the messages.
	number byte
	// answer is what this peer says in this round, of which sent bytes have been handed out.
	answer []byte
	sent   int
	// heard is what has come of the other one's, which is want bytes long.
	heard []byte
	want  int
	err   error

	walk    walk
	finding Finding
}

// New begins a search. agreed is the last tick on which the two agree, as far as they have
// compared, and found is a later one at which they differ: both peers must give the same two. The
// fingerprints are read now, so that w has to know by now whatever a run of the ticks anew has
// shown.
func New(agreed, found driftback.Tick, repeats Repeats, w Witness) *Search {
	agreed = min(agreed, found-1)
	s := &Search{agreed: agreed, found: found, witness: w}
	s.finding = Finding{Tick: found, Exact: found == agreed+1, Repeats: [2]Repeats{repeats, Untried}}
	s.answer = appendRoots(s.answer, repeats, s.rootTicks(), w)
	s.want = len(s.answer)
	return s
}

// Next appends the next message that is to be sent and returns the longer slice, of at most
// [MaxMessage] bytes more; or false, and b as it was, if there is none until the peer has said
// more.
func (s *Search) Next(b []byte) ([]byte, bool) {
	if s.err != nil || s.sent == len(s.answer) {
		return b, false
	}
	n := pieceSize(len(s.answer) - s.sent)
	b = append(b, s.number)
	b = append(b, s.answer[s.sent:][:n]...)
	s.sent += n
	s.advance()
	return b, true
}

// Take takes one of the peer's messages, in the order in which it sent them, and keeps no part of
// b. An error wraps [ErrMalformed] and ends the search with what is known until then.
func (s *Search) Take(b []byte) error {
	if s.err != nil {
		return s.err
	}
	if s.err = s.take(b); s.err != nil {
		s.err = fmt.Errorf("%w: %w", ErrMalformed, s.err)
		return s.err
	}
	s.advance()
	return nil
}

func (s *Search) take(b []byte) error {
	left := s.want - len(s.heard)
	switch {
	case left == 0:
		return fmt.Errorf("a message of %d bytes, and none is to come in round %d", len(b), s.number)
	case len(b) == 0:
		return fmt.Errorf("an empty message in round %d", s.number)
	case b[0] != s.number:
		return fmt.Errorf("a message of round %d in round %d", b[0], s.number)
	case len(b)-1 != pieceSize(left):
		return fmt.Errorf("a message of %d bytes in round %d, and %d are to come", len(b), s.number, 1+pieceSize(left))
	}
	s.heard = append(s.heard, b[1:]...)
	if len(s.heard) < s.want {
		return nil
	}
	switch s.round {
	case roundRoots:
		return checkRoots(s.heard, s.rootTicks())
	case roundSizes:
		return checkSizes(s.heard)
	case roundSums, roundBytes, roundOver: // any bytes are
	}
	return nil
}

// pieceSize returns how much of what is left goes into one message.
func pieceSize(left int) int { return min(left, MaxMessage-1) }

// Done reports whether the search is over: everything has been sent and everything has come, or
// Take has returned an error.
func (s *Search) Done() bool { return s.err != nil || s.round == roundOver }

// Finding returns what is known so far, also before the search is done. The slices are borrowed
// until the next call of Next or Take, and for good once the search is done.
func (s *Search) Finding() Finding { return s.finding }

// advance goes on to the next round as long as both have said everything in this one.
func (s *Search) advance() {
	for s.round != roundOver && s.sent == len(s.answer) && len(s.heard) == s.want {
		switch s.round {
		case roundRoots:
			s.takeRoots()
			s.ask(roundSizes, s.appendSizes, 4*len(s.stateTicks()))
		case roundSizes:
			s.takeSizes()
			s.descend()
		case roundSums:
			s.walk.narrow(s.answer, s.heard)
			s.finding.More = s.walk.more
			s.descend()
		case roundBytes:
			s.finding.Ranges = s.walk.ranges(s.answer, s.heard)
			s.round = roundOver
		case roundOver:
		}
	}
}

// ask begins a round in which the other peer says want bytes.
func (s *Search) ask(r round, answer func(b []byte) []byte, want int) {
	s.round, s.number = r, s.number+1
	s.answer, s.sent = answer(s.answer[:0]), 0
	s.heard, s.want = s.heard[:0], want
}

// descend asks for the sums of the parts below those that differ, or for the bytes of blocks, or
// for nothing more.
func (s *Search) descend() {
	switch w := &s.walk; {
	case len(w.parts) == 0:
		s.round, s.answer, s.heard, s.sent, s.want = roundOver, nil, nil, 0, 0
	case w.height > 0:
		s.ask(roundSums, func(b []byte) []byte { return w.appendSums(b, s.state()) }, 8*w.children())
	default:
		s.ask(roundBytes, func(b []byte) []byte { return w.appendBytes(b, s.state()) }, w.bytes(w.theirs))
	}
}

// state returns the bytes that are walked. They are those that the witness had when it told their
// length, or the peer is told nonsense.
func (s *Search) state() []byte {
	b, _ := s.witness.State(s.finding.At)
	return b
}
