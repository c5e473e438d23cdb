package detlint

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// products is what a function does with products that are not rounded.
type products struct {
	small    bool       // it may be inlined, so that what it returns may be fused by who calls it
	returned []ast.Node // the products among what it returns: expressions, or calls of other such functions
	adds     uint64     // a bit for each parameter that it adds something to
	held     map[string][]ast.Node
	// heldVars has the products in a variable's fields.
	heldVars map[types.Object][]ast.Node
}

// maxInlined is how many nodes of syntax a function has at most that the compiler may inline. Its own
// measure is another; this is on the safe side.
const maxInlined = 200

// findProducts makes the summaries of all functions.
func (l *lint) findProducts() {
	for _, n := range l.nodes {
		size := 0
		if n.body != nil {
			ast.Inspect(n.body, func(ast.Node) bool { size++; return true })
		}
		n.small = n.fn != nil && n.body != nil && size <= 2*maxInlined // each node is visited on the way out too
	}
	for range maxRounds {
		again := false
		for _, n := range l.nodes {
			returned, adds := len(n.returned), n.adds
			l.productsOf(n)
			again = again || len(n.returned) != returned || n.adds != adds
		}
		if !again {
			return
		}
	}
}

// productsOf finds which products a body holds, returns and adds to.
func (l *lint) productsOf(n *node) {
	n.returned, n.held, n.heldVars = nil, map[string][]ast.Node{}, map[types.Object][]ast.Node{}
	keep := func(lhs ast.Expr, ps []ast.Node) {
		if len(ps) == 0 {
			return
		}
		if k := l.key(lhs); k != "" {
			n.held[k] = append(n.held[k], ps...)
		}
		if o := l.base(lhs); o != nil {
			n.heldVars[o] = append(n.heldVars[o], ps...)
		}
	}
	inspect(n, func(at ast.Node, _ []ast.Node) {
		switch s := at.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.MUL_ASSIGN && isFloat(l.TypesInfo.TypeOf(s.Lhs[0])) && !l.exactFactor(s.Rhs[0]) {
				keep(s.Lhs[0], []ast.Node{s})
			}
			if len(s.Lhs) == len(s.Rhs) && (s.Tok == token.ASSIGN || s.Tok == token.DEFINE) {
				for i := range s.Lhs {
					keep(s.Lhs[i], l.unrounded(n, s.Rhs[i]))
				}
			}
		case *ast.ValueSpec:
			for i := range s.Names {
				if len(s.Names) == len(s.Values) {
					keep(s.Names[i], l.unrounded(n, s.Values[i]))
				}
			}
		case *ast.ReturnStmt:
			for _, r := range s.Results {
				n.returned = append(n.returned, l.unrounded(n, r)...)
			}
		case *ast.CallExpr:
			l.addsOf(n, s)
		}
	})
	l.eachSum(n, func(operand ast.Expr, _ ast.Node) { n.addsTo(l.base(operand)) })
}

// addsOf notes the parameters that are handed on to functions that add something to them.
func (l *lint) addsOf(n *node, call *ast.CallExpr) {
	fn := l.callee(call)
	if fn == nil {
		return
	}
	for i, arg := range l.arguments(call, fn) {
		if l.addsParameter(fn, i) {
			n.addsTo(l.base(arg))
		}
	}
}

func (n *node) addsTo(o types.Object) {
	v, _ := o.(*types.Var)
	if i := slices.Index(n.params, v); v != nil && i >= 0 && i < 64 {
		n.adds |= 1 << i
	}
}

// addsParameter says whether a function that may be inlined adds something to its parameter i.
func (l *lint) addsParameter(fn *types.Func, i int) bool {
	other, fact := l.sum(fn)
	switch {
	case i >= 64:
		return false
	case other != nil:
		return other.small && other.adds>>i&1 != 0
	case fact != nil:
		return fact.Adds>>i&1 != 0
	}
	return false
}

// eachSum calls for every operand of a float addition or subtraction. at is the whole of it.
func (l *lint) eachSum(n *node, visit func(operand ast.Expr, at ast.Node)) {
	inspect(n, func(at ast.Node, _ []ast.Node) {
		switch s := at.(type) {
		case *ast.BinaryExpr:
			if (s.Op == token.ADD || s.Op == token.SUB) && isFloat(l.TypesInfo.TypeOf(s)) && l.TypesInfo.Types[s].Value == nil {
				visit(s.X, s)
				visit(s.Y, s)
			}
		case *ast.AssignStmt:
			if (s.Tok == token.ADD_ASSIGN || s.Tok == token.SUB_ASSIGN) && isFloat(l.TypesInfo.TypeOf(s.Lhs[0])) {
				visit(s.Lhs[0], s)
				visit(s.Rhs[0], s)
			}
		}
	})
}

