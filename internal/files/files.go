// Package files is how the simulation and the commands reach the disk: a scenario that fails is kept in a
// file, and one is read to be replayed, as is the report of a desync. It owns that and nothing else, so that the
// packages that use it can be seen to touch no file.
package files

import (
	"fmt"
	"io"
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

// Read returns what is in a file, of at most so many bytes: what has no end, such as a
// device, is not read for ever.
func Read(name string, most int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(b) > most {
		err = fmt.Errorf("%s is larger than the %d bytes that are read", name, most)
	}
	return b, err
}

// Write puts b into a file of a folder, which it makes if need be, and returns the file's
// path. An empty folder means the system's for temporary files. Half a file is not left.
func Write(dir, name string, b []byte) (string, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	name = filepath.Join(dir, name)
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return name, os.WriteFile(name, b, 0o644) // a device is written to, not replaced
	}
	f, err := os.CreateTemp(dir, ".simtest-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(b)
	for _, next := range []func() error{
		func() error { return f.Chmod(0o644) }, f.Close, func() error { return os.Rename(f.Name(), name) },
	} {
		if err == nil {
			err = next()
		}
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return "", err
	}
	return name, nil
}
