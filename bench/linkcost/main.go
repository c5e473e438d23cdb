// Command linkcost measures what a match costs on the network, and writes it down:
//
//	go run ./bench/linkcost          # writes docs/bandwidth.md
//	go run ./bench/linkcost -check   # says whether it is what would be written now
//
// Nothing in it depends on a machine: the matches are played by package simtest on
// virtual time, with its rules checked, and follow from seeds.
package main

//go:generate go run . -file ../../docs/bandwidth.md

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	file := flag.String("file", "docs/bandwidth.md", "the `document`")
	check := flag.Bool("check", false, "write nothing; exit with 1 if the document is not what would be written")
	flag.Parse()
	if err := run(cells(), *file, *check, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "linkcost:", err)
		os.Exit(1)
	}
}

func run(all []cell, file string, check bool, out io.Writer) error {
	measured, err := measureAll(all)
	if err != nil {
		return err
	}
	want := document(all, measured)
	if !check {
		return os.WriteFile(file, want, 0o644)
	}
	had, err := read(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(had, want) {
		return fmt.Errorf("%s is not what is measured now: %s", file, firstDifference(had, want))
	}
	_, err = fmt.Fprintf(out, "%s is what is measured now\n", file)
	return err
}

// read reads the document, whatever line ends it was checked out with.
func read(file string) ([]byte, error) {
	b, err := os.ReadFile(file)
	return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), err
}

func firstDifference(had, want []byte) string {
	a, b := strings.Split(string(had), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is %q and should be %q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("it has %d lines and should have %d", len(a), len(b))
}
