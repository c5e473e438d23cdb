package layout

import "encoding/binary"

// stride is how many bytes a sweep looks at together at least.
const stride = 32

// sweep returns where the stretch at the end of b begins in which no exponent is all
// ones. ones has the exponent's bits set in each half of a word or in the upper one, and
// last the lowest of them: adding that to an exponent of ones carries into the sign's
// place, so that many floats are told apart by one branch.
//
// It goes from the end to the beginning, because a state is hashed from its beginning to
// its end right after: of one that is larger than the processor's first cache half is still
// in it then.
func sweep(b []byte, ones, last uint64) int {
	at := sweepWords(b, max(len(b)-stride, 0), ones, last)
	if at >= vectorStride && at+stride <= len(b) {
		at = sweepVectors(b[:at], ones, last)
	}
	return sweepWords(b[:at], 0, ones, last)
}

// sweepWords does not look at what is before least.
func sweepWords(b []byte, least int, ones, last uint64) int {
	at := len(b)
	for ; at-stride >= least; at -= stride {
		c := b[at-stride : at : at]
		any := binary.LittleEndian.Uint64(c)&ones + last
		any |= binary.LittleEndian.Uint64(c[8:])&ones + last
		any |= binary.LittleEndian.Uint64(c[16:])&ones + last
		any |= binary.LittleEndian.Uint64(c[24:])&ones + last
		if any&signs != 0 {
			break
		}
	}
	return at
}
