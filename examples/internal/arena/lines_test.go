package arena

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAPipeThatNobodyReadsHoldsNothingUp(t *testing.T) {
	unread, stdout := io.Pipe()
	defer unread.Close()
	var stderr bytes.Buffer
	status := make(chan int, 1)
	go func() {
		status <- tallying().run(t.Context(), []string{"host", "-addr", "127.0.0.1:0", "-headless", "-wait", "100ms"}, nil, stdout, &stderr)
	}()
	select {
	case s := <-status:
		require.Equal(t, ExitFailed, s)
		require.Contains(t, stderr.String(), "peer 1 is not connected")
	case <-time.After(20 * time.Second):
		require.Fail(t, "it waits for somebody to read")
	}
}

func TestTheNewestLinesAreKeptForAReaderWhoComesBack(t *testing.T) {
	stopped, stdout := io.Pipe()
	l := newLines(stdout)
	for i := range 10 * maxLines {
		fmt.Fprintln(l, "line", i)
	}
	read := make(chan string)
	go func() {
		b, _ := io.ReadAll(stopped)
		read <- string(b)
	}()
	l.Close()
	require.NoError(t, stdout.Close())
	text := <-read
	require.Contains(t, text, fmt.Sprintln("line", 10*maxLines-1))
	require.LessOrEqual(t, strings.Count(text, "line"), maxLines+1)
}
