package detlint

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// node is what can be reached: a function or method, a literal, or the initialiser of a package variable.
type node struct {
	name   string
	fn     *types.Func  // nil for the others
	lit    *ast.FuncLit // nil for the others
	init   *types.Var   // nil for the others
	outer  *node        // of a literal: the function it is written in; may be nil
	body   ast.Node     // a block, or an initialiser's expression
	doc    *ast.CommentGroup
	params []*types.Var // a method's receiver is the first
	sig    *types.Signature

	found []finding
	edges []edge
	effects
	products

	// through is for each code how the nearest finding is reached from here.
	through map[Code]*step
	tests   bool // in a _test.go file
}

// finding is something unfit in one body.
type finding struct {
	code  Code
	pos   token.Pos
	end   token.Pos
	what  string
	fixes []analysis.SuggestedFix
	// elsewhere: what is to be mended is in another package, and is told once.
	elsewhere bool
}

// edge leads from a body to what it may run: a node of this package, or an object of another one.
type edge struct {
	pos     token.Pos
	to      *node
	fact    types.Object
	ignored []Code
}

// step is one step on the way to a finding: the finding itself, or what the next node or fact says.
type step struct {
	finding *finding
	edge    *edge
	trace   *trace // of a fact
	length  int
}

// collect makes the nodes.
func (l *lint) collect() {
	for _, file := range l.Files {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				fn, _ := l.TypesInfo.Defs[d.Name].(*types.Func)
				if fn == nil {
					continue
				}
				n := &node{name: shownName(fn), fn: fn, doc: d.Doc, sig: fn.Signature()}
				if d.Body != nil {
					n.body = d.Body
				}
				l.add(n, d.Pos())
				l.funcs[fn] = n
				l.literals(n, n.body)
			case *ast.GenDecl:
				l.collectVars(d)
			}
		}
	}
}

// collectVars makes the nodes of package variables.
func (l *lint) collectVars(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		vs, ok := spec.(*ast.ValueSpec)
		if !ok || d.Tok != token.VAR {
			continue
		}
		for i, name := range vs.Names {
			v, _ := l.TypesInfo.Defs[name].(*types.Var)
			if v == nil || len(vs.Values) == 0 {
				continue
			}
			value := vs.Values[min(i, len(vs.Values)-1)]
			n := &node{name: name.Name, init: v, body: value}
			l.add(n, name.Pos())
			l.vars[v] = n
			l.literals(n, value)
		}
	}
}

// literals makes the nodes of the function literals in a body.
func (l *lint) literals(outer *node, body ast.Node) {
	if body == nil {
		return
	}
	ast.Inspect(body, func(at ast.Node) bool {
		lit, ok := at.(*ast.FuncLit)
		if !ok || l.lits[lit] != nil {
			return true
		}
		sig, _ := l.TypesInfo.TypeOf(lit).(*types.Signature)
		n := &node{name: "a function in " + outer.name, lit: lit, outer: outer, body: lit.Body, sig: sig}
		l.add(n, lit.Pos())
		l.lits[lit] = n
		return true
	})
}

func (l *lint) add(n *node, pos token.Pos) {
	n.tests = l.inTest(pos)
	if n.sig != nil {
		if r := n.sig.Recv(); r != nil {
			n.params = append(n.params, r)
		}
		for v := range n.sig.Params().Variables() {
			n.params = append(n.params, v)
		}
		for _, v := range n.params {
			l.within[v] = n
		}
	}
	l.nodes = append(l.nodes, n)
}

// shownName is a function's name as one reads it: move, State.move.
func shownName(fn *types.Func) string {
	if recv := fn.Signature().Recv(); recv != nil {
		if n := namedOf(recv.Type()); n != nil {
			return n.Obj().Name() + "." + fn.Name()
		}
	}
	return fn.Name()
}

// inspect walks what belongs to a node, leaving out the literals in it, which have nodes of their own.
// stack has the ancestors, the innermost last.
func inspect(n *node, visit func(at ast.Node, stack []ast.Node)) {
	if n.body == nil {
		return
	}
	var stack []ast.Node
	ast.Inspect(n.body, func(at ast.Node) bool {
		if at == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		visit(at, stack)
		if lit, ok := at.(*ast.FuncLit); ok && lit != n.lit && ast.Node(lit.Body) != n.body {
			return false
		}
		stack = append(stack, at)
		return true
	})
}

// flow finds which functions are put into which variables and fields.
func (l *lint) flow() {
	for _, file := range l.Files {
		ast.Inspect(file, func(at ast.Node) bool {
			switch s := at.(type) {
			case *ast.AssignStmt:
				for i, lhs := range s.Lhs {
					if len(s.Lhs) == len(s.Rhs) {
						l.hold(lhs, s.Rhs[i])
					}
				}
			case *ast.ValueSpec:
				for i, name := range s.Names {
					if len(s.Values) == len(s.Names) {
						l.hold(name, s.Values[i])
					}
				}
			case *ast.CompositeLit:
				l.holdFields(s)
			}
			return true
		})
	}
}

func (l *lint) hold(lhs, rhs ast.Expr) {
	if !isFunc(l.TypesInfo.TypeOf(rhs)) {
		return
	}
	switch e := ast.Unparen(lhs).(type) {
	case *ast.Ident:
		if v, ok := l.TypesInfo.ObjectOf(e).(*types.Var); ok {
			l.held[v] = append(l.held[v], rhs)
		}
	case *ast.SelectorExpr:
		if v, ok := l.TypesInfo.Uses[e.Sel].(*types.Var); ok {
			l.held[v.Origin()] = append(l.held[v.Origin()], rhs)
		}
	}
}

