package detlint

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// find notes something unfit.
func (n *node) find(code Code, at ast.Node, what string, fixes ...analysis.SuggestedFix) {
	n.found = append(n.found, finding{code: code, pos: at.Pos(), end: at.End(), what: what, fixes: fixes})
}

// look finds in one body what is unfit, and what it may run.
func (l *lint) look(n *node) {
	if n.body == nil {
		if n.fn != nil {
			n.found = append(n.found, finding{code: Foreign, pos: n.fn.Pos(), end: n.fn.Pos(), what: n.name + " has no body in Go, so nothing is known of it"})
		}
		return
	}
	for _, c := range n.changes {
		if !isPackageVar(c.v) || l.inLiteral(n, c.pos) {
			continue
		}
		what := "changes the package variable " + c.v.Name()
		if c.by != "" {
			what = c.by + " " + what
		}
		n.found = append(n.found, finding{code: Outside, pos: c.pos, end: c.end, what: what + ", which no rewind takes back"})
	}
	inspect(n, func(at ast.Node, stack []ast.Node) {
		switch s := at.(type) {
		case *ast.RangeStmt:
			l.lookRange(n, s, stack)
		case *ast.SelectStmt:
			n.find(Select, s, "a select takes whichever is ready")
		case *ast.SendStmt:
			n.find(Channel, s, "a send waits for another goroutine")
		case *ast.UnaryExpr:
			if s.Op == token.ARROW {
				n.find(Channel, s, "what is received depends on another goroutine")
			}
		case *ast.GoStmt:
			n.find(Goroutine, s, "a goroutine runs in an order that differs from run to run")
		case *ast.Ident:
			l.lookIdent(n, s, stack)
		case *ast.FuncLit:
			if to := l.lits[s]; to != nil && to != n {
				n.addEdge(edge{pos: s.Pos(), to: to})
			}
		case *ast.CallExpr:
			l.lookCall(n, s)
		case *ast.BinaryExpr:
			if (s.Op == token.MUL || s.Op == token.QUO) && isComplex(l.TypesInfo.TypeOf(s)) && l.TypesInfo.Types[s].Value == nil {
				n.find(Fuse, s, "a complex product adds products inside, which may be fused and cannot be rounded")
			}
		case *ast.AssignStmt:
			if len(s.Lhs) == len(s.Rhs) {
				for i := range s.Lhs {
					n.addEdge(l.passed(s.Rhs[i], l.TypesInfo.TypeOf(s.Lhs[i]))...)
				}
			}
		case *ast.ReturnStmt:
			if n.sig != nil && n.sig.Results().Len() == len(s.Results) {
				for i, r := range s.Results {
					n.addEdge(l.passed(r, n.sig.Results().At(i).Type())...)
				}
			}
		}
	})
}

// inLiteral says whether a position is in a literal inside a node, which has the finding itself.
func (l *lint) inLiteral(n *node, pos token.Pos) bool {
	for lit, other := range l.lits {
		if other != n && lit.Body.Pos() <= pos && pos < lit.Body.End() && n.body.Pos() <= lit.Pos() && lit.End() <= n.body.End() {
			return true
		}
	}
	return false
}

func (l *lint) lookRange(n *node, s *ast.RangeStmt, _ []ast.Node) {
	t := l.TypesInfo.TypeOf(s.X)
	if t == nil {
		return
	}
	switch t.Underlying().(type) {
	case *types.Chan:
		n.find(Channel, s, "what is received depends on another goroutine")
	case *types.Map:
		if why := l.ordered(n, s); why != "" {
			n.find(MapRange, s, "the order of a map differs from run to run, and here "+why)
		}
	}
}

// lookIdent judges what a body mentions.
func (l *lint) lookIdent(n *node, id *ast.Ident, stack []ast.Node) {
	obj := l.TypesInfo.Uses[id]
	if obj == nil || obj.Pkg() == nil {
		if b, ok := obj.(*types.Builtin); ok && (b.Name() == "print" || b.Name() == "println") {
			n.find(Environment, id, b.Name()+" writes again each time that a tick is run again")
		}
		return
	}
	if obj.Pkg().Path() == "C" {
		n.find(Foreign, id, "C is not looked into")
		return
	}
	if isStd(obj.Pkg().Path()) {
		l.lookStd(n, id, obj, stack)
		return
	}
	switch o := obj.(type) {
	case *types.Func:
		if e, ok := l.toFunc(o, id.Pos()); ok {
			n.addEdge(e)
		}
	case *types.Var:
		if !isPackageVar(o) {
			return
		}
		writer := l.writers[o]
		if o.Pkg() == l.Pkg {
			if to := l.vars[o]; to != nil && to != n {
				n.addEdge(edge{pos: id.Pos(), to: to})
			}
		} else {
			n.addEdge(edge{pos: id.Pos(), fact: o})
			if s := l.factOf(o); writer == "" && s.Writer != "" {
				writer = o.Pkg().Name() + "." + s.Writer
			}
		}
		if writer != "" && !slices.ContainsFunc(n.changes, func(c change) bool { return c.v == o }) {
			n.found = append(n.found, finding{
				code: Outside, pos: id.Pos(), end: id.End(),
				what: "reads the package variable " + o.Name() + ", which " + writer + " changes and no rewind takes back",
			})
		}
	}
}

