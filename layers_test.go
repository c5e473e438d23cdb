package driftback_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the import path of the root package.
const module = "github.com/driftback/driftback"

// A floor is one room of the building: what it may import of ours, and which of
// the core's rules it lives under.
type floor struct {
	// imports are the packages of ours that it may import, relative to the
	// module; "" is the root. An entry that ends in "/..." stands for all below.
	imports []string
	// clockless: no go statement, no package that reads a clock, a file or a
	// socket, and of package time only Duration and its units.
	clockless bool
	// unsafe: may import unsafe.
	unsafe bool
}

// floors is the building as a table. Arrows point down only; a package
// the table lacks fails the test, so that a new room is a decision.
var floors = map[string]floor{
	"":            {clockless: true, unsafe: true}, // where in a state a field lies
	"layout":      {clockless: true, unsafe: true},
	"inputlog":    {clockless: true, imports: []string{""}},
	"snapshot":    {clockless: true, imports: []string{"", "layout"}},
	"fingerprint": {clockless: true, imports: []string{"", "layout"}},
	"rewind":      {clockless: true, imports: []string{"", "inputlog", "snapshot"}},
	"wire":        {clockless: true, imports: []string{""}},
	"transfer":    {clockless: true, imports: []string{"", "wire"}},
	"mesh":        {clockless: true, imports: []string{"", "buggify", "wire", "transport"}},
	"feed":        {clockless: true, imports: []string{"", "wire", "transport", "transfer", "mesh"}},
	"relay":       {clockless: true, imports: []string{"", "wire", "transport", "mesh"}},
	"pacing":      {clockless: true},
	"dispute":     {clockless: true, imports: []string{""}},
	// What a desync leaves behind, and its command line.
	"desync":         {clockless: true, imports: []string{"", "layout", "fingerprint", "wire", "dispute"}},
	"desync/command": {imports: []string{"", "layout", "fingerprint", "desync", "internal/files", "internal/cmdline"}},
	"session": {clockless: true, imports: []string{
		"", "feed", "layout", "inputlog", "snapshot", "fingerprint", "rewind", "pacing", "buggify", "wire", "mesh", "transport", "transfer",
		"dispute", "desync", "internal/fields",
	}},
	"simtest": {clockless: true, imports: []string{
		"", "rng", "buggify", "layout", "fingerprint", "snapshot", "wire", "mesh", "feed", "pacing", "dispute", "session", "transport",
		"transport/impair", "transport/loopback",
		"internal/files", "internal/commit", "internal/fields",
	}},
	// Where scenarios that fail are kept, and reports are read; the simulation itself touches no file.
	"internal/files":  {},
	"internal/commit": {},
	// The name of a field in which two states differ, for sentences.
	"internal/fields":  {clockless: true, imports: []string{"fingerprint"}},
	"internal/cmdline": {},
	// The clock of a relay in a process.
	"internal/carry": {imports: []string{"", "relay"}},
	// How tests wait for a network.
	"internal/waittest": {imports: []string{"transport"}},
	// For tests alone, as the one before and those after.
	"internal/golden":     {imports: []string{"", "inputlog", "rewind", "rng"}},
	"internal/mutant":     {},
	"internal/signaltest": {imports: []string{"internal/waittest", "signalling/server"}},
	// The one room of simtest with threads and a clock, and its command line.
	"simtest/soak": {imports: []string{"", "rng", "simtest", "internal/files", "internal/commit"}},
	"simtest/soak/command": {imports: []string{
		"simtest", "simtest/soak", "internal/files", "internal/commit", "internal/cmdline",
	}},

	"fixed": {clockless: true},
	"det":   {clockless: true},
	// Where det's tables come from, and what det and fixed are compared with.
	"det/internal/coefficients": {imports: []string{"internal/bigmath"}},
	"internal/bigmath":          {},
	"rng":                       {clockless: true},
	// Rare paths that a simulation forces inside mesh and session.
	"buggify": {clockless: true, imports: []string{"rng"}},

	"transport":               {clockless: true, imports: []string{""}},
	"transport/impair":        {clockless: true, imports: []string{"rng"}},
	"transport/loopback":      {clockless: true, imports: []string{"", "transport", "transport/impair"}},
	"transport/transporttest": {imports: []string{"", "transport"}},
	"identity":                {},
	"transport/quic":          {imports: []string{"", "transport", "identity"}},
	"transport/detour":        {clockless: true, imports: []string{"", "transport", "identity"}},
	"natpunch":                {imports: []string{"", "transport", "transport/quic", "identity"}},
	"signalling":              {imports: []string{""}},
	// Rooms on a server: what members and servers say to each other, and either end. Neither knows of
	// paths, so that a server mounts one without all that finds them.
	"signalling/internal/frame": {imports: []string{"", "identity"}},
	"signalling/internal/limit": {},
	"signalling/web":            {imports: []string{"", "identity", "signalling/internal/frame"}},
	"signalling/server":         {imports: []string{"", "identity", "signalling/internal/frame", "signalling/internal/limit"}},
	"signalling/turnserver":     {imports: []string{"signalling/internal/limit"}},

	"cmd/driftback":         {imports: []string{"/..."}},
	"bench":                 {imports: []string{"/..."}},
	"bench/linkcost":        {imports: []string{"/..."}},
	"examples/fighter":      {imports: []string{"/..."}},
	"examples/fighter/sim":  {clockless: true, imports: []string{"", "fixed", "rng"}},
	"examples/racer":        {imports: []string{"/..."}},
	"examples/racer/sim":    {clockless: true, imports: []string{"", "fixed", "rng"}},
	"examples/internal/...": {imports: []string{"/..."}},
}

