package layout

import "encoding/binary"

// A mode is what a run over ops is for.
type mode uint8

const (
	encode mode = iota // memory to canonical bytes
	decode             // and back
	check              // find a field whose bytes mean nothing
	mend               // make every NaN the canonical one
)

// run carries out ops on the canonical bytes b and the memory mem, which begin
// at the offsets at and from. It returns −1, or for check the offset in b of a
// unit at fault, not always the first.
func run(ops []op, m mode, b, mem []byte, at, from int) int {
	for i := range ops {
		o := &ops[i]
		at, from := at+o.at, from+o.mem
		var bad int
		if o.body == nil {
			bad = o.run(m, b, mem, at, from, o, 1)
		} else {
			bad = o.times(o.count, m, b, mem, at, from)
		}
		if bad >= 0 {
			return bad
		}
	}
	return -1
}

// times carries out the body of an op n times over, the first at the offsets at and from.
func (o *op) times(n int, m mode, b, mem []byte, at, from int) int {
	if !o.flat {
		for range n {
			if bad := run(o.body, m, b, mem, at, from); bad >= 0 {
				return bad
			}
			at, from = at+o.atStep, from+o.memStep
		}
		return -1
	}
	for k := 0; k < n; k += o.block {
		times := min(o.block, n-k)
		for j := range o.body {
			c := &o.body[j]
			if bad := c.run(m, b, mem, at+k*o.atStep+c.at, from+k*o.memStep+c.mem, o, times); bad >= 0 {
				return bad
			}
		}
	}
	return -1
}

// run carries out one op without a body times over, by the steps of every.
func (o *op) run(m mode, b, mem []byte, at, from int, every *op, times int) int {
	switch m {
	case encode, decode:
		if o.code == raw {
			if m == encode {
				copyColumn(b[at:], mem[from:], every.atStep, every.memStep, o.n, times)
			} else {
				copyColumn(mem[from:], b[at:], every.memStep, every.atStep, o.n, times)
			}
			return -1
		}
		for range times {
			o.convert(m, b[at:at+o.n], mem[from:from+o.memLen()])
			at, from = at+every.atStep, from+every.memStep
		}
	case check, mend:
		for range times {
			if bad := o.inspect(m, b[at:at+o.n]); bad >= 0 {
				return at + bad
			}
			at += every.atStep
		}
	}
	return -1
}

// convert moves a stretch whose units differ between memory and canonical bytes.
func (o *op) convert(m mode, b, mem []byte) {
	switch o.code {
	case swap2:
		reverse(m, b, mem, 2)
	case swap4:
		reverse(m, b, mem, 4)
	case swap8:
		reverse(m, b, mem, 8)
	case widenInt, widenUint:
		widen(m, b, mem, binary.LittleEndian, o.code == widenInt)
	case widenIntSwapped, widenUintSwapped:
		widen(m, b, mem, binary.BigEndian, o.code == widenIntSwapped)
	default: // raw has been copied; the rest move nothing
	}
}

func reverse(m mode, b, mem []byte, word int) {
	to, from := b, mem
	if m == decode {
		to, from = mem, b
	}
	for at := 0; at < len(to); at += word {
		for i := range word {
			to[at+i] = from[at+word-1-i]
		}
	}
}

func widen(m mode, b, mem []byte, order binary.ByteOrder, signed bool) {
	for ; len(b) > 0; b, mem = b[8:], mem[4:] {
		if m == decode {
			order.PutUint32(mem, uint32(binary.LittleEndian.Uint64(b)))
			continue
		}
		v := order.Uint32(mem)
		if signed {
			binary.LittleEndian.PutUint64(b, uint64(int64(int32(v))))
		} else {
			binary.LittleEndian.PutUint64(b, uint64(v))
		}
	}
}
