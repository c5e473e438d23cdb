package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Command is what a page asks for. It asks for one thing at a time: buttons, the
// bot, a pause, a link, a look, or to begin.
type Command struct {
	// Buttons are the buttons held on the page from now on, if HasButtons. The first
	// ones take over from the bot.
	Buttons    uint16
	HasButtons bool
	// Pressed are the buttons that have gone down since the last command, those that
	// are up again included, so that a tap between two ticks counts.
	Pressed uint16
	// Bot lets the bot play again. It is also asked for when the page that
	// played has gone.
	Bot bool
	// Pause pauses the match for all, or resumes it.
	Pause *bool
	// Link changes the simulated links.
	Link *LinkSetting
	// Look picks a look before a match, and Ready is the word to begin it.
	Look  *uint8
	Ready bool
}

// maxCommandBytes bounds a page's message.
const maxCommandBytes = 256

// parseCommand reads a page's message, and refuses what no page of ours would send: all
// are the buttons that there are, and looks is how many looks.
func parseCommand(text []byte, all uint16, looks uint8) (Command, error) {
	var asked struct {
		Buttons *uint16      `json:"buttons"`
		Pressed uint16       `json:"pressed"`
		Bot     bool         `json:"bot"`
		Pause   *bool        `json:"pause"`
		Link    *LinkSetting `json:"link"`
		Look    *uint8       `json:"look"`
		Ready   bool         `json:"ready"`
	}
	if len(text) > maxCommandBytes {
		return Command{}, fmt.Errorf("the command has %d bytes: %d are allowed", len(text), maxCommandBytes)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&asked); err != nil {
		return Command{}, fmt.Errorf("the command is not understood: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Command{}, errors.New("something follows the command")
	}
	c := Command{Pressed: asked.Pressed, Bot: asked.Bot, Pause: asked.Pause, Link: asked.Link, Look: asked.Look, Ready: asked.Ready}
	if asked.Buttons != nil {
		c.Buttons, c.HasButtons = *asked.Buttons, true
	}
	wishes := slices.DeleteFunc([]bool{c.HasButtons, c.Bot, c.Pause != nil, c.Link != nil, c.Look != nil, c.Ready}, func(has bool) bool { return !has })
	switch {
	case len(wishes) != 1:
		return Command{}, fmt.Errorf("the command asks for %d things: one of buttons, bot, pause, link, look and ready is allowed", len(wishes))
	case c.Pressed != 0 && !c.HasButtons:
		return Command{}, errors.New("pressed comes without buttons")
	case (c.Buttons|c.Pressed)&^all != 0:
		return Command{}, fmt.Errorf("buttons %#x and pressed %#x: only bits of %#x are buttons", c.Buttons, c.Pressed, all)
	case (c.Look != nil || c.Ready) && looks == 0:
		return Command{}, errors.New("there is nothing to pick in this game")
	case c.Look != nil && *c.Look >= looks:
		return Command{}, fmt.Errorf("look is %d: 0 to %d are allowed", *c.Look, looks-1)
	case c.Link != nil:
		return c, c.Link.check()
	}
	return c, nil
}
