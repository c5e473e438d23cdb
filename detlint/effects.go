package detlint

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// effects are what a function changes.
type effects struct {
	writes  uint64 // a bit for each parameter through which it changes something
	changes []change
	pure    bool // it changes nothing and calls nothing that could
}

// change is one place at which a body changes a variable, or what one points to.
type change struct {
	v   *types.Var
	pos token.Pos
	end token.Pos
	// by is the function that does it, "" where the body does it itself.
	by string
}

// maxRounds bounds how often summaries are made again until they are the same; calls nest no deeper
// in what they say of each other.
const maxRounds = 12

// maxAliases bounds how many variables lie between what is changed and where it belongs.
const maxAliases = 6

// findEffects finds what every function changes.
func (l *lint) findEffects() {
	aliases := l.aliases()
	for _, n := range l.nodes {
		n.pure = true
	}
	for range maxRounds {
		again := false
		for _, n := range l.nodes {
			writes, pure := n.writes, n.pure
			l.effectsOf(n, aliases)
			again = again || n.writes != writes || n.pure != pure
		}
		if !again {
			break
		}
	}
	l.findWriters()
}

// aliases are the expressions that local variables of reference types are set to.
func (l *lint) aliases() map[*types.Var][]ast.Expr {
	all := map[*types.Var][]ast.Expr{}
	put := func(lhs ast.Expr, rhs ast.Expr) {
		id, ok := ast.Unparen(lhs).(*ast.Ident)
		if !ok {
			return
		}
		v, ok := l.TypesInfo.ObjectOf(id).(*types.Var)
		if ok && refers(v.Type()) && !isPackageVar(v) {
			all[v] = append(all[v], rhs)
		}
	}
	for _, file := range l.Files {
		ast.Inspect(file, func(at ast.Node) bool {
			switch s := at.(type) {
			case *ast.AssignStmt:
				if len(s.Lhs) == len(s.Rhs) {
					for i := range s.Lhs {
						put(s.Lhs[i], s.Rhs[i])
					}
				} else if len(s.Rhs) == 1 {
					put(s.Lhs[0], s.Rhs[0])
				}
			case *ast.ValueSpec:
				if len(s.Names) == len(s.Values) {
					for i := range s.Names {
						put(s.Names[i], s.Values[i])
					}
				}
			case *ast.RangeStmt:
				if s.Value != nil {
					put(s.Value, s.X)
				}
			}
			return true
		})
	}
	return all
}

// effectsOf finds what one function changes, with what is known of the others so far.
func (l *lint) effectsOf(n *node, aliases map[*types.Var][]ast.Expr) {
	n.changes = n.changes[:0]
	if n.body == nil {
		n.pure = false
		return
	}
	write := func(e ast.Expr, through bool, at ast.Node, by string) {
		for _, r := range l.rootsOf(e, through, aliases, nil) {
			i := slices.Index(n.params, r.v)
			switch {
			case isPackageVar(r.v):
			case i >= 0 && r.through && i < 64:
				n.writes |= 1 << i
			case i >= 0 || l.declaredIn(r.v, n) || !r.through && by != "":
				continue
			}
			n.pure = false
			n.changes = append(n.changes, change{r.v, at.Pos(), at.End(), by})
		}
	}
	ast.Inspect(n.body, func(at ast.Node) bool {
		switch s := at.(type) {
		case *ast.AssignStmt:
			for _, lhs := range s.Lhs {
				if id, ok := lhs.(*ast.Ident); ok && (id.Name == "_" || l.TypesInfo.Defs[id] != nil) {
					continue
				}
				write(lhs, false, lhs, "")
			}
		case *ast.IncDecStmt:
			write(s.X, false, s, "")
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{s.Key, s.Value} {
				if e != nil && s.Tok == token.ASSIGN {
					write(e, false, e, "")
				}
			}
		case *ast.SendStmt, *ast.GoStmt, *ast.SelectStmt:
			n.pure = false
		case *ast.CallExpr:
			l.callEffects(n, s, write)
		}
		return true
	})
}

