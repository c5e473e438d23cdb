package layout

import (
	"reflect"
	"slices"
	"sort"
	"strconv"
)

// Part is a stretch of the canonical bytes of a T that cuts no field. Parts come from
// [Layout.Parts] alone.
type Part[T any] struct {
	// Path leads to what the part holds: "Fighters", "Level.Tiles[0:4096]" for some of an
	// array's elements, or "Tick to Score" for neighbours, the last included. It is empty
	// if all of the value is one part.
	Path string
	// Offset is where its bytes begin in the canonical bytes of the value, and Size is how
	// many there are.
	Offset, Size int

	plan *plan
	mem  int // where its memory begins, if that is the part as it lies; -1: it is not
}

// Parts cuts the canonical bytes into neighbouring parts, in canonical order, by the tree
// of the fields. Each field at the top is a part; where the top is a struct with one field,
// what is below that is the top. What has more than most bytes is cut further if it can be:
// a struct into its fields, an array between its elements into parts of about as many.
// Neighbours of fewer than least bytes each go together until they have as many.
//
// What they are depends on the type alone, and is alike on every architecture.
func (l *Layout[T]) Parts(least, most int) []Part[T] {
	pieces := together(l.plan.cut(max(most, 1)), least)
	all := make([]Part[T], len(pieces))
	for i, c := range pieces {
		all[i] = Part[T]{Path: c.path(), Offset: c.at, Size: c.size, plan: l.plan, mem: l.plan.lies(c.at, c.size)}
	}
	return all
}

// View is [Layout.View] of a part's bytes.
func (p *Part[T]) View(buf []byte, v *T) (b []byte, inPlace bool) {
	if p.Size == 0 {
		return buf[:0], false
	}
	return p.plan.view(buf, memory(v), p.Offset, p.Size, p.mem)
}

// view returns the canonical bytes from at on, whose memory begins at lies if that is
// they as it stands.
func (p *plan) view(buf, mem []byte, at, size, lies int) (b []byte, inPlace bool) {
	if lies >= 0 {
		b = mem[lies:][:size]
		if between(p.floats, check, b, nil, at, 0, 0) < 0 {
			return b, true
		}
	}
	b = slices.Grow(buf[:0], size)[:size]
	p.part(b, mem, at)
	return b, false
}

// A piece is a part that is being made.
type piece struct {
	first, last string // the paths; alike if there is but one
	at, size    int
}

func (c *piece) path() string {
	if c.first == c.last {
		return c.first
	}
	return c.first + " to " + c.last
}

// cut returns the fields at the top, or what is below those of more than most bytes.
func (p *plan) cut(most int) []piece {
	var all []piece
	var cut func(n *node, path string, at int)
	cut = func(n *node, path string, at int) {
		open := n.size > most || n.size == p.size && (n.kind == reflect.Struct || n.count == 1)
		switch {
		case n.size == 0:
		case open && n.kind == reflect.Struct:
			for i := range n.kids {
				cut(&n.kids[i], join(path, n.kids[i].name), at+n.kids[i].at)
			}
		case open && n.kind == reflect.Array:
			elem := &n.kids[0]
			for i, each := 0, n.apiece(most); i < n.count; i += each {
				if each = min(each, n.count-i); each == 1 {
					cut(elem, path+"["+strconv.Itoa(i)+"]", at+i*elem.size)
					continue
				}
				path := path + "[" + strconv.Itoa(i) + ":" + strconv.Itoa(i+each) + "]"
				all = append(all, piece{path, path, at + i*elem.size, each * elem.size})
			}
		default:
			all = append(all, piece{path, path, at, n.size})
		}
	}
	cut(&p.root, "", 0)
	return all
}

// apiece returns how many elements of an array go into a part, so that all parts have
// about as many, and at most most bytes if that can be.
func (n *node) apiece(most int) int {
	parts := (n.size + most - 1) / most
	return max(1, (n.count+parts-1)/parts)
}

// together joins neighbours of fewer than least bytes.
func together(all []piece, least int) []piece {
	var joined []piece
	small := false // the last of them may take another one
	for _, c := range all {
		if small && c.size < least {
			to := &joined[len(joined)-1]
			to.last, to.size = c.last, to.size+c.size
			small = to.size < least
			continue
		}
		joined, small = append(joined, c), c.size < least
	}
	return joined
}

// lies returns where in memory some of the canonical bytes lie as they are, or -1.
func (p *plan) lies(at, size int) int {
	i := sort.Search(len(p.moves), func(i int) bool { return p.moves[i].end() > at })
	if i == len(p.moves) {
		return -1
	}
	o := &p.moves[i]
	if o.body != nil || o.code != raw || at < o.at || at+size > o.end() {
		return -1
	}
	return o.mem + at - o.at
}
