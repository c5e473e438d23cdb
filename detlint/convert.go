package detlint

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
)

// lookConversion judges the conversion of a float to an integer. What does not fit becomes another number
// on each architecture.
func (l *lint) lookConversion(n *node, call *ast.CallExpr) {
	l.lookRaw(n, call)
	if len(call.Args) != 1 {
		return
	}
	from, to := l.TypesInfo.TypeOf(call.Args[0]), l.TypesInfo.TypeOf(call)
	b, ok := underlying(to).(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 || !isFloat(from) || l.TypesInfo.Types[call.Args[0]].Value != nil {
		return
	}
	low, high := rangeOf(b.Kind())
	is := l.interval(n, call.Args[0], 0)
	if is.low > low-1 && is.high < high+1 || l.compared(n, call.Args[0], call.Pos()) {
		return
	}
	n.find(FloatInt, call, "a float that does not fit into "+l.typeName(to)+" becomes another number on other architectures")
}

// rangeOf is what fits into an integer; int and uint are taken to have 32 bits.
func rangeOf(k types.BasicKind) (low, high float64) {
	switch k {
	case types.Int8:
		return math.MinInt8, math.MaxInt8
	case types.Int16:
		return math.MinInt16, math.MaxInt16
	case types.Int32, types.Int:
		return math.MinInt32, math.MaxInt32
	case types.Int64:
		return -(1 << 63), 1<<63 - 1024 // the largest float below 2^63
	case types.Uint8:
		return 0, math.MaxUint8
	case types.Uint16:
		return 0, math.MaxUint16
	case types.Uint32, types.Uint, types.Uintptr:
		return 0, math.MaxUint32
	case types.Uint64:
		return 0, 1<<64 - 2048
	default:
		return 0, 0
	}
}

// interval is between which numbers a value lies, NaN aside.
type interval struct{ low, high float64 }

var anything = interval{math.Inf(-1), math.Inf(1)}

// maxDeep bounds how far an expression is looked into.
const maxDeep = 20

// interval finds bounds of an expression.
func (l *lint) interval(n *node, e ast.Expr, depth int) interval {
	e = ast.Unparen(e)
	tv := l.TypesInfo.Types[e]
	if tv.Value != nil {
		if v := constant.ToFloat(tv.Value); v.Kind() == constant.Float {
			f, _ := constant.Float64Val(v)
			return interval{f, f}
		}
		return anything
	}
	if depth > maxDeep {
		return anything
	}
	switch x := e.(type) {
	case *ast.BinaryExpr:
		return combine(x.Op, l.interval(n, x.X, depth+1), l.interval(n, x.Y, depth+1))
	case *ast.UnaryExpr:
		if i := l.interval(n, x.X, depth+1); x.Op == token.SUB {
			return interval{-i.high, -i.low}
		}
	case *ast.CallExpr:
		return l.callInterval(n, x, depth)
	case *ast.Ident:
		v, ok := l.TypesInfo.Uses[x].(*types.Var)
		if ok && n.body != nil && !isPackageVar(v) {
			if from := l.onlyValue(n, v); from != nil {
				return l.interval(n, from, depth+1)
			}
		}
	}
	if b, ok := underlying(tv.Type).(*types.Basic); ok && b.Info()&types.IsInteger != 0 {
		low, high := rangeOf(b.Kind())
		return interval{low, high}
	}
	return anything
}

// callInterval finds bounds of a call or a conversion.
func (l *lint) callInterval(n *node, call *ast.CallExpr, depth int) interval {
	arg := func(i int) interval { return l.interval(n, call.Args[i], depth+1) }
	if l.TypesInfo.Types[call.Fun].IsType() && len(call.Args) == 1 {
		i := arg(0)
		if b, ok := underlying(l.TypesInfo.TypeOf(call)).(*types.Basic); ok && b.Info()&types.IsInteger != 0 {
			low, high := rangeOf(b.Kind())
			if i.low < low || i.high > high {
				return interval{low, high}
			}
		}
		return i
	}
	name := ""
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if b, ok := l.TypesInfo.Uses[id].(*types.Builtin); ok {
			name = b.Name()
		}
	} else if fn := l.callee(call); fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "math" {
		name = fn.Name()
	}
	switch name {
	case "min", "Min", "max", "Max":
		i := arg(0)
		for k := range call.Args[1:] {
			o := arg(k + 1)
			if name == "min" || name == "Min" {
				i = interval{min(i.low, o.low), min(i.high, o.high)}
			} else {
				i = interval{max(i.low, o.low), max(i.high, o.high)}
			}
		}
		return i
	case "len", "cap":
		return interval{0, math.MaxInt32}
	case "Floor", "Ceil", "Round", "RoundToEven", "Trunc":
		i := arg(0)
		return interval{math.Floor(i.low), math.Ceil(i.high)}
	case "Abs":
		i := arg(0)
		return interval{0, max(math.Abs(i.low), math.Abs(i.high))}
	case "Sqrt":
		return interval{0, math.Sqrt(max(0, arg(0).high))}
	case "Sin", "Cos":
		return interval{-1, 1}
	case "Atan", "Atan2", "Acos", "Asin":
		return interval{-4, 4}
	case "Mod":
		i := arg(1)
		m := max(math.Abs(i.low), math.Abs(i.high))
		return interval{-m, m}
	}
	if b, ok := underlying(l.TypesInfo.TypeOf(call)).(*types.Basic); ok && b.Info()&types.IsInteger != 0 {
		low, high := rangeOf(b.Kind())
		return interval{low, high}
	}
	return anything
}

