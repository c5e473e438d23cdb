package detlint

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/types/typeutil"
)

// sizes are those of the machines that padding is looked for on.
var sizes = []types.Sizes{types.SizesFor("gc", "amd64"), types.SizesFor("gc", "386")}

// maxFields bounds how many fields of one state are reported.
const maxFields = 100

// walk goes through the fields of a state.
type walk struct {
	*lint
	root    *node
	own     bool // the state copies and hashes itself
	found   int
	visited typeutil.Map
}

// reportState reports what in a state differs between machines.
func (l *lint) reportState(root *node, state types.Type, at token.Pos) {
	n := namedOf(state)
	if n == nil || l.inTest(at) && !withTests {
		return
	}
	w := &walk{lint: l, root: root, own: hasMethod(n, "AppendBinary") && (hasMethod(n, "CopyTo") || hasMethod(n, "UnmarshalBinary"))}
	if n.Obj().Pkg() == l.Pkg {
		at = n.Obj().Pos()
	}
	w.fields(n, n.Obj().Name(), at)
}

func hasMethod(n *types.Named, name string) bool {
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(n), false, n.Obj().Pkg(), name)
	_, ok := obj.(*types.Func)
	return ok
}

// fields walks a type. at is where its field is declared, in this package.
func (w *walk) fields(t types.Type, path string, at token.Pos) {
	if w.found >= maxFields {
		return
	}
	if _, named := types.Unalias(t).(*types.Named); named && !isBasic(t) {
		if w.visited.At(t) != nil {
			return
		}
		w.visited.Set(t, true)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch u.Kind() {
		case types.Int, types.Uint:
			w.tell(IntSize, at, fmt.Sprintf("%s is of type %s, which has 32 bits on some machines and 64 on others", path, t))
		case types.Uintptr, types.UnsafePointer:
			w.tell(IntSize, at, fmt.Sprintf("%s is of type %s, which is an address", path, t))
		case types.String:
			if !w.own {
				w.tell(Pointer, at, path+" is a string, which leads out of the state")
			}
		default:
		}
	case *types.Array:
		w.fields(u.Elem(), path+"[]", at)
	case *types.Struct:
		for f := range u.Fields() {
			here := at
			if f.Pkg() == w.Pkg {
				here = f.Pos()
			}
			if f.Name() != "_" {
				w.fields(f.Type(), path+"."+f.Name(), here)
			}
		}
	case *types.Chan, *types.Signature:
		w.tell(Pointer, at, path+" is a "+kindOf(u)+", which can be neither copied nor hashed")
	case *types.Interface:
		if !w.own {
			w.tell(Pointer, at, path+" is an interface, which leads out of the state")
		}
	case *types.Pointer:
		w.leads(u.Elem(), path, at, "pointer")
	case *types.Slice:
		w.leads(u.Elem(), path+"[]", at, "slice")
	case *types.Map:
		w.leads(u.Elem(), path+"[]", at, "map")
		w.fields(u.Key(), path+"'s keys", at)
	}
}

// leads goes on behind something that leads out of the state.
func (w *walk) leads(elem types.Type, path string, at token.Pos, kind string) {
	if !w.own {
		w.tell(Pointer, at, path+" is reached through a "+kind+", which leads out of the state")
		return
	}
	w.fields(elem, path, at)
}

func (w *walk) tell(code Code, at token.Pos, what string) {
	w.found++
	w.reportFinding(finding{code: code, pos: at, end: at, what: what}, "in the state of "+w.root.name)
}

func kindOf(t types.Type) string {
	if _, ok := t.(*types.Chan); ok {
		return "channel"
	}
	return "function"
}

// lookRaw finds structs with gaps whose memory is read as bytes.
func (l *lint) lookRaw(n *node, call *ast.CallExpr) {
	to, ok := underlying(l.TypesInfo.TypeOf(call.Fun)).(*types.Pointer)
	if !ok || !l.TypesInfo.Types[call.Fun].IsType() || len(call.Args) != 1 {
		return
	}
	elem := to.Elem().Underlying()
	if a, ok := elem.(*types.Array); ok {
		elem = a.Elem().Underlying()
	}
	if b, ok := elem.(*types.Basic); !ok || b.Kind() != types.Uint8 {
		return
	}
	inner, ok := ast.Unparen(call.Args[0]).(*ast.CallExpr)
	if !ok || len(inner.Args) != 1 {
		return
	}
	p, ok := underlying(l.TypesInfo.TypeOf(inner.Args[0])).(*types.Pointer)
	if !ok {
		return
	}
	if path := gap(p.Elem(), "", nil); path != "" {
		n.find(Padding, call, fmt.Sprintf("the bytes of %s have a gap after %s that may hold anything", l.typeName(p.Elem()), path))
	}
}

