package detlint

import (
	"fmt"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
)

// summary is the fact about a function, or a package variable, that other packages are told.
type summary struct {
	Traces []trace // the nearest finding of each code, ordered by code
	// Step: what it leads to is reported where it is declared.
	Step bool
	// Writes has a bit for each parameter, the receiver first, through which it changes something.
	Writes uint64
	Pure   bool
	// Product: a product that is not rounded is among what it returns. Adds has a bit for each
	// parameter that it adds something to. Both only of what is small enough to be inlined.
	Product bool
	Adds    uint64
	// Writer names the function that changes a variable.
	Writer string
}

// AFact makes it a fact.
func (*summary) AFact() {}

func (s *summary) String() string {
	return fmt.Sprint(len(s.Traces), " findings")
}

// trace is a finding as another package is told it.
type trace struct {
	Code Code
	What string
	At   string   // physics/sweep.go:40
	Path []string // the functions between, the outermost first
}

// maxPath bounds how many functions a way names.
const maxPath = 12

// spread finds for every node and code the nearest finding.
func (l *lint) spread() {
	into := map[*node][]*edge{}
	at := map[*edge]*node{}
	for _, n := range l.nodes {
		n.through = map[Code]*step{}
		for i := range n.edges {
			e := &n.edges[i]
			at[e] = n
			if e.to != nil {
				into[e.to] = append(into[e.to], e)
			}
		}
	}
	for code := range advice {
		var queue []*node
		for _, n := range l.nodes {
			if s := l.first(n, code); s != nil {
				n.through[code] = s
				queue = append(queue, n)
			}
		}
		slices.SortStableFunc(queue, func(a, b *node) int { return a.through[code].length - b.through[code].length })
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			for _, e := range into[n] {
				from := at[e]
				if from.through[code] != nil || slices.Contains(e.ignored, code) {
					continue
				}
				from.through[code] = &step{edge: e, length: n.through[code].length + 1}
				queue = append(queue, from)
			}
		}
	}
}

// first is a node's own finding of a code, or one that another package's fact tells.
func (l *lint) first(n *node, code Code) (best *step) {
	for i := range n.found {
		if n.found[i].code == code {
			return &step{finding: &n.found[i]}
		}
	}
	for i := range n.edges {
		e := &n.edges[i]
		if e.fact == nil || slices.Contains(e.ignored, code) {
			continue
		}
		for _, t := range l.factOf(e.fact).Traces {
			if t.Code == code && (best == nil || len(t.Path)+1 < best.length) {
				best = &step{edge: e, trace: &t, length: len(t.Path) + 1}
			}
		}
	}
	return best
}

func (l *lint) factOf(obj types.Object) summary {
	var s summary
	l.ImportObjectFact(obj, &s)
	return s
}

// export tells other packages about the functions and variables of this one.
func (l *lint) export() {
	for _, n := range l.nodes {
		if n.tests || n.lit != nil {
			continue
		}
		s := summary{
			Traces: l.traces(n), Writes: n.writes, Pure: n.pure, Product: n.small && len(n.returned) > 0, Step: l.isRootHere(n),
		}
		if n.small {
			s.Adds = n.adds
		}
		switch {
		case n.fn != nil:
			l.ExportObjectFact(n.fn, &s)
		case n.init != nil:
			s.Writer = l.writers[n.init]
			l.ExportObjectFact(n.init, &s)
		}
	}
	for v, writer := range l.writers {
		if v.Pkg() == l.Pkg && l.vars[v] == nil {
			l.ExportObjectFact(v, &summary{Writer: writer})
		}
	}
}

// traces are a node's findings as others are told them.
func (l *lint) traces(n *node) (all []trace) {
	for code, s := range n.through {
		if code == Directive {
			continue
		}
		t := trace{Code: code, Path: []string{l.qualified(n)}}
		for s.edge != nil && s.edge.to != nil {
			if len(t.Path) < maxPath {
				t.Path = append(t.Path, s.edge.to.name)
			}
			s = s.edge.to.through[code]
		}
		if s.trace != nil {
			t.What, t.At = s.trace.What, s.trace.At
			t.Path = append(t.Path, s.trace.Path[:min(len(s.trace.Path), max(0, maxPath-len(t.Path)))]...)
		} else {
			t.What, t.At = s.finding.what, l.at(s.finding.pos)
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b trace) int {
		if a.Code < b.Code {
			return -1
		}
		return 1
	})
	return all
}

// qualified is a node's name with its package.
func (l *lint) qualified(n *node) string { return l.Pkg.Name() + "." + n.name }

// at is a position as other packages read it: the package's last name, the file and the line.
func (l *lint) at(pos token.Pos) string {
	p := l.Fset.Position(pos)
	return fmt.Sprintf("%s/%s:%d", path.Base(l.Pkg.Path()), filepath.Base(p.Filename), p.Line)
}
