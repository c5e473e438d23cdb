package command_test

import (
	"os"

	"github.com/driftback/driftback/desync/command"
	"github.com/driftback/driftback/examples/fighter/sim"
)

// The whole main of a command that opens reports of a game of one's own:
//
//	go run ./desync race.desync
func Example() {
	main := func() {
		os.Exit(command.Main(command.Of("fighter", sim.Step))) // your own name and step
	}
	_ = main
}
