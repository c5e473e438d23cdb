// Command coefficients writes package det's tables.go, from the definitions of the
// functions alone.
//
// Polynomials interpolate at Chebyshev nodes, which is within a small factor of
// the best there are, and is the same on every machine. go generate runs it, and
// a test here holds the committed file to what it writes.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "coefficients:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("one argument is wanted, the file to write, and there are %d", len(args))
	}
	return os.WriteFile(args[0], generate(), 0o644)
}
