package session

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABuildIsKnownByItsModuleAndVersion(t *testing.T) {
	known := func(version string) string {
		return buildOf(&debug.BuildInfo{Main: debug.Module{Path: "example.com/game", Version: version}}, true)
	}
	require.Equal(t, "example.com/game v1.2.3", known("v1.2.3"), "installed, or built at its tag")
	require.Equal(t, "example.com/game v0.0.0-20261201000000-0123456789ab", known("v0.0.0-20261201000000-0123456789ab"))
	require.Empty(t, known("(devel)"), "built without a repository")
	require.Empty(t, known(""))
	require.Empty(t, known("v1.2.3+dirty"), "built from changed files")
	require.Empty(t, buildOf(nil, false))
	require.Empty(t, buildOf(&debug.BuildInfo{}, true))
}
