package files_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/internal/files"
)

func TestAFileIsReadAsItWasWrittenAndNoneIsLeftBeside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	for _, text := range []string{"first", "second, which is longer", "3"} {
		name, err := files.Write(dir, "a.json", []byte(text))
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, "a.json"), name)
		b, err := files.Read(name, 100)
		require.NoError(t, err)
		require.Equal(t, text, string(b))
	}
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, all, 1)
}

func TestWhatIsTooLargeOrHasNoEndIsNotRead(t *testing.T) {
	name, err := files.Write(t.TempDir(), "a", make([]byte, 101))
	require.NoError(t, err)
	_, err = files.Read(name, 101)
	require.NoError(t, err)
	_, err = files.Read(name, 100)
	require.ErrorContains(t, err, "is larger than the 100 bytes that are read")
	if _, err := os.Stat("/dev/zero"); err == nil {
		_, err = files.Read("/dev/zero", 100)
		require.ErrorContains(t, err, "is larger than")
	}
}

func TestADeviceIsWrittenToAndNotReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no /dev/null")
	}
	before, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	_, err = files.Write("/dev", "null", []byte("gone"))
	require.NoError(t, err)
	after, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.Equal(t, before.Mode(), after.Mode())
}

func TestWhatCannotBeWrittenLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "taken"), 0o755))
	_, err := files.Write(dir, "taken", []byte("x"))
	require.Error(t, err)
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, all, 1)
}
