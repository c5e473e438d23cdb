package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/driftback/driftback/simtest/soak"
)

// progress tells a person how far a run is: on a terminal in one line that is written over
// and gone in the end, elsewhere in a line every ten seconds.
type progress struct {
	out      io.Writer
	terminal bool
	every    time.Duration
	shown    int // how long the line on the terminal is
	told     time.Duration
}

const untold = 10 * time.Second

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, terminal: isTerminal(out), every: untold}
	if p.terminal {
		p.every = 200 * time.Millisecond
	}
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// show is soak.Options.Progress.
func (p *progress) show(now soak.Progress) {
	switch {
	case p.terminal && now.Over:
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.shown))
	case p.terminal:
		line := bar(now) + words(now)
		fmt.Fprintf(p.out, "\r%-*s", p.shown, line)
		p.shown = len(line)
	case !now.Over && now.Wall-p.told >= untold-time.Second:
		p.told = now.Wall
		fmt.Fprintln(p.out, words(now))
	}
}

// bar draws how much of the run is done; there is none where it has no end.
func bar(p soak.Progress) string {
	const width = 16
	part := 0.0
	switch {
	case p.Asked > 0:
		part = float64(p.Done) / float64(p.Asked)
	case p.Budget > 0:
		part = float64(p.Wall) / float64(p.Budget)
	}
	full := int(max(0, min(1, part)) * width)
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", width-full) + "] "
}

func words(p soak.Progress) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", p.Done)
	if p.Asked > 0 {
		fmt.Fprintf(&b, "/%d", p.Asked)
	}
	rate := 0.0
	if p.Wall > 0 {
		rate = float64(p.Done) / p.Wall.Seconds()
	}
	fmt.Fprintf(&b, " seeds, %.0f/s, %s simulated, %s", rate, span(p.Simulated), count(p.Failed, "failure"))
	if left, ok := p.Left(); ok {
		fmt.Fprintf(&b, ", %v left", left.Round(time.Second))
	}
	return b.String()
}
