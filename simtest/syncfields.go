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
		if a.Pointer() == b.Pointer() {
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

// fieldBetween returns the first field in which two worlds differ, unexported ones and
// what is behind pointers and slices included, in the order of the type.
func fieldBetween[S any](a, b *S) (fingerprint.Difference, bool) {
	return unequal(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), "", 0)
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
