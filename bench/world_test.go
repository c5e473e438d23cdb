package bench

import "github.com/driftback/driftback"

// input is what a participant gives each tick.
type input struct{ Buttons uint16 }

// A world is a state of one of four sizes: 256 bytes, 4, 64 and 1024 KiB.
type world interface {
	[32]uint64 | [512]uint64 | [8 << 10]uint64 | [128 << 10]uint64
}

// step costs a handful of instructions whatever the size of the world, so what is
// measured is the engine. The first word counts the ticks; the inputs go into one
// of the next 31.
func step[W world](w *W, in []input, _ *driftback.Pass) {
	(*w)[0]++
	at := 1 + (*w)[0]%31
	(*w)[at] = (*w)[at]*0x9e3779b97f4a7c15 + uint64(in[0].Buttons)<<16 + uint64(in[1].Buttons)
}

// at returns a word of a world.
func at[W world](w *W, i uint64) *uint64 { return &(*w)[i] }

// touching is step for a saving policy that has to be told where it writes.
func touching[W world](w *W, in []input, pass *driftback.Pass) {
	ticks := driftback.Touch(pass, w, at(w, 0))
	*ticks++
	word := driftback.Touch(pass, w, at(w, 1+*ticks%31))
	*word = *word*0x9e3779b97f4a7c15 + uint64(in[0].Buttons)<<16 + uint64(in[1].Buttons)
}
