package main

import "github.com/driftback/driftback/examples/fighter/sim"

// hands says what one side presses: a bot, until its page's keys are touched.
//
// A tick that does not advance uses no input. What was pressed is therefore kept
// until one does, and so is what the bot decided.
type hands struct {
	side    int
	human   bool
	held    uint16 // buttons that are down now
	pressed uint16 // buttons that went down since a tick last used them
	bot     sim.Bot
	decided bool
	input   sim.Input // what the bot decided, until it is used
}

func newHands(side int, seed uint64) *hands {
	return &hands{side: side, bot: sim.NewBot(seed + uint64(side))}
}

// take applies what a page asks for.
func (h *hands) take(c *command) {
	switch {
	case c.Bot:
		h.human, h.pressed = false, 0
	case c.HasButtons:
		// Looking at a page is not touching it.
		h.human = h.human || c.Buttons|c.Pressed != 0
		h.held = c.Buttons & sim.Buttons
		h.pressed |= c.Pressed & sim.Buttons
	}
}

// next returns the input for the next tick.
func (h *hands) next(s *sim.State) sim.Input {
	if h.human {
		return sim.Input{Buttons: h.held | h.pressed}
	}
	if !h.decided {
		h.input, h.decided = h.bot.Input(s, h.side), true
	}
	return h.input
}

// used says that a tick has used what next returned.
func (h *hands) used() { h.pressed, h.decided = 0, false }

// String names who plays.
func (h *hands) String() string {
	if h.human {
		return handsYou
	}
	return handsBot
}
