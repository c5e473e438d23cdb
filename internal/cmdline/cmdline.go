// Package cmdline runs a command line of ours: it turns interrupts into the end of a
// context and errors into one sentence and an exit code. It owns those conventions, so
// that all commands share them, and no command.
package cmdline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"
)

// Exit codes.
const (
	Done        = 0
	Found       = 1 // what was looked for, which is something that is wrong
	Usage       = 2 // the command line is wrong, or a file that it names
	Interrupted = 130
)

// Error is an error with an exit code of its own. An Err of nil says nothing: all has
// been said.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Usagef returns an error of the command line: a sentence without its full stop that says
// what is wrong and what would be right.
func Usagef(format string, args ...any) error { return &Error{Usage, fmt.Errorf(format, args...)} }

// Main runs the program's own arguments and returns what to give os.Exit. The first
// interrupt ends the context; a second one ends the process at once.
func Main(root *cli.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return Run(ctx, root, os.Args, os.Stdout, os.Stderr)
}

// Run runs args, of which the first is the program's name.
func Run(ctx context.Context, root *cli.Command, args []string, stdout, stderr io.Writer) int {
	root.Writer, root.ErrWriter = stdout, stderr
	root.EnableShellCompletion = true
	prepare(root)
	err := root.Run(ctx, args)
	var e *Error
	switch {
	case err == nil:
		return Done
	case !errors.As(err, &e):
		e = &Error{Usage, err}
	}
	if e.Err != nil {
		fmt.Fprintf(stderr, "%s: %v.\n", root.Name, e.Err)
	}
	return e.Code
}

// prepare makes a command and those below it say no more than one sentence.
func prepare(c *cli.Command) {
	c.HideHelpCommand = true
	c.ExitErrHandler = func(context.Context, *cli.Command, error) {}
	c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error {
		text := err.Error()
		if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
			text = fmt.Sprintf("there is no flag -%s", strings.TrimLeft(name, "-"))
		}
		text, _, _ = strings.Cut(text, ": strconv.") // which is said to programmers
		return Usagef("%s; %s -help lists the flags", text, c.FullName())
	}
	if len(c.Commands) > 0 && c.Action == nil {
		c.Action = missing
	}
	for _, sub := range c.Commands {
		prepare(sub)
	}
}

// missing is what a command does that is nothing without one below it.
func missing(_ context.Context, c *cli.Command) error {
	known := c.VisibleCommands()
	names := make([]string, len(known))
	for i, sub := range known {
		names[i] = sub.Name
	}
	list := strings.Join(names, ", ")
	if name := c.Args().First(); name != "" {
		return Usagef("there is no command %q: there are %s, and %s -help says more", name, list, c.FullName())
	}
	return Usagef("say which command: %s; %s -help says more", list, c.FullName())
}
