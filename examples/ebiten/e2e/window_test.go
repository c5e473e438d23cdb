package e2e

import (
	"bufio"
	"bytes"
	"context"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// limit bounds each test, once the command is built.
const limit = 3 * time.Minute

// The shirts of the two fighters.
var (
	kite  = color.RGBA{0x4b, 0x8d, 0xff, 0xff}
	ember = color.RGBA{0xff, 0x6a, 0x4d, 0xff}
)

func TestTwoWindowsPlayOneMatchInAnotherProcess(t *testing.T) {
	displays := [2]*display{newDisplay(t), newDisplay(t)}
	for _, d := range displays {
		require.Equal(t, 1, colours(d.picture()), "the control: without a window the picture is blank")
	}
	program := build(t)
	host := start(t, displays[0], program, "-frames", "900", "-addr", "127.0.0.1:0", "host")
	words := strings.Fields(host.line("The other player runs: go run ."))
	require.Len(t, words, 6, "-frames 900 join ADDR PIN CODE")
	guest := start(t, displays[1], program, words...)
	both := [2]*window{host, guest}
	for _, w := range both {
		w.line("the match has begun")
		require.Greater(t, colours(w.display.picture()), 20, "the picture is blank")
	}

	// Each walks towards the other, who sees it.
	var began [2][2]int
	for i, w := range both {
		began[i][0], began[i][1] = w.see(kite), w.see(ember)
		require.Less(t, began[i][0]+80, began[i][1], "Kite is on the left")
	}
	host.display.press(keyD)
	for i, w := range both {
		w.until("Kite walks to the right", func() bool { return w.see(kite) > began[i][0]+30 })
	}
	guest.display.press(left)
	for i, w := range both {
		w.until("Ember walks to the left", func() bool { return w.see(ember) < began[i][1]-30 })
	}
	host.display.release(keyD)
	host.display.press(keyF) // a blow
	for i, name := range []string{"host.png", "guest.png"} {
		m := both[i].display.picture()
		keep(t, name, m)
		require.Greater(t, colours(m), 20, "the picture is blank")
	}
	host.display.release(keyF)
	guest.display.release(left)

	const prefix = "finished: tick 900 is confirmed with fingerprint"
	ends := [2]string{host.line(prefix), guest.line(prefix)}
	require.Len(t, ends[0], 16)
	require.Equal(t, ends[0], ends[1])
	for _, w := range both {
		require.NoError(t, w.wait(), "%s", &w.stderr)
	}
}

func TestTwoPlayersShareAKeyboardInAnotherProcess(t *testing.T) {
	d := newDisplay(t)
	w := start(t, d, build(t), "-frames", "400")
	w.line("the match has begun")
	l, r := w.see(kite), w.see(ember)
	d.press(keyA)
	w.until("Kite walks to the left", func() bool { return w.see(kite) < l-30 })
	require.InDelta(t, r, w.see(ember), 10, "the control: Ember's keys are others")
	d.press(left)
	w.until("Ember walks to the left", func() bool { return w.see(ember) < r-30 })
	w.line("finished: tick 400 is confirmed with fingerprint")
	require.NoError(t, w.wait(), "%s", &w.stderr)
}

// build builds the command.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ebiten")
	out, err := exec.Command("go", "build", "-o", program, "..").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// window is the command, with its window on a display.
type window struct {
	t       *testing.T
	display *display
	cmd     *exec.Cmd
	lines   *bufio.Scanner
	stderr  bytes.Buffer
}

// start starts the command, which is gone when the test is over.
func start(t *testing.T, d *display, program string, args ...string) *window {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	w := &window{t: t, display: d, cmd: exec.CommandContext(ctx, program, args...)}
	w.cmd.Env = append(os.Environ(), "DISPLAY="+d.name, "LIBGL_ALWAYS_SOFTWARE=1")
	w.cmd.Stderr = &w.stderr
	out, err := w.cmd.StdoutPipe()
	require.NoError(t, err)
	w.lines = bufio.NewScanner(out)
	require.NoError(t, w.cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = w.cmd.Wait()
	})
	return w
}

// line waits for a line of output that begins with prefix, and returns the rest of it.
func (w *window) line(prefix string) string {
	w.t.Helper()
	for w.lines.Scan() {
		if rest, ok := strings.CutPrefix(w.lines.Text(), prefix); ok {
			return strings.TrimSpace(rest)
		}
	}
	require.NoError(w.t, w.cmd.Wait(), "no line began with %q: %s", prefix, &w.stderr)
	require.FailNow(w.t, "the command ended too early", "no line began with %q: %s", prefix, &w.stderr)
	return ""
}

// see returns where somebody is in the picture, from the left.
func (w *window) see(shirt color.RGBA) (x int) {
	w.t.Helper()
	w.until("there is a shirt of this colour", func() bool {
		var pixels int
		x, pixels = middle(w.display.picture(), shirt)
		return pixels > 200
	})
	return x
}

// until waits for a condition.
func (w *window) until(what string, condition func() bool) {
	w.t.Helper()
	for end := time.Now().Add(limit); !condition(); {
		require.True(w.t, time.Now().Before(end), "it never came to pass that %s: %s", what, &w.stderr)
	}
}

// wait waits until the command has ended by itself.
func (w *window) wait() error { return w.cmd.Wait() }