// combine is the interval of an operation.
func combine(op token.Token, a, b interval) interval {
	var ends []float64
	switch op {
	case token.ADD:
		ends = []float64{a.low + b.low, a.high + b.high}
	case token.SUB:
		ends = []float64{a.low - b.high, a.high - b.low}
	case token.MUL:
		ends = []float64{a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high}
	case token.QUO:
		if b.low <= 0 && b.high >= 0 {
			return anything
		}
		ends = []float64{a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high}
	default:
		return anything
	}
	i := interval{ends[0], ends[0]}
	for _, f := range ends {
		if math.IsNaN(f) {
			return anything
		}
		i = interval{min(i.low, f), max(i.high, f)}
	}
	return i
}

// onlyValue is what a local variable is set to, if that is one expression and nothing changes it.
func (l *lint) onlyValue(n *node, v *types.Var) (value ast.Expr) {
	times := 0
	ast.Inspect(n.body, func(at ast.Node) bool {
		switch s := at.(type) {
		case *ast.AssignStmt:
			for i, lhs := range s.Lhs {
				if id, ok := lhs.(*ast.Ident); ok && l.TypesInfo.ObjectOf(id) == v {
					times++
					if len(s.Lhs) == len(s.Rhs) && s.Tok == token.DEFINE {
						value = s.Rhs[i]
					}
				}
			}
		case *ast.IncDecStmt:
			if id, ok := s.X.(*ast.Ident); ok && l.TypesInfo.ObjectOf(id) == v {
				times++
			}
		case *ast.UnaryExpr:
			if id, ok := s.X.(*ast.Ident); ok && s.Op == token.AND && l.TypesInfo.ObjectOf(id) == v {
				times++
			}
		}
		return true
	})
	if times != 1 {
		return nil
	}
	return value
}

// compared says whether what is converted has been held against both an upper and a lower bound before.
func (l *lint) compared(n *node, e ast.Expr, before token.Pos) bool {
	text, above, below := types.ExprString(ast.Unparen(e)), false, false
	if b, ok := ast.Unparen(e).(*ast.CallExpr); ok && len(b.Args) == 1 {
		if fn := l.callee(b); fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "math" {
			return l.compared(n, b.Args[0], before)
		}
	}
	ast.Inspect(n.body, func(at ast.Node) bool {
		c, ok := at.(*ast.BinaryExpr)
		if !ok || c.Pos() >= before {
			return true
		}
		left, right := types.ExprString(c.X) == text, types.ExprString(c.Y) == text
		switch c.Op {
		case token.LSS, token.LEQ:
			above, below = above || left, below || right
		case token.GTR, token.GEQ:
			above, below = above || right, below || left
		default:
		}
		return true
	})
	return above && below
}
