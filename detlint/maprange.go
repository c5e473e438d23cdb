package detlint

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// loop is the body of a range over a map, of which it is asked whether its order can be seen.
type loop struct {
	*lint
	n     *node
	s     *ast.RangeStmt
	exits int
	other int // effects that are no exit
}

// ordered says why the order of a range over a map can be seen; "" if it is proved that it cannot.
func (l *lint) ordered(n *node, s *ast.RangeStmt) string {
	p := &loop{lint: l, n: n, s: s}
	if why := p.list(s.Body.List); why != "" {
		return why
	}
	if p.exits > 0 && (p.other > 0 || p.exits > 1) {
		return "the loop may end before it has seen all"
	}
	return ""
}

func (p *loop) list(list []ast.Stmt) string {
	for _, s := range list {
		if why := p.stmt(s); why != "" {
			return why
		}
	}
	return ""
}

const seen = "what the loop does shows it"

// stmt says why the order can be seen in one statement.
func (p *loop) stmt(s ast.Stmt) string {
	switch s := s.(type) {
	case *ast.EmptyStmt:
		return ""
	case *ast.IncDecStmt:
		p.other++
		if isInteger(p.TypesInfo.TypeOf(s.X)) && p.fixed(s.X) {
			return ""
		}
	case *ast.AssignStmt:
		return p.assign(s)
	case *ast.BlockStmt:
		return p.list(s.List)
	case *ast.IfStmt:
		if p.extreme(s) {
			p.other++
			return ""
		}
		if s.Init != nil {
			if why := p.stmt(s.Init); why != "" {
				return why
			}
		}
		if !p.steady(s.Cond) {
			return "a condition depends on what came before"
		}
		if why := p.list(s.Body.List); why != "" || s.Else == nil {
			return why
		}
		return p.stmt(s.Else)
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "delete" && p.isBuiltin(id) && p.steady(call.Args[1]) {
				p.other++
				return ""
			}
		}
		return "it calls what may depend on the order"
	case *ast.BranchStmt:
		if s.Tok == token.CONTINUE && s.Label == nil {
			return ""
		}
		if s.Tok == token.BREAK && s.Label == nil {
			p.exits++
			return ""
		}
	case *ast.ReturnStmt:
		p.exits++
		for _, r := range s.Results {
			if p.TypesInfo.Types[r].Value == nil && !isNil(p.TypesInfo, r) {
				return "it returns whichever comes first"
			}
		}
		return ""
	case *ast.RangeStmt:
		if p.steady(s.X) && (s.Tok == token.DEFINE || s.Key == nil) {
			if _, ok := underlying(p.TypesInfo.TypeOf(s.X)).(*types.Chan); !ok {
				before := p.exits
				why := p.list(s.Body.List)
				if p.exits == before {
					return why
				}
			}
		}
	}
	return seen
}

// assign judges assignments.
func (p *loop) assign(s *ast.AssignStmt) string {
	if len(s.Lhs) != len(s.Rhs) {
		if s.Tok == token.DEFINE && p.steady(s.Rhs[0]) {
			return ""
		}
		return seen
	}
	for i, lhs := range s.Lhs {
		if why := p.assignOne(s, lhs, s.Rhs[i]); why != "" {
			return why
		}
	}
	return ""
}

