package wire

import (
	"encoding/binary"
	"math/bits"
)

// An input can be written as its change from the one before it in the run, or from
// zeros if it is the first: eight bytes at a time, a mask of the bytes that differ,
// and what to flip in each of these. With more than eight bytes a mask of the masks
// comes first, and those that would be 0 are left out. All inputs of a packet are written
// so, or none, whichever is shorter; as they are if both are as long.

// zeros is the input from which the first of a run changes.
var zeros [MaxStride]byte

// masked is how many bytes one mask covers.
const masked = 8

// maxChangeSize is the size of a change in which every byte differs.
func maxChangeSize(stride int) int {
	n := stride + sizeOfNone(stride)
	if stride > masked {
		n += (stride + masked - 1) / masked
	}
	return n
}

// sizeOfNone is the size of a change in which no byte differs.
func sizeOfNone(stride int) int {
	if stride <= masked {
		return 1
	}
	return (stride + masked*masked - 1) / (masked * masked)
}

// changeSize is the size of the change from last to in.
func changeSize(last, in []byte) (n int) {
	n = sizeOfNone(len(in))
	if len(in) <= masked {
		return n + bits.OnesCount8(maskOf(last, in))
	}
	for len(in) > 0 {
		block := min(masked, len(in))
		if m := maskOf(last[:block], in[:block]); m != 0 {
			n += 1 + bits.OnesCount8(m)
		}
		last, in = last[block:], in[block:]
	}
	return n
}

// maskOf returns in which of at most eight bytes two inputs differ.
func maskOf(a, b []byte) (mask byte) {
	if len(b) == masked && binary.LittleEndian.Uint64(a) == binary.LittleEndian.Uint64(b) {
		return 0
	}
	a = a[:len(b)]
	for i := range b {
		if a[i] != b[i] {
			mask |= 1 << i
		}
	}
	return mask
}

func appendChange(b, last, in []byte) []byte {
	if len(in) <= masked {
		return appendBlock(b, maskOf(last, in), last, in)
	}
	masks := len(b)
	b = append(b, zeros[:sizeOfNone(len(in))]...)
	for i := 0; len(in) > 0; i++ {
		block := min(masked, len(in))
		if m := maskOf(last[:block], in[:block]); m != 0 {
			b[masks+i/8] |= 1 << (i % 8)
			b = appendBlock(b, m, last, in)
		}
		last, in = last[block:], in[block:]
	}
	return b
}

func appendBlock(b []byte, mask byte, last, in []byte) []byte {
	b = append(b, mask)
	for ; mask != 0; mask &= mask - 1 {
		i := bits.TrailingZeros8(mask)
		b = append(b, last[i]^in[i])
	}
	return b
}

// change reads a change and makes it to an input.
func (r *reader) change(in []byte) {
	if len(in) <= masked {
		r.block(in, r.byte())
		return
	}
	blocks := (len(in) + masked - 1) / masked
	masks := r.take(sizeOfNone(len(in)))
	if masks == nil {
		return
	}
	if over := blocks % 8; over > 0 && masks[len(masks)-1]>>over != 0 {
		r.refuse("a mask of masks marks more than there are")
	}
	for i := 0; i < blocks && r.err == nil; i++ {
		if masks[i/8]>>(i%8)&1 == 0 {
			continue
		}
		m := r.byte()
		if r.err == nil && m == 0 {
			r.refuse("a mask is 0 and could be left out")
		}
		r.block(in[i*masked:min((i+1)*masked, len(in))], m)
	}
}

// block reads the bytes of a block that mask marks.
func (r *reader) block(in []byte, mask byte) {
	if len(in) < masked && mask>>len(in) != 0 {
		r.refuse("a mask of %#x marks more than the %d bytes there are", mask, len(in))
		return
	}
	for ; mask != 0; mask &= mask - 1 {
		flip := r.byte()
		if r.err == nil && flip == 0 {
			r.refuse("a byte is marked as changed and is the same")
		}
		in[bits.TrailingZeros8(mask)] ^= flip
	}
}