// lookStd judges what a body mentions of the standard library.
func (l *lint) lookStd(n *node, id *ast.Ident, obj types.Object, stack []ast.Node) {
	if obj.Pkg().Path() == "unsafe" {
		if _, ok := obj.(*types.Builtin); ok || obj.Name() == "Pointer" {
			n.find(Unsafe, id, "unsafe."+obj.Name()+" shows how a machine lays out memory")
		}
		return
	}
	if obj.Pkg().Path() == "maps" && slices.Contains([]string{"Keys", "Values", "All"}, obj.Name()) {
		if !l.sortedAt(n, stack) {
			n.find(MapRange, id, "maps."+obj.Name()+" goes through a map in an order that differs from run to run")
		}
		return
	}
	if code, what := judgeStd(obj); code != "" {
		n.find(code, id, what)
	}
}

// lookCall judges a call: conversions, formatting, raw memory, and whom it calls.
func (l *lint) lookCall(n *node, call *ast.CallExpr) {
	if l.TypesInfo.Types[call.Fun].IsType() {
		l.lookConversion(n, call)
		return
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if b, ok := l.TypesInfo.Uses[id].(*types.Builtin); ok {
			if len(call.Args) == 0 {
				return
			}
			if t := l.TypesInfo.TypeOf(call.Args[0]); t != nil && (b.Name() == "close" || b.Name() == "make" && isChan(t)) {
				n.find(Channel, call, "a channel is for other goroutines")
			}
			return
		}
	}
	l.lookRaw(n, call)
	fn := l.callee(call)
	if sig, ok := l.TypesInfo.TypeOf(call.Fun).(*types.Signature); ok {
		for i, arg := range call.Args {
			if p := parameter(sig, i); p != nil {
				n.addEdge(l.passed(arg, p)...)
			}
		}
	}
	switch {
	case fn == nil:
		l.lookValue(n, call)
	case isInterfaceMethod(fn):
		to := l.implementers(fn, call.Pos())
		n.addEdge(to...)
		if withDynamic && len(to) == 0 && (fn.Pkg() == nil || !isStd(fn.Pkg().Path())) {
			n.find(Dynamic, call, "what "+fn.Name()+" runs here could not be found")
		}
	case fn.Pkg() != nil && fn.Pkg().Path() == "fmt":
		l.lookFormat(n, call, fn)
	}
}

// lookValue follows the call of a function value.
func (l *lint) lookValue(n *node, call *ast.CallExpr) {
	var v *types.Var
	switch e := ast.Unparen(call.Fun).(type) {
	case *ast.FuncLit:
		return
	case *ast.Ident:
		v, _ = l.TypesInfo.Uses[e].(*types.Var)
	case *ast.SelectorExpr:
		v, _ = l.TypesInfo.Uses[e.Sel].(*types.Var)
	}
	followed := false
	if v != nil {
		for _, e := range l.held[v.Origin()] {
			if to, ok := l.target(e, call.Pos()); ok {
				n.addEdge(to)
				followed = true
			}
		}
		// Who passes a function as an argument mentions it, and is held to what it does.
		followed = followed || l.within[v] != nil
	}
	if withDynamic && !followed {
		n.find(Dynamic, call, "the function that this value stands for could not be found")
	}
}

// parameter is the type of argument i.
func parameter(sig *types.Signature, i int) types.Type {
	n := sig.Params().Len()
	if n == 0 {
		return nil
	}
	if sig.Variadic() && i >= n-1 {
		if s, ok := sig.Params().At(n - 1).Type().(*types.Slice); ok {
			return s.Elem()
		}
		return nil
	}
	if i >= n {
		return nil
	}
	return sig.Params().At(i).Type()
}

func isChan(t types.Type) bool {
	_, ok := t.Underlying().(*types.Chan)
	return ok
}

func isComplex(t types.Type) bool {
	b, ok := underlying(t).(*types.Basic)
	return ok && b.Info()&types.IsComplex != 0
}

func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}
