package command_test

import (
	"os"

	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/simtest/soak/command"
)

// The whole main of a command that soaks a game of one's own:
//
//	go run ./soak -seeds 0:100000
//	go run ./soak -replay simtest-race-17.json
func Example() {
	main := func() {
		game := simtest.Witness() // your own, from its step and its workload
		os.Exit(command.Main(command.Of(game)))
	}
	_ = main
}