// findFused reports products that are added to something.
func (l *lint) findFused() {
	for _, n := range l.nodes {
		l.eachSum(n, func(operand ast.Expr, at ast.Node) {
			for _, p := range l.unrounded(n, operand) {
				l.fused(n, p, at)
			}
		})
		inspect(n, func(at ast.Node, _ []ast.Node) {
			call, ok := at.(*ast.CallExpr)
			if !ok {
				return
			}
			fn := l.callee(call)
			if fn == nil {
				return
			}
			for i, arg := range l.arguments(call, fn) {
				if !l.addsParameter(fn, i) || isPointer(l.TypesInfo.TypeOf(arg)) || byPointer(fn, i) {
					continue // what lies in memory is rarely fused across calls
				}
				for _, p := range l.unrounded(n, arg) {
					l.fused(n, p, call)
				}
			}
		})
	}
}

// byPointer says whether a method takes its receiver's address.
func byPointer(fn *types.Func, i int) bool {
	recv := fn.Signature().Recv()
	return i == 0 && recv != nil && isPointer(recv.Type())
}

// fused notes a product. That of another function of this package is noted where it is made.
func (l *lint) fused(n *node, p ast.Node, at ast.Node) {
	if p.Pos() > at.End() && !l.inLoop(n, at, p) {
		return // it is made only afterwards
	}
	switch e := p.(type) {
	case *ast.CallExpr:
		fn := l.callee(e)
		if other := l.funcs[fn]; other != nil {
			if l.traced[e] {
				return // also of functions that call each other
			}
			l.traced[e] = true
			for _, r := range other.returned {
				if r != p {
					l.fused(other, r, other.body)
				}
			}
			return
		}
		n.findOnce(Fuse, e, true, "the product that "+fn.Pkg().Name()+"."+shownName(fn)+" returns may be fused with an addition here once it is inlined, which rounds once where other machines round twice")
	case *ast.AssignStmt:
		n.findOnce(Fuse, e, false, fusedWhat, analysis.SuggestedFix{Message: "round the product", TextEdits: l.roundAssigned(e)})
	case ast.Expr:
		name := l.typeName(l.TypesInfo.TypeOf(e))
		fix := analysis.SuggestedFix{Message: "round the product", TextEdits: []analysis.TextEdit{
			{Pos: e.Pos(), End: e.Pos(), NewText: []byte(name + "(")}, {Pos: e.End(), End: e.End(), NewText: []byte(")")},
		}}
		n.findOnce(Fuse, e, false, fusedWhat, fix)
	}
}

const fusedWhat = "this product may be fused with an addition, which rounds once where other machines round twice"

// roundAssigned makes x *= y into x = float64(x * (y)).
func (l *lint) roundAssigned(s *ast.AssignStmt) []analysis.TextEdit {
	lhs := types.ExprString(s.Lhs[0])
	return []analysis.TextEdit{
		{Pos: s.TokPos, End: s.Rhs[0].Pos(), NewText: []byte("= " + l.typeName(l.TypesInfo.TypeOf(s.Lhs[0])) + "(" + lhs + " * (")},
		{Pos: s.End(), End: s.End(), NewText: []byte("))")},
	}
}

// findOnce notes something that is come upon several times.
func (n *node) findOnce(code Code, at ast.Node, elsewhere bool, what string, fixes ...analysis.SuggestedFix) {
	if slices.ContainsFunc(n.found, func(f finding) bool { return f.code == code && f.pos == at.Pos() && f.end == at.End() }) {
		return
	}
	n.find(code, at, what, fixes...)
	n.found[len(n.found)-1].elsewhere = elsewhere
}

