// Package desync is the report of one desync: everything that is known of how two peers' worlds
// came to differ, as a value, as a file, and as text for people.
//
//	report, ok := match.Report() // of package session
//	file, err := report.Append(nil)
//	err = os.WriteFile("race.desync", file, 0o644)
//
// A file is opened with `driftback desync FILE`, or with the same command of the game itself, of package
// [github.com/driftback/driftback/desync/command]; then [Rerun] runs the one tick again with the
// game's own step. The bytes are in [FORMAT.md].
//
// The package owns the report and its bytes. It refuses to own how it comes about, which is for
// packages dispute and session, and where it is put: it opens no file.
//
// A file is nothing to be trusted: [Parse] takes any bytes, allocates no more than a few times what
// there are, and refuses with a sentence what is no whole report of this version. Whoever has a report has
// the states and inputs in it.
//
// [FORMAT.md]: https://github.com/driftback/driftback/blob/main/desync/FORMAT.md
package desync
