package commit

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACommitIsAFewLettersAndWhetherFilesDiffer(t *testing.T) {
	require.Equal(t, "unknown", Tree{}.String())
	require.Equal(t, "unknown", Tree{Modified: true}.String())
	require.Equal(t, "1234abcd", Tree{Revision: "1234abcd5678"}.String())
	require.Equal(t, "1234abcd (with changes)", Tree{Revision: "1234abcd5678", Modified: true}.String())
	require.Equal(t, "v1.2.3", Tree{Release: "v1.2.3"}.String())
	require.Equal(t, "abc", Tree{Revision: "abc", Release: "v1.2.3"}.String())
}

func TestWhatTheGoCommandKnewComesFirst(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}
	require.Equal(t, Tree{}, built(info), "so that git is asked")
	info.Main.Version = ""
	require.Equal(t, Tree{}, built(info))
	info.Main.Version = "v1.2.3"
	require.Equal(t, Tree{Release: "v1.2.3"}, built(info))
	info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: "1234"}, {Key: "vcs.modified", Value: "true"}}
	require.Equal(t, Tree{Revision: "1234", Modified: true}, built(info))
}

func TestGitIsAskedAboutAFolderInAnotherProcess(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	dir := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	require.Equal(t, "unknown", inFolder(dir).String(), "it is no repository")

	git := func(args ...string) {
		c := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	git("init", "-q")
	require.Equal(t, "unknown", inFolder(dir).String(), "it has no commit")
	file := filepath.Join(dir, "x")
	require.NoError(t, os.WriteFile(file, []byte("1"), 0o644))
	git("add", "x")
	git("commit", "-q", "-m", "x")
	require.Regexp(t, `^[0-9a-f]{8}$`, inFolder(dir).String())
	require.NoError(t, os.WriteFile(file, []byte("2"), 0o644))
	require.Regexp(t, `^[0-9a-f]{8} \(with changes\)$`, inFolder(dir).String())
	require.Equal(t, "unknown", inFolder(filepath.Join(dir, "none")).String())
}