// unrounded are the products in the value of an expression that nothing has rounded.
func (l *lint) unrounded(n *node, e ast.Expr) []ast.Node {
	e = ast.Unparen(e)
	if tv := l.TypesInfo.Types[e]; tv.Value != nil {
		return nil
	}
	switch x := e.(type) {
	case *ast.UnaryExpr:
		return l.unrounded(n, x.X)
	case *ast.BinaryExpr:
		if x.Op == token.MUL && isFloat(l.TypesInfo.TypeOf(x)) && !l.exactFactor(x.X) && !l.exactFactor(x.Y) {
			return []ast.Node{x}
		}
	case *ast.CompositeLit:
		var all []ast.Node
		for _, elt := range x.Elts {
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				elt = kv.Value
			}
			all = append(all, l.unrounded(n, elt)...)
		}
		return all
	case *ast.CallExpr:
		fn := l.callee(x)
		if fn == nil || l.TypesInfo.Types[x.Fun].IsType() {
			return nil
		}
		if other, fact := l.sum(fn); other != nil && other.small && len(other.returned) > 0 || fact != nil && fact.Product {
			return []ast.Node{x}
		}
	case *ast.Ident:
		if o := l.TypesInfo.ObjectOf(x); o != nil {
			return n.heldVars[o]
		}
	case *ast.SelectorExpr, *ast.IndexExpr, *ast.StarExpr:
		if ps := n.held[l.key(e)]; len(ps) > 0 {
			return ps
		}
		// A field of what another function has returned.
		if o := l.base(e); o != nil {
			return calls(n.held[l.keyOf(o)])
		}
		if sel, ok := x.(*ast.SelectorExpr); ok {
			if _, ok := ast.Unparen(sel.X).(*ast.CallExpr); ok {
				return l.unrounded(n, sel.X)
			}
		}
	}
	return nil
}

func calls(ps []ast.Node) (only []ast.Node) {
	for _, p := range ps {
		if _, ok := p.(*ast.CallExpr); ok {
			only = append(only, p)
		}
	}
	return only
}

// key names what an expression stands for within one function; "" if it has no such name.
func (l *lint) key(e ast.Expr) string {
	o := l.base(e)
	if o == nil {
		return ""
	}
	return l.keyOf(o) + types.ExprString(e)
}

func (l *lint) keyOf(o types.Object) string {
	return l.Fset.Position(o.Pos()).String() + " " + o.Name()
}

// base is the variable that an expression begins with.
func (l *lint) base(e ast.Expr) types.Object {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			if v, ok := l.TypesInfo.ObjectOf(x).(*types.Var); ok {
				return v
			}
			return nil
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// inLoop says whether two places are in one loop.
func (l *lint) inLoop(n *node, a, b ast.Node) (is bool) {
	ast.Inspect(n.body, func(at ast.Node) bool {
		switch at.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			is = is || at.Pos() <= a.Pos() && a.End() <= at.End() && at.Pos() <= b.Pos() && b.End() <= at.End()
		}
		return !is
	})
	return is
}

// exactFactor says whether a product with a constant loses nothing: that of 2, of −1, of a half, as far
// as it is neither too large nor too small for a float.
func (l *lint) exactFactor(e ast.Expr) bool {
	v := l.TypesInfo.Types[e].Value
	if v == nil || v.Kind() != constant.Int && v.Kind() != constant.Float {
		return false
	}
	f, _ := constant.Float64Val(constant.ToFloat(v))
	fraction, _ := math.Frexp(math.Abs(f))
	return fraction == 0.5 || f == 0
}

// typeName is a type as it is written in this package.
func (l *lint) typeName(t types.Type) string {
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		return "float64"
	}
	return types.TypeString(t, func(p *types.Package) string {
		if p == l.Pkg {
			return ""
		}
		return p.Name()
	})
}

func isFloat(t types.Type) bool {
	if t == nil {
		return false
	}
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		return floatConstraint(p)
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsFloat != 0
}

// floatConstraint says whether a type parameter may stand for a float.
func floatConstraint(p *types.TypeParam) bool {
	iface, ok := p.Constraint().Underlying().(*types.Interface)
	if !ok {
		return false
	}
	for t := range iface.EmbeddedTypes() {
		if isFloatTerm(t) {
			return true
		}
	}
	return false
}

func isFloatTerm(t types.Type) bool {
	switch u := t.(type) {
	case *types.Union:
		for term := range u.Terms() {
			if isFloatTerm(term.Type()) {
				return true
			}
		}
	case *types.Named:
		if iface, ok := u.Underlying().(*types.Interface); ok {
			for e := range iface.EmbeddedTypes() {
				if isFloatTerm(e) {
					return true
				}
			}
			return false
		}
		return isFloatTerm(u.Underlying())
	case *types.Basic:
		return u.Info()&types.IsFloat != 0
	}
	return false
}
