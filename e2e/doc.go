// Package e2e looks at the examples through a real browser: it builds a command,
// runs it as a player would, and uses its pages with keys and pointer in a headless
// Chromium.
//
// It holds tests alone, in a module of its own so that nobody who uses the engine
// needs what drives a browser. It imports nothing of the engine: what it knows of an
// example is what a page shows. The go command therefore does not see that a result
// is out of date:
//
//	go test -count=1 ./...
package e2e
