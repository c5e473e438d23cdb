package golden

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Exported returns the names of what the package in dir exports and can be called, sorted:
// "Sin" for a function, "Num.Add" for a method, without type parameters. It reads the
// source, all of it but tests, so that what no list mentions is found.
func Exported(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if name := callable(d); name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// callable names the function or method that d declares, if others can call it.
func callable(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok || !f.Name.IsExported() {
		return ""
	}
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.ParenExpr:
			t = of.X
		case *ast.Ident:
			if !of.IsExported() {
				return ""
			}
			return of.Name + "." + f.Name.Name
		default:
			return ""
		}
	}
}

// Missing compares what a package exports with the names for which there is a golden,
// "Vec2[Num].Add" counting for "Vec2.Add": what lacks one, and what is there no more.
func Missing(exported, have []string) (without, stale []string) {
	plain := map[string]bool{}
	for _, name := range have {
		if from, rest, ok := strings.Cut(name, "["); ok {
			_, rest, _ = strings.Cut(rest, "]")
			name = from + rest
		}
		plain[name] = true
		if !slices.Contains(exported, name) {
			stale = append(stale, name)
		}
	}
	for _, name := range exported {
		if !plain[name] {
			without = append(without, name)
		}
	}
	return without, stale
}
