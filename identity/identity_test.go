package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func generate(t testing.TB) *Identity {
	t.Helper()
	id, err := Generate()
	require.NoError(t, err)
	return id
}

func TestASavedIdentityLoadsAsItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.pem")
	id := generate(t)
	require.NoError(t, id.Save(path))
	again, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, id.Pin(), again.Pin())
	require.Equal(t, id.certificate.Certificate, again.certificate.Certificate, "a key has one certificate")
	require.NotEqual(t, id.Pin(), generate(t).Pin())
}

func TestSaveReplacesAtOnceAndLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key.pem")
	require.NoError(t, generate(t).Save(path))
	second := generate(t)
	require.NoError(t, second.Save(path))
	got, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, second.Pin(), got.Pin())
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}

	require.ErrorIs(t, second.Save(filepath.Join(dir, "none", "key.pem")), fs.ErrNotExist)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "taken"), 0o700))
	require.Error(t, second.Save(filepath.Join(dir, "taken")), "a folder cannot be replaced by a file")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "key.pem and taken, and no temporary file")
}

func TestOpenMakesAnIdentityOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.pem")
	first, err := Open(path)
	require.NoError(t, err)
	second, err := Open(path)
	require.NoError(t, err)
	require.Equal(t, first.Pin(), second.Pin())

	require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o600))
	_, err = Open(path)
	require.ErrorContains(t, err, "holds no identity", "a damaged key is not silently replaced")
}

func TestLoadRefuses(t *testing.T) {
	valid := filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, generate(t).Save(valid))
	good, err := os.ReadFile(valid)
	require.NoError(t, err)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	other, err := x509.MarshalPKCS8PrivateKey(curve)
	require.NoError(t, err)

	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"an empty file":           {nil, "not in PEM form"},
		"something else":          {[]byte("hello"), "not in PEM form"},
		"another PEM block":       {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other}), `its PEM block is "CERTIFICATE"`},
		"a block of garbage":      {pem.EncodeToMemory(&pem.Block{Type: keyType, Bytes: []byte{1, 2, 3}}), "holds no identity"},
		"a key of another kind":   {pem.EncodeToMemory(&pem.Block{Type: keyType, Bytes: other}), "not an ed25519 key"},
		"a key and more":          {append(append([]byte(nil), good...), "more"...), "something follows the key"},
		"a file without an end":   {[]byte(strings.Repeat("x", maxFile+1)), "longer than"},
		"half of a file":          {good[:len(good)/2], "not in PEM form"},
		"a key after other words": {append([]byte(strings.Repeat("\n", maxFile)), good...), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "key.pem")
			require.NoError(t, os.WriteFile(path, c.content, 0o600))
			_, err := Load(path)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, path)
		})
	}

	t.Run("a file that others may read", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("windows keeps no such mode")
		}
		require.NoError(t, os.Chmod(valid, 0o640))
		_, err := Load(valid)
		require.ErrorContains(t, err, "its mode is 0640")
	})
	t.Run("no file", func(t *testing.T) {
		_, err := Load(filepath.Join(t.TempDir(), "none"))
		require.ErrorIs(t, err, fs.ErrNotExist)
	})
}
