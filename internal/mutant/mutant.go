// Package mutant plants faults in the project's own source, to prove that tests notice.
//
// A mutant is a change of some lines, kept as text beside the tests. It is never made in
// place: the go command compiles a changed copy in the file's stead. The package owns the
// format of that text and the copies, and refuses to own what a mutant has to be found by.
// Nothing but tests imports it.
package mutant

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Mutant is a fault.
type Mutant struct {
	Name string
	// Says is the text below the name, in one line.
	Says  string
	Edits []Edit
}

// Edit replaces From, which must be in File once, by To. File is relative to the module's
// folder.
type Edit struct{ File, From, To string }

// Read reads mutants from a file, in which each is
//
//	== name
//	what it does wrong, and what else is to be said
//	@@ file
//	<<<
//	what is to be replaced, lines or a part of one
//	===
//	what comes in its place
//	>>>
//
// with as many replacements as it takes. What comes before the first is about the file.
func Read(t testing.TB, name string) (list []Mutant) {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	for i, text := range strings.Split("\n"+string(b), "\n== ") {
		if i == 0 {
			continue
		}
		head, rest, ok := strings.Cut(text, "\n@@ ")
		require.True(t, ok, "%s: %s", name, head)
		var m Mutant
		m.Name, m.Says, _ = strings.Cut(head, "\n")
		m.Says = strings.ReplaceAll(strings.TrimSpace(m.Says), "\n", " ")
		for _, edit := range strings.Split(rest, "\n@@ ") {
			file, edit, ok1 := strings.Cut(edit, "\n<<<\n")
			from, edit, ok2 := strings.Cut(edit, "===\n")
			to, _, ok3 := strings.Cut(edit, ">>>")
			require.True(t, ok1 && ok2 && ok3, "%s: a replacement of %s cannot be read", name, m.Name)
			m.Edits = append(m.Edits, Edit{file, strings.TrimSuffix(from, "\n"), strings.TrimSuffix(to, "\n")})
		}
		list = append(list, m)
	}
	require.NotEmpty(t, list, "%s has no mutant", name)
	return list
}

// Overlay writes the changed copies to dir, and the file that tells the go command of them
// (go build -overlay), whose name it returns. root is the module's folder.
func (m Mutant) Overlay(t testing.TB, root, dir string) string {
	t.Helper()
	changed := map[string]string{}
	for _, e := range m.Edits {
		file, err := filepath.Abs(filepath.Join(root, e.File))
		require.NoError(t, err)
		source, ok := changed[file]
		if !ok {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			source = string(b)
		}
		require.Equal(t, 1, strings.Count(source, e.From),
			"%s: the text that it replaces must be in %s once: the source has changed, so change the mutant too:\n%s", m.Name, e.File, e.From)
		changed[file] = strings.Replace(source, e.From, e.To, 1)
	}
	replace := map[string]string{}
	for file, source := range changed {
		copied := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(file)))
		require.NoError(t, os.WriteFile(copied, []byte(source), 0o600))
		replace[file] = copied
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	name := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(name, b, 0o600))
	return name
}
