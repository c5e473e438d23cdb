package sim

// Input is what one player holds on one tick: a set of buttons. Which of them were
// only just pressed is worked out by the step, from the state.
type Input struct{ Buttons uint16 }

// The buttons. Left and Right are directions on the stage, not towards the foe;
// opposite directions held together cancel out.
const (
	Left uint16 = 1 << iota
	Right
	Up
	Down
	Light
	Heavy
	Throw
	Special
)

// Buttons are all the buttons there are.
const Buttons = Left | Right | Up | Down | Light | Heavy | Throw | Special

// strikes are the buttons that start an attack, and that are remembered for
// [bufferTicks] when pressed too early.
const strikes = Light | Heavy | Throw | Special

// Valid says whether only buttons that exist are held. The step ignores the others,
// so an input that is not valid is harmless, but no player of this build sends one.
func (in Input) Valid() bool { return in.Buttons&^Buttons == 0 }

// clean drops what does not exist and directions that cancel out.
func (in Input) clean() uint16 {
	b := in.Buttons & Buttons
	if b&(Left|Right) == Left|Right {
		b &^= Left | Right
	}
	if b&(Up|Down) == Up|Down {
		b &^= Up | Down
	}
	return b
}
