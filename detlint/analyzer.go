package detlint

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// page is where each code is explained.
const page = "https://github.com/driftback/driftback/blob/main/docs/detlint.md"

// Analyzer is the whole of detlint, for programs that bring analysers together.
var Analyzer = &analysis.Analyzer{
	Name: "detlint",
	Doc: `find what in a game's step differs between machines or runs

A step has the shape of driftback.Step or the comment //detlint:step. It is followed through calls and packages.
A line's findings of one kind are ignored with //detlint:ignore CODE reason.`,
	URL:       page,
	Run:       run,
	FactTypes: []analysis.Fact{new(summary)},
}

// Flags of the analyser.
var (
	withTests   bool
	withDynamic bool
)

func init() {
	Analyzer.Flags.BoolVar(&withTests, "steps-in-tests", false, "hold the steps in _test.go files to the rules too")
	Analyzer.Flags.BoolVar(&withDynamic, "dynamic", false, "report calls of interfaces and function values that could not be followed")
}

// lint is one package under analysis.
type lint struct {
	*analysis.Pass

	nodes   []*node // in source order
	funcs   map[*types.Func]*node
	lits    map[*ast.FuncLit]*node
	vars    map[*types.Var]*node // package variables with an initialiser
	within  map[*types.Var]*node // the outermost function in which a parameter or local is declared
	held    map[*types.Var][]ast.Expr
	ignores []*ignore
	marks   []*mark
	// writers has the functions that change a package variable after it was initialised.
	writers map[*types.Var]string

	reported map[place]bool
	told     map[origin]bool
	traced   map[*ast.CallExpr]bool // calls whose callee's products are noted
}

// origin is something in another package that is told once.
type origin struct {
	code Code
	what string
}

// place is where something of one kind is reported, at most once.
type place struct {
	pos  token.Pos
	code Code
}

func run(pass *analysis.Pass) (any, error) {
	if isStd(pass.Pkg.Path()) {
		return nil, nil
	}
	l := &lint{
		Pass:     pass,
		funcs:    map[*types.Func]*node{},
		lits:     map[*ast.FuncLit]*node{},
		vars:     map[*types.Var]*node{},
		within:   map[*types.Var]*node{},
		held:     map[*types.Var][]ast.Expr{},
		writers:  map[*types.Var]string{},
		reported: map[place]bool{},
		told:     map[origin]bool{},
		traced:   map[*ast.CallExpr]bool{},
	}
	l.readDirectives()
	l.collect()
	l.flow()
	l.findEffects()
	l.findProducts()
	for _, n := range l.nodes {
		l.look(n)
	}
	l.findFused()
	l.applyIgnores()
	l.spread()
	l.export()
	l.reportRoots()
	l.reportDirectives()
	return nil, nil
}

// inTest says whether a position is in a _test.go file.
func (l *lint) inTest(pos token.Pos) bool {
	name := l.Fset.Position(pos).Filename
	return len(name) > 8 && name[len(name)-8:] == "_test.go"
}
