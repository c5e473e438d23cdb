package layout

import (
	"reflect"
	"strconv"
)

// A node is one place in the tree of a type: a field, an element, the root.
type node struct {
	name string // the field's; the type's at the root; empty for an element
	kind reflect.Kind
	mem  int // offset in the memory of the parent
	at   int // offset in the canonical bytes of the parent
	wide int // bytes of memory
	size int // canonical bytes
	// count is the length of an array. Its one kid is the element, wide and size
	// bytes from the next.
	count int
	kids  []node
}

// A plan is all there is to know about a type, worked out once.
type plan struct {
	root   node
	size   int
	hash   uint64
	moves  []op // from memory to canonical bytes and back
	floats []op // over canonical bytes: those that may hold a NaN
	strict []op // over canonical bytes: all whose bytes may mean nothing
}

func planOf(t reflect.Type, bigEndian bool) (*plan, error) {
	w := walk{}
	name := rootName(t)
	root, err := w.node(t, name, 0)
	if err != nil {
		return nil, err
	}
	root.name = name
	return compile(root, bigEndian), nil
}

func compile(root node, bigEndian bool) *plan {
	p := &plan{root: root, size: root.size}
	p.hash = hashOf(p.fields())
	p.moves = opsOf(&root, func(n *node) (code, bool) { return moveOf(n, bigEndian), true })
	canonical := inCanonicalSpace(root)
	p.floats = opsOf(&canonical, floatOf)
	p.strict = opsOf(&canonical, strictOf)
	return p
}

// walk counts the fields it has seen, so that no type can keep it busy.
type walk struct{ seen int }

// node walks a type. A type that takes no memory takes no bytes either, whatever
// it is made of, and is not walked.
func (w *walk) node(t reflect.Type, path string, depth int) (node, error) {
	n := node{kind: t.Kind(), wide: int(t.Size())}
	if w.seen++; w.seen > MaxFields {
		return n, refuseCount(path)
	}
	if t.Size() == 0 {
		return n, nil
	}
	if depth > MaxDepth {
		return n, refuseDepth(path)
	}
	switch k := t.Kind(); k {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" {
				continue
			}
			kid, err := w.node(f.Type, under(path, f.Name), depth+1)
			if err != nil {
				return n, err
			}
			kid.name, kid.mem, kid.at = f.Name, int(f.Offset), n.size
			if n.size += kid.size; n.size > MaxSize {
				return n, refuseSize(path)
			}
			if kid.size > 0 {
				n.kids = append(n.kids, kid)
			}
		}
	case reflect.Array:
		kid, err := w.node(t.Elem(), path+"[0:"+strconv.Itoa(t.Len())+"]", depth+1)
		if err != nil {
			return n, err
		}
		if kid.size > 0 && t.Len() > MaxSize/kid.size {
			return n, refuseSize(path)
		}
		n.count, n.size, n.kids = t.Len(), t.Len()*kid.size, []node{kid}
	case reflect.Int, reflect.Uint:
		n.size = 8
	case reflect.Bool,
		reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		n.size = n.wide
	default:
		return n, refuseKind(path, k)
	}
	return n, nil
}

// inCanonicalSpace returns the tree as if the canonical bytes were its memory.
func inCanonicalSpace(n node) node {
	n.mem, n.wide = n.at, n.size
	kids := make([]node, len(n.kids))
	for i := range kids {
		kids[i] = inCanonicalSpace(n.kids[i])
	}
	n.kids = kids
	return n
}

// rootName is what errors call a type: its name, or its kind if it has none.
func rootName(t reflect.Type) string {
	if t.Name() != "" {
		return t.Name()
	}
	return t.Kind().String()
}

// inPlace returns the part of mem that is the canonical bytes as it stands, if
// there is one.
func (p *plan) inPlace(mem []byte) ([]byte, bool) {
	if len(p.moves) != 1 || p.moves[0].body != nil || p.moves[0].code != raw {
		return nil, false
	}
	b := mem[p.moves[0].mem:][:p.size]
	if run(p.floats, check, b, b, 0, 0) >= 0 {
		return nil, false
	}
	return b, true
}

func (p *plan) encode(b, mem []byte) {
	run(p.moves, encode, b, mem, 0, 0)
	run(p.floats, mend, b, b, 0, 0)
}

func (p *plan) decode(b, mem []byte) { run(p.moves, decode, b, mem, 0, 0) }

// fault returns the offset of a field whose bytes mean nothing, or −1.
func (p *plan) fault(b []byte) int { return run(p.strict, check, b, b, 0, 0) }
