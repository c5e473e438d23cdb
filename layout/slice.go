package layout

import (
	"fmt"
	"io"
	"reflect"
	"sort"
)

const (
	// widest is the size of the largest basic field, a complex128.
	widest = 16
	// portion is how many bytes ParseFrom reads at a time.
	portion = 64 << 10
)

// Slice fills dst with the canonical bytes of v from the byte at on, and returns how
// many it has filled: all of dst, or fewer where the bytes end, and none for an at
// outside of them. Any slices put together are what Append gives, as long as v does not
// change in between, so that a large value is encoded a little at a time. What lies
// before at is not walked over, and nothing is allocated.
func (l *Layout[T]) Slice(dst []byte, v *T, at int) int {
	if at < 0 || at >= l.plan.size {
		return 0
	}
	n := min(len(dst), l.plan.size-at)
	l.plan.slice(dst[:n], memory(v), at)
	return n
}

// ParseFrom is [Layout.Parse] of the bytes that r has, without having them in one
// piece. It reads them twice: first all are checked, so that malformed ones leave v as
// it was, and then v is set. They must not change in between.
func (l *Layout[T]) ParseFrom(r *io.SectionReader, v *T) error {
	if r.Size() != int64(l.plan.size) {
		return l.plan.wrongSize(r.Size())
	}
	buf := make([]byte, min(portion, l.plan.size))
	for _, m := range []mode{check, decode} {
		if err := l.plan.parseFrom(r, m, buf, memory(v)); err != nil {
			return err
		}
	}
	return nil
}

// parseFrom goes over what r has in portions that cut no field.
func (p *plan) parseFrom(r io.ReaderAt, m mode, buf, mem []byte) error {
	for lo := 0; lo < p.size; {
		hi := p.boundary(min(lo+len(buf), p.size))
		b := buf[:hi-lo]
		if n, err := r.ReadAt(b, int64(lo)); n < len(b) {
			return fmt.Errorf("layout: byte %d of %s cannot be read: %w", lo+n, p.root.name, err)
		}
		if m == decode {
			between(p.moves, decode, b, mem, lo, 0, 0)
		} else if bad := between(p.strict, check, b, nil, lo, 0, 0); bad >= 0 {
			return p.malformed(b, lo, lo+bad)
		}
		lo = hi
	}
	return nil
}

// slice makes the canonical bytes b, the first of which is at lo. A field that begins
// before them or ends after them is made whole beside them, since whether it is a NaN
// shows only then.
func (p *plan) slice(b, mem []byte, lo int) {
	for len(b) > 0 {
		var beside [widest]byte
		from, to := p.leaf(lo)
		n := 0
		if from == lo && to <= lo+len(b) {
			n = p.boundary(lo+len(b)) - lo
			p.part(b[:n], mem, lo)
		} else {
			whole := beside[:to-from]
			p.part(whole, mem, from)
			n = copy(b, whole[lo-from:])
		}
		b, lo = b[n:], lo+n
	}
}

// part is encode for those bytes from lo on that b has room for, which cut no field.
func (p *plan) part(b, mem []byte, lo int) {
	between(p.moves, encode, b, mem, lo, 0, 0)
	between(p.floats, mend, b, nil, lo, 0, 0)
}

// leaf returns where the basic field that has the byte at offset begins and ends.
func (p *plan) leaf(offset int) (from, to int) {
	n, rest := &p.root, offset
	for {
		switch n.kind {
		case reflect.Struct:
			kids := n.kids
			n = &kids[sort.Search(len(kids), func(i int) bool { return kids[i].at+kids[i].size > rest })]
			rest -= n.at
		case reflect.Array:
			n = &n.kids[0]
			rest %= n.size
		default:
			from = offset - rest
			return from, from + n.size
		}
	}
}

// boundary returns where the field that has the byte at offset begins, or the end of
// all fields.
func (p *plan) boundary(offset int) int {
	if offset == p.size {
		return offset
	}
	from, _ := p.leaf(offset)
	return from
}

// between is run for those canonical bytes alone that b has. The first of them is at
// lo, and they cut no field. What it returns is an offset in b. It finds the first op
// and the first repetition without passing over those before.
func between(ops []op, m mode, b, mem []byte, lo, at, from int) int {
	hi := lo + len(b)
	for i := sort.Search(len(ops), func(i int) bool { return at+ops[i].end() > lo }); i < len(ops); i++ {
		o := &ops[i]
		at, from := at+o.at, from+o.mem
		if at >= hi {
			break
		}
		var bad int
		if o.body == nil {
			bad = o.clipped(m, b, mem, lo, at, from)
		} else {
			bad = o.repeated(m, b, mem, lo, at, from)
		}
		if bad >= 0 {
			return bad
		}
	}
	return -1
}

// end returns where the canonical bytes of an op end; what repeats ends with its last
// element, whatever the op leaves out of that.
func (o *op) end() int {
	if o.body == nil {
		return o.at + o.n
	}
	return o.at + o.count*o.atStep
}

// clipped is what between does for an op without a body.
func (o *op) clipped(m mode, b, mem []byte, lo, at, from int) int {
	start, end := max(at, lo), min(at+o.n, lo+len(b))
	c := op{code: o.code, n: end - start}
	skipped := op{code: o.code, n: start - at}
	return c.run(m, b, mem, start-lo, from+skipped.memLen(), &c, 1)
}

// repeated is what between does for an op with a body. The repetitions that b has as a
// whole, which are all but the first and the last, go together.
func (o *op) repeated(m mode, b, mem []byte, lo, at, from int) int {
	hi := lo + len(b)
	for k := max(lo-at, 0) / o.atStep; k < o.count && at+k*o.atStep < hi; {
		elem, elemFrom := at+k*o.atStep, from+k*o.memStep
		var bad int
		n := min((hi-elem)/o.atStep, o.count-k)
		if elem >= lo && n > 0 {
			bad = o.times(n, m, b, mem, elem-lo, elemFrom)
		} else {
			n, bad = 1, between(o.body, m, b, mem, lo, elem, elemFrom)
		}
		if bad >= 0 {
			return bad
		}
		k += n
	}
	return -1
}
