package mutant

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// NotAsked says how mutants are asked for.
const NotAsked = "every mutant is compiled and linked, which takes minutes: with DRIFTBACK_MUTANTS=1 they are looked for, as in .ci/run"

// Asked reports whether mutants are to be compiled and looked for. That their texts are in the source is
// tested always.
func Asked() bool { return os.Getenv("DRIFTBACK_MUTANTS") != "" }

// Find fails t unless the tests of the package that t belongs to, which is in folder of the
// module at root, find every mutant in testdata/mutants.txt: that test fails which the text
// of the mutant names after "found by: ", run with flags. It takes a compilation for each,
// some seconds, and is skipped unless they are [Asked] for.
func Find(t *testing.T, root, folder string, flags ...string) {
	t.Helper()
	list := Read(t, filepath.Join("testdata", "mutants.txt"))
	for _, m := range list {
		m.Overlay(t, root, t.TempDir()) // its text is in the source
	}
	if !Asked() {
		t.Skip(NotAsked)
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not there to compile a changed package")
	}
	for _, m := range list {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			output, checker, failed := m.run(t, root, folder, flags)
			require.True(t, failed, "%s passes, although %s\n%s", checker, m.Says, output)
			require.Contains(t, output, "--- FAIL: "+checker, "it failed, but not by its judgement")
		})
	}
}

// run compiles the tests with m in what they test and runs the one that should find it,
// away from the package's folder, where a failure might leave files.
func (m Mutant) run(t *testing.T, root, folder string, flags []string) (output, checker string, failed bool) {
	t.Helper()
	_, checker, ok := strings.Cut(m.Says, "found by: ")
	require.True(t, ok, "%s does not say by which test it is found", m.Name)
	dir := t.TempDir()
	binary := filepath.Join(dir, "tests")
	build := exec.Command("go", "test", "-vet=off", "-ldflags=-s -w", "-overlay", m.Overlay(t, root, dir), "-c", "-o", binary, "./"+folder)
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	run := exec.Command(binary, append(slices.Clone(flags), "-test.run", "^"+checker+"$")...)
	run.Dir = dir
	out, err = run.CombinedOutput()
	return string(out), checker, err != nil
}
