// Command driftback is the engine's tools, each a command below it:
//
//	driftback sim -seeds 0:10000    play simulated matches and hold each to the rules
//	driftback desync FILE           open the report of a desync, and run its tick again
//	driftback relay -players 4      carry a match between players who need not reach each other
//	driftback signal                serve rooms in which players behind routers find each other
//	driftback version               say which version this is
//
// driftback COMMAND -help says what each can do. It owns no work of its own: a command
// is a file here that hands over to the package that does it.
package main

import (
	"os"

	"github.com/urfave/cli/v3"

	"github.com/driftback/driftback/internal/cmdline"
)

func main() { os.Exit(cmdline.Main(root())) }

// root returns the whole command.
func root() *cli.Command {
	return &cli.Command{
		Name:  "driftback",
		Usage: "tools for rollback netcode",
		Commands: []*cli.Command{
			simCommand(),
			desyncCommand(),
			relayCommand(),
			signalCommand(),
			versionCommand(),
		},
	}
}
