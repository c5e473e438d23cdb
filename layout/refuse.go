package layout

import (
	"fmt"
	"reflect"
)

// RefusedError says why a type has no layout.
type RefusedError struct {
	// Path is the field at fault, from the name of the type on:
	// "State.Fighters[0:2].Name".
	Path string
	// What says what it is and why that cannot be: "a string, which …".
	What string
	// Remedy says what to use in its place.
	Remedy string
}

// Error returns "layout: <Path> is <What>; <Remedy>".
func (e *RefusedError) Error() string { return "layout: " + e.Sentence() }

// Sentence is the error's text without the package's name before it, for an
// error of another package.
func (e *RefusedError) Sentence() string { return e.Path + " is " + e.What + "; " + e.Remedy }

// refusals says of every kind that has no canonical bytes why, and what to use.
var refusals = map[reflect.Kind][2]string{
	reflect.String:        {"a string, which keeps its bytes outside the value", "use a fixed array of bytes such as [16]byte"},
	reflect.Pointer:       {"a pointer, which means nothing in another process", "hold the value itself, or an index into an array"},
	reflect.Slice:         {"a slice, which keeps its elements outside the value", "use a fixed array and a count"},
	reflect.Map:           {"a map, which has no order", "use a fixed array in the order of the keys"},
	reflect.Interface:     {"an interface, whose type is only known at run time", "use a number for the kind and a field for each"},
	reflect.Chan:          {"a channel, which means nothing in another process", "keep it outside"},
	reflect.Func:          {"a function, which means nothing in another process", "use a number that stands for it"},
	reflect.Uintptr:       {"a uintptr, which is an address of one process", "use uint64"},
	reflect.UnsafePointer: {"an unsafe.Pointer, which means nothing in another process", "use an index into an array"},
}

func refuseKind(path string, k reflect.Kind) error {
	why, ok := refusals[k]
	if !ok {
		why = [2]string{"of kind " + k.String() + ", which has no canonical bytes", "use a number or a bool"}
	}
	return &RefusedError{Path: path, What: why[0], Remedy: why[1]}
}

func refuseDepth(path string) error {
	return &RefusedError{Path: path, What: fmt.Sprintf("nested deeper than %d structs and arrays", MaxDepth), Remedy: "flatten it"}
}

func refuseCount(path string) error {
	return &RefusedError{Path: path, What: fmt.Sprintf("beyond the %d fields that a type may have", MaxFields), Remedy: "use arrays"}
}

func refuseSize(path string) error {
	return &RefusedError{Path: path, What: fmt.Sprintf("larger than %d bytes", MaxSize), Remedy: "use a shorter array"}
}
