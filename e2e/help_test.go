package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// limit bounds everything that the tests of this package start together.
const limit = 4 * time.Minute

// programs are the examples' commands, built once.
var programs = map[string]string{"fighter": "", "racer": ""}

// deadline is when everything has to be over.
var deadline = time.Now().Add(limit)

func TestMain(m *testing.M) {
	status, err := testMain(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(status)
}

func testMain(m *testing.M) (status int, err error) {
	dir, err := os.MkdirTemp("", "examples")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	for name := range programs {
		program := filepath.Join(dir, name)
		if runtime.GOOS == "windows" {
			program += ".exe"
		}
		build := exec.Command("go", "build", "-o", program, "./examples/"+name)
		build.Dir = ".." // the engine's module, which this one does not import
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("the %s cannot be built: %w: %s", name, err, out)
		}
		programs[name] = program
	}
	deadline = time.Now().Add(limit)
	status = m.Run()
	if err := goleak.Find(); err != nil && status == 0 {
		return 1, err
	}
	return status, nil
}

// process is a running command, which is gone when its test is over.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  chan string
	stderr bytes.Buffer
	stop   sync.Once
	end    error
}

// start starts one of the examples.
func start(t *testing.T, example string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(t.Context()), deadline) // Cleanup ends it politely
	p := &process{t: t, cmd: exec.CommandContext(ctx, programs[example], args...), lines: make(chan string, 4096)}
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			select {
			case p.lines <- s.Text():
			default: // nobody reads what comes later
			}
		}
	}()
	t.Cleanup(func() {
		p.interrupt()
		cancel()
	})
	return p
}

// line returns what follows a prefix in the first line of output that has it.
func (p *process) line(prefix string) string {
	p.t.Helper()
	for {
		select {
		case line, ok := <-p.lines:
			require.True(p.t, ok, "the command ended without a line that begins with %q: %s", prefix, &p.stderr)
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return strings.TrimSpace(rest)
			}
		case <-time.After(time.Until(deadline)):
			require.FailNow(p.t, "no line in time", "that begins with %q", prefix)
		}
	}
}

// interrupt ends the process as Ctrl-C would, and kills it if that does not help.
func (p *process) interrupt() {
	p.stop.Do(func() {
		if p.cmd.Process.Signal(os.Interrupt) != nil { // there is none on Windows
			_ = p.cmd.Process.Kill()
		}
		kill := time.AfterFunc(5*time.Second, func() { _ = p.cmd.Process.Kill() })
		defer kill.Stop()
		for range p.lines { // Wait closes the pipe, so it comes after the last line
		}
		p.end = p.cmd.Wait()
	})
}

// killChild kills one of the players' processes, counted in the order in which they began.
func (p *process) killChild(t *testing.T, n int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("children are found in /proc, which only Linux has")
	}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.cmd.Process.Pid))
	require.NoError(t, err)
	var pids []int
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(field)
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	require.Greater(t, len(pids), n)
	child, err := os.FindProcess(pids[n])
	require.NoError(t, err)
	require.NoError(t, child.Kill())
}

// findBrowser returns the path of a Chromium.
func findBrowser(t *testing.T) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	require.FailNow(t, "no browser", "these tests look at the pages through a Chromium and found none in PATH: install one (apt-get install chromium) or leave this module out; looked for %s", strings.Join(names, ", "))
	return ""
}

// launch starts a headless browser that is gone when the test is over, and returns
// its first tab.
func launch(t *testing.T) *tab {
	t.Helper()
	dir, err := os.MkdirTemp("", "browser") //nolint:usetesting // TempDir gives up on a folder that is still being written to
	require.NoError(t, err)
	t.Cleanup(func() {
		// The browser's own children write for a moment after it has gone.
		require.Eventually(t, func() bool { return os.RemoveAll(dir) == nil }, 5*time.Second, 50*time.Millisecond)
	})
	ctx, cancel := context.WithDeadline(context.WithoutCancel(t.Context()), deadline)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(findBrowser(t)),
		chromedp.UserDataDir(dir),
		chromedp.NoSandbox, // which needs more rights than a container has
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		// Sounds may start without a person's touch, as a person's browser would let
		// them after the first one.
		chromedp.Flag("autoplay-policy", "no-user-gesture-required"),
	)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(func() {
		stop()
		cancel()
	})
	return newTab(t, ctx)
}

// tab is one page in the browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	messages []string // errors on its console
}

// newTab opens a tab in the browser that parent belongs to.
func newTab(t *testing.T, parent context.Context) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	tab := &tab{t: t, ctx: ctx}
	tab.resize(1280, 720)
	var reading sync.WaitGroup
	console := chromedp.Console(ctx)
	reading.Go(func() {
		for m, err := range console {
			if err != nil {
				return
			}
			if m.Type == "error" || m.Type == chromedp.ConsoleException {
				tab.mu.Lock()
				tab.messages = append(tab.messages, m.Text)
				tab.mu.Unlock()
			}
		}
	})
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for the browser to be gone, if this was its first tab
		cancel()
		reading.Wait()
	})
	return tab
}

// complaints returns the errors on the tab's console so far.
func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.messages...)
}

