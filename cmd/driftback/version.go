package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"

	"github.com/driftback/driftback/internal/cmdline"
	"github.com/driftback/driftback/internal/commit"
	"github.com/driftback/driftback/simtest"
)

// versionCommand says which version this is.
func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "say which version this is, and of which commit",
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return cmdline.Usagef("version takes no arguments, and was given %q", c.Args().First())
			}
			module := "(devel)"
			if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
				module = info.Main.Version
			}
			_, err := fmt.Fprintf(c.Root().Writer, "driftback %s, commit %s, %s, plays scenarios of version %d\n",
				module, commit.Find(), runtime.Version(), simtest.Version)
			return err
		},
	}
}
