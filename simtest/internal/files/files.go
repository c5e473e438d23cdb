// Package files is how simtest reaches the disk: a scenario that fails is kept in a
// file, and one is read to be replayed. It owns that and nothing else, so that the
// simulation itself can be seen to touch no file.
package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Name returns the name of the file in which the scenario of a seed is kept, which broke a
// rule under a test or in a game of that name.
func Name(of string, seed uint64) string {
	safe := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, of)
	return fmt.Sprintf("simtest-%s-%d.json", safe, seed)
}

// Read returns what is in a file.
func Read(name string) ([]byte, error) { return os.ReadFile(name) }

// Write puts b into a file of a folder, which it makes if need be, and returns the file's
// path. An empty folder means the system's for temporary files.
func Write(dir, name string, b []byte) (string, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	name = filepath.Join(dir, name)
	return name, os.WriteFile(name, b, 0o644)
}
