package main

import (
	"slices"

	"github.com/hajimehoshi/ebiten/v2"

	"github.com/driftback/driftback/examples/fighter/sim"
)

// keymap says which keys, by their place on the keyboard, hold which buttons.
type keymap map[ebiten.Key]uint16

// Two players at one keyboard.
var (
	leftKeys = keymap{
		ebiten.KeyA: sim.Left, ebiten.KeyD: sim.Right, ebiten.KeyW: sim.Up, ebiten.KeyS: sim.Down,
		ebiten.KeyF: sim.Light, ebiten.KeyG: sim.Heavy, ebiten.KeyR: sim.Throw, ebiten.KeyT: sim.Special,
	}
	rightKeys = keymap{
		ebiten.KeyArrowLeft: sim.Left, ebiten.KeyArrowRight: sim.Right, ebiten.KeyArrowUp: sim.Up, ebiten.KeyArrowDown: sim.Down,
		ebiten.KeyJ: sim.Light, ebiten.KeyK: sim.Heavy, ebiten.KeyL: sim.Throw, ebiten.KeySemicolon: sim.Special,
	}
)

// anyKeys are one player's who has the keyboard to themselves.
var anyKeys = both(leftKeys, rightKeys)

func both(a, b keymap) keymap {
	all := keymap{}
	for _, m := range []keymap{a, b} {
		for key, button := range m {
			all[key] = button
		}
	}
	return all
}

var padmap = map[ebiten.StandardGamepadButton]uint16{
	ebiten.StandardGamepadButtonLeftLeft: sim.Left, ebiten.StandardGamepadButtonLeftRight: sim.Right,
	ebiten.StandardGamepadButtonLeftTop: sim.Up, ebiten.StandardGamepadButtonLeftBottom: sim.Down,
	ebiten.StandardGamepadButtonRightBottom: sim.Light, ebiten.StandardGamepadButtonRightLeft: sim.Heavy,
	ebiten.StandardGamepadButtonRightRight: sim.Throw, ebiten.StandardGamepadButtonRightTop: sim.Special,
}

// hands are one player's devices: some of the keys, and a gamepad if there is one.
type hands struct {
	keys keymap
	pad  int // counted from 0, in the order of their numbers
	ids  []ebiten.GamepadID
}

// held returns the buttons that are held now.
func (h *hands) held() (buttons uint16) {
	for key, button := range h.keys {
		if ebiten.IsKeyPressed(key) {
			buttons |= button
		}
	}
	h.ids = ebiten.AppendGamepadIDs(h.ids[:0])
	slices.Sort(h.ids)
	if h.pad >= len(h.ids) || !ebiten.IsStandardGamepadLayoutAvailable(h.ids[h.pad]) {
		return buttons
	}
	pad := h.ids[h.pad]
	for b, button := range padmap {
		if ebiten.IsStandardGamepadButtonPressed(pad, b) {
			buttons |= button
		}
	}
	return buttons | stick(
		ebiten.StandardGamepadAxisValue(pad, ebiten.StandardGamepadAxisLeftStickHorizontal),
		ebiten.StandardGamepadAxisValue(pad, ebiten.StandardGamepadAxisLeftStickVertical),
	)
}

// stick turns a stick, −1 to 1 each way, into directions. An input of the simulation has
// no floats: what devices say is made plain before it goes in.
func stick(x, y float64) (buttons uint16) {
	const dead = 0.4
	switch {
	case x < -dead:
		buttons |= sim.Left
	case x > dead:
		buttons |= sim.Right
	}
	switch {
	case y < -dead:
		buttons |= sim.Up
	case y > dead:
		buttons |= sim.Down
	}
	return buttons
}
