// Package command is package soak as a command line: for driftback sim, and for a game of
// one's own in a main of one line, where game is a simtest.Game of functions from a package
// that main imports. docs/simtest.md has the whole file.
//
//	func main() {
//		os.Exit(command.Main(command.Of(game)))
//	}
//
// It begins with simtest.Rehearse, and plays nothing if the step, alone, shows a mistake. Then
// it plays a range of seeds (-seeds 0:10000), for a time (-minutes 5), replays a file
// (-replay FILE) or shrinks one (-shrink FILE), and says what happened in plain sentences
// on standard output, or with -json as one object whose shape is [SimResult],
// [ReplayResult] or [ShrinkResult]. Progress goes to standard error.
//
// The exit code is 0 if no rule was broken, 1 if one was or the step showed a mistake, 2 if the command line is wrong,
// a file cannot be read or written, or the game cannot be played, and 130 after an
// interrupt, unless a broken rule had been found.
package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/driftback/driftback/internal/cmdline"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/simtest/soak"
)

// Game is a simtest.Game whose types are forgotten, so that one command can know several.
type Game struct {
	name  string
	run   func(ctx context.Context, o soak.Options) (soak.Summary, error)
	check func(ctx context.Context, s simtest.Scenario) (simtest.Report, error)
	// rehearse gives the first mistake that the step shows alone, if it does, and a sentence
	// about when; explain that which it shows in a scenario.
	rehearse func() (*simtest.Finding, string)
	explain  func(s simtest.Scenario) *simtest.Finding
	shrink   func(ctx context.Context, s simtest.Scenario, budget int) (simtest.Scenario, simtest.Report, error)
}

// Of returns g under its own Name. Several matches are played at once, so what g's
// functions share they must not write to.
func Of[S any, I comparable](g simtest.Game[S, I]) Game {
	return Game{
		name: g.Name,
		run: func(ctx context.Context, o soak.Options) (soak.Summary, error) {
			return soak.Run(ctx, g, o)
		},
		check: func(ctx context.Context, s simtest.Scenario) (simtest.Report, error) {
			return soak.Check(ctx, g, s)
		},
		rehearse: func() (*simtest.Finding, string) {
			defer func() { _ = recover() }() // it will panic in a match too, which then is told
			r, seed, err := simtest.Rehearse(g)
			if err != nil {
				return nil, ""
			}
			return r.Finding, fmt.Sprintf("(the workload of seed %d; nothing of it needs a network)", seed)
		},
		explain: func(s simtest.Scenario) *simtest.Finding { return simtest.Explain(g, s) },
		shrink: func(ctx context.Context, s simtest.Scenario, budget int) (simtest.Scenario, simtest.Report, error) {
			return soak.Shrink(ctx, g, s, budget)
		},
	}
}

const usage = `sim [-seeds 0:10000] [-minutes 5] [-players 8] [-ticks 600] [-parallel 2] [-keepgoing] [-dir DIR]
sim -replay FILE
sim -shrink FILE [-o FILE]`

// Main runs the program's arguments as those of Sim, and returns what to give os.Exit.
func Main(games ...Game) int {
	c := Sim(games...)
	c.Name = programName()
	c.UsageText = strings.ReplaceAll(usage, "sim ", c.Name+" ")
	return cmdline.Main(c)
}

// Sim returns the command: alone, or to be hung below another. There must be at least one
// game; the first is played where -game does not say otherwise.
func Sim(games ...Game) *cli.Command {
	return &cli.Command{
		Name:      "sim",
		Usage:     "play many simulated matches and hold each to the rules, or replay one",
		UsageText: usage,
		Flags:     flags(games),
		Action: func(ctx context.Context, c *cli.Command) error {
			return simulate(ctx, c, games)
		},
	}
}
