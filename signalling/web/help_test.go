package web_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/internal/waittest"
	"github.com/driftback/driftback/signalling/server"
	"github.com/driftback/driftback/signalling/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a signalling server that can be stopped and started again at the same address.
type site struct {
	t    testing.TB
	c    server.Config
	addr string
	s    *server.Server
	web  *http.Server
	done chan error
}

func newSite(t testing.TB, c server.Config) *site {
	s := &site{t: t, c: c, addr: "127.0.0.1:0"}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *site) url() string { return "http://" + s.addr }

func (s *site) start() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.addr)
	require.NoError(s.t, err)
	s.addr = l.Addr().String()
	s.s, err = server.New(s.c)
	require.NoError(s.t, err)
	s.web, s.done = &http.Server{Handler: s.s, ReadHeaderTimeout: time.Second}, make(chan error, 1)
	go func() { s.done <- s.web.Serve(l) }()
}

// stop stops the server, with all that it knows.
func (s *site) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
	defer cancel()
	require.NoError(s.t, s.s.Shutdown(ctx))
	require.NoError(s.t, s.web.Shutdown(ctx))
	require.ErrorIs(s.t, <-s.done, http.ErrServerClosed)
}

func newIdentity(t testing.TB) *identity.Identity {
	t.Helper()
	id, err := identity.Generate()
	require.NoError(t, err)
	return id
}

// client makes connections of its own, of which none is left when the test ends.
func client(t testing.TB) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// join enters a room, and leaves it when the test ends.
func join(t testing.TB, c web.Config) *web.Member {
	t.Helper()
	if c.Identity == nil {
		c.Identity = newIdentity(t)
	}
	c.Client = client(t)
	m, err := web.Join(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(m.Leave)
	return m
}

// soon is a context that ends when a test has waited long enough.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
	t.Cleanup(cancel)
	return ctx
}
