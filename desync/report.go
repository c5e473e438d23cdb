package desync

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/wire"
)

// Report is what one peer knows of a desync between it and another one. The zero value of a field
// means that it is not known, unless its comment says otherwise.
type Report struct {
	// Game and Build are the game's name and version, Platform is what the peer ran on, as
	// [Platform] gives it, and Settings are what was compared at the handshake, in ascending
	// order of name.
	Game, Build, Platform string
	Settings              []wire.Setting
	// Match is the full id of the match, and Seed what its peers drew for it: the same in both peers' reports.
	Match, Seed uint64
	// Self wrote this report, and Peer is the other one. Players[p] plays participant p.
	Self, Peer driftback.Peer
	Players    []driftback.Peer

	// Agreed is the last compared tick at whose beginning the two had the same state, and Found
	// the compared tick at which they were seen to differ; Ours and Theirs are the fingerprints of the
	// states as it began.
	Agreed, Found driftback.Tick
	Ours, Theirs  fingerprint.Sum
	// Tick is the first tick known to differ, from Agreed+1 to Found. Exact says that every tick
	// between Agreed and Tick was compared and is alike.
	Tick  driftback.Tick
	Exact bool
	// Roots are fingerprints of the ticks from Agreed+1 to Found, by tick.
	Roots []dispute.RootPair
	// Repeats says of this peer, and of the other one, whether a run of the ticks from Agreed on anew came
	// to the state of Found that it had. Unrepeated are fields in which this peer's did not: A is what
	// the state was as Found began, B what the run anew came to.
	Repeats    [2]dispute.Repeats
	Unrepeated []fingerprint.Difference

	// At is the tick whose states were compared, if Compared is set: Tick or Found. Fields are those in
	// which they differ, A ours and B theirs; MoreFields says that there are more, or may be. OursSize and
	// TheirsSize are how many bytes the two have.
	At                   driftback.Tick
	Compared             bool
	OursSize, TheirsSize int
	Fields               []fingerprint.Difference
	MoreFields           bool

	// Inputs are what successive ticks were run with: those from Start to before End, and, where they
	// are known, some of before, so that people see what led to it.
	Inputs []Inputs
	// InputSize is how many bytes one input has, and InputLayout the hash of their layout. StateLayout is
	// that of the state's, and 0 if the state has bytes of its own.
	InputSize   int
	InputLayout uint64
	StateLayout uint64
	// Before has the canonical bytes of this peer's state as tick Start began, and After those of its
	// state as tick End began; each is nil where it is not known, and then its tick is 0. A run of the ticks from Start on,
	// to before End, turns one into the other. Where that can be, Start is Tick-1 and End is Tick, and otherwise Start is Agreed
	// or End is Found.
	Start, End    driftback.Tick
	Before, After []byte
}

// Inputs are what one tick was run with.
type Inputs struct {
	Tick driftback.Tick
	// Paused says that the match was paused, so that the step was not called, and Speed is the
	// speed in eighths of the normal one, from 1 to wire.MaxSpeed.
	Paused bool
	Speed  int
	// Given has one element for each participant.
	Given []Given
}

// Given is what one participant gave to one tick.
type Given struct {
	// Input has the canonical bytes of the input with which the step was called, as many as
	// Report.InputSize says.
	Input []byte
	// Entry is what it did to the match beside, and Status says who played it.
	Entry  wire.Entry
	Status driftback.Status
}
