package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/driftback/driftback/internal/cmdline"
	"github.com/driftback/driftback/internal/commit"
	"github.com/driftback/driftback/internal/files"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/simtest/soak"
)

// job is one call of the command.
type job struct {
	game  Game
	c     *cli.Command
	out   io.Writer
	json  bool
	again string // the command line that replays a file, without the file
}

// seeds plays many seeds.
func (j *job) seeds(ctx context.Context, o soak.Options) error {
	if f, when := j.game.rehearse(); f != nil {
		return j.alone(o, f, when)
	}
	p := newProgress(j.c.Root().ErrWriter)
	o.Progress, o.Every = p.show, p.every
	s, failed := j.game.run(ctx, o)
	if failed != nil && s.Failed == 0 {
		return failed
	}
	// What was found is said even if it cannot be kept.
	var err error
	if j.json {
		err = j.print(j.simResult(&s))
	} else {
		err = j.say(j.simText(&s))
	}
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return err
	case s.Failed > 0:
		return &cmdline.Error{Code: cmdline.Found}
	case s.Ended == soak.Interrupted:
		return &cmdline.Error{Code: cmdline.Interrupted}
	}
	return nil
}

// alone says what keeps the step from being rewound, in place of any match.
func (j *job) alone(o soak.Options, f *simtest.Finding, when string) (err error) {
	if j.json {
		r := j.simResult(&soak.Summary{First: o.First, Asked: o.Count, Shape: o.Shape, Ended: soak.Failed, Parallel: o.Parallel, Twice: !o.Once})
		r.Alone = finding(f)
		err = j.print(r)
	} else {
		err = j.say(fmt.Sprintf("No match of %s was played, because its step, alone, shows a mistake, commit %s:\n%v\n  %s\n",
			j.game.name, commitText(), f, when))
	}
	if err != nil {
		return err
	}
	return &cmdline.Error{Code: cmdline.Found}
}

// replay plays a file twice.
func (j *job) replay(ctx context.Context, name string) error {
	s, err := read(name)
	if err != nil {
		return err
	}
	r, err := j.game.check(ctx, s)
	if err := j.over(err, name); err != nil {
		return err
	}
	f := j.game.explain(s)
	if j.json {
		result := j.replayResult(name, &s, &r)
		result.Alone = finding(f)
		err = j.print(result)
	} else {
		err = j.say(j.replayText(name, &s, &r, f))
	}
	if err == nil && (r.Violation != nil || f != nil) {
		return &cmdline.Error{Code: cmdline.Found}
	}
	return err
}

// shrink looks for a scenario smaller than a file's.
func (j *job) shrink(ctx context.Context, name string) error {
	s, err := read(name)
	if err != nil {
		return err
	}
	small, r, err := j.game.shrink(ctx, s, j.c.Int("budget"))
	if err := j.over(err, name); err != nil {
		return err
	}
	to := ""
	if r.Violation != nil {
		if to = j.c.String("o"); to == "" {
			to = strings.TrimSuffix(name, ".json") + ".shrunk.json"
		}
		if to, err = files.Write(filepath.Dir(to), filepath.Base(to), small.JSON()); err != nil {
			return cmdline.Usagef("the smaller scenario cannot be written: %w", err)
		}
	}
	if j.json {
		err = j.print(j.shrinkResult(name, to, &s, &small, &r))
	} else {
		err = j.say(j.shrinkText(name, to, &s, &small, &r))
	}
	if err == nil && r.Violation != nil {
		return &cmdline.Error{Code: cmdline.Found}
	}
	return err
}

// over says why a play did not come to its end, or returns nil.
func (j *job) over(err error, name string) error {
	var p *soak.PanicError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return &cmdline.Error{Code: cmdline.Interrupted, Err: errors.New("interrupted, so nothing was found out")}
	case errors.As(err, &p):
		return &cmdline.Error{Code: cmdline.Found, Err: fmt.Errorf("%s: the match panicked: %v\n%s", name, p.Value, p.Stack)}
	}
	return cmdline.Usagef("%s: %w", name, err)
}

func read(name string) (simtest.Scenario, error) {
	b, err := files.Read(name, simtest.MaxScenarioSize)
	if err != nil {
		return simtest.Scenario{}, cmdline.Usagef("the scenario cannot be read: %w", err)
	}
	s, err := simtest.Parse(b)
	if err != nil {
		return s, cmdline.Usagef("%s: %w", name, err)
	}
	return s, nil
}

func (j *job) say(text string) error {
	_, err := io.WriteString(j.out, text)
	return err
}

// again returns what a person types to replay a file: what they typed, or where the go
// command has built the program for one run, that.
func again(c *cli.Command, g Game, several bool) string {
	words := strings.Fields(c.FullName())
	words[0] = os.Args[0]
	if exe, err := os.Executable(); err == nil && commit.JustBuilt(exe) {
		if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" {
			words[0] = "go run " + info.Path
		}
	}
	if several {
		words = append(words, "-game", g.name)
	}
	return strings.Join(append(words, "-replay"), " ")
}

// programName returns the name by which this program calls itself.
func programName() string {
	return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
}

// commitText returns what this program was built from.
func commitText() string { return commit.Find().String() }
