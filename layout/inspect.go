package layout

import (
	"encoding/binary"
	"math"
)

// The one NaN of either size, and what marks infinities and NaNs: an exponent of
// ones. A word of two float32s is looked at as two at once: see sweep.
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

// Of floats the last at fault is found first: see sweep.
func inspectFloat32s(m mode, b []byte) int {
	for end := len(b); end > 0; {
		if end >= stride {
			end = sweep(b[:end], infs32, last32)
		}
		from := max(end-stride, 0)
		for ; end > from; end -= 4 {
			unit := b[end-4 : end]
			bits := binary.LittleEndian.Uint32(unit)
			if bits&^(1<<31) <= inf32 || bits == nan32 {
				continue
			}
			if m == check {
				return end - 4
			}
			binary.LittleEndian.PutUint32(unit, nan32)
		}
	}
	return -1
}

func inspectFloat64s(m mode, b []byte) int {
	for end := len(b); end > 0; {
		if end >= stride {
			end = sweep(b[:end], inf64, last64)
		}
		from := max(end-stride, 0)
		for ; end > from; end -= 8 {
			unit := b[end-8 : end]
			bits := binary.LittleEndian.Uint64(unit)
			if bits&^(1<<63) <= inf64 || bits == nan64 {
				continue
			}
			if m == check {
				return end - 8
			}
			binary.LittleEndian.PutUint64(unit, nan64)
		}
	}
	return -1
}
