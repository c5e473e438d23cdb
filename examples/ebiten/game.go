package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/hajimehoshi/ebiten/v2"

	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/session"
)

// game is what Ebitengine runs: a match, the hands of those who play it here, and what
// is seen of it that is no part of the simulation.
type game struct {
	match   *session.Lockstep[sim.State, sim.Input]
	clock   *pacing.Clock
	rate    float64 // how fast to run so that all predict equally many ticks; 1 is as ever
	started time.Time
	updated time.Duration // when Update was last called, since then
	quit    <-chan struct{}
	hands   []hands     // one for each participant that is played here
	inputs  []sim.Input // what they hold, until a tick has used it
	phase   session.Phase
	over    error // why the match has ended; nil while it goes on
	ending  bool  // there is a last tick, after which the window closes

	sparks []spark
	banner banner
	pens   pens
}

// spark marks for a moment where a blow has met somebody.
type spark struct {
	report session.Report
	x, y   int
	left   int // ticks
}

// banner is a word across the picture.
type banner struct {
	text string
	left int // ticks
}

// newGame returns the game for those who have these keys.
func newGame(match *session.Lockstep[sim.State, sim.Input], keys []keymap, quit <-chan struct{}) (*game, error) {
	clock, err := pacing.NewClock(time.Second/sim.TicksPerSecond, 0)
	if err != nil {
		return nil, err
	}
	g := &game{match: match, clock: clock, rate: 1, started: time.Now(), quit: quit, pens: newPens(), inputs: make([]sim.Input, len(keys))}
	for i := range keys {
		g.hands = append(g.hands, hands{keys: keys[i], pad: i})
	}
	return g, nil
}

// Update comes before each picture, however many there are in a second, and the clock
// says how many ticks are due. It never waits for the other player.
func (g *game) Update() error {
	select {
	case <-g.quit:
		return ebiten.Termination
	default:
	}
	if ebiten.IsKeyPressed(ebiten.KeyEscape) {
		return ebiten.Termination
	}
	g.collect() // whether or not a tick is due
	now := time.Since(g.started)
	due := g.clock.Ticks(now-g.updated, g.rate)
	g.updated = now
	for range due {
		g.fade()
		g.tick(now)
	}
	if g.over != nil && g.ending {
		return ebiten.Termination
	}
	return nil
}

// collect adds what is held now to the inputs. What was pressed since a tick has used
// them is kept, so that no tap is lost.
func (g *game) collect() {
	for i := range g.hands {
		g.inputs[i].Buttons |= g.hands[i].held()
	}
}

// tick is one sixtieth of a second, or a little more or less where the others are behind
// or ahead.
func (g *game) tick(now time.Duration) {
	if g.over != nil {
		return // the picture says why, until the window is closed
	}
	g.collect() // a tick that came just before has used the inputs
	r, err := g.match.Tick(now, g.inputs...)
	if r.Phase == session.Advanced { // else it has used none
		clear(g.inputs)
	}
	if g.phase == session.Joining && r.Phase == session.Advanced {
		fmt.Println("the match has begun")
	}
	g.phase, g.rate, g.over = r.Phase, r.Pace.Rate, err
	for i := range r.Effects {
		g.show(&r.Effects[i])
	}
}

// show plays one effect, or takes it back. Although ticks are run again, each is
// reported once; a game plays its sounds here.
func (g *game) show(r *session.Report) {
	switch {
	case r.Kind == session.Undone:
		// It was drawn on a guess that turned out to be wrong.
		g.sparks = slices.DeleteFunc(g.sparks, func(s spark) bool {
			return s.report.Tick == r.Tick && s.report.Effect == r.Effect
		})
	case r.Effect.Kind == sim.KindHit || r.Effect.Kind == sim.KindBlock:
		f := g.match.State().View().Fighters[r.Effect.Args[0]]
		g.sparks = append(g.sparks, spark{report: *r, x: f.X + 14*f.Facing, y: f.Y + f.Push.H*3/4, left: sparkTicks})
	case r.Effect.Kind == sim.KindRoundStart:
		g.banner = banner{"FIGHT", bannerTicks}
	case r.Effect.Kind == sim.KindKO: // raised when it was certain
		g.banner = banner{"K.O.", bannerTicks}
	}
}

const (
	sparkTicks  = 14
	bannerTicks = 50
)

// fade lets what was shown for a moment go.
func (g *game) fade() {
	for i := range g.sparks {
		g.sparks[i].left--
	}
	g.sparks = slices.DeleteFunc(g.sparks, func(s spark) bool { return s.left <= 0 })
	if g.banner.left--; g.banner.left <= 0 {
		g.banner = banner{}
	}
}

// Draw reads the world as the next tick begins, guesses and all. It must not change it.
func (g *game) Draw(screen *ebiten.Image) {
	view := g.match.State().View()
	g.pens.stage(screen, &view)
	for _, s := range g.sparks {
		g.pens.spark(screen, &s)
	}
	g.pens.bars(screen, &view)
	g.pens.words(screen, g.banner.text, screenWidth/2, 130, 5)
	stats := g.match.Stats()
	line := fmt.Sprintf("tick %d   confirmed %d   rollbacks %d   stalls %d", stats.Tick, stats.Confirmed, stats.Loop.Rollbacks, stats.Stalled)
	for _, p := range stats.Peers {
		line += fmt.Sprintf("   round trip %d ms", p.RoundTrip.Milliseconds())
	}
	switch {
	case g.over != nil:
		line = folded(fmt.Sprintf("The match is over: %v.", g.over))
	case g.phase == session.Joining:
		line = "Waiting for the other player."
	}
	g.pens.words(screen, line, screenWidth/2, screenHeight-56, 1)
}

// Layout gives the picture a size of its own, which Ebitengine stretches.
func (g *game) Layout(int, int) (width, height int) { return screenWidth, screenHeight }
