package det_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exact are the functions of package math whose results IEEE 754, or their definition,
// fixes.
var exact = []string{"Abs", "Copysign", "FMA", "Float64bits", "Float64frombits", "Inf", "Signbit", "Sqrt"}

// sourceFaults names what could give other bits on another machine: a product (or a
// quotient by a constant, which compilers turn into one) that no conversion rounds, and
// a function of package math that is not exact.
func sourceFaults(t *testing.T, sources map[string]string) (faults []string, products int) {
	set := token.NewFileSet()
	var files []*ast.File
	for name, text := range sources {
		file, err := parser.ParseFile(set, name, text, 0)
		require.NoError(t, err)
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(set, "source", nil)}
	_, err := config.Check("det", set, files, info)
	require.NoError(t, err)

	isFloat := func(e ast.Expr) bool {
		basic, ok := info.TypeOf(e).Underlying().(*types.Basic)
		return ok && basic.Info()&types.IsFloat != 0 && info.Types[e].Value == nil
	}
	rounded := map[ast.Expr]bool{} // what a conversion has as its operand
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			fault := func(format string, a ...any) {
				faults = append(faults, fmt.Sprintf("%s: ", set.Position(n.Pos()))+fmt.Sprintf(format, a...))
			}
			switch n := n.(type) {
			case *ast.CallExpr:
				if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "float64" {
					rounded[ast.Unparen(n.Args[0])] = true
				}
			case *ast.BinaryExpr:
				product := n.Op == token.MUL || n.Op == token.QUO && info.Types[n.Y].Value != nil
				if product && isFloat(n) {
					products++
					if !rounded[n] {
						fault("a product that is not rounded by float64(…)")
					}
				}
			case *ast.AssignStmt:
				if (n.Tok == token.MUL_ASSIGN || n.Tok == token.QUO_ASSIGN) && isFloat(n.Lhs[0]) {
					fault("a product that is not rounded by float64(…)")
				}
			case *ast.SelectorExpr:
				used := info.Uses[n.Sel]
				if _, ok := used.(*types.Func); ok && used.Pkg().Path() == "math" && !slices.Contains(exact, n.Sel.Name) {
					fault("math.%s is not the same everywhere", n.Sel.Name)
				}
			}
			return true
		})
	}
	return faults, products
}

func sourceIsThere(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the source is the same on every machine, and its rules are checked where Go's own source is at hand")
	}
}

func TestTheSourceLeavesNothingToTheMachine(t *testing.T) {
	sourceIsThere(t)
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	sources := map[string]string{}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			sources[name] = string(text)
		}
	}
	faults, products := sourceFaults(t, sources)
	require.Empty(t, faults)
	require.Greater(t, products, 100, "it saw no arithmetic to speak of")
}

func TestTheRulesForSourceNoticeWhatTheyForbid(t *testing.T) {
	sourceIsThere(t)
	for name, c := range map[string]struct {
		line  string
		fault bool
	}{
		"a rounded product":                      {"return float64(x*y) + z", false},
		"a product with a sum":                   {"return x*y + z", true},
		"a product that is kept first":           {"p := x * y; return p + z", true},
		"a product in parentheses":               {"return (x * y) - z", true},
		"a sum whose product is inside":          {"return float64(x*y + z)", true},
		"a product in place":                     {"x *= y; return x + z", true},
		"a half, which a compiler makes product": {"return x/2 + z", true},
		"a quotient":                             {"return x/y + z", false},
		"constants":                              {"return x + 2.0*3", false},
		"integers":                               {"return float64(int(x) * int(y))", false},
		"a fused product on purpose":             {"return math.FMA(x, y, z)", false},
		"a root":                                 {"return math.Sqrt(x)", false},
		"a function that differs":                {"return math.Exp(x)", true},
	} {
		t.Run(name, func(t *testing.T) {
			faults, _ := sourceFaults(t, map[string]string{
				"x.go": "package det\nimport \"math\"\nfunc f(x, y, z float64) float64 { " + c.line + " }\nvar _ = math.Abs\n",
			})
			require.Equal(t, c.fault, len(faults) > 0, "%v", faults)
		})
	}
}
