package e2e

import (
	"bufio"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"
	"github.com/stretchr/testify/require"
)

// The size of a display, which is that of the example's window.
const (
	displayWidth  = 960
	displayHeight = 540
)

// The keys, as the kernel numbers them on every keyboard, plus the eight of X.
const (
	keyA byte = 38
	keyD byte = 40
	keyF byte = 41
	left byte = 113
)

// display is an X server that shows nobody anything, and hands that press its keys.
type display struct {
	t    *testing.T
	name string
	conn *xgb.Conn
	root xproto.Window
}

// newDisplay starts an X server that is gone when the test is over. Keys never go to a
// display that somebody is looking at, so that one that is there already is not used.
func newDisplay(t *testing.T) *display {
	t.Helper()
	xvfb, err := exec.LookPath("Xvfb")
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("Xvfb is not installed, so there is no display to open windows on (on Debian: apt-get install xvfb libgl1-mesa-dri)")
	}
	require.NoError(t, err)
	numbers, number, err := os.Pipe()
	require.NoError(t, err)
	defer numbers.Close()
	server := exec.CommandContext(t.Context(), xvfb, "-displayfd", "3", "-nolisten", "tcp", "-noreset", "-screen", "0", "960x540x24")
	server.ExtraFiles = []*os.File{number}
	require.NoError(t, server.Start())
	number.Close()
	line, err := bufio.NewReader(numbers).ReadString('\n')
	require.NoError(t, err, "Xvfb did not start")
	d := &display{t: t, name: ":" + strings.TrimSpace(line)}
	xgb.Logger = log.New(io.Discard, "", 0) // it would complain that there is no .Xauthority
	d.conn, err = xgb.NewConnDisplay(d.name)
	require.NoError(t, err)
	t.Cleanup(func() {
		d.conn.Close()
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	require.NoError(t, xtest.Init(d.conn))
	d.root = xproto.Setup(d.conn).DefaultScreen(d.conn).Root
	return d
}

// press holds a key down, and release lets it go. Nobody manages the windows of this
// display, so that keys go to the one that lies under the pointer.
func (d *display) press(key byte)   { d.fake(xproto.KeyPress, key) }
func (d *display) release(key byte) { d.fake(xproto.KeyRelease, key) }

func (d *display) fake(kind, detail byte) {
	d.t.Helper()
	require.NoError(d.t, xtest.FakeInputChecked(d.conn, kind, detail, 0, d.root, displayWidth/2, displayHeight/2, 0).Check())
}

// picture is what the display shows now.
func (d *display) picture() *image.RGBA {
	d.t.Helper()
	reply, err := xproto.GetImage(d.conn, xproto.ImageFormatZPixmap, xproto.Drawable(d.root), 0, 0, displayWidth, displayHeight, 0xffffffff).Reply()
	require.NoError(d.t, err)
	require.Len(d.t, reply.Data, 4*displayWidth*displayHeight)
	m := image.NewRGBA(image.Rect(0, 0, displayWidth, displayHeight))
	for i := 0; i < len(reply.Data); i += 4 { // blue, green, red, nothing
		m.Pix[i], m.Pix[i+1], m.Pix[i+2], m.Pix[i+3] = reply.Data[i+2], reply.Data[i+1], reply.Data[i], 0xff
	}
	return m
}

// colours returns how many different ones a picture has: 1 if it is blank.
func colours(m *image.RGBA) int {
	seen := map[color.RGBA]bool{}
	for y := range displayHeight {
		for x := range displayWidth {
			seen[m.RGBAAt(x, y)] = true
		}
	}
	return len(seen)
}

// middle returns where on the stage a colour is on average, from the left, and on how
// many of its pixels. The bars above the stage do not count.
func middle(m *image.RGBA, c color.RGBA) (x, pixels int) {
	for y := displayHeight / 4; y < displayHeight; y++ {
		for i := range displayWidth {
			if m.RGBAAt(i, y) == c {
				x += i
				pixels++
			}
		}
	}
	return x / max(pixels, 1), pixels
}

// keep writes a picture into out/.
func keep(t *testing.T, name string, m *image.RGBA) {
	t.Helper()
	dir := filepath.Join("..", "out")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	f, err := os.Create(filepath.Join(dir, name))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, png.Encode(f, m))
}
