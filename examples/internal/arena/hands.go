package arena

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
)

// hands says what one player presses: a bot, until its page's keys are touched.
//
// A tick that does not advance uses no input. What was pressed is therefore kept
// until one does, and so is what the bot decided.
type hands[S any, I comparable] struct {
	game    *Game[S, I]
	human   bool
	held    uint16 // buttons that are down now
	pressed uint16 // buttons that went down since a tick last used them
	bot     func(s *S) I
	decided bool
	input   I // what the bot decided, until it is used
}

func newHands[S any, I comparable](g *Game[S, I], self driftback.Participant, seed uint64) hands[S, I] {
	return hands[S, I]{game: g, bot: g.Bot(seed, self)}
}

// take applies what a page asks for.
func (h *hands[S, I]) take(c *page.Command) {
	switch {
	case c.Bot:
		h.human, h.pressed = false, 0
	case c.HasButtons:
		// Looking at a page is not touching it.
		h.human = h.human || c.Buttons|c.Pressed != 0
		h.held = c.Buttons & h.game.Buttons
		h.pressed |= c.Pressed & h.game.Buttons
	}
}

// next returns the input for the next tick.
func (h *hands[S, I]) next(s *S) I {
	if h.human {
		return h.game.Input(h.held | h.pressed)
	}
	if !h.decided {
		h.input, h.decided = h.bot(s), true
	}
	return h.input
}

// used says that a tick has used what next returned.
func (h *hands[S, I]) used() { h.pressed, h.decided = 0, false }

// String names who plays.
func (h *hands[S, I]) String() string {
	if h.human {
		return page.HandsYou
	}
	return page.HandsBot
}
