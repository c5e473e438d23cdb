package detlint_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/driftback/driftback/detlint"
)

// findings leaves out what analysistest has to say of facts, which are seen by what other packages find.
type findings struct{ *testing.T }

func (f findings) Errorf(format string, args ...any) {
	f.Helper()
	if !strings.Contains(fmt.Sprintf(format, args...), "unexpected fact: ") {
		f.T.Errorf(format, args...)
	}
}

func TestEveryKindIsFoundAndWhatIsHarmlessIsNot(t *testing.T) {
	kinds := []string{"maprange", "order", "floats", "state", "outside", "calls", "directive", "foreign"}
	analysistest.Run(findings{t}, analysistest.TestData(), detlint.Analyzer, kinds...)
}

func TestWhatIsOffByDefaultIsFoundWhenItIsAskedFor(t *testing.T) {
	for flag, kind := range map[string]string{"dynamic": "dynamic", "steps-in-tests": "tested"} {
		for _, result := range analysistest.Run(quiet{}, analysistest.TestData(), detlint.Analyzer, kind) {
			require.Empty(t, result.Diagnostics, kind)
		}
		require.NoError(t, detlint.Analyzer.Flags.Set(flag, "true"))
		analysistest.Run(findings{t}, analysistest.TestData(), detlint.Analyzer, kind)
		require.NoError(t, detlint.Analyzer.Flags.Set(flag, "false"))
	}
}

func TestAProductIsRoundedByTheSuggestedFix(t *testing.T) {
	analysistest.RunWithSuggestedFixes(findings{t}, analysistest.TestData(), detlint.Analyzer, "fixes")
}

// quiet takes what analysistest has to say of findings without a comment.
type quiet struct{}

func (quiet) Errorf(string, ...any) {}

// planted are the faults that are written down in the package of that name: line and code.
func planted(t *testing.T) map[string]bool {
	t.Helper()
	want := map[string]bool{}
	file, err := os.Open(filepath.Join("testdata", "src", "planted", "planted.go"))
	require.NoError(t, err)
	defer file.Close()
	scan := bufio.NewScanner(file)
	for line := 1; scan.Scan(); line++ {
		if _, codes, ok := strings.Cut(scan.Text(), "// fault: "); ok {
			for code := range strings.SplitSeq(codes, ", ") {
				want[fmt.Sprintf("%d %s", line, code)] = true
			}
		}
	}
	require.NoError(t, scan.Err())
	require.Len(t, want, 9)
	return want
}

func TestEachPlantedFaultIsFoundOnItsLine(t *testing.T) {
	want := planted(t)
	found := map[string]bool{}
	for _, result := range analysistest.Run(quiet{}, analysistest.TestData(), detlint.Analyzer, "planted") {
		for _, d := range result.Diagnostics {
			found[fmt.Sprintf("%d %s", result.Pass.Fset.Position(d.Pos).Line, d.Category)] = true
		}
	}
	require.Equal(t, want, found)
}

func TestEveryCodeHasAdviceAndAPlaceOnThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "detlint.md"))
	require.NoError(t, err)
	require.NotEmpty(t, detlint.Codes())
	for code, advice := range detlint.Codes() {
		require.NotEmpty(t, advice, code)
		require.Contains(t, string(page), "### "+string(code)+"\n", "docs/detlint.md is where a finding's link leads")
	}
}

func TestTheStandardLibraryIsKnownAsSuch(t *testing.T) {
	out, err := exec.Command("go", "list", "std").Output()
	require.NoError(t, err)
	for path := range strings.FieldsSeq(string(out)) {
		require.True(t, detlint.IsStd(path), path)
	}
	for _, path := range []string{"github.com/driftback/driftback", "golang.org/x/exp/maps", "example.com/os", "game"} {
		require.False(t, detlint.IsStd(path), path)
	}
}

// A run that is clean proves nothing if the program is blind, so it is shown faults, in another package than the
// step's too.
func TestTheProgramFindsFaultsUnderVetAndAlone(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "detlint.exe")
	run(t, ".", 0, "go", "build", "-o", program, "./cmd/detlint")
	module := filepath.Join(dir, "module")
	stand := filepath.Join("testdata", "src", "github.com", "driftback", "driftback")
	require.NoError(t, os.CopyFS(module, os.DirFS(stand)))
	require.NoError(t, os.CopyFS(filepath.Join(module, "planted"), os.DirFS(filepath.Join("testdata", "src", "planted"))))
	require.NoError(t, os.WriteFile(filepath.Join(module, "go.mod"), []byte("module github.com/driftback/driftback\n\ngo 1.26\n"), 0o600))
	game := "package game\n\nimport (\n\t\"github.com/driftback/driftback\"\n\t\"github.com/driftback/driftback/far\"\n)\n\n" +
		"type S struct{ X int64 }\n\nfunc Step(s *S, _ []uint8, _ *driftback.Pass) { s.X = far.Away() }\n"
	far := "package far\n\nimport \"time\"\n\nfunc Away() int64 { return time.Now().Unix() }\n"
	for name, source := range map[string]string{"game": game, "far": far} {
		require.NoError(t, os.Mkdir(filepath.Join(module, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(module, name, name+".go"), []byte(source), 0o600))
	}

	for how, out := range map[string]string{
		"under vet": run(t, module, 1, "go", "vet", "-vettool="+program, "./..."),
		"alone":     run(t, module, 3, program, "./..."),
	} {
		for fault := range planted(t) {
			line, code, _ := strings.Cut(fault, " ")
			require.Regexp(t, `planted\.go:`+line+`:\d+: `+code+": ", out, how)
		}
		require.Regexp(t, `game\.go:10:\d+: clock: time.Now reads a clock at far/far.go:5: .*Step → far.Away`, out, how)
	}
}

// run runs a program that ends with that status, and returns what it prints.
func run(t *testing.T, dir string, status int, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	out, _ := cmd.CombinedOutput()
	require.NotNil(t, cmd.ProcessState, "%s did not start", name)
	require.Equal(t, status, cmd.ProcessState.ExitCode(), string(out))
	return string(out)
}

func TestTheAnalyzerIsValid(t *testing.T) {
	require.NoError(t, analysis.Validate([]*analysis.Analyzer{detlint.Analyzer}))
}

// Every code that can be ignored, with what to do instead.
func ExampleCodes() {
	codes := detlint.Codes()
	names := make([]string, 0, len(codes))
	for c := range codes {
		names = append(names, string(c))
	}
	slices.Sort(names)
	fmt.Println(len(names), names[0], codes[detlint.Clock])
	// Output: 21 alias count ticks in the state, or ask pass.Tick
}
