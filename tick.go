package driftback

// Tick numbers the steps of a simulation, from 0. Tick t turns the world as t
// began into the world as t+1 begins. Every range of ticks is half-open: it
// holds its first tick and not its last.
type Tick int64

// Participant is the index of one source of input in the slice that a step
// receives. There are at most [MaxParticipants].
type Participant uint8

// MaxParticipants bounds the participants of one match.
const MaxParticipants = 16

// Peer numbers a process in a match. A peer plays one participant, several, or
// none (a spectator, a relay). There are at most [MaxPeers].
type Peer uint8

// MaxPeers bounds the peers of one match, those that play nobody included.
const MaxPeers = 64

// Status says who is behind a participant's input on one tick.
type Status uint8

const (
	// Playing: the participant's own peer supplies its input.
	Playing Status = iota
	// Replaced: its peer has been lost or cut, and a replacement plays.
	Replaced
	// Absent: nobody plays it, and its input is neutral.
	Absent
)

// String returns the status as one lower-case word.
func (s Status) String() string {
	switch s {
	case Playing:
		return "playing"
	case Replaced:
		return "replaced"
	case Absent:
		return "absent"
	}
	return "unknown status"
}

// Step advances a game by one tick: it turns s, the world as the tick begins,
// into the world as the next one begins. in holds one input for each
// participant, in order.
//
// A step must be pure: the same state and inputs give the same next state on
// every machine and every time it runs. It reads no clock, no global, no map in
// iteration order and no random source outside s. in and pass are borrowed and
// must not be kept. A step may be called from another goroutine than the one
// that owns the session, never from two at once for the same state.
type Step[S, I any] func(s *S, in []I, pass *Pass)
