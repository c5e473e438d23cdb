package layout

import (
	"reflect"
	"unsafe"
)

// unsafeBytes returns the size bytes that a pointer points to.
func unsafeBytes(p reflect.Value, size int) []byte {
	return unsafe.Slice((*byte)(p.UnsafePointer()), size)
}
