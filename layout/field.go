package layout

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"reflect"
	"strconv"
)

// Field is one field of basic kind, or one that recurs in arrays.
type Field struct {
	// Path leads from the value to the field. From [Layout.Fields] it has the
	// range of each array, as in "Fighters[0:2].Health"; from [Layout.At] the
	// index, as in "Fighters[1].Health". It is empty if the value itself is of
	// basic kind.
	Path string
	// Kind is the basic kind, from Bool to Complex128.
	Kind reflect.Kind
	// Offset is where the field's bytes begin in the canonical bytes of the
	// value; for a range, those of its first element.
	Offset int
	// Size is how many bytes one field of this path takes.
	Size int
	// Count is how many fields the ranges in Path stand for; 1 without a range.
	Count int
}

// Format returns the value of a field as text, given its Size canonical bytes.
// Two values have the same text only if they have the same bytes.
func (f Field) Format(b []byte) string {
	if len(b) != f.Size {
		return fmt.Sprintf("%d bytes for %s of %d", len(b), f.Kind, f.Size)
	}
	switch f.Kind {
	case reflect.Bool:
		return strconv.FormatBool(b[0] != 0)
	case reflect.Float32, reflect.Float64:
		return formatFloat(b)
	case reflect.Complex64, reflect.Complex128:
		half := len(b) / 2
		return "(" + formatFloat(b[:half]) + ", " + formatFloat(b[half:]) + ")"
	default:
		return formatInteger(f.Kind, b)
	}
}

func formatInteger(k reflect.Kind, b []byte) string {
	var wide [8]byte
	copy(wide[:], b)
	bits := binary.LittleEndian.Uint64(wide[:])
	if k >= reflect.Uint && k <= reflect.Uint64 {
		return strconv.FormatUint(bits, 10)
	}
	unused := 64 - 8*len(b)
	return strconv.FormatInt(int64(bits<<unused)>>unused, 10)
}

func formatFloat(b []byte) string {
	if len(b) == 4 {
		return strconv.FormatFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 'g', -1, 32)
	}
	return strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)), 'g', -1, 64)
}

// fields lists the leaves of the tree, arrays as ranges.
func (p *plan) fields() []Field {
	var all []Field
	var list func(n *node, path string, offset, count int)
	list = func(n *node, path string, offset, count int) {
		switch {
		case n.size == 0:
		case n.kind == reflect.Struct:
			for i := range n.kids {
				k := &n.kids[i]
				list(k, join(path, k.name), offset+k.at, count)
			}
		case n.kind == reflect.Array:
			list(&n.kids[0], path+"[0:"+strconv.Itoa(n.count)+"]", offset, count*n.count)
		default:
			all = append(all, Field{Path: path, Kind: n.kind, Offset: offset, Size: n.size, Count: count})
		}
	}
	list(&p.root, "", 0, 1)
	return all
}

// at finds the leaf that holds the byte at offset, which is within the plan.
func (p *plan) at(offset int) Field {
	n, path, rest := &p.root, "", offset
	for {
		switch n.kind {
		case reflect.Struct:
			for i := range n.kids {
				if k := &n.kids[i]; rest < k.at+k.size {
					n, path, rest = k, join(path, k.name), rest-k.at
					break
				}
			}
		case reflect.Array:
			n = &n.kids[0]
			path += "[" + strconv.Itoa(rest/n.size) + "]"
			rest %= n.size
		default:
			return Field{Path: path, Kind: n.kind, Offset: offset - rest, Size: n.size, Count: 1}
		}
	}
}

// hashOf hashes what two builds must have in common before their canonical
// bytes mean the same.
func hashOf(fields []Field) uint64 {
	h := fnv.New64a()
	for _, f := range fields {
		_, _ = io.WriteString(h, f.Path+" "+f.Kind.String()+"\n")
	}
	return h.Sum64()
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// under puts the name of the type before a path inside it.
func under(root, path string) string {
	if path == "" || path[0] == '[' {
		return root + path
	}
	return root + "." + path
}
