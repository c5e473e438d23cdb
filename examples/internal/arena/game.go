// Package arena is what a program around an example game consists of: the command line,
// the processes, one for each player and maybe a relay, the links between them, and the loop that calls the
// engine and shows what came of it.
//
// It owns the clock, the sockets and the pages that the engine refuses to own, and
// refuses to own a game: that is a [Game], with which [Main] is a whole program.
package arena

import (
	"io/fs"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
)

// Game is what one example brings. All fields but CountFlag, World
// and Picks are required.
type Game[S any, I comparable] struct {
	// Name is the game's and the command's; Match tells its matches from others'. A real
	// game would draw one for each match and agree on it where the players meet.
	Name  string
	Match uint64
	// TicksPerSecond is the rate the game is meant to be played at.
	TicksPerSecond int
	// Seats are the names of the players, "left player" say, in the order of the
	// participants: as many as there can be.
	Seats []string
	// Players is how many play unless the flag called CountFlag says otherwise. Without
	// a CountFlag nothing does.
	Players   int
	CountFlag string
	// Bots is a sentence about who plays before anybody touches a page.
	Bots string

	Step  driftback.Step[S, I]
	Start func(seed uint64, s *S)
	Valid func(I) bool
	// Blot changes one bit of a state that has just been stepped, as a step that is not pure might.
	Blot func(s *S)
	// Input is what the held buttons of a page come to, and Buttons are all of them.
	Input   func(buttons uint16) I
	Buttons uint16
	// Bot returns who plays for a participant when nobody is at the page. It is asked
	// once for each tick that is run, in order.
	Bot func(seed uint64, self driftback.Participant) func(s *S) I

	// Picks is what two players pick before a match, or nil. With it, one match follows
	// another over the same links.
	Picks *Picks[S]

	// Page has the page's own files, and World is what they draw that never changes.
	Page  fs.FS
	World any
	// View is what there is to see of a state; it shares nothing with it.
	View func(s *S) any
	// EffectName names a kind of effect in words.
	EffectName func(kind uint32) string
	// Score is how the game stands, in a few words for a line on the terminal.
	Score func(s *S) string
}

// openPage opens the page that the options ask for.
func (g *Game[S, I]) openPage(o *options) (*page.Server, error) {
	if o.headless {
		return nil, nil
	}
	addr := o.page
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	c := page.Config{Addr: addr, Files: g.Page, World: g.World, Buttons: g.Buttons}
	if g.Picks != nil {
		c.Looks = g.Picks.Looks
	}
	return page.New(c)
}
