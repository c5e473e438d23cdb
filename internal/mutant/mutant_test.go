package mutant_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/internal/mutant"
)

const text = `What is here is about the file.

== one
does one thing
and another
@@ a.go
<<<
	x := 1
===
	x := 2
>>>

== two
does a third
@@ a.go
<<<
y
===
z
>>>
@@ b/b.go
<<<
		two
		lines
===
>>>
`

func read(t *testing.T) []mutant.Mutant {
	t.Helper()
	name := filepath.Join(t.TempDir(), "mutants.txt")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return mutant.Read(t, name)
}

func TestMutantsAreReadAsTheyAreWritten(t *testing.T) {
	require.Equal(t, []mutant.Mutant{
		{Name: "one", Says: "does one thing and another", Edits: []mutant.Edit{{File: "a.go", From: "\tx := 1", To: "\tx := 2"}}},
		{Name: "two", Says: "does a third", Edits: []mutant.Edit{{File: "a.go", From: "y", To: "z"}, {File: "b/b.go", From: "\t\ttwo\n\t\tlines"}}},
	}, read(t))
}

func TestAnOverlayHasTheChangedFilesAndLeavesTheSourceAlone(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "b"), 0o700))
	a, b := filepath.Join(root, "a.go"), filepath.Join(root, "b", "b.go")
	require.NoError(t, os.WriteFile(a, []byte("x y x"), 0o600))
	require.NoError(t, os.WriteFile(b, []byte("one\n\t\ttwo\n\t\tlines\n"), 0o600))
	overlay, err := os.ReadFile(read(t)[1].Overlay(t, root, dir))
	require.NoError(t, err)
	var told struct{ Replace map[string]string }
	require.NoError(t, json.Unmarshal(overlay, &told))
	require.Len(t, told.Replace, 2)
	for file, want := range map[string]string{a: "x z x", b: "one\n\n"} {
		got, err := os.ReadFile(told.Replace[file])
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		require.Equal(t, dir, filepath.Dir(told.Replace[file]))
	}
	source, err := os.ReadFile(a)
	require.NoError(t, err)
	require.Equal(t, "x y x", string(source))
}

// The control: what changes nothing is found by no test.
func TestAMutantThatChangesNothingIsNotFound(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the tests of a package")
	}
	none := mutant.Mutant{
		Name: "none", Says: "does the same. found by: TestTheSequenceIsTheSameOnEveryArchitecture",
		Edits: []mutant.Edit{{File: "rng/pcg.go", From: "package rng\n", To: "package rng // as it was\n"}},
	}
	output, checker, failed := none.Run(t, filepath.Join("..", ".."), "rng", nil)
	require.False(t, failed, output)
	require.Contains(t, output, "PASS")
	require.Equal(t, "TestTheSequenceIsTheSameOnEveryArchitecture", checker)
}
