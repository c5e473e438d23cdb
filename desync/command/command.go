// Package command opens the report of a desync on a command line: for driftback desync, and for a game
// of one's own in a main of one line, where Step is the game's own, from a package that main
// imports. docs/desync.md has the whole file.
//
//	func main() {
//		os.Exit(command.Main(command.Of("race", sim.Step)))
//	}
//
// It says what is in the file in plain sentences on standard output, or with -json as one object whose
// shape is [Result]; and where it knows the game it runs the report's ticks again, several times, and says
// what they come to here. It owns no more than that: the report is package desync's.
//
// The exit code is 0 if nothing was found out here: the ticks came to what the report's peer had, or were
// not run because the game is another one. It is 1 if they came to something else, or not
// always to the same; 2 if the command line is wrong, the file cannot be read, or its ticks cannot be run
// by this program; and 130 after an interrupt.
package command

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/desync"
	"github.com/driftback/driftback/internal/cmdline"
	"github.com/driftback/driftback/internal/files"
	"github.com/driftback/driftback/layout"
)

// Game is a game whose types are forgotten, so that one command can know several.
type Game struct {
	name  string
	rerun func(r *desync.Report) (*desync.Outcome, error)
	show  func(input []byte) string
}

// Of returns the game of that name: of reports whose Game is the name, or begins with it and a
// comma. S and I must be the types that the game gave to package session, and step its step.
func Of[S any, I comparable](name string, step driftback.Step[S, I]) Game {
	return Game{
		name:  name,
		rerun: func(r *desync.Report) (*desync.Outcome, error) { return desync.Rerun(r, step) },
		show:  show[I],
	}
}

// show returns an input as text: its fields, or its bytes where these are no input.
func show[I comparable](input []byte) string {
	l, err := layout.OfInput[I]()
	if err != nil {
		return hex.EncodeToString(input)
	}
	var in I
	if err := l.Parse(input, &in); err != nil {
		return hex.EncodeToString(input)
	}
	return fmt.Sprintf("%+v", in)
}

const usage = `desync FILE
desync FILE -json`

// Main runs the program's arguments as those of Desync, and returns what to give os.Exit.
func Main(games ...Game) int {
	c := Desync(games...)
	c.Name = strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	c.UsageText = strings.ReplaceAll(usage, "desync ", c.Name+" ")
	return cmdline.Main(c)
}

// Desync returns the command: alone, or to be hung below another.
func Desync(games ...Game) *cli.Command {
	list := []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "say it as one JSON object", HideDefault: true}}
	if len(games) > 0 {
		list = append(list, &cli.StringFlag{Name: "game", Usage: "run the ticks with the step of `NAME`, which is " + names(games, "or"), DefaultText: "the game that the report names"})
	}
	return &cli.Command{
		Name:      "desync",
		Usage:     "open the report of a desync, and run its tick again",
		UsageText: usage,
		Flags:     list,
		Action: func(ctx context.Context, c *cli.Command) error {
			return open(ctx, c, games)
		},
	}
}

// names lists the games for people.
func names(games []Game, word string) string {
	list := make([]string, len(games))
	for i, g := range games {
		list[i] = g.name
	}
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " " + word + " " + list[n-1]
	}
	return strings.Join(list, "")
}

// open is the command's action.
func open(ctx context.Context, c *cli.Command, games []Game) error {
	if n := c.NArg(); n != 1 {
		return cmdline.Usagef("%s opens one file, and was given %d", c.FullName(), n)
	}
	file := c.Args().First()
	b, err := files.Read(file, desync.MaxFile)
	if err != nil {
		return cmdline.Usagef("the report cannot be read: %w", err)
	}
	r, err := desync.Parse(b)
	if err != nil {
		return cmdline.Usagef("%s: %w", file, err)
	}
	g, err := gameOf(c.String("game"), r, games)
	if err != nil {
		return err
	}
	a := answer{file: file, report: r, game: g, games: games}
	if g != nil {
		a.outcome, a.err = rerun(ctx, g, r)
		if ctx.Err() != nil {
			return &cmdline.Error{Code: cmdline.Interrupted, Err: errors.New("interrupted, so nothing was found out")}
		}
	}
	say := a.text
	if c.Bool("json") {
		say = a.json
	}
	text, err := say()
	if err == nil {
		_, err = io.WriteString(c.Root().Writer, text)
	}
	switch {
	case err != nil:
		return err
	case a.err != nil:
		return cmdline.Usagef("%s: %w", file, a.err)
	case a.outcome != nil && (!a.outcome.Steady || !a.outcome.Ours):
		return &cmdline.Error{Code: cmdline.Found}
	}
	return nil
}

// gameOf returns the game of a report, or that which was asked for; nil if it is not known.
func gameOf(asked string, r *desync.Report, games []Game) (*Game, error) {
	for i := range games {
		name := games[i].name
		if asked == name || asked == "" && (r.Game == name || strings.HasPrefix(r.Game, name+",")) {
			return &games[i], nil
		}
	}
	if asked != "" {
		return nil, cmdline.Usagef("-game is %q: there is %s", asked, names(games, "and"))
	}
	return nil, nil
}

// rerun runs the ticks beside, for a step that was never meant for this state may not come to an
// end, and an interrupt must.
func rerun(ctx context.Context, g *Game, r *desync.Report) (*desync.Outcome, error) {
	type result struct {
		outcome *desync.Outcome
		err     error
	}
	done := make(chan result, 1)
	go func() {
		o, err := g.rerun(r)
		done <- result{o, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		return r.outcome, r.err
	}
}
