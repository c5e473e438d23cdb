package web_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/internal/waittest"
	"github.com/driftback/driftback/signalling/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