func (p *loop) assignOne(s *ast.AssignStmt, lhs, rhs ast.Expr) string {
	if id, ok := lhs.(*ast.Ident); ok && (id.Name == "_" || p.local(p.TypesInfo.ObjectOf(id))) {
		if p.steady(rhs) {
			return ""
		}
		return seen
	}
	switch s.Tok {
	case token.ADD_ASSIGN, token.SUB_ASSIGN, token.OR_ASSIGN, token.AND_ASSIGN, token.XOR_ASSIGN, token.MUL_ASSIGN, token.AND_NOT_ASSIGN:
		p.other++
		if isInteger(p.TypesInfo.TypeOf(lhs)) && p.fixed(lhs) && p.steady(rhs) {
			return ""
		}
		if isFloat(p.TypesInfo.TypeOf(lhs)) {
			return "floats are summed in it, each time with another rounding"
		}
		return seen
	case token.ASSIGN:
	default:
		return seen
	}
	if call, ok := ast.Unparen(rhs).(*ast.CallExpr); ok {
		if id, ok := call.Fun.(*ast.Ident); ok && p.isBuiltin(id) {
			switch {
			case id.Name == "append" && len(call.Args) > 1 && types.ExprString(call.Args[0]) == types.ExprString(lhs):
				return p.collected(lhs, call.Args[1:])
			case (id.Name == "min" || id.Name == "max") && len(call.Args) == 2 && isInteger(p.TypesInfo.TypeOf(lhs)):
				a, b := types.ExprString(call.Args[0]), types.ExprString(call.Args[1])
				at := types.ExprString(lhs)
				if p.other++; a == at && p.steady(call.Args[1]) || b == at && p.steady(call.Args[0]) {
					return ""
				}
			}
		}
	}
	if ix, ok := ast.Unparen(lhs).(*ast.IndexExpr); ok && isMap(p.TypesInfo.TypeOf(ix.X)) {
		p.other++
		key, isKey := ix.Index.(*ast.Ident)
		constant := p.TypesInfo.Types[rhs].Value != nil || isEmptyLit(rhs)
		if p.steady(ix.X) && p.steady(ix.Index) && (constant || isKey && p.isKey(key) && p.steady(rhs)) {
			return ""
		}
		return "entries may overwrite each other"
	}
	if p.TypesInfo.Types[rhs].Value != nil && p.onlyAssigned(lhs, rhs) {
		return "" // whoever comes first sets the same; an exit after it shows nothing either
	}
	return "the last one to be set stays"
}

// collected judges x = append(x, elements): it is harmless if x is sorted afterwards, all of it, by all that
// its elements are.
func (p *loop) collected(to ast.Expr, elements []ast.Expr) string {
	p.other++
	for _, e := range elements {
		if !p.steady(e) {
			return "what is collected depends on what came before"
		}
	}
	if p.sortedAfter(p.n, to, p.s.End()) {
		return ""
	}
	return "what is collected is not sorted afterwards, or by less than all that its elements are"
}

// sortedAfter says whether a slice is sorted as a whole after a place, and before it is handed to anything else.
func (l *lint) sortedAfter(n *node, slice ast.Expr, after token.Pos) bool {
	text := types.ExprString(slice)
	sorted, other := false, false
	ast.Inspect(n.body, func(at ast.Node) bool {
		call, ok := at.(*ast.CallExpr)
		if !ok || call.Pos() < after || sorted || other || len(call.Args) == 0 || types.ExprString(call.Args[0]) != text {
			return true
		}
		sorted = l.naturalSort(call)
		other = !sorted && l.callee(call) != nil // len and cap are no functions
		return true
	})
	return sorted
}

// sorter tells a sorting function of the standard library.
func (l *lint) sorter(call *ast.CallExpr) (pkg, name string, ok bool) {
	fn := l.callee(call)
	if fn == nil || fn.Pkg() == nil {
		return "", "", false
	}
	pkg, name = fn.Pkg().Path(), fn.Name()
	ok = pkg == "sort" && slices.Contains(strings.Fields("Slice SliceStable Strings Ints Float64s Sort Stable"), name) ||
		pkg == "slices" && strings.HasPrefix(name, "Sort")
	return pkg, name, ok
}

// naturalSort says whether a call sorts by all that elements are, so that equal ones cannot be told apart.
func (l *lint) naturalSort(call *ast.CallExpr) bool {
	pkg, name, ok := l.sorter(call)
	if !ok {
		return false
	}
	switch pkg + "." + name {
	case "sort.Strings", "sort.Ints", "sort.Float64s", "slices.Sort", "slices.Sorted":
		return true
	case "sort.Slice", "sort.SliceStable":
		return len(call.Args) == 2 && l.naturalOrder(call.Args[1], types.ExprString(call.Args[0]))
	case "slices.SortFunc", "slices.SortStableFunc", "slices.SortedFunc", "slices.SortedStableFunc":
		return len(call.Args) == 2 && l.naturalOrder(call.Args[1], "")
	}
	return false
}

