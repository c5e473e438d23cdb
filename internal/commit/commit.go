// Package commit finds which commit a program was built from, so that a report of what
// went wrong says what it went wrong in. It owns that alone: it reads the environment's
// DRIFTBACK_COMMIT, or else what the go command wrote into the program, or else asks git
// about the working directory.
package commit

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

// Tree is a commit, and whether files differ from it.
type Tree struct {
	Revision string // "": unknown
	Modified bool
	// Release is used where there is no revision: the version of the module, where the
	// program was built from one that was downloaded; or what the environment says.
	Release string
}

// Unknown is what String says where nothing is known.
const Unknown = "unknown"

// String returns "1234abcd", "1234abcd (with changes)", "v1.2.3" or "unknown".
func (t Tree) String() string {
	switch {
	case t.Revision == "" && t.Release != "":
		return t.Release
	case t.Revision == "":
		return Unknown
	}
	text := t.Revision[:min(8, len(t.Revision))]
	if t.Modified {
		text += " (with changes)"
	}
	return text
}

// Variable is the environment's word for it, which comes before all others: for machines
// that have no git, or cannot start it.
const Variable = "DRIFTBACK_COMMIT"

// Find returns what this program was built from: what the go command knew, or else, in a
// test and under go run, which have just built it where it runs, what git says of the
// working directory. It looks once.
var Find = sync.OnceValue(func() Tree {
	if v := os.Getenv(Variable); v != "" {
		return Tree{Release: v}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if t := built(info); t != (Tree{}) {
			return t
		}
	}
	if exe, err := os.Executable(); testing.Testing() || err == nil && JustBuilt(exe) {
		return inFolder("")
	}
	return Tree{}
})

// JustBuilt reports whether a program's file is where go run and go test put those that
// they build for one run.
func JustBuilt(exe string) bool { return strings.Contains(filepath.ToSlash(exe), "/go-build") }

// built returns what the go command wrote into the program.
func built(info *debug.BuildInfo) (t Tree) {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			t.Revision = s.Value
		case "vcs.modified":
			t.Modified = s.Value == "true"
		}
	}
	// A program of a downloaded module knows its version, and the working directory
	// has nothing to do with it.
	if v := info.Main.Version; t.Revision == "" && v != "(devel)" {
		t.Release = v
	}
	return t
}

// inFolder asks git. Where there is no git, or no repository, nothing is known.
func inFolder(dir string) (t Tree) {
	git := func(args ...string) (string, bool) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		c := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks"}, args...)...)
		c.Dir = dir
		out, err := c.Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	revision, ok := git("rev-parse", "HEAD")
	if !ok {
		return Tree{}
	}
	changes, ok := git("status", "--porcelain")
	return Tree{Revision: revision, Modified: !ok || changes != ""}
}