func (b *tab) resize(width, height int64) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.EmulateViewport(width, height)))
}

// prefer tells the page what its reader has asked the browser for.
func (b *tab) prefer(feature, value string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: feature, Value: value}},
	})
	require.NoError(b.t, err)
}

// keep writes a picture of the page to the folder out.
func (b *tab) keep(name string) {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.NoError(b.t, os.MkdirAll("out", 0o755))
	require.NoError(b.t, os.WriteFile(filepath.Join("out", name), png, 0o644))
	require.Greater(b.t, len(png), 50_000, "the picture is all but empty")
}

func (b *tab) visit(url string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Navigate(url)))
}

// eval returns the value of an expression on the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err, expression)
	return v
}

// until waits until an expression on the page is true.
func (b *tab) until(expression string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](`!!(`+expression+`)`, chromedp.WithPollingInterval(10*time.Millisecond), chromedp.WithPollingTimeout(time.Until(deadline))))
	require.NoError(b.t, err, expression)
}

// A key as a keyboard sends it.
type key struct {
	code, name string
	number     int64
	text       string
}

var (
	keyA       = key{"KeyA", "a", 'A', "a"}
	keyD       = key{"KeyD", "d", 'D', "d"}
	keyS       = key{"KeyS", "s", 'S', "s"}
	keyW       = key{"KeyW", "w", 'W', "w"}
	keyP       = key{"KeyP", "p", 'P', "p"}
	keyEnter   = key{"Enter", "Enter", 13, "\r"}
	keyTab     = key{"Tab", "Tab", 9, ""}
	keySpace   = key{"Space", " ", 32, " "}
	arrowRight = key{"ArrowRight", "ArrowRight", 39, ""}
)

func (b *tab) key(k key, kind input.DispatchKeyEventType) {
	b.t.Helper()
	p := input.DispatchKeyEventParams{Type: kind, Code: k.code, Key: k.name, WindowsVirtualKeyCode: k.number}
	if kind == input.DispatchKeyEventTypeKeyDown {
		p.Text = k.text
	}
	_, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, p)
	require.NoError(b.t, err)
}

func (b *tab) press(k key) {
	b.t.Helper()
	b.key(k, input.DispatchKeyEventTypeKeyDown)
}

func (b *tab) release(k key) {
	b.t.Helper()
	b.key(k, input.DispatchKeyEventTypeKeyUp)
}

func (b *tab) tap(k key) {
	b.t.Helper()
	b.press(k)
	b.release(k)
}

// keyboardReaches goes through the page's controls with the tabulator key, and presses
// the one before the sound.
func keyboardReaches(t *testing.T, b *tab, ids ...string) {
	b.until(`document.getElementById('to-bot').disabled && !document.getElementById('loss').disabled`)
	toggle := ""
	for i, id := range ids {
		b.tap(keyTab)
		require.Equal(t, id, eval[string](b, `document.activeElement.id`))
		require.NotEqual(t, "none", eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`), "the focus on %s is not to be seen", id)
		require.NotEmpty(t, eval[string](b, `document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent`))
		if id == "sound" {
			toggle = ids[i-1]
		}
	}
	require.NoError(t, chromedp.Do(b.ctx, chromedp.Focus(chromedp.ID(toggle))))
	for _, want := range []string{"true", "false"} {
		b.tap(keySpace)
		require.Equal(t, want, eval[string](b, `document.getElementById('`+toggle+`').getAttribute('aria-pressed')`))
	}
	require.Equal(t, "bot", eval[string](b, `driftback.frame.hands`), "a control's keys are not the game's")
	eval[bool](b, `document.activeElement.blur(), true`)
}

// sliderChangesTheLink moves a page's slider, and another page's follows.
func sliderChangesTheLink(t *testing.T, b, other *tab) {
	b.until(`driftback.frame.stats.roundTripMs > 60`)
	before := eval[float64](b, `driftback.frame.stats.roundTripMs`)
	require.Equal(t, "60 ms", eval[string](b, `document.getElementById('latency').getAttribute('aria-valuetext')`))
	require.NoError(t, chromedp.Do(b.ctx, chromedp.Focus(chromedp.ID("latency"))))
	for range 8 {
		b.tap(arrowRight)
	}
	b.until(`driftback.frame.link.latencyMs === 100`)
	require.Equal(t, "100 ms", eval[string](b, `document.getElementById('latency-value').textContent`))
	other.until(`document.getElementById('latency-value').textContent === "100 ms"`)
	for _, b := range []*tab{b, other} {
		b.until(fmt.Sprintf(`driftback.frame.stats.roundTripMs > %f`, before+50)) // of the 80 ms more
	}
	require.Equal(t, "bot", eval[string](b, `driftback.frame.hands`), "a slider's arrows are not the game's")
	eval[bool](b, `document.activeElement.blur(), true`)
}

// pictureFits waits until the picture on a page of the given width has as many pixels as
// are shown of it.
func pictureFits(b *tab, width int) {
	b.t.Helper()
	b.until(fmt.Sprintf(`((c) => c.clientWidth <= %d && c.width === Math.round(c.clientWidth * devicePixelRatio))(document.getElementById('stage'))`, width))
}
