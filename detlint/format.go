package detlint

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"
)

// lookFormat judges what package fmt is given: addresses differ from process to process.
func (l *lint) lookFormat(n *node, call *ast.CallExpr, fn *types.Func) {
	name := fn.Name()
	args := call.Args
	skip := 0
	if strings.HasPrefix(name, "F") || strings.HasPrefix(name, "Append") {
		skip = 1
	}
	formatted := strings.HasSuffix(name, "f")
	if strings.Contains(name, "scan") || strings.Contains(name, "Scan") || len(args) <= skip {
		return
	}
	args = args[skip:]
	verbs := ""
	if formatted {
		verbs = l.verbs(args[0])
		args = args[1:]
	}
	for i, arg := range args {
		verb := byte('v')
		if formatted && i < len(verbs) {
			verb = verbs[i]
		}
		t := l.TypesInfo.TypeOf(arg)
		switch {
		case t == nil || verb == 'T':
		case verb == 'p':
			n.find(Format, arg, "%p shows an address, which differs from process to process")
		case addressed(t, true, nil):
			n.find(Format, arg, "fmt."+name+" shows an address in "+l.typeName(t)+", which differs from process to process")
		}
	}
}

// verbs has a format's verb for each argument, in order; "" where it cannot be told.
func (l *lint) verbs(format ast.Expr) string {
	v := l.TypesInfo.Types[format].Value
	if v == nil || v.Kind() != constant.String {
		return ""
	}
	s, verbs := constant.StringVal(v), ""
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		for i++; i < len(s) && strings.IndexByte("+-# 0123456789.", s[i]) >= 0; i++ {
		}
		switch {
		case i >= len(s) || s[i] == '%':
		case s[i] == '*' || s[i] == '[':
			return ""
		default:
			verbs += string(s[i])
		}
	}
	return verbs
}

// addressed says whether package fmt shows an address in a value of a type. Maps are shown in the order of their
// keys, which is one only where these hold no pointers.
func addressed(t types.Type, top bool, seen []types.Type) bool {
	for _, s := range seen {
		if types.Identical(s, t) {
			return false
		}
	}
	seen = append(seen, t)
	for _, name := range []string{"String", "Error", "Format", "GoString"} {
		if obj, _, _ := types.LookupFieldOrMethod(t, false, nil, name); obj != nil {
			if _, ok := obj.(*types.Func); ok {
				return false
			}
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Pointer:
		switch u.Elem().Underlying().(type) {
		case *types.Struct, *types.Array, *types.Slice, *types.Map:
			return !top || addressed(u.Elem(), false, seen)
		}
		return true
	case *types.Chan, *types.Signature:
		return true
	case *types.Slice:
		return addressed(u.Elem(), false, seen)
	case *types.Array:
		return addressed(u.Elem(), false, seen)
	case *types.Map:
		return types.IsInterface(u.Key()) || isPointer(u.Key()) || addressed(u.Key(), false, seen) || addressed(u.Elem(), false, seen)
	case *types.Struct:
		for f := range u.Fields() {
			if addressed(f.Type(), false, seen) {
				return true
			}
		}
	}
	return false
}
