package transporttest

import (
	"sync"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
)

// watch knows which call the clause is in and since when. The clause runs on a
// goroutine of its own, so that one that is stuck in a call can be reported.
type watch struct {
	mu    sync.Mutex
	depth int
	what  string
	since time.Time
}

// within runs calls that together must not take longer than the patience.
func (w *watch) within(what string, calls func()) {
	w.mu.Lock()
	if w.depth++; w.depth == 1 {
		w.what, w.since = what, time.Now()
	}
	w.mu.Unlock()
	calls()
	w.mu.Lock()
	w.depth--
	w.mu.Unlock()
}

// overdue returns what has been going on for longer than the patience.
func (w *watch) overdue(patience time.Duration) (what string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.what, w.depth > 0 && time.Since(w.since) > patience
}

// watched is a transport whose every call is watched.
type watched struct {
	inner transport.Transport
	watch *watch
}

func (w watched) Send(to driftback.Peer, b []byte) {
	w.watch.within("Send", func() { w.inner.Send(to, b) })
}

func (w watched) SendReliable(to driftback.Peer, b []byte) (err error) {
	w.watch.within("SendReliable", func() { err = w.inner.SendReliable(to, b) })
	return err
}

func (w watched) Receive() (m transport.Message, ok bool) {
	w.watch.within("Receive", func() { m, ok = w.inner.Receive() })
	return m, ok
}

func (w watched) MaxDatagram() (n int) {
	w.watch.within("MaxDatagram", func() { n = w.inner.MaxDatagram() })
	return n
}

func (w watched) Close() (err error) {
	w.watch.within("Close", func() { err = w.inner.Close() })
	return err
}