// gap is the field after which a type has padding on some machine; "" if it has none.
func gap(t types.Type, path string, seen []types.Type) string {
	if slices.Contains(seen, t) {
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return gap(u.Elem(), path+"[]", append(seen, t))
	case *types.Struct:
		var fields []*types.Var
		for f := range u.Fields() {
			fields = append(fields, f)
		}
		for _, s := range sizes {
			offsets := append(s.Offsetsof(fields), s.Sizeof(u))
			for i, f := range fields {
				if offsets[i]+s.Sizeof(f.Type()) < offsets[i+1] {
					return join(path, f.Name())
				}
			}
		}
		for _, f := range fields {
			if p := gap(f.Type(), join(path, f.Name()), append(seen, t)); p != "" {
				return p
			}
		}
	}
	return ""
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// lookKept finds in a step what keeps what it is lent, its inputs and its pass, in the state, and in CopyTo what
// the copy would share with the state.
func (l *lint) lookKept(n *node, lent []*types.Var) {
	inspect(n, func(at ast.Node, _ []ast.Node) {
		s, ok := at.(*ast.AssignStmt)
		if !ok || s.Tok != token.ASSIGN || len(s.Lhs) != len(s.Rhs) {
			return
		}
		for i, rhs := range s.Rhs {
			v, _ := l.base(rhs).(*types.Var)
			_, plain := ast.Unparen(s.Lhs[i]).(*ast.Ident)
			if v == nil || plain || !slices.Contains(lent, v) || !refers(l.TypesInfo.TypeOf(rhs)) {
				continue
			}
			n.find(Alias, s, "keeps "+types.ExprString(rhs)+", which is lent for the tick alone")
		}
	})
}

// lookCopy judges a method CopyTo.
func (l *lint) lookCopy(n *node) {
	if len(n.params) != 2 {
		return
	}
	from, to := n.params[0], n.params[1]
	inspect(n, func(at ast.Node, _ []ast.Node) {
		s, ok := at.(*ast.AssignStmt)
		if !ok || s.Tok != token.ASSIGN || len(s.Lhs) != len(s.Rhs) {
			return
		}
		for i, lhs := range s.Lhs {
			rhs := s.Rhs[i]
			if sl, ok := ast.Unparen(rhs).(*ast.SliceExpr); ok {
				rhs = sl.X
			}
			t := l.TypesInfo.TypeOf(lhs)
			if l.base(lhs) != to || l.base(rhs) != from || t == nil || !shares(t) {
				continue
			}
			if star, ok := ast.Unparen(lhs).(*ast.StarExpr); ok {
				if f := l.uncopied(n, star, s, to); f != "" {
					n.find(Alias, s, "the copy shares "+f+" with the state, which goes on changing it")
				}
				continue
			}
			n.find(Alias, s, "the copy shares "+types.ExprString(lhs)+" with the state, which goes on changing it")
		}
	})
}

// uncopied is a field that *to = *s leaves shared and nothing later sets.
func (l *lint) uncopied(n *node, star *ast.StarExpr, s *ast.AssignStmt, to *types.Var) string {
	st, ok := underlying(l.TypesInfo.TypeOf(star)).(*types.Struct)
	if !ok {
		return ""
	}
	set := map[string]bool{}
	inspect(n, func(at ast.Node, _ []ast.Node) {
		a, ok := at.(*ast.AssignStmt)
		if !ok || a.Pos() <= s.Pos() {
			return
		}
		for _, lhs := range a.Lhs {
			for e := ast.Unparen(lhs); ; {
				if sel, ok := e.(*ast.SelectorExpr); ok {
					if id, ok := ast.Unparen(sel.X).(*ast.Ident); ok && l.TypesInfo.Uses[id] == to {
						set[sel.Sel.Name] = true
						break
					}
					e = ast.Unparen(sel.X)
				} else if ix, ok := e.(*ast.IndexExpr); ok {
					e = ast.Unparen(ix.X)
				} else {
					break
				}
			}
		}
	})
	for f := range st.Fields() {
		if shares(f.Type()) && !set[f.Name()] {
			return f.Name()
		}
	}
	return ""
}

// shares says whether assignment leaves two values with memory that one may change under the other.
func shares(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map:
		return true
	case *types.Array:
		return shares(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if shares(f.Type()) {
				return true
			}
		}
	}
	return false
}
