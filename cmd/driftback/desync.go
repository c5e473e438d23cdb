package main

import (
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/driftback/driftback/desync/command"
	fightersim "github.com/driftback/driftback/examples/fighter/sim"
	racersim "github.com/driftback/driftback/examples/racer/sim"
	"github.com/driftback/driftback/simtest"
)

// desyncCommand opens reports of desyncs, and runs again those of the engine's own games.
func desyncCommand() *cli.Command {
	witness := simtest.Witness()
	c := command.Desync(command.Of("fighter", fightersim.Step), command.Of("racer", racersim.Step), command.Of(witness.Name, witness.Step))
	c.UsageText = strings.ReplaceAll(c.UsageText, "desync ", "driftback desync ")
	return c
}
