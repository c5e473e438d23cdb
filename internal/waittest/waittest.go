// Package waittest waits, in tests over real sockets, for what a network brings.
//
// It is for tests alone. It owns how long they wait, and refuses to know what for.
package waittest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transport"
)

// Patience bounds every wait.
const Patience = 30 * time.Second

// Transport is one that counts what it has done, for the word of a test that waited in vain.
type Transport[C any] interface {
	transport.Transport
	Counts() C
}

// Message asks a transport for messages until one is of a kind, and returns it with
// its data copied. Others on the way are dropped.
func Message[C any](t testing.TB, tr Transport[C], kind transport.Kind) transport.Message {
	t.Helper()
	return message(t, tr, kind, Patience)
}

func message[C any](t testing.TB, tr Transport[C], kind transport.Kind, patience time.Duration) transport.Message {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		m, ok := tr.Receive()
		if !ok {
			Pause()
			continue
		}
		if m.Kind == kind {
			m.Data = append([]byte(nil), m.Data...)
			return m
		}
	}
	require.FailNow(t, "nothing of the kind came", "it waited %v for %v; its counts: %+v", patience, kind, tr.Counts())
	return transport.Message{}
}

// Pause lets the network work, between two looks at what it has brought.
func Pause() { time.Sleep(200 * time.Microsecond) }

// Until waits for a condition.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	until(t, what, ok, Patience)
}

func until(t testing.TB, what string, ok func() bool, patience time.Duration) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); Pause() {
		if ok() {
			return
		}
	}
	require.FailNow(t, "it did not happen", "it waited %v for %s", patience, what)
}
