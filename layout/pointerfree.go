package layout

import "reflect"

// PointerFree says whether plain assignment copies a T wholly, so that nothing
// is shared between it and its copy. If not, path names the first field at
// fault, from the name of the type on. A string counts as copied, for nobody can
// change its bytes, and so does a uintptr. Blank fields are not looked at.
func PointerFree[T any]() (path string, ok bool) {
	t := reflect.TypeFor[T]()
	path = sharedPath(t, rootName(t), 0, map[reflect.Type]bool{})
	return path, path == ""
}

// sharedPath returns the path of the first field that a copy would share. clean
// holds the types found to have none, so that each is walked once.
func sharedPath(t reflect.Type, path string, depth int, clean map[reflect.Type]bool) string {
	if t.Size() == 0 || clean[t] {
		return ""
	}
	if depth > MaxDepth {
		return path
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.UnsafePointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Chan, reflect.Func:
		return path
	case reflect.Array:
		if at := sharedPath(t.Elem(), path+"[0]", depth+1, clean); at != "" {
			return at
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" {
				continue
			}
			if at := sharedPath(f.Type, under(path, f.Name), depth+1, clean); at != "" {
				return at
			}
		}
	default: // a number, a bool, a string
	}
	clean[t] = true
	return ""
}

// Embedded returns the path of a field that S embeds and that has the methods of
// the interface M, if there is one. S then has them too by promotion, and an
// encoding that comes about that way holds the one field and lacks the others
// without a word.
func Embedded[S, M any]() (path string, ok bool) {
	t, methods := reflect.TypeFor[S](), reflect.TypeFor[M]()
	if t.Kind() != reflect.Struct {
		return "", false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && (f.Type.Implements(methods) || reflect.PointerTo(f.Type).Implements(methods)) {
			return under(rootName(t), f.Name), true
		}
	}
	return "", false
}
