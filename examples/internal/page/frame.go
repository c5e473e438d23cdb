package page

import (
	"fmt"
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rewind"
)

// StripTicks bounds [Frame.Strip].
const StripTicks = 120

// The marks of [Frame.Strip].
const (
	stripConfirmed   = 'c' // every input was there when the tick ran, or the guess was right
	stripPredicted   = 'p' // an input was guessed and is still missing
	stripResimulated = 'r' // a guess was wrong and the tick has been run again
	stripStalled     = 's' // no tick ran: the prediction window was used up
)

// Who plays for a process, for [Frame.Hands].
const (
	HandsBot = "bot"
	HandsYou = "you"
)

// PhaseChoosing is the Phase of a frame before a match for which there is something to
// pick.
const PhaseChoosing = "choosing"

// PhaseComingBack is the Phase of a frame of a process that was started anew and comes back to
// a match that goes on, until it plays.
const PhaseComingBack = "coming back"

// Nobody stands for no participant, and Relay for a process that plays none and that all others are
// linked through.
const (
	Nobody = -1
	Relay  = -2
)

// Pick is what one participant has picked before a match, and whether it is ready to play.
type Pick struct {
	Look  uint8 `json:"look"`
	Ready bool  `json:"ready"`
	Known bool  `json:"known"` // it has been heard of
}

// Frame is one picture of the match for a web page, and what there is to hear and
// to read about it.
type Frame struct {
	Self  int    `json:"self"`  // the participant that this process plays
	Hands string `json:"hands"` // who plays it: HandsBot or HandsYou
	Phase string `json:"phase"` // session.Phase in words, PhaseChoosing or PhaseComingBack
	// Bout counts the matches that are over, and Picks has what each side has picked for
	// the next one, by participant; it is nil while one is played.
	Bout  int    `json:"bout"`
	Picks []Pick `json:"picks"`
	// Paused: as the next tick begins the match is paused. PausedBy is the participant that
	// did it, or Nobody while that is not confirmed, or was undone.
	Paused   bool   `json:"paused"`
	PausedBy int    `json:"pausedBy"`
	End      string `json:"end"` // why the match is over, as a sentence; else ""

	Tick      driftback.Tick `json:"tick"`      // the next tick to run
	Confirmed driftback.Tick `json:"confirmed"` // the first that lacks an input

	// View is what there is to see of the game's state. It is never changed once it is
	// here.
	View any `json:"view"`
	// Effects are those since the last frame. Each is shown once and never dropped.
	Effects []Effect `json:"effects"`
	// Strip has a mark for each of the newest ticks and for each call that stalled,
	// the newest last, at most StripTicks of them. Its last mark but stalls is
	// that of tick Tick−1.
	Strip string `json:"strip"`

	Stats Stats `json:"stats"`

	// Peers are the links to the others, by their numbers. A frame that is shown has
	// its own copy.
	Peers []Peer `json:"peers"`
	// Link is the setting of the simulated link at present, or nil if there is none,
	// and then the page has no sliders.
	Link *LinkSetting `json:"link"`
}

// Stats are the numbers beside the picture.
type Stats struct {
	// Of the slowest link: that with the longest round trip.
	RoundTripMs float64 `json:"roundTripMs"`
	JitterMs    float64 `json:"jitterMs"`
	LossPercent float64 `json:"lossPercent"` // of the peer's packets of late

	InputDelay       int `json:"inputDelay"`       // in ticks
	PredictionWindow int `json:"predictionWindow"` // in ticks

	Rollbacks   uint64                      `json:"rollbacks"`
	Resimulated uint64                      `json:"resimulated"` // ticks run again
	Stalled     uint64                      `json:"stalled"`     // calls that ran no tick
	LastDepth   int                         `json:"lastDepth"`   // in ticks, of the newest rollback
	Deepest     int                         `json:"deepest"`
	Depths      [rewind.DepthBuckets]uint64 `json:"depths"` // rollbacks by depth, as in rewind.Counts

	PacketsPerSecond float64 `json:"packetsPerSecond"` // sent, to all together
	BytesPerSecond   float64 `json:"bytesPerSecond"`   // likewise
}

// Peer is the link to one other process.
type Peer struct {
	Participant    int     `json:"participant"` // whom it plays
	RoundTripMs    float64 `json:"roundTripMs"`
	JitterMs       float64 `json:"jitterMs"`
	LossPercent    float64 `json:"lossPercent"`
	SilentMs       float64 `json:"silentMs"`       // for how long nothing has been heard
	Unacknowledged int     `json:"unacknowledged"` // of our inputs, in ticks
	Missing        bool    `json:"missing"`        // its input is what a stalled match waits for
	Gone           bool    `json:"gone"`           // the match goes on without it
	Returning      bool    `json:"returning"`      // it is gone, and comes back
	Through        int     `json:"through"`        // whose process the link goes through, Relay, or Nobody
}

// Effect is a session.Report for the page.
type Effect struct {
	Kind string         `json:"kind"` // session.ReportKind in words
	Name string         `json:"name"` // the effect's kind in the game's words
	Tick driftback.Tick `json:"tick"`
	Args [3]int32       `json:"args"`
}

// kept returns a copy of f that shares nothing with it, without its effects.
func (f *Frame) kept() *Frame {
	k := *f
	k.Effects = nil
	k.Peers, k.Picks = slices.Clone(f.Peers), slices.Clone(f.Picks)
	if f.Link != nil {
		link := *f.Link
		k.Link = &link
	}
	return &k
}

// LinkSetting is what the page's sliders do to the simulated links, to each of their
// directions.
type LinkSetting struct {
	LatencyMs   int     `json:"latencyMs"` // one way
	JitterMs    int     `json:"jitterMs"`
	LossPercent float64 `json:"lossPercent"`
}

// What the sliders reach.
const (
	MaxLatencyMs   = 300
	MaxJitterMs    = 100
	MaxLossPercent = 50
)

func (l *LinkSetting) check() error {
	switch {
	case l.LatencyMs < 0 || l.LatencyMs > MaxLatencyMs:
		return fmt.Errorf("latencyMs is %d: 0 to %d are allowed", l.LatencyMs, MaxLatencyMs)
	case l.JitterMs < 0 || l.JitterMs > MaxJitterMs:
		return fmt.Errorf("jitterMs is %d: 0 to %d are allowed", l.JitterMs, MaxJitterMs)
	case !(l.LossPercent >= 0 && l.LossPercent <= MaxLossPercent):
		return fmt.Errorf("lossPercent is %v: 0 to %d are allowed", l.LossPercent, MaxLossPercent)
	}
	return nil
}
