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
	kinds := []string{"maprange", "order", "floats", "state", "outside", "calls", "directive"}
	analysistest.Run(findings{t}, analysistest.TestData(), detlint.Analyzer, kinds...)
}

func TestAProductIsRoundedByTheSuggestedFix(t *testing.T) {
	analysistest.RunWithSuggestedFixes(findings{t}, analysistest.TestData(), detlint.Analyzer, "fixes")
}

// quiet takes what analysistest has to say of findings without a comment.
type quiet struct{}

func (quiet) Errorf(string, ...any) {}

func TestEachPlantedFaultIsFoundOnItsLine(t *testing.T) {
	want := map[string]bool{}
	file, err := os.Open(filepath.Join("testdata", "src", "planted", "planted.go"))
	require.NoError(t, err)
	defer file.Close()
	scan := bufio.NewScanner(file)
	for line := 1; scan.Scan(); line++ {
		if _, code, ok := strings.Cut(scan.Text(), "// fault: "); ok {
			want[fmt.Sprintf("%d %s", line, code)] = true
		}
	}
	require.NoError(t, scan.Err())
	require.Len(t, want, 7)

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
