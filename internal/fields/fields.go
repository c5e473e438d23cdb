// Package fields names a field in which two values of a Go type differ, whatever the
// type: what is behind pointers, slices, maps and interfaces and what is not exported is
// looked at as well.
//
// It is for the sentence about a difference that has been found already, by bytes or sums: it
// reflects, allocates, and stops at a bounded depth, so that what it does not find may still
// differ. Comparing states is package fingerprint's.
package fields

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/driftback/driftback/fingerprint"
)

// MaxDepth is how far into a value the search goes.
const MaxDepth = 8

// Between returns the first field in which two values differ, in the order of the type; the
// entries of a map are in the order of their keys' text. ok is false if none is found.
func Between[S any](a, b *S) (d fingerprint.Difference, ok bool) {
	return unequal(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), "", 0)
}

// Join returns the path of a field under path.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// OrState returns the path, or what stands for an empty one: that of the value itself.
func OrState(path string) string {
	if path == "" {
		return "(state)"
	}
	return path
}

func differ(path, what string, a, b any) (fingerprint.Difference, bool) {
	return fingerprint.Difference{Path: OrState(path) + what, A: fmt.Sprint(a), B: fmt.Sprint(b)}, true
}

func unequal(a, b reflect.Value, path string, depth int) (d fingerprint.Difference, ok bool) {
	if depth > MaxDepth {
		return d, false
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if d, ok = unequal(a.Field(i), b.Field(i), Join(path, a.Type().Field(i).Name), depth+1); ok {
				return d, ok
			}
		}
	case reflect.Array, reflect.Slice:
		if a.Len() != b.Len() {
			return differ(path, " (its length)", a.Len(), b.Len())
		}
		for i := range a.Len() {
			if d, ok = unequal(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1); ok {
				return d, ok
			}
		}
	case reflect.Map:
		return unequalMaps(a, b, path, depth)
	case reflect.Pointer, reflect.Interface:
		switch {
		case a.IsNil() != b.IsNil():
			return differ(path, " (whether it is nil)", a.IsNil(), b.IsNil())
		case a.IsNil():
		case a.Elem().Type() != b.Elem().Type():
			return differ(path, " (its type)", a.Elem().Type(), b.Elem().Type())
		default:
			return unequal(a.Elem(), b.Elem(), path, depth+1)
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	default:
		// As text, because a NaN is what it was.
		if fmt.Sprint(a) != fmt.Sprint(b) {
			return differ(path, "", a, b)
		}
	}
	return d, false
}

func unequalMaps(a, b reflect.Value, path string, depth int) (d fingerprint.Difference, ok bool) {
	if !plain(a.Type().Key()) {
		// The same key has another address in a copy.
		if a.Len() != b.Len() {
			return differ(path, " (its length)", a.Len(), b.Len())
		}
		return d, false
	}
	keys := slices.Concat(a.MapKeys(), b.MapKeys())
	slices.SortStableFunc(keys, func(x, y reflect.Value) int { return cmp.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
	for _, key := range keys {
		x, y := a.MapIndex(key), b.MapIndex(key)
		at := fmt.Sprintf("%s[%v]", path, key)
		if x.IsValid() != y.IsValid() {
			return differ(at, " (whether it is there)", x.IsValid(), y.IsValid())
		}
		if !x.IsValid() {
			continue // a NaN, which no key finds
		}
		if d, ok = unequal(x, y, at, depth+1); ok {
			return d, ok
		}
	}
	return d, false
}

// plain reports whether a key is the same in two copies of one map.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Chan, reflect.UnsafePointer:
		return false
	case reflect.Array:
		return plain(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !plain(t.Field(i).Type) {
				return false
			}
		}
	default: // its value is all of it
	}
	return true
}
