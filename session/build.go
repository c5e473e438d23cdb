package session

import (
	"runtime/debug"
	"strings"
)

// buildOf returns the id of the program's build: its main module's path and
// version, never the architecture. A version that comes from a repository names the
// revision. It is empty when the program does not know itself, or was built from
// changed files.
func buildOf(info *debug.BuildInfo, ok bool) string {
	if !ok || info.Main.Path == "" || info.Main.Version == "" || info.Main.Version == "(devel)" ||
		strings.HasSuffix(info.Main.Version, "+dirty") {
		return ""
	}
	return info.Main.Path + " " + info.Main.Version
}
