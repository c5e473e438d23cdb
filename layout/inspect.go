package layout

import (
	"encoding/binary"
	"math"
)

// The one NaN of either size, and what marks infinities and NaNs: an exponent of
// ones. A word of two float32s is looked at as two at once.
const (
	nan32 uint32 = 0x7fc00000
	nan64 uint64 = 0x7ff8000000000000

	inf32  uint32 = 0x7f800000
	inf64  uint64 = 0x7ff0000000000000
	infs32        = uint64(inf32)<<32 | uint64(inf32)
	last32 uint64 = 0x0080000000800000 // the lowest bit of each exponent
	last64 uint64 = 0x0010000000000000
	signs  uint64 = 0x8000000080000000
)

// inspect looks at a stretch of canonical bytes. Checking, it returns the offset
// of the first unit at fault; mending, it repairs what it finds.
func (o *op) inspect(m mode, b []byte) int {
	switch o.code {
	case aBool:
		return inspectBools(b)
	case aFloat32:
		return inspectFloat32s(m, b)
	case aFloat64:
		return inspectFloat64s(m, b)
	case anInt32:
		for i := 0; i+8 <= len(b); i += 8 {
			if v := int64(binary.LittleEndian.Uint64(b[i:])); v < math.MinInt32 || v > math.MaxInt32 {
				return i
			}
		}
	case anUint32:
		for i := 0; i+8 <= len(b); i += 8 {
			if binary.LittleEndian.Uint64(b[i:]) > math.MaxUint32 {
				return i
			}
		}
	default: // nothing that the other codes move can be at fault
	}
	return -1
}

func inspectBools(b []byte) int {
	for i, v := range b {
		if v > 1 {
			return i
		}
	}
	return -1
}

func inspectFloat32s(m mode, b []byte) int {
	for i := 0; i < len(b); i += 4 {
		// Adding the lowest bit of an exponent of ones carries into the sign's place,
		// so a step of 32 bytes without NaN or infinity is told apart by one branch.
		for ; i+32 <= len(b); i += 32 {
			c := b[i : i+32 : i+32]
			any := binary.LittleEndian.Uint64(c)&infs32 + last32
			any |= binary.LittleEndian.Uint64(c[8:])&infs32 + last32
			any |= binary.LittleEndian.Uint64(c[16:])&infs32 + last32
			any |= binary.LittleEndian.Uint64(c[24:])&infs32 + last32
			if any&signs != 0 {
				break
			}
		}
		if i == len(b) {
			break
		}
		bits := binary.LittleEndian.Uint32(b[i:])
		if bits&^(1<<31) <= inf32 || bits == nan32 {
			continue
		}
		if m == check {
			return i
		}
		binary.LittleEndian.PutUint32(b[i:], nan32)
	}
	return -1
}

func inspectFloat64s(m mode, b []byte) int {
	for i := 0; i < len(b); i += 8 {
		for ; i+32 <= len(b); i += 32 {
			c := b[i : i+32 : i+32]
			any := binary.LittleEndian.Uint64(c)&inf64 + last64
			any |= binary.LittleEndian.Uint64(c[8:])&inf64 + last64
			any |= binary.LittleEndian.Uint64(c[16:])&inf64 + last64
			any |= binary.LittleEndian.Uint64(c[24:])&inf64 + last64
			if any&signs != 0 {
				break
			}
		}
		if i == len(b) {
			break
		}
		bits := binary.LittleEndian.Uint64(b[i:])
		if bits&^(1<<63) <= inf64 || bits == nan64 {
			continue
		}
		if m == check {
			return i
		}
		binary.LittleEndian.PutUint64(b[i:], nan64)
	}
	return -1
}
