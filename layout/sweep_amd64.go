package layout

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// vectorStride is how many bytes sweepAVX2 looks at together.
const vectorStride = 128

var hasAVX2 = cpu.X86.HasAVX2

// sweepVectors is sweep by the processor's vectors: without them a look at 64 KiB takes
// four times as long as their hash does. It leaves what is shorter than a stride.
func sweepVectors(b []byte, ones, last uint64) int {
	rest := len(b) % vectorStride
	if !hasAVX2 || rest == len(b) {
		return len(b)
	}
	return rest + sweepAVX2(unsafe.SliceData(b[rest:]), len(b)-rest, ones, last)
}

// sweepAVX2 looks at n bytes, a multiple of vectorStride and not none, from the end on, and
// returns where the first stride ends in which an exponent is all ones, or 0.
//
//go:noescape
func sweepAVX2(b *byte, n int, ones, last uint64) int