// callEffects adds what a call changes.
func (l *lint) callEffects(n *node, call *ast.CallExpr, write func(e ast.Expr, through bool, at ast.Node, by string)) {
	if tv := l.TypesInfo.Types[call.Fun]; tv.IsType() {
		return
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if b, ok := l.TypesInfo.Uses[id].(*types.Builtin); ok {
			switch b.Name() {
			case "delete", "clear", "copy":
				if len(call.Args) > 0 {
					write(call.Args[0], true, call, "")
				}
			case "print", "println", "close", "recover":
				n.pure = false
			}
			return
		}
	}
	fn := l.callee(call)
	if fn == nil {
		if _, ok := ast.Unparen(call.Fun).(*ast.FuncLit); !ok {
			n.pure = false
		}
		return
	}
	args := l.arguments(call, fn)
	other, fact := l.sum(fn)
	switch {
	case other != nil:
		n.pure = n.pure && other.pure
		l.eachWritten(other.writes, args, fn, call, write)
	case fact != nil:
		n.pure = n.pure && fact.Pure
		l.eachWritten(fact.Writes, args, fn, call, write)
	case fn.Pkg() != nil && isStd(fn.Pkg().Path()):
		path := fn.Pkg().Path()
		if slices.Contains(strings.Fields(writesFirst[path]), fn.Name()) && len(args) > 0 {
			write(args[0], true, call, stdShown(fn))
			return
		}
		recv := fn.Signature().Recv()
		if recv != nil && !isInterfaceMethod(fn) && isPointer(recv.Type()) && !slices.Contains(quietStd, path) && len(args) > 0 {
			write(args[0], true, call, stdShown(fn))
		}
		n.pure = n.pure && slices.Contains(pureStd, path)
	default:
		n.pure = false
	}
}

// eachWritten hands over the arguments through which a callee changes something.
func (l *lint) eachWritten(bits uint64, args []ast.Expr, fn *types.Func, call *ast.CallExpr, write func(ast.Expr, bool, ast.Node, string)) {
	parameters := fn.Signature().Params().Len()
	if fn.Signature().Recv() != nil {
		parameters++
	}
	for i, arg := range args {
		if bits>>min(i, parameters-1, 63)&1 == 0 {
			continue
		}
		// A method's receiver may be taken the address of, which makes it as good as assigned to.
		implicit := i == 0 && fn.Signature().Recv() != nil && !isPointer(l.TypesInfo.TypeOf(arg)) && isPointer(fn.Signature().Recv().Type())
		write(arg, !implicit, call, shownName(fn))
	}
}