// naturalOrder tells the comparisons x[i] < x[j], cmp.Compare(a, b), strings.Compare(a, b) and a - b of whole elements.
func (l *lint) naturalOrder(e ast.Expr, of string) bool {
	if fn, ok := l.mentioned(e).(*types.Func); ok {
		return fn.Pkg() != nil && (fn.FullName() == "cmp.Compare" || fn.FullName() == "strings.Compare")
	}
	lit, ok := ast.Unparen(e).(*ast.FuncLit)
	if !ok || len(lit.Body.List) != 1 {
		return false
	}
	ret, ok := lit.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	whole := func(e ast.Expr) bool {
		if of != "" {
			ix, ok := ast.Unparen(e).(*ast.IndexExpr)
			return ok && types.ExprString(ix.X) == of && isBasic(l.TypesInfo.TypeOf(e))
		}
		_, ok := ast.Unparen(e).(*ast.Ident)
		return ok && isBasic(l.TypesInfo.TypeOf(e))
	}
	switch r := ast.Unparen(ret.Results[0]).(type) {
	case *ast.BinaryExpr:
		return (r.Op == token.LSS || r.Op == token.GTR || r.Op == token.SUB) && whole(r.X) && whole(r.Y)
	case *ast.CallExpr:
		fn := l.callee(r)
		return fn != nil && len(r.Args) == 2 && (fn.FullName() == "cmp.Compare" || fn.FullName() == "strings.Compare") && whole(r.Args[0]) && whole(r.Args[1])
	}
	return false
}

// mentioned is the object that a name stands for.
func (l *lint) mentioned(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return l.TypesInfo.Uses[e]
	case *ast.SelectorExpr:
		return l.TypesInfo.Uses[e.Sel]
	case *ast.IndexExpr:
		return l.mentioned(e.X)
	}
	return nil
}

// sortedAt says whether what maps.Keys and its neighbours give is handed at once to what makes an order of
// it, or to what needs none.
func (l *lint) sortedAt(n *node, stack []ast.Node) bool {
	for i := len(stack) - 1; i >= 1; i-- {
		inner, ok := stack[i].(*ast.CallExpr)
		if !ok {
			continue
		}
		outer, ok := stack[i-1].(*ast.CallExpr)
		if !ok || len(outer.Args) == 0 || outer.Args[len(outer.Args)-1] != ast.Expr(inner) && outer.Args[0] != ast.Expr(inner) {
			return false
		}
		fn := l.callee(outer)
		if fn == nil || fn.Pkg() == nil {
			return false
		}
		switch fn.Pkg().Path() + "." + fn.Name() {
		case "maps.Collect", "maps.Insert":
			return true
		case "slices.Collect":
			if i < 2 {
				return false
			}
			s, ok := stack[i-2].(*ast.AssignStmt)
			return ok && len(s.Lhs) == 1 && len(s.Rhs) == 1 && l.sortedAfter(n, s.Lhs[0], s.End())
		}
		return l.naturalSort(outer)
	}
	return false
}

// extreme tells if v > best { best = v } with integers.
func (p *loop) extreme(s *ast.IfStmt) bool {
	cond, ok := s.Cond.(*ast.BinaryExpr)
	if !ok || s.Init != nil || s.Else != nil || len(s.Body.List) != 1 {
		return false
	}
	set, ok := s.Body.List[0].(*ast.AssignStmt)
	if !ok || set.Tok != token.ASSIGN || len(set.Lhs) != 1 || len(set.Rhs) != 1 || !isInteger(p.TypesInfo.TypeOf(set.Lhs[0])) {
		return false
	}
	switch cond.Op {
	case token.LSS, token.GTR, token.LEQ, token.GEQ:
	default:
		return false
	}
	x, y := types.ExprString(cond.X), types.ExprString(cond.Y)
	to, from := types.ExprString(set.Lhs[0]), types.ExprString(set.Rhs[0])
	return (x == to && y == from || x == from && y == to) && p.steady(set.Rhs[0])
}

// steady says whether an expression gives the same in whatever order the loop runs: it calls nothing that
// changes anything, and mentions nothing that the loop changes but what it has declared itself.
func (p *loop) steady(e ast.Expr) bool {
	is := true
	ast.Inspect(e, func(at ast.Node) bool {
		switch x := at.(type) {
		case *ast.FuncLit:
			is = false
		case *ast.UnaryExpr:
			is = is && x.Op != token.ARROW
		case *ast.CallExpr:
			is = is && p.harmless(x)
		case *ast.Ident:
			if v, ok := p.TypesInfo.Uses[x].(*types.Var); ok && !v.IsField() && !p.local(v) && p.changed(v) {
				is = false
			}
		}
		return is
	})
	return is
}

