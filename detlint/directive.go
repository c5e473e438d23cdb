package detlint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// ignore is a comment //detlint:ignore CODE[,CODE] reason.
type ignore struct {
	pos, end token.Pos
	file     string
	first    int // the lines that it is about
	last     int
	codes    []Code
	used     bool
	fault    string
}

// mark is a comment //detlint:step.
type mark struct {
	pos  token.Pos
	file string
	line int // the line of the function that it marks
	used bool
}

// readDirectives reads the comments that are meant for this tool.
func (l *lint) readDirectives() {
	for _, file := range l.Files {
		code := l.linesOfCode(file)
		for _, group := range file.Comments {
			for _, c := range group.List {
				text, ok := strings.CutPrefix(c.Text, "//detlint:")
				if !ok {
					continue
				}
				verb, rest, _ := strings.Cut(text, " ")
				p := l.Fset.Position(c.Pos())
				line := p.Line
				if !code[line] {
					line = nextLine(code, line)
				}
				switch verb {
				case "ignore":
					ig := l.parseIgnore(c, rest)
					ig.file, ig.first, ig.last = p.Filename, line, line
					l.widen(file, group, ig)
					l.ignores = append(l.ignores, ig)
				case "step":
					l.marks = append(l.marks, &mark{pos: c.Pos(), file: p.Filename, line: line})
				default:
					l.ignores = append(l.ignores, &ignore{pos: c.Pos(), end: c.End(), file: p.Filename, fault: "there is no comment //detlint:" + verb + ", only ignore and step"})
				}
			}
		}
	}
}

// parseIgnore reads what is to be ignored and why.
func (l *lint) parseIgnore(c *ast.Comment, rest string) *ignore {
	rest, _, _ = strings.Cut(rest, "// want")
	codes, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
	ig := &ignore{pos: c.Pos(), end: c.End()}
	for name := range strings.SplitSeq(codes, ",") {
		if _, ok := advice[Code(name)]; !ok || Code(name) == Directive {
			ig.fault = "there is no code \"" + name + "\" to ignore"
			return ig
		}
		ig.codes = append(ig.codes, Code(name))
	}
	if strings.TrimSpace(reason) == "" {
		ig.fault = "nothing is ignored without a reason: //detlint:ignore " + codes + " and why"
	}
	return ig
}

// widen makes an ignore in the comment of a function be about all of it.
func (l *lint) widen(file *ast.File, group *ast.CommentGroup, ig *ignore) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Doc == group {
			ig.first, ig.last = l.Fset.Position(f.Pos()).Line, l.Fset.Position(f.End()).Line
		}
	}
}

// linesOfCode are the lines on which something other than a comment is.
func (l *lint) linesOfCode(file *ast.File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(file, func(at ast.Node) bool {
		switch at.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return false
		case *ast.File:
			return true
		}
		lines[l.Fset.Position(at.Pos()).Line] = true
		lines[l.Fset.Position(at.End()).Line] = true
		return true
	})
	return lines
}

func nextLine(code map[int]bool, after int) int {
	next := 0
	for line := range code {
		if line > after && (next == 0 || line < next) {
			next = line
		}
	}
	return next
}

// ignored says whether a finding is one to ignore, and notes that the comment was of use.
func (l *lint) ignored(code Code, pos token.Pos) bool {
	p, is := l.Fset.Position(pos), false
	for _, ig := range l.ignores {
		if ig.fault == "" && ig.file == p.Filename && ig.first <= p.Line && p.Line <= ig.last && slices.Contains(ig.codes, code) {
			ig.used, is = true, true
		}
	}
	return is
}

// applyIgnores takes out what is to be ignored before anybody is told of it.
func (l *lint) applyIgnores() {
	for _, n := range l.nodes {
		n.found = slices.DeleteFunc(n.found, func(f finding) bool { return l.ignored(f.code, f.pos) })
	}
	for _, ig := range l.ignores {
		if ig.fault != "" {
			continue
		}
		for _, n := range l.nodes {
			for i := range n.edges {
				p := l.Fset.Position(n.edges[i].pos)
				if ig.file == p.Filename && ig.first <= p.Line && p.Line <= ig.last {
					n.edges[i].ignored = append(n.edges[i].ignored, ig.codes...)
					ig.used = ig.used || l.leadsTo(&n.edges[i], ig.codes)
				}
			}
		}
	}
}

// leadsTo says whether an edge leads to something of one of the codes.
func (l *lint) leadsTo(e *edge, codes []Code) bool {
	if e.fact != nil {
		return slices.ContainsFunc(l.factOf(e.fact).Traces, func(t trace) bool { return slices.Contains(codes, t.Code) })
	}
	seen := map[*node]bool{}
	var visit func(n *node) bool
	visit = func(n *node) bool {
		if seen[n] {
			return false
		}
		seen[n] = true
		return slices.ContainsFunc(n.found, func(f finding) bool { return slices.Contains(codes, f.code) }) ||
			slices.ContainsFunc(n.edges, func(e edge) bool {
				return e.to != nil && visit(e.to) || e.to == nil && l.leadsTo(&e, codes)
			})
	}
	return visit(e.to)
}

// marked says whether a comment marks a function as a step.
func (l *lint) marked(n *node) bool {
	var pos token.Pos
	switch {
	case n.fn != nil:
		pos = n.fn.Pos()
	case n.lit != nil:
		pos = n.lit.Pos()
	default:
		return false
	}
	p, is := l.Fset.Position(pos), false
	for _, m := range l.marks {
		if m.file == p.Filename && m.line == p.Line {
			m.used, is = true, true
		}
	}
	return is
}

// reportDirectives reports the comments that say nothing.
func (l *lint) reportDirectives() {
	for _, ig := range l.ignores {
		if l.inTest(ig.pos) && !withTests {
			continue
		}
		what := ig.fault
		if what == "" && !ig.used {
			what = "this comment ignores nothing"
		}
		if what != "" {
			l.reportFinding(finding{code: Directive, pos: ig.pos, end: ig.end, what: what}, "not from a step")
		}
	}
	for _, m := range l.marks {
		if !m.used && (withTests || !l.inTest(m.pos)) {
			l.reportFinding(finding{code: Directive, pos: m.pos, end: m.pos, what: "this comment marks no function"}, "not from a step")
		}
	}
}
