// Package signaltest is a signalling server in the process of a test.
//
// It is for tests alone. It owns that the server can be stopped and started at one address.
package signaltest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/internal/waittest"
	"github.com/driftback/driftback/signalling/server"
)

// Site is a signalling server in the process of a test, at a loopback address at which it can be
// started again.
type Site struct {
	t     testing.TB
	c     server.Config
	addr  string
	rooms *server.Server
	web   *http.Server
	done  chan error
}

// New starts a server, which is stopped when the test ends.
func New(t testing.TB, c server.Config) *Site {
	t.Helper()
	s := &Site{t: t, c: c, addr: "127.0.0.1:0"}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// URL is what players give as -signal.
func (s *Site) URL() string { return "http://" + s.addr }

// Counts returns what the server has counted since it was started last.
func (s *Site) Counts() server.Counts { return s.rooms.Counts() }

// Restart stops the server, which forgets all its rooms, and starts it again.
func (s *Site) Restart() {
	s.t.Helper()
	s.Stop()
	s.Start()
}

// Await waits until so many members are in rooms. Without any there is no room either, unless
// a place in it is kept for somebody.
func (s *Site) Await(members int) {
	s.t.Helper()
	waittest.Until(s.t, fmt.Sprintf("%d members are in rooms", members), func() bool {
		c := s.Counts()
		return c.Members == members && (members > 0) == (c.Rooms > 0)
	})
}

// Start starts a server that was stopped.
func (s *Site) Start() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.addr)
	require.NoError(s.t, err)
	s.addr = l.Addr().String()
	s.rooms, err = server.New(s.c)
	require.NoError(s.t, err)
	s.web, s.done = &http.Server{Handler: s.rooms, ReadHeaderTimeout: time.Second}, make(chan error, 1)
	go func() { s.done <- s.web.Serve(l) }()
}

// Stop stops the server, with all that it knows. Stopping it twice is stopping it once.
func (s *Site) Stop() {
	s.t.Helper()
	if s.web == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
	defer cancel()
	require.NoError(s.t, s.rooms.Shutdown(ctx))
	require.NoError(s.t, s.web.Shutdown(ctx))
	require.ErrorIs(s.t, <-s.done, http.ErrServerClosed)
	s.web = nil
}
