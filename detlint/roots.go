package detlint

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// engine is the import path of the package that has Step and Pass.
const engine = "github.com/driftback/driftback"

// hooks are the fields of an engine's configuration, a step aside, that must be alike on all machines, by the
// package and name of the type.
var hooks = map[string][]string{
	"session.Config": {"Start", "Valid", "Predict"},
	"simtest.Game":   {"Start", "Valid", "Predict"},
}

// isStep tells the shape of driftback.Step over a state that is not left open.
func isStep(sig *types.Signature) (state types.Type, ok bool) {
	if sig == nil || sig.Params().Len() != 3 || sig.Results().Len() != 0 {
		return nil, false
	}
	s, isPtr := types.Unalias(sig.Params().At(0).Type()).(*types.Pointer)
	_, isSlice := types.Unalias(sig.Params().At(1).Type()).(*types.Slice)
	pass := namedOf(sig.Params().At(2).Type())
	if !isPtr || !isSlice || pass == nil || pass.Obj().Pkg() == nil {
		return nil, false
	}
	_, open := types.Unalias(s.Elem()).(*types.TypeParam)
	return s.Elem(), !open && pass.Obj().Name() == "Pass" && pass.Obj().Pkg().Path() == engine
}

// isRootHere says whether a node is held to the rules where it is declared.
func (l *lint) isRootHere(n *node) bool {
	if n.tests && !withTests {
		return false
	}
	_, shaped := isStep(n.sig)
	return shaped || l.marked(n)
}

// reportRoots reports what every step leads to.
func (l *lint) reportRoots() {
	for _, n := range l.nodes {
		if n.body == nil || !l.isRootHere(n) {
			continue
		}
		state, shaped := isStep(n.sig)
		if !shaped {
			state = l.stateOf(n)
		}
		if n.sig != nil && shaped {
			l.lookKept(n, []*types.Var{n.sig.Params().At(1), n.sig.Params().At(2)})
		}
		l.reportOutside(n, state)
		if state != nil {
			l.reportState(n, state, n.body.Pos())
			l.reportMethods(n, state)
		}
		l.reportFrom(n)
	}
	for _, file := range l.Files {
		if l.inTest(file.Pos()) && !withTests {
			continue
		}
		ast.Inspect(file, func(at ast.Node) bool {
			if lit, ok := at.(*ast.CompositeLit); ok {
				l.reportHooks(lit)
			}
			return true
		})
	}
}

// stateOf is the state of a step that is marked: what its receiver, or its first parameter, points to.
func (l *lint) stateOf(n *node) types.Type {
	for _, p := range n.params {
		if ptr, ok := p.Type().Underlying().(*types.Pointer); ok && namedOf(ptr) != nil {
			return ptr.Elem()
		}
	}
	return nil
}

// reportMethods holds the methods that copy and hash a state to the rules. Those of another package's state are
// reported where the step is.
func (l *lint) reportMethods(root *node, state types.Type) {
	named := namedOf(state)
	if named == nil {
		return
	}
	for m := range named.Methods() {
		if !slices.Contains([]string{"AppendBinary", "CopyTo", "UnmarshalBinary"}, m.Name()) {
			continue
		}
		if n := l.funcs[m.Origin()]; n != nil {
			if n.body == nil {
				continue
			}
			if m.Name() == "CopyTo" {
				l.lookCopy(n)
			}
			l.reportFrom(n)
			continue
		}
		n := &node{name: root.name, edges: []edge{{pos: root.body.Pos(), fact: m.Origin()}}}
		l.reportFrom(n)
	}
}

// reportHooks holds functions in a session's configuration to the rules.
func (l *lint) reportHooks(lit *ast.CompositeLit) {
	t := namedOf(l.TypesInfo.TypeOf(lit))
	if t == nil || t.Obj().Pkg() == nil || !strings.HasPrefix(t.Obj().Pkg().Path(), engine+"/") {
		return
	}
	if args := t.TypeArgs(); args.Len() > 0 {
		if _, open := types.Unalias(args.At(0)).(*types.TypeParam); open {
			return // a harness about somebody else's game
		}
	}
	names := hooks[t.Obj().Pkg().Name()+"."+t.Obj().Name()]
	for _, elt := range lit.Elts {
		kv, ok := elt.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, ok := kv.Key.(*ast.Ident)
		if !ok || !slices.Contains(names, key.Name) {
			continue
		}
		if e, ok := l.target(kv.Value, kv.Value.Pos()); ok {
			if e.to != nil {
				l.reportOutside(e.to, nil)
				l.reportFrom(e.to)
			} else {
				l.reportFrom(&node{name: key.Name, edges: []edge{e}})
			}
		}
	}
}

