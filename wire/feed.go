package wire

import "github.com/driftback/driftback"

// Watch asks to be fed with a match, by one who plays nobody.
type Watch struct {
	// From is the first tick that the sender does not hold; 0 if it holds nothing.
	From driftback.Tick
}

// FeedKind says where a feed begins.
type FeedKind uint8

const (
	// FeedStart: at tick 0, in the state that the game starts from.
	FeedStart FeedKind = iota
	// FeedState: in a state that is handed over.
	FeedState
	// FeedOn: where the one who asked has come to.
	FeedOn

	feedKinds
)

// Feed answers a Watch, and once more when the feed begins anew. Packets follow it on the
// reliable channel.
type Feed struct {
	Kind FeedKind
	// Tag is what packets carry from here on, both ways.
	Tag uint16
	// First is the first tick of the feed; of a FeedStart it is 0.
	First driftback.Tick
	// Seed is the match's, and State the fingerprint of the state that the game starts
	// from, which counts only if HasState is set.
	Seed     uint64
	State    uint64
	HasState bool
}

// Status says in a feed who is behind a participant's input from a tick on, whatever was
// said of later ticks before. It comes before the inputs of that tick.
type Status struct {
	Participant driftback.Participant
	Tick        driftback.Tick
	Status      driftback.Status
}

func (Watch) control()  {}
func (Feed) control()   {}
func (Status) control() {}

// The first bytes of the messages of a feed.
const (
	kindWatch = iota + 19
	kindFeed
	kindStatus
)

// feed appends a message of a feed, and says whether c is one.
func (w *writer) feed(c Control) bool {
	switch c := c.(type) {
	case Watch:
		w.b = append(w.b, kindWatch)
		w.tick(c.From)
	case Feed:
		if c.Kind >= feedKinds || c.Kind == FeedStart && c.First != 0 {
			w.refuse("a feed of kind %d that begins at tick %d", c.Kind, c.First)
			return true
		}
		w.b = append(w.b, kindFeed, byte(c.Kind), byte(c.Tag), byte(c.Tag>>8), bit(c.HasState))
		w.tick(c.First)
		w.uint64(c.Seed)
		if c.HasState {
			w.uint64(c.State)
		}
	case Status:
		if c.Status > driftback.Absent {
			w.refuse("a status of %d, and at most %d is allowed", c.Status, driftback.Absent)
			return true
		}
		w.b = append(w.b, kindStatus)
		w.head(c.Participant, -1, false, 0)
		w.b = append(w.b, byte(c.Status))
		w.tick(c.Tick)
	default:
		return false
	}
	return true
}

// feed reads what follows the first byte of a message of a feed.
func (r *reader) feed(kind byte) Control {
	switch kind {
	case kindWatch:
		return Watch{From: r.tick()}
	case kindStatus:
		s := Status{Participant: r.participant(r.byte(), -1), Status: driftback.Status(r.byte()), Tick: r.tick()}
		if r.err == nil && s.Status > driftback.Absent {
			r.refuse("a status of %d, and at most %d is allowed", s.Status, driftback.Absent)
		}
		return s
	}
	f := Feed{Kind: FeedKind(r.byte()), Tag: r.uint16(), HasState: r.bool()}
	f.First, f.Seed = r.tick(), r.uint64()
	if f.HasState {
		f.State = r.uint64()
	}
	if r.err == nil && (f.Kind >= feedKinds || f.Kind == FeedStart && f.First != 0) {
		r.refuse("a feed of kind %d that begins at tick %d", f.Kind, f.First)
	}
	return f
}
