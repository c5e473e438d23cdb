package session

import (
	"runtime/debug"
)

// buildOf returns the id of the program's build: its main module's path and
// version and its revision, never the architecture. It is empty when the program
// does not know itself, or was built from changed files.
func buildOf(info *debug.BuildInfo, ok bool) string {
	if !ok || info.Main.Path == "" {
		return ""
	}
	revision, modified := "", false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	version := info.Main.Version
	if version == "(devel)" {
		version = ""
	}
	if modified || version == "" && revision == "" {
		return ""
	}
	return info.Main.Path + " " + version + " " + revision
}
