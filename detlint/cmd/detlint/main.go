// Command detlint finds what in a game's step would not be the same on every machine.
//
//	go run github.com/driftback/driftback/detlint/cmd/detlint@latest ./...
//	go vet -vettool=$(which detlint) ./...
//
// It exits with status 3 if it finds something, as other such programs do. -fix applies what can be
// mended mechanically, -json is for programs, and detlint help says what it looks for.
package main

import (
	"golang.org/x/tools/go/analysis/singlechecker"

	"github.com/driftback/driftback/detlint"
)

func main() { singlechecker.Main(detlint.Analyzer) }
