package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/session"
)

// stripTicks bounds [frame.Strip].
const stripTicks = 120

// The marks of [frame.Strip].
const (
	stripConfirmed   = 'c' // every input was there when the tick ran, or the guess was right
	stripPredicted   = 'p' // an input was guessed and is still missing
	stripResimulated = 'r' // a guess was wrong and the tick has been run again
	stripStalled     = 's' // no tick ran: the prediction window was used up
)

// Who plays a side, for [frame.Hands].
const (
	handsBot = "bot"
	handsYou = "you"
)

// phaseChoosing is the Phase of a frame and of a status before a match.
const phaseChoosing = "choosing"

// frame is one picture of the match for a web page, and what there is to hear and
// to read about it.
type frame struct {
	Self  int    `json:"self"`  // the side that this process plays: 0 or 1
	Hands string `json:"hands"` // who plays it: handsBot or handsYou
	Phase string `json:"phase"` // session.Phase in words, or "choosing"
	// Bout counts the matches that are over, and Picks has what each side has picked for
	// the next one, by side; it is nil while one is played.
	Bout  int              `json:"bout"`
	Picks *[sim.Sides]pick `json:"picks"`
	// Paused: as the next tick begins the match is paused. PausedBy is the side that did it,
	// or -1 while that is not confirmed, or was undone.
	Paused   bool   `json:"paused"`
	PausedBy int    `json:"pausedBy"`
	End      string `json:"end"` // why the match is over, as a sentence; else ""

	Tick      driftback.Tick `json:"tick"`      // the next tick to run
	Confirmed driftback.Tick `json:"confirmed"` // the first that lacks an input

	View sim.View `json:"view"`
	// Effects are those since the last frame. Each is shown once and never dropped.
	Effects []frameEffect `json:"effects"`
	// Strip has a mark for each of the newest ticks and for each call that stalled,
	// the newest last, at most stripTicks of them. Its last mark but stalls is
	// that of tick Tick−1.
	Strip string `json:"strip"`

	Stats frameStats `json:"stats"`
	// Link is the setting of the simulated link at present, or nil if there is none,
	// and then the page has no sliders.
	Link *linkSetting `json:"link"`
}

// frameStats are the numbers beside the picture.
type frameStats struct {
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

	PacketsPerSecond float64 `json:"packetsPerSecond"` // sent
	BytesPerSecond   float64 `json:"bytesPerSecond"`   // sent
}

// frameEffect is a session.Report for the page.
type frameEffect struct {
	Kind string         `json:"kind"` // session.ReportKind in words
	Name string         `json:"name"` // sim.KindName
	Tick driftback.Tick `json:"tick"`
	Args [3]int32       `json:"args"`
}

func effectOf(r *session.Report) frameEffect {
	return frameEffect{Kind: r.Kind.String(), Name: sim.KindName(r.Effect.Kind), Tick: r.Tick, Args: r.Effect.Args}
}

// kept returns a copy of f that shares nothing with it, without its effects.
func (f *frame) kept() *frame {
	k := *f
	k.Effects = nil
	if f.Link != nil {
		link := *f.Link
		k.Link = &link
	}
	if f.Picks != nil {
		picks := *f.Picks
		k.Picks = &picks
	}
	return &k
}

// linkSetting is what the page's sliders do to the simulated link, to each of its
// directions.
type linkSetting struct {
	LatencyMs   int     `json:"latencyMs"` // one way
	JitterMs    int     `json:"jitterMs"`
	LossPercent float64 `json:"lossPercent"`
}

// What the sliders reach.
const (
	maxLatencyMs   = 300
	maxJitterMs    = 100
	maxLossPercent = 50
)

func (l *linkSetting) check() error {
	switch {
	case l.LatencyMs < 0 || l.LatencyMs > maxLatencyMs:
		return fmt.Errorf("latencyMs is %d: 0 to %d are allowed", l.LatencyMs, maxLatencyMs)
	case l.JitterMs < 0 || l.JitterMs > maxJitterMs:
		return fmt.Errorf("jitterMs is %d: 0 to %d are allowed", l.JitterMs, maxJitterMs)
	case !(l.LossPercent >= 0 && l.LossPercent <= maxLossPercent):
		return fmt.Errorf("lossPercent is %v: 0 to %d are allowed", l.LossPercent, maxLossPercent)
	}
	return nil
}

// command is what a page asks for. It asks for one thing at a time: buttons, the
// bot, a pause, a link, a look, or to begin.
type command struct {
	// Buttons are the buttons held on the page from now on, if HasButtons. The first
	// ones take the side over from the bot.
	Buttons    uint16
	HasButtons bool
	// Pressed are the buttons that have gone down since the last command, those that
	// are up again included, so that a tap between two ticks counts.
	Pressed uint16
	// Bot gives the side back to the bot. It is also asked for when the page that
	// held the side has gone.
	Bot bool
	// Pause pauses the match for both, or resumes it.
	Pause *bool
	// Link changes the simulated link.
	Link *linkSetting
	// Look picks a look before a match, and Ready is the word to begin it.
	Look  *uint8
	Ready bool
}

// maxCommandBytes bounds a page's message.
const maxCommandBytes = 256

// parseCommand reads a page's message, and refuses what no page of ours would send.
func parseCommand(text []byte) (command, error) {
	var asked struct {
		Buttons *uint16      `json:"buttons"`
		Pressed uint16       `json:"pressed"`
		Bot     bool         `json:"bot"`
		Pause   *bool        `json:"pause"`
		Link    *linkSetting `json:"link"`
		Look    *uint8       `json:"look"`
		Ready   bool         `json:"ready"`
	}
	if len(text) > maxCommandBytes {
		return command{}, fmt.Errorf("the command has %d bytes: %d are allowed", len(text), maxCommandBytes)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&asked); err != nil {
		return command{}, fmt.Errorf("the command is not understood: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return command{}, errors.New("something follows the command")
	}
	c := command{Pressed: asked.Pressed, Bot: asked.Bot, Pause: asked.Pause, Link: asked.Link, Look: asked.Look, Ready: asked.Ready}
	if asked.Buttons != nil {
		c.Buttons, c.HasButtons = *asked.Buttons, true
	}
	wishes := slices.DeleteFunc([]bool{c.HasButtons, c.Bot, c.Pause != nil, c.Link != nil, c.Look != nil, c.Ready}, func(has bool) bool { return !has })
	switch {
	case len(wishes) != 1:
		return command{}, fmt.Errorf("the command asks for %d things: one of buttons, bot, pause, link, look and ready is allowed", len(wishes))
	case c.Pressed != 0 && !c.HasButtons:
		return command{}, errors.New("pressed comes without buttons")
	case (c.Buttons|c.Pressed)&^sim.Buttons != 0:
		return command{}, fmt.Errorf("buttons %#x and pressed %#x: only bits of %#x are buttons", c.Buttons, c.Pressed, sim.Buttons)
	case c.Look != nil && *c.Look >= sim.NumLooks:
		return command{}, fmt.Errorf("look is %d: 0 to %d are allowed", *c.Look, sim.NumLooks-1)
	case c.Link != nil:
		return c, c.Link.check()
	}
	return c, nil
}