// banned are the standard packages that a clockless room must not import: they
// read clocks, files or sockets, share memory between goroutines, or log.
var banned = []string{"net", "os", "sync", "math/rand", "log", "context", "hash/maphash"}

// timeWords are the names of package time that read no clock.
var timeWords = []string{"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"}

func TestEveryPackageStaysOnItsFloor(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if nested, _ := filepath.Glob(filepath.Join(name, "go.mod")); name != "." && (len(nested) > 0 ||
				strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "out") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		for _, fault := range faultsOf(t, filepath.ToSlash(name), nil) {
			t.Error(fault)
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, files, "the walk found no file, so it checked nothing")
}

func TestTheFloorsNoticeWhatTheyForbid(t *testing.T) {
	for name, c := range map[string]struct{ file, source, want string }{
		"an arrow that points up":         {"wire/x.go", `import _ "` + module + `/mesh"`, "wire/x.go imports mesh, which its floor does not allow"},
		"a room without a floor":          {"util/x.go", ``, `util/x.go is in package "util", which has no floor in layers_test.go`},
		"a goroutine in the core":         {"mesh/x.go", `func f() { go f() }`, "mesh/x.go:2 starts a goroutine"},
		"a clock read in the core":        {"mesh/x.go", `import "time"; var x = time.Now()`, "mesh/x.go:2 uses time.Now"},
		"a renamed clock":                 {"mesh/x.go", `import c "time"; var x = c.Now()`, "mesh/x.go:2 uses time.Now"},
		"a dot-imported clock":            {"mesh/x.go", `import . "time"`, "mesh/x.go imports time with a dot"},
		"a socket in the core":            {"session/x.go", `import _ "net/http"`, "session/x.go imports net/http"},
		"a lock in the core":              {"inputlog/x.go", `import _ "sync/atomic"`, "inputlog/x.go imports sync/atomic"},
		"unsafe outside layout":           {"snapshot/x.go", `import _ "unsafe"`, "snapshot/x.go imports unsafe"},
		"a file behind a build tag":       {"wire/x.go", `import _ "os"`, "wire/x.go imports os"},
		"a source of chance in the floor": {"transport/impair/x.go", `import _ "math/rand/v2"`, "transport/impair/x.go imports math/rand/v2"},
	} {
		t.Run(name, func(t *testing.T) {
			faults := faultsOf(t, c.file, "//go:build never\n\npackage x;"+c.source)
			require.NotEmpty(t, faults)
			require.Contains(t, strings.ReplaceAll(strings.Join(faults, "\n"), ".go:3", ".go:2"), c.want)
		})
	}
}

// faultsOf returns a sentence for each rule that one file breaks. source nil
// means to read the file, whatever its build tags.
func faultsOf(t *testing.T, file string, source any) []string {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, filepath.FromSlash(file), source, parser.SkipObjectResolution)
	require.NoError(t, err)

	pkg := path.Dir(file)
	if pkg == "." {
		pkg = ""
	}
	f, ok := floorOf(pkg)
	if !ok {
		return []string{fmt.Sprintf("%s is in package %q, which has no floor in layers_test.go", file, pkg)}
	}

	var faults []string
	clock := ""
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		if imported == module || strings.HasPrefix(imported, module+"/") {
			rel := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
			if !allows(f.imports, rel) {
				faults = append(faults, fmt.Sprintf("%s imports %s, which its floor does not allow", file, orRoot(rel)))
			}
			continue
		}
		if imported == "unsafe" && !f.unsafe {
			faults = append(faults, file+" imports unsafe, which belongs to layout alone")
		}
		if !f.clockless {
			continue
		}
		for _, b := range banned {
			if imported == b || strings.HasPrefix(imported, b+"/") {
				faults = append(faults, fmt.Sprintf("%s imports %s: the core reads no clock, file or socket and shares nothing", file, imported))
			}
		}
		if imported == "time" {
			clock = "time"
			if spec.Name != nil {
				clock = spec.Name.Name
			}
			if clock == "." {
				faults = append(faults, file+" imports time with a dot, which hides what reads the clock")
			}
		}
	}
	if !f.clockless {
		return faults
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			faults = append(faults, fmt.Sprintf("%s:%d starts a goroutine: the core is single-threaded", file, set.Position(n.Pos()).Line))
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && clock != "" && id.Name == clock && !slices.Contains(timeWords, n.Sel.Name) {
				faults = append(faults, fmt.Sprintf("%s:%d uses time.%s: in the core time is an argument", file, set.Position(n.Pos()).Line, n.Sel.Name))
			}
		}
		return true
	})
	return faults
}

func floorOf(pkg string) (floor, bool) {
	if f, ok := floors[pkg]; ok {
		return f, true
	}
	for at := pkg; at != "."; at = path.Dir(at) {
		if f, ok := floors[path.Dir(at)+"/..."]; ok {
			return f, true
		}
	}
	return floor{}, false
}

func allows(list []string, rel string) bool {
	return slices.Contains(list, rel) || slices.ContainsFunc(list, func(entry string) bool {
		under, ok := strings.CutSuffix(entry, "...")
		return ok && strings.HasPrefix("/"+rel+"/", "/"+strings.TrimPrefix(under, "/"))
	})
}

func orRoot(rel string) string {
	if rel == "" {
		return "the root"
	}
	return rel
}