// fixed says whether what is counted in is found in the same place in whatever order the loop runs.
func (p *loop) fixed(e ast.Expr) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return p.fixed(x.X)
	case *ast.StarExpr:
		return p.fixed(x.X)
	case *ast.IndexExpr:
		return p.fixed(x.X) && p.steady(x.Index)
	}
	return false
}

// harmless says whether a call changes nothing.
func (p *loop) harmless(call *ast.CallExpr) bool {
	if p.TypesInfo.Types[call.Fun].IsType() {
		return true
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok && p.isBuiltin(id) {
		return slices.Contains([]string{"len", "cap", "min", "max", "real", "imag", "make", "new", "append"}, id.Name)
	}
	fn := p.callee(call)
	if fn == nil || isInterfaceMethod(fn) {
		return false
	}
	if other, fact := p.sum(fn); other != nil {
		return other.pure
	} else if fact != nil {
		return fact.Pure
	}
	return fn.Pkg() != nil && slices.Contains(pureStd, fn.Pkg().Path())
}

// changed says whether the loop changes a variable itself, or elements of it.
func (p *loop) changed(v *types.Var) (is bool) {
	at := func(e ast.Expr) { is = is || e != nil && p.base(e) == v }
	ast.Inspect(p.s.Body, func(s ast.Node) bool {
		switch s := s.(type) {
		case *ast.AssignStmt:
			for _, lhs := range s.Lhs {
				if ix, ok := ast.Unparen(lhs).(*ast.IndexExpr); ok && isMap(p.TypesInfo.TypeOf(ix.X)) {
					// m[k] = … while m is read elsewhere is judged where it is assigned.
					if id, ok := ast.Unparen(ix.X).(*ast.Ident); ok && p.TypesInfo.ObjectOf(id) == v && p.reads(v) <= 1 {
						continue
					}
				}
				at(lhs)
			}
		case *ast.IncDecStmt:
			at(s.X)
		}
		return true
	})
	return is
}

// reads counts where the loop's body mentions a variable.
func (p *loop) reads(v *types.Var) (times int) {
	ast.Inspect(p.s.Body, func(at ast.Node) bool {
		if id, ok := at.(*ast.Ident); ok && p.TypesInfo.Uses[id] == v {
			times++
		}
		return true
	})
	return times
}

// onlyAssigned says whether the loop sets something to one constant only, and reads it nowhere.
func (p *loop) onlyAssigned(lhs, rhs ast.Expr) bool {
	same, want, to := true, p.TypesInfo.Types[rhs].Value.ExactString(), types.ExprString(lhs)
	ast.Inspect(p.s.Body, func(at ast.Node) bool {
		if s, ok := at.(*ast.AssignStmt); ok {
			for i, l := range s.Lhs {
				if types.ExprString(l) != to || len(s.Rhs) != len(s.Lhs) {
					continue
				}
				if v := p.TypesInfo.Types[s.Rhs[i]].Value; v == nil || v.ExactString() != want {
					same = false
				}
			}
		}
		return same
	})
	return same
}

func (p *loop) local(o types.Object) bool {
	return o != nil && p.s.Pos() <= o.Pos() && o.Pos() < p.s.End()
}

func (p *loop) isKey(id *ast.Ident) bool {
	key, ok := p.s.Key.(*ast.Ident)
	return ok && p.TypesInfo.ObjectOf(key) != nil && p.TypesInfo.ObjectOf(key) == p.TypesInfo.ObjectOf(id)
}

func (p *loop) isBuiltin(id *ast.Ident) bool {
	_, ok := p.TypesInfo.Uses[id].(*types.Builtin)
	return ok
}

func isNil(info *types.Info, e ast.Expr) bool { return info.Types[e].IsNil() }

func isMap(t types.Type) bool { _, ok := underlying(t).(*types.Map); return ok }

func isBasic(t types.Type) bool { _, ok := underlying(t).(*types.Basic); return ok }

func isInteger(t types.Type) bool {
	b, ok := underlying(t).(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

func isEmptyLit(e ast.Expr) bool {
	lit, ok := e.(*ast.CompositeLit)
	return ok && len(lit.Elts) == 0
}