// arguments are a call's, with a method's receiver first.
func (l *lint) arguments(call *ast.CallExpr, fn *types.Func) []ast.Expr {
	if fn.Signature().Recv() == nil {
		return call.Args
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || l.TypesInfo.Selections[sel] == nil || l.TypesInfo.Selections[sel].Kind() != types.MethodVal {
		return call.Args
	}
	return append([]ast.Expr{sel.X}, call.Args...)
}

// root is the variable that an expression begins with. through: what is changed is what it points to.
type root struct {
	v       *types.Var
	through bool
}

// rootsOf finds where what an expression names, or (through) refers to, belongs.
func (l *lint) rootsOf(e ast.Expr, through bool, aliases map[*types.Var][]ast.Expr, seen []*types.Var) []root {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.StarExpr:
			e, through = x.X, true
		case *ast.IndexExpr:
			t := l.TypesInfo.TypeOf(x.X)
			if t == nil {
				return nil
			}
			if _, ok := t.Underlying().(*types.Array); !ok {
				through = true
			}
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.TypeAssertExpr:
			e = x.X
		case *ast.SelectorExpr:
			if v, ok := l.TypesInfo.Uses[x.Sel].(*types.Var); ok && !v.IsField() {
				return []root{{v, through}}
			}
			sel := l.TypesInfo.Selections[x]
			if sel == nil || sel.Kind() != types.FieldVal {
				return nil
			}
			through = through || sel.Indirect()
			e = x.X
		case *ast.UnaryExpr:
			if x.Op != token.AND {
				return nil
			}
			e, through = x.X, false
		case *ast.CallExpr:
			if id, ok := ast.Unparen(x.Fun).(*ast.Ident); ok && id.Name == "append" && len(x.Args) > 0 {
				e = x.Args[0]
				continue
			}
			if l.TypesInfo.Types[x.Fun].IsType() && len(x.Args) == 1 {
				e = x.Args[0]
				continue
			}
			return nil
		case *ast.Ident:
			v, ok := l.TypesInfo.ObjectOf(x).(*types.Var)
			if !ok {
				return nil
			}
			all := []root{{v, through}}
			if !through || len(seen) > maxAliases || slices.Contains(seen, v) {
				return all
			}
			for _, from := range aliases[v] {
				all = append(all, l.rootsOf(from, true, aliases, append(seen, v))...)
			}
			return all
		default:
			return nil
		}
	}
}

// declaredIn says whether a variable is declared in a node's body.
func (l *lint) declaredIn(v *types.Var, n *node) bool {
	if n.body == nil {
		return false
	}
	return n.body.Pos() <= v.Pos() && v.Pos() < n.body.End() || n.sig != nil && slices.Contains(n.params, v) || l.isResult(v, n)
}

func (l *lint) isResult(v *types.Var, n *node) bool {
	if n.sig == nil {
		return false
	}
	for r := range n.sig.Results().Variables() {
		if r == v {
			return true
		}
	}
	return false
}

// findWriters notes which functions change package variables, those aside that run only before main.
func (l *lint) findWriters() {
	early := l.onlyEarly()
	for _, n := range l.nodes {
		if n.tests || early[n] {
			continue
		}
		for _, c := range n.changes {
			if isPackageVar(c.v) && l.writers[c.v] == "" {
				l.writers[c.v] = n.name
			}
		}
	}
}

// onlyEarly are the functions that nothing but init and initialisers call.
func (l *lint) onlyEarly() map[*node]bool {
	callers := map[*node][]*node{}
	for _, n := range l.nodes {
		inspect(n, func(at ast.Node, _ []ast.Node) {
			if id, ok := at.(*ast.Ident); ok {
				if fn, ok := l.TypesInfo.Uses[id].(*types.Func); ok && l.funcs[fn.Origin()] != nil {
					to := l.funcs[fn.Origin()]
					callers[to] = append(callers[to], n)
				}
			}
		})
	}
	early := map[*node]bool{}
	for range maxRounds {
		again := false
		for _, n := range l.nodes {
			is := n.init != nil
			switch {
			case n.fn != nil && n.fn.Name() == "init" && n.fn.Signature().Recv() == nil:
				is = true
			case n.fn != nil && !n.fn.Exported() && len(callers[n]) > 0:
				is = !slices.ContainsFunc(callers[n], func(c *node) bool { return !early[c] })
			case n.lit != nil && n.outer != nil:
				is = early[n.outer]
			}
			if is && !early[n] {
				early[n], again = true, true
			}
		}
		if !again {
			break
		}
	}
	return early
}

func stdShown(fn *types.Func) string { return fn.Pkg().Name() + "." + stdName(fn) }

func isPointer(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

func isPackageVar(v *types.Var) bool {
	return v.Pkg() != nil && !v.IsField() && v.Parent() == v.Pkg().Scope()
}

// refers says whether values of a type lead to memory that assignment does not copy.
func refers(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
		return true
	case *types.Array:
		return refers(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if refers(f.Type()) {
				return true
			}
		}
	}
	return false
}
