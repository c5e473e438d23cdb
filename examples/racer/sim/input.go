package sim

// Input is what one player holds on one tick: a set of buttons. Which of them were
// only just pressed is worked out by the step, from the state.
type Input struct{ Buttons uint16 }

// The buttons. Left and Right held together cancel out.
const (
	Left uint16 = 1 << iota
	Right
	Throttle
	Brake // and, once the kart stands, backwards
	Slide // with Left or Right: drift
	Use   // the item
)

// Buttons are all the buttons there are.
const Buttons = Left | Right | Throttle | Brake | Slide | Use

// Valid says whether only buttons that exist are held. The step ignores the others,
// so an input that is not valid is harmless, but no player of this build sends one.
func (in Input) Valid() bool { return in.Buttons&^Buttons == 0 }

// clean drops what does not exist and directions that cancel out.
func (in Input) clean() uint16 {
	b := in.Buttons & Buttons
	if b&(Left|Right) == Left|Right {
		b &^= Left | Right
	}
	return b
}

// steer returns −1 for left, 1 for right, or 0.
func steer(held uint16) int8 {
	switch {
	case held&Left != 0:
		return -1
	case held&Right != 0:
		return 1
	}
	return 0
}
