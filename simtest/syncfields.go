package simtest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/internal/fields"
)

// How far into a state the search for memory in common goes, and how much of it is named: it
// only makes a finding plainer.
const (
	maxNamedDepth = fields.MaxDepth
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
			*paths = append(*paths, fields.OrState(path))
			return
		}
		if a.Kind() == reflect.Pointer {
			common(a.Elem(), b.Elem(), path, depth+1, paths)
		}
	case reflect.Struct:
		for i := range a.NumField() {
			common(a.Field(i), b.Field(i), fields.Join(path, a.Type().Field(i).Name), depth+1, paths)
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
	f, ok := fields.Between(a, b)
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
