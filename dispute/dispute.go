package dispute

import (
	"errors"

	"github.com/driftback/driftback"
)

const (
	// MaxMessage is the length in bytes of the longest message.
	MaxMessage = 1024
	// MaxAhead is how many messages a peer may send before the first of this one's has come to
	// it: who is not ready to take them has to keep as many.
	MaxAhead = 17
	// MaxRounds is how many rounds a search has at most. A round lasts as long as a message
	// takes there and back, or less.
	MaxRounds = 7
	// MaxRoots is how many ticks' fingerprints are told. Of a longer history they are those of
	// the ticks that follow the one agreed on, and that of the last.
	MaxRoots = 2048
	// MaxState is the length in bytes of the longest state that is searched; a longer one is
	// taken not to be kept.
	MaxState = 1 << 26
	// BlockSize is how many bytes of a state have a sum of their own at the least.
	BlockSize = 64
	// MaxRanges is how many blocks' bytes are told.
	MaxRanges = 64

	// fanOut is how many parts a part of a state is divided into, and maxParts how many of those that
	// differ are divided further.
	fanOut   = 64
	maxParts = 16
)

// ErrMalformed is wrapped by every error about bytes that are not what a peer that searches has
// to send.
var ErrMalformed = errors.New("dispute: malformed")

// A Witness has one peer's history. All that it says must stay the same until the search is
// done.
type Witness interface {
	// Root returns this peer's fingerprint of the state as tick t began; ok is false where none
	// is known.
	Root(t driftback.Tick) (sum uint64, ok bool)
	// State returns the canonical bytes of the state as tick t began, borrowed until the next
	// call of either method; ok is false where it is not kept.
	State(t driftback.Tick) (b []byte, ok bool)
}

// Repeats says whether a run of the ticks anew, from the state that both peers agree on, came to
// the state that the peer had.
type Repeats uint8

const (
	// Untried: they were not run anew.
	Untried Repeats = iota
	// Same: it came to the same state.
	Same
	// Different: it came to another one, so the step is not pure on that peer.
	Different
)

// String returns the word in lower case.
func (r Repeats) String() string {
	switch r {
	case Untried:
		return "untried"
	case Same:
		return "same"
	case Different:
		return "different"
	}
	return "unknown"
}

// Finding is what a search has found, as this peer sees it; the other one's is the same with Ours
// and Theirs exchanged.
type Finding struct {
	// Tick is the first tick known to differ, and Exact says that every tick between the one
	// agreed on and Tick was compared and is alike.
	Tick  driftback.Tick
	Exact bool
	// Roots are the fingerprints that were told, by tick, of which either peer knows its own.
	Roots []RootPair
	// Repeats are this peer's and the other one's.
	Repeats [2]Repeats

	// At is the tick whose states were walked, if Compared: Tick where both keep the state as it
	// began, and otherwise the tick at which the two were found to differ.
	At       driftback.Tick
	Compared bool
	// OursSize and TheirsSize are the lengths in bytes of the two states.
	OursSize, TheirsSize int
	// Ranges are where their bytes differ, ascending: at most MaxRanges, each within one block of
	// BlockSize bytes, from the first that differs to the last. More says that there are, or may be, further ones
	// behind them.
	Ranges []Range
	More   bool
}

// RootPair is both peers' fingerprints of the state as one tick began. One that is not known is 0.
type RootPair struct {
	Tick                   driftback.Tick
	Ours, Theirs           uint64
	OursKnown, TheirsKnown bool
}

// Differ reports whether both are known and they differ.
func (r RootPair) Differ() bool { return r.OursKnown && r.TheirsKnown && r.Ours != r.Theirs }

// Range is a piece of two states that differs. One is shorter than the other, and may be empty, where
// a state ends.
type Range struct {
	Offset       int
	Ours, Theirs []byte
}
