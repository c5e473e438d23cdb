package arena

import (
	"bytes"
	"io"
	"time"
)

const (
	// maxLines bounds the lines that wait to be written. The oldest gives way.
	maxLines = 64
	// linesTimeout bounds how long Close waits for them.
	linesTimeout = time.Second
)

// lines passes on what is written from a goroutine of its own, so that a terminal
// that is paused, or a pipe that nobody reads, holds up neither the match nor its
// end.
type lines struct {
	queue   chan []byte
	written chan struct{} // closed once all have been
}

func newLines(w io.Writer) *lines {
	l := &lines{queue: make(chan []byte, maxLines), written: make(chan struct{})}
	go func() {
		defer close(l.written)
		for b := range l.queue {
			_, _ = w.Write(b) // there is nobody to tell
		}
	}()
	return l
}

// Write queues a copy of b. It never waits and never fails.
func (l *lines) Write(b []byte) (int, error) {
	line := bytes.Clone(b)
	for {
		select {
		case l.queue <- line:
			return len(b), nil
		default:
		}
		select {
		case <-l.queue:
		default: // it has just been written
		}
	}
}

// Close waits until all is written, but not for long. Nothing may be written after
// it.
func (l *lines) Close() {
	close(l.queue)
	select {
	case <-l.written:
	case <-time.After(linesTimeout):
	}
}
