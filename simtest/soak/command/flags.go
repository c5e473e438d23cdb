package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/driftback/driftback/internal/cmdline"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/simtest/soak"
)

func flags(games []Game) []cli.Flag {
	list := []cli.Flag{
		&cli.StringFlag{Name: "seeds", Usage: "play the seeds `FIRST:END` (without END itself), one SEED, or FIRST: for as many as -minutes has time for", DefaultText: fmt.Sprintf("0:%d, and with -minutes 0:", soak.DefaultCount)},
		&cli.FloatFlag{Name: "minutes", Usage: "begin no match after so many `MINUTES`", HideDefault: true},
		&cli.IntFlag{Name: "players", Usage: "play every match with `N` participants", DefaultText: "as many as the seed says"},
		&cli.BoolFlag{Name: "returns", Usage: "have peers come back as other processes in every match in which they can"},
		&cli.BoolFlag{Name: "adapt", Usage: "have input delays adapt and peers keep pace, one or both, in every match in which they can"},
		&cli.IntFlag{Name: "ticks", Usage: "play every match for `N` ticks at least", DefaultText: "as many as the seed says"},
		&cli.IntFlag{Name: "parallel", Usage: "play `N` matches at once", DefaultText: "one for each core"},
		&cli.BoolFlag{Name: "once", Usage: "play each seed once; otherwise twice, to find what depends on more than the seed", HideDefault: true},
		&cli.BoolFlag{Name: "keepgoing", Usage: "go on after a broken rule; otherwise no seed above it is played", HideDefault: true},
		&cli.StringFlag{Name: "dir", Usage: "write the scenarios of failures into `DIR`", DefaultText: "the folder for temporary files"},
		&cli.IntFlag{Name: "budget", Usage: "spend `N` plays on shrinking a failure; 0 does not shrink", Value: simtest.DefaultBudget},
		&cli.StringFlag{Name: "replay", Usage: "play the scenario in `FILE` twice, and nothing else"},
		&cli.StringFlag{Name: "shrink", Usage: "look for a smaller scenario that breaks the rule that the one in `FILE` breaks"},
		&cli.StringFlag{Name: "o", Usage: "write what -shrink finds to `FILE`", DefaultText: "beside its FILE, as .shrunk.json"},
		&cli.BoolFlag{Name: "json", Usage: "say it as one JSON object", HideDefault: true},
	}
	if len(games) > 1 {
		list = append(list, &cli.StringFlag{Name: "game", Usage: "what is played: `NAME` is " + names(games), Value: games[0].name})
	}
	return list
}

func names(games []Game) string {
	list := make([]string, len(games))
	for i, g := range games {
		list[i] = g.name
	}
	return strings.Join(list, " or ")
}

// simulate is the command's action.
func simulate(ctx context.Context, c *cli.Command, games []Game) error {
	g, err := game(c, games)
	if err != nil {
		return err
	}
	if c.Args().Present() {
		return cmdline.Usagef("%q is one argument too many; %s -help lists the flags", c.Args().First(), c.FullName())
	}
	if n := c.Int("budget"); n < 0 {
		return cmdline.Usagef("-budget is %d plays: it must not be negative, and 0 does not shrink", n)
	}
	j := &job{game: g, c: c, out: c.Root().Writer, json: c.Bool("json"), again: again(c, g, len(games) > 1)}
	replay, shrink := c.String("replay"), c.String("shrink")
	switch {
	case c.IsSet("replay") && c.IsSet("shrink"):
		return cmdline.Usagef("-replay and -shrink are two things: give one of them")
	case c.IsSet("o") && !c.IsSet("shrink"):
		return cmdline.Usagef("-o says where -shrink writes, and there is no -shrink")
	case c.IsSet("replay"):
		if err := alone(c, "replay", "game", "json"); err != nil {
			return err
		}
		return j.replay(ctx, replay)
	case c.IsSet("shrink"):
		if err := alone(c, "shrink", "game", "json", "o", "budget"); err != nil {
			return err
		}
		return j.shrink(ctx, shrink)
	}
	o, err := options(c)
	if err != nil {
		return err
	}
	return j.seeds(ctx, o)
}

// alone refuses flags that would mean nothing beside another.
func alone(c *cli.Command, flag string, allowed ...string) error {
	for _, f := range c.Flags {
		name := f.Names()[0]
		ok := name == flag || name == "help"
		for _, a := range allowed {
			ok = ok || name == a
		}
		if !ok && c.IsSet(name) {
			return cmdline.Usagef("-%s means nothing beside -%s: leave one of them out", name, flag)
		}
	}
	return nil
}

func game(c *cli.Command, games []Game) (Game, error) {
	if len(games) == 0 {
		return Game{}, errors.New("there is no game to play")
	}
	if len(games) == 1 {
		return games[0], nil
	}
	for _, g := range games {
		if g.name == c.String("game") {
			return g, nil
		}
	}
	return Game{}, cmdline.Usagef("-game is %q: it is one of %s", c.String("game"), names(games))
}

// options are what the command line says about many seeds.
func options(c *cli.Command) (o soak.Options, err error) {
	minutes := c.Float("minutes")
	if c.IsSet("minutes") && !(minutes > 0 && minutes <= 525_600) {
		return o, cmdline.Usagef("-minutes is %v: more than 0 and up to a year of 525600 are allowed", minutes)
	}
	o = soak.Options{
		Budget:   time.Duration(math.Ceil(minutes * float64(time.Minute))), // 0 would be none
		Parallel: c.Int("parallel"), Once: c.Bool("once"), KeepGoing: c.Bool("keepgoing"),
		Shrink: c.Int("budget"), Dir: c.String("dir"),
		Shape: simtest.Shape{Players: c.Int("players"), Ticks: c.Int("ticks"), Returns: c.Bool("returns"), Adapt: c.Bool("adapt")},
	}
	if err := o.Shape.Validate(); err != nil {
		return o, cmdline.Usagef("-players and -ticks: %w", err)
	}
	if o.Shrink == 0 {
		o.Shrink = soak.None
	}
	if c.IsSet("parallel") && (o.Parallel < 1 || o.Parallel > soak.MaxParallel) {
		return o, cmdline.Usagef("-parallel is %d: from 1 to %d are allowed", o.Parallel, soak.MaxParallel)
	}
	if c.IsSet("seeds") {
		o.First, o.Count, err = seeds(c.String("seeds"), o.Budget > 0)
	}
	return o, err
}

// seeds reads "FIRST:END", "FIRST:" or "SEED".
func seeds(text string, timed bool) (first, count uint64, err error) {
	wrong := cmdline.Usagef("-seeds is %q: give FIRST:END, such as 0:10000 for the seeds 0 to 9999, or one seed", text)
	from, to, two := strings.Cut(text, ":")
	if first, err = strconv.ParseUint(from, 10, 64); err != nil {
		return 0, 0, wrong
	}
	if two && to == "" && first < math.MaxUint64 {
		if !timed {
			return 0, 0, cmdline.Usagef("-seeds %s has no end, so -minutes must say when to stop", text)
		}
		return first, 0, nil
	}
	end := first + 1
	if two && to != "" {
		if end, err = strconv.ParseUint(to, 10, 64); err != nil {
			return 0, 0, wrong
		}
	}
	if first == math.MaxUint64 || end <= first {
		return 0, 0, cmdline.Usagef("-seeds is %q, which is no seed at all: END itself is not played", text)
	}
	return first, end - first, nil
}
