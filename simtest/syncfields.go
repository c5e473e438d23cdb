package simtest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/driftback/driftback/fingerprint"
)

// How far into a state the search for a field's name goes: it only makes a finding
// plainer.
const (
	maxNamedDepth = 8
	maxNamed      = 3
)

// inCommon names, for the end of a sentence, what memory two worlds have in common.
func inCommon[S any](a, b *S) string {
	var paths []string
	common(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), "", 0, &paths)
	if len(paths) == 0 {
		return ""
	}
	return "; both have the same memory in " + strings.Join(paths, ", ")
}

func common(a, b reflect.Value, path string, depth int, paths *[]string) {
	if depth > maxNamedDepth || len(*paths) == maxNamed {
		return
	}
	switch a.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return
		}
		if a.Pointer() == b.Pointer() && (a.Kind() != reflect.Slice || a.Cap() > 0) || overlap(a, b) {
			*paths = append(*paths, orState(path))
			return
		}
		if a.Kind() == reflect.Pointer {
			common(a.Elem(), b.Elem(), path, depth+1, paths)
		}
	case reflect.Struct:
		for i := range a.NumField() {
			common(a.Field(i), b.Field(i), field(path, a.Type().Field(i).Name), depth+1, paths)
		}
		return
	default:
	}
	if a.Kind() == reflect.Array || a.Kind() == reflect.Slice {
		for i := range min(a.Len(), b.Len()) {
			common(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1, paths)
		}
	}
}

// overlap reports whether two slices have memory in common, though they may begin elsewhere.
func overlap(a, b reflect.Value) bool {
	if a.Kind() != reflect.Slice {
		return false
	}
	size := a.Type().Elem().Size()
	return a.Pointer() < b.Pointer()+uintptr(b.Cap())*size && b.Pointer() < a.Pointer()+uintptr(a.Cap())*size
}

// fieldBetween returns the first field in which two worlds differ, unexported ones and
// what is behind pointers and slices included, in the order of the type.
func fieldBetween[S any](a, b *S) (fingerprint.Difference, bool) {
	return unequal(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), "", 0)
}

// isByte reports whether a difference is one between bytes that a state has made itself.
func isByte(d fingerprint.Difference) bool { return strings.HasPrefix(d.Path, "byte ") }

// firstThat begins a sentence about a difference.
func firstThat(d fingerprint.Difference) string {
	if isByte(d) {
		return "the first byte of AppendBinary that differs is " + d.Path
	}
	return "the first field that differs is " + d.Path
}

// fieldBeside returns what Violation.Field says of two worlds whose difference is d.
func fieldBeside[S any](d fingerprint.Difference, a, b *S) string {
	f, ok := fieldBetween(a, b)
	if !isByte(d) || !ok {
		return ""
	}
	return fmt.Sprintf("%s, %s and %s", f.Path, f.A, f.B)
}

func andField(field string) string {
	if field == "" {
		return ""
	}
	return "; the first field is " + field
}

func unequal(a, b reflect.Value, path string, depth int) (d fingerprint.Difference, ok bool) {
	differ := func(what string, x, y any) (fingerprint.Difference, bool) {
		return fingerprint.Difference{Path: orState(path) + what, A: fmt.Sprint(x), B: fmt.Sprint(y)}, true
	}
	if depth > maxNamedDepth {
		return d, false
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if d, ok = unequal(a.Field(i), b.Field(i), field(path, a.Type().Field(i).Name), depth+1); ok {
				return d, ok
			}
		}
	case reflect.Array, reflect.Slice:
		if a.Len() != b.Len() {
			return differ(" (its length)", a.Len(), b.Len())
		}
		for i := range a.Len() {
			if d, ok = unequal(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1); ok {
				return d, ok
			}
		}
	case reflect.Map:
		if a.Len() != b.Len() {
			return differ(" (its length)", a.Len(), b.Len())
		}
	case reflect.Pointer, reflect.Interface:
		switch {
		case a.IsNil() != b.IsNil():
			return differ(" (whether it is nil)", a.IsNil(), b.IsNil())
		case !a.IsNil() && a.Elem().Type() == b.Elem().Type():
			return unequal(a.Elem(), b.Elem(), path, depth+1)
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	default:
		// As text, because a NaN is what it was.
		if fmt.Sprint(a) != fmt.Sprint(b) {
			return differ("", a, b)
		}
	}
	return d, false
}

func field(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func orState(path string) string {
	if path == "" {
		return "(state)"
	}
	return path
}
