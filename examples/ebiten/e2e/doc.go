// Package e2e looks at the example from outside: it builds the command, gives each
// player a display of their own, presses keys there, and looks at the pictures.
//
// It holds tests alone, and does not import the command: Ebitengine ends a program at
// its start where there is no display, and here is where that is found out. The go
// command therefore does not see that a result is out of date:
//
//	go test -count=1 ./...
package e2e
