package bench

import (
	"github.com/driftback/driftback"
)

// input is what a participant gives each tick.
type input struct{ Buttons uint16 }

// A world is a state of one of four sizes in bytes: 256, 4 Ki, 64 Ki and 1 Mi.
type world interface {
	[32]uint64 | [512]uint64 | [8 << 10]uint64 | [128 << 10]uint64
}

// step costs a handful of instructions whatever the size of the world, so what is
// measured is the engine. It counts the ticks and mixes the inputs into one word.
func step[W world](w *W, in []input, _ *driftback.Pass) {
	(*w)[0]++
	at := 1 + (*w)[0]%31
	(*w)[at] = (*w)[at]*0x9e3779b97f4a7c15 + uint64(in[0].Buttons)<<16 + uint64(in[1].Buttons)
}