func (l *lint) holdFields(lit *ast.CompositeLit) {
	st, ok := core(l.TypesInfo.TypeOf(lit)).(*types.Struct)
	if !ok {
		return
	}
	for i, elt := range lit.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				if v, ok := l.TypesInfo.Uses[key].(*types.Var); ok && isFunc(l.TypesInfo.TypeOf(kv.Value)) {
					l.held[v.Origin()] = append(l.held[v.Origin()], kv.Value)
				}
			}
		} else if i < st.NumFields() && isFunc(l.TypesInfo.TypeOf(elt)) {
			v := st.Field(i).Origin()
			l.held[v] = append(l.held[v], elt)
		}
	}
}

// target is the edge to what an expression of function type stands for, if that can be seen.
func (l *lint) target(e ast.Expr, pos token.Pos) (edge, bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		return edge{pos: pos, to: l.lits[e]}, l.lits[e] != nil
	case *ast.Ident:
		if fn, ok := l.TypesInfo.Uses[e].(*types.Func); ok {
			return l.toFunc(fn, pos)
		}
	case *ast.SelectorExpr:
		if fn, ok := l.TypesInfo.Uses[e.Sel].(*types.Func); ok {
			return l.toFunc(fn, pos)
		}
	case *ast.IndexExpr:
		return l.target(e.X, pos)
	case *ast.IndexListExpr:
		return l.target(e.X, pos)
	}
	return edge{}, false
}

// toFunc is the edge to a function that is no interface's method and not of the standard library.
func (l *lint) toFunc(fn *types.Func, pos token.Pos) (edge, bool) {
	fn = fn.Origin()
	if n := l.funcs[fn]; n != nil {
		return edge{pos: pos, to: n}, true
	}
	if fn.Pkg() == nil || isStd(fn.Pkg().Path()) || isInterfaceMethod(fn) {
		return edge{}, false
	}
	return edge{pos: pos, fact: fn}, true
}

func isInterfaceMethod(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	if recv == nil {
		return false
	}
	if _, ok := types.Unalias(recv.Type()).(*types.TypeParam); ok {
		return true
	}
	return types.IsInterface(recv.Type())
}

// implementers are edges to the methods that a call of an interface's method may run: those of the types
// of this package, and of the packages that it imports, the standard library's aside.
func (l *lint) implementers(fn *types.Func, pos token.Pos) (to []edge) {
	recv := fn.Signature().Recv()
	iface, ok := recv.Type().Underlying().(*types.Interface)
	if !ok || fn.Pkg() == nil || isStd(fn.Pkg().Path()) {
		return nil
	}
	packages := append([]*types.Package{l.Pkg}, l.Pkg.Imports()...)
	for _, p := range packages {
		if isStd(p.Path()) {
			continue
		}
		for _, name := range p.Scope().Names() {
			obj, ok := p.Scope().Lookup(name).(*types.TypeName)
			if !ok || obj.IsAlias() || types.IsInterface(obj.Type()) || l.inTest(obj.Pos()) {
				continue
			}
			if n, ok := obj.Type().(*types.Named); ok && n.TypeParams().Len() > 0 {
				continue
			}
			to = append(to, l.methodOf(obj.Type(), iface, fn.Name(), pos)...)
		}
	}
	return to
}

// methodOf is the edge to a type's method of that name, if the type or a pointer to it implements iface.
func (l *lint) methodOf(t types.Type, iface *types.Interface, name string, pos token.Pos) []edge {
	if _, ok := types.Unalias(t).(*types.Pointer); !ok {
		t = types.NewPointer(t)
	}
	if !types.Implements(t, iface) {
		return nil
	}
	obj, _, _ := types.LookupFieldOrMethod(t, false, l.Pkg, name)
	fn, ok := obj.(*types.Func)
	if !ok {
		return nil
	}
	if e, ok := l.toFunc(fn, pos); ok {
		return []edge{e}
	}
	return nil
}

// passed are edges to the methods of a value that becomes an interface: whoever has it may call them.
func (l *lint) passed(e ast.Expr, to types.Type) (edges []edge) {
	from := l.TypesInfo.TypeOf(e)
	if from == nil || to == nil || types.IsInterface(from) || !types.IsInterface(to) {
		return nil
	}
	if _, ok := types.Unalias(from).(*types.TypeParam); ok || namedOf(from) == nil {
		return nil
	}
	iface, ok := to.Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	for m := range iface.Methods() {
		edges = append(edges, l.methodOf(from, iface, m.Name(), e.Pos())...)
	}
	return edges
}

// callee is the function that a call names, of whatever package; nil if it calls a value.
func (l *lint) callee(call *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(l.TypesInfo, call).(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

// sum is what is known of a function: of a node, or from its fact. It is nil if nothing is.
func (l *lint) sum(fn *types.Func) (*node, *summary) {
	if n := l.funcs[fn]; n != nil {
		return n, nil
	}
	var s summary
	if fn.Pkg() != nil && !isStd(fn.Pkg().Path()) && l.ImportObjectFact(fn, &s) {
		return nil, &s
	}
	return nil, nil
}

func isFunc(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

// core is a type's underlying type, through a pointer.
func core(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	t = t.Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	return t
}

// addEdge keeps edges apart.
func (n *node) addEdge(edges ...edge) {
	for _, e := range edges {
		if !slices.ContainsFunc(n.edges, func(o edge) bool { return o.to == e.to && o.fact == e.fact && o.pos == e.pos }) {
			n.edges = append(n.edges, e)
		}
	}
}
