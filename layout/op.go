package layout

import "reflect"

// A code says what happens to the bytes of an op.
type code uint8

const (
	raw code = iota
	// The bytes of each unit are in the other order in memory.
	swap2
	swap4
	swap8
	// An int or uint of 4 bytes in memory, in the machine's order.
	widenInt
	widenUint
	widenIntSwapped
	widenUintSwapped
	// What follows is looked at in canonical bytes.
	aBool
	aFloat32
	aFloat64
	anInt32  // 8 bytes that must fit an int of 4
	anUint32 // 8 bytes that must fit a uint of 4
)

// An op does one thing to a stretch of bytes, or, if it has a body, does the
// body count times over. Offsets in a body are relative to each repetition.
type op struct {
	code code
	mem  int // where it begins in memory
	at   int // where it begins in the canonical bytes
	n    int // how many canonical bytes

	body    []op
	count   int
	memStep int // from one repetition to the next
	atStep  int
	// flat: no op of the body has a body. It then runs column by column: the
	// first op of many elements, then the second, which is several times as fast
	// as element by element. block is how many, so that they stay in the
	// processor's first cache.
	flat  bool
	block int
}

// blockBytes is about how much memory the columns of a block cover.
const blockBytes = 8 << 10

// memLen is how many bytes of memory an op without a body covers.
func (o *op) memLen() int {
	if o.code >= widenInt && o.code <= widenUintSwapped {
		return o.n / 2
	}
	return o.n
}

// opsOf compiles a tree: leaf says which code the ops of a basic field have, if
// it needs one. Neighbours with the same code become one op, so that a struct
// without padding is one run of bytes and so is an array of it.
func opsOf(n *node, leaf func(*node) (code, bool)) []op {
	if n.size == 0 {
		return nil
	}
	switch n.kind {
	case reflect.Struct:
		var ops []op
		for i := range n.kids {
			k := &n.kids[i]
			for _, o := range opsOf(k, leaf) {
				o.mem += k.mem
				o.at += k.at
				ops = appendMerged(ops, o)
			}
		}
		return ops
	case reflect.Array:
		return repeat(opsOf(&n.kids[0], leaf), n)
	default:
		if c, ok := leaf(n); ok {
			return []op{{code: c, n: n.size}}
		}
		return nil
	}
}

func appendMerged(ops []op, o op) []op {
	if len(ops) > 0 {
		last := &ops[len(ops)-1]
		if last.body == nil && o.body == nil && last.code == o.code &&
			last.mem+last.memLen() == o.mem && last.at+last.n == o.at {
			last.n += o.n
			return ops
		}
	}
	return append(ops, o)
}

// repeat turns the ops of an element into those of its array.
func repeat(body []op, array *node) []op {
	elem := &array.kids[0]
	if len(body) == 0 || array.count == 1 {
		return body
	}
	if len(body) == 1 && body[0].mem == 0 && body[0].at == 0 {
		only := body[0]
		if only.body == nil && only.n == elem.size && only.memLen() == elem.wide {
			only.n *= array.count
			return []op{only}
		}
		if only.flat && only.count*only.memStep == elem.wide && only.count*only.atStep == elem.size {
			only.count *= array.count
			return []op{only}
		}
	}
	o := op{body: body, count: array.count, memStep: elem.wide, atStep: elem.size, flat: true}
	for i := range body {
		o.flat = o.flat && body[i].body == nil
	}
	if o.flat {
		o.body = pieces(body)
		o.block = max(16, blockBytes/elem.wide)
	}
	return []op{o}
}

// pieces cuts short runs into words, two of which may overlap: copying a word is
// one instruction where a run of any length is a call.
func pieces(body []op) []op {
	const longest = 64 // above it the call is no slower
	var cut []op
	for _, o := range body {
		if o.code != raw || o.n > longest {
			cut = append(cut, o)
			continue
		}
		word := 16
		for word > o.n {
			word /= 2
		}
		for from := 0; from < o.n; from += word {
			from = min(from, o.n-word)
			cut = append(cut, op{mem: o.mem + from, at: o.at + from, n: word})
		}
	}
	return cut
}

// moveOf says how a basic field gets from memory to its canonical bytes.
func moveOf(n *node, bigEndian bool) code {
	switch {
	case n.kind == reflect.Int && n.wide == 4 && bigEndian:
		return widenIntSwapped
	case n.kind == reflect.Int && n.wide == 4:
		return widenInt
	case n.kind == reflect.Uint && n.wide == 4 && bigEndian:
		return widenUintSwapped
	case n.kind == reflect.Uint && n.wide == 4:
		return widenUint
	case !bigEndian:
		return raw
	}
	word := n.wide
	if n.kind == reflect.Complex64 || n.kind == reflect.Complex128 {
		word /= 2
	}
	return map[int]code{1: raw, 2: swap2, 4: swap4, 8: swap8}[word]
}

// floatOf picks the fields that can hold a NaN.
func floatOf(n *node) (code, bool) {
	switch n.kind {
	case reflect.Float32, reflect.Complex64:
		return aFloat32, true
	case reflect.Float64, reflect.Complex128:
		return aFloat64, true
	default:
		return 0, false
	}
}

// strictOf picks the fields some of whose bytes no value has. An int is only one
// of them where it is 4 bytes wide.
func strictOf(n *node) (code, bool) {
	narrow := intBytes == 4
	switch {
	case n.kind == reflect.Bool:
		return aBool, true
	case n.kind == reflect.Int && narrow:
		return anInt32, true
	case n.kind == reflect.Uint && narrow:
		return anUint32, true
	}
	return floatOf(n)
}

const intBytes = 4 << (^uint(0) >> 63)
