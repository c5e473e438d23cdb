package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCommittedTablesAreWhatTheGeneratorWrites(t *testing.T) {
	committed, err := os.ReadFile("../../tables.go")
	require.NoError(t, err)
	written := filepath.Join(t.TempDir(), "tables.go")
	require.NoError(t, run([]string{written}))
	anew, err := os.ReadFile(written)
	require.NoError(t, err)
	require.Equal(t, string(committed), string(anew), "run go generate ./det")
}

func TestWithoutAFileToWriteItSaysSo(t *testing.T) {
	require.ErrorContains(t, run(nil), "one argument is wanted")
}
