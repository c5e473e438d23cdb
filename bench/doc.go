// Package bench measures what the engine costs beside the least that any engine
// could do, in the same run and on the same bytes:
//
//	go test -bench . ./bench
//
// A number of nanoseconds says as much about the machine as about the code, so
// every row measures a bare loop too, written by hand in a few lines, and reports
// the ratio. The two take turns in short rounds inside one benchmark, and a row is
// the median of its rounds: what disturbs the machine disturbs both or falls out.
//
// The package owns the measuring and the bare loops. It exports nothing and nothing
// imports it. Its tests, which run with all the others, hold the warm paths to no
// allocation at all.
package bench
