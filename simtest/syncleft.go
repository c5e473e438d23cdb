package simtest

import (
	"bytes"
	"encoding"
	"reflect"
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/internal/fields"
)

// maxTried is how many values are tried on one search for what the bytes leave out.
const maxTried = 2000

// leftOuts searches what a state's AppendBinary leaves out though it changes in play. It puts
// single values of one world into another and looks whether that one's bytes change.
type leftOuts struct {
	bytes func() ([]byte, bool) // those of the world that is changed
	tried int
	paths []string        // in the order in which they were met, without indices
	in    map[string]bool // by path: the bytes have it somewhere
}

// leavesOut returns the exported fields of a state that change in play and never change its own bytes,
// as paths without indices.
func (r *rehearsal[S, I]) leavesOut() (fields []string) {
	if _, ok := any((*S)(nil)).(encoding.BinaryAppender); !ok {
		return nil
	}
	end := driftback.Tick(len(r.inputs))
	world := r.world(end, r.fresh)
	l := &leftOuts{in: map[string]bool{}}
	l.bytes = func() (b []byte, ok bool) {
		// With one value out of place a state may be what its method never meets.
		defer func() { _ = recover() }()
		b, err := any(world).(encoding.BinaryAppender).AppendBinary(nil)
		return b, err == nil
	}
	for _, earlier := range []driftback.Tick{end / 2, end / 3, end - 1} {
		l.search(reflect.ValueOf(world).Elem(), reflect.ValueOf(r.world(earlier, r.fresh)).Elem(), "", 0)
	}
	for _, path := range l.paths {
		if !l.in[path] {
			fields = append(fields, path)
		}
	}
	return fields
}

func (l *leftOuts) search(a, b reflect.Value, path string, depth int) {
	if depth > maxNamedDepth {
		return
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			l.search(a.Field(i), b.Field(i), fields.Join(path, a.Type().Field(i).Name), depth+1)
		}
	case reflect.Array, reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			l.search(a.Index(i), b.Index(i), path+"[]", depth+1)
		}
	case reflect.Pointer:
		if !a.IsNil() && !b.IsNil() {
			l.search(a.Elem(), b.Elem(), path, depth+1)
		}
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		if !l.in[path] && l.tried < maxTried && a.CanSet() && b.CanSet() {
			l.try(a, b, fields.OrState(path))
		}
	default:
	}
}

// try puts b's value where a's is, and back.
func (l *leftOuts) try(a, b reflect.Value, path string) {
	if a.Equal(b) {
		return
	}
	l.tried++
	if !slices.Contains(l.paths, path) {
		l.paths = append(l.paths, path)
	}
	before, ok := l.bytes()
	had := reflect.New(a.Type()).Elem()
	had.Set(a)
	a.Set(b)
	after, still := l.bytes()
	a.Set(had)
	l.in[path] = l.in[path] || !ok || !still || !bytes.Equal(before, after)
}