// reportOutside finds what a step changes that is neither its state nor a package's: what a literal captures, and
// what a method of something else has.
func (l *lint) reportOutside(n *node, state types.Type) {
	for _, c := range n.changes {
		if isPackageVar(c.v) || l.declaredIn(c.v, n) && !slices.Contains(n.params, c.v) {
			continue
		}
		if slices.Contains(n.params, c.v) {
			ptr, ok := c.v.Type().Underlying().(*types.Pointer)
			recv := n.sig.Recv()
			if state == nil || recv != c.v || ok && types.Identical(ptr.Elem(), state) {
				continue
			}
		}
		what := "changes " + c.v.Name() + ", which is not in the state, so that no rewind takes it back"
		l.reportFinding(finding{code: Outside, pos: c.pos, end: c.end, what: what}, "in "+n.name)
	}
}

// reportFrom reports everything that a root leads to.
func (l *lint) reportFrom(root *node) {
	type visit struct {
		n    *node
		path []string
		but  []Code
	}
	seen := map[*node]bool{root: true}
	queue := []visit{{root, []string{root.name}, nil}}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, f := range v.n.found {
			if f.elsewhere && l.told[origin{f.code, f.what}] {
				continue
			}
			if !slices.Contains(v.but, f.code) {
				l.told[origin{f.code, f.what}] = true
				l.reportFinding(f, "from "+way(v.path))
			}
		}
		for i := range v.n.edges {
			e := &v.n.edges[i]
			but := append(slices.Clone(v.but), e.ignored...)
			if e.fact != nil {
				l.reportFact(e, v.path, but)
				continue
			}
			if !seen[e.to] && (withTests || !e.to.tests) {
				seen[e.to] = true
				queue = append(queue, visit{e.to, append(slices.Clone(v.path), e.to.name), but})
			}
		}
	}
}

// reportFact reports where another package's function is called what it leads to. What lies in another package is
// told once, at the first call that leads there: mended, it is mended for all.
func (l *lint) reportFact(e *edge, path []string, but []Code) {
	s := l.factOf(e.fact)
	if s.Step {
		return // it is reported where it is declared
	}
	for _, t := range s.Traces {
		if !slices.Contains(but, t.Code) {
			what := fmt.Sprintf("%s at %s", t.What, t.At)
			if l.ignored(t.Code, e.pos) || l.told[origin{t.Code, what}] {
				continue
			}
			l.told[origin{t.Code, what}] = true
			l.reportFinding(finding{code: t.Code, pos: e.pos, end: e.pos, what: what}, "from "+way(append(slices.Clone(path), t.Path...)))
		}
	}
}

// way is how one gets somewhere.
func way(path []string) string {
	if len(path) > maxPath {
		path = append(slices.Clone(path[:maxPath-1]), "…", path[len(path)-1])
	}
	return strings.Join(path, " → ")
}

// reportFinding reports one finding, once.
func (l *lint) reportFinding(f finding, whence string) {
	at := place{f.pos, f.code}
	if l.reported[at] || !f.pos.IsValid() || l.ignored(f.code, f.pos) || l.inTest(f.pos) && !withTests {
		return
	}
	l.reported[at] = true
	end := f.end
	if end < f.pos {
		end = token.NoPos
	}
	l.Report(analysis.Diagnostic{
		Pos: f.pos, End: end, Category: string(f.code), URL: page + "#" + string(f.code),
		Message:        fmt.Sprintf("%s: %s: %s (%s)", f.code, f.what, advice[f.code], whence),
		SuggestedFixes: f.fixes,
	})
}
