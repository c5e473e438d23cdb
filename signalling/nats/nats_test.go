package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/signalling/server"
	"github.com/driftback/driftback/signalling/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// start starts a NATS server on this machine, at a port that may be given.
func start(t testing.TB, port int) *natsserver.Server {
	t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	go s.Start()
	require.True(t, s.ReadyForConnections(patience))
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// open opens a signalling server that is one instance of a fleet.
func open(t testing.TB, url string) (*server.Server, string) {
	t.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	bus, err := New(conn, "")
	require.NoError(t, err)
	s, err := server.New(server.Config{Bus: bus})
	require.NoError(t, err)
	site := httptest.NewServer(s)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		site.Close()
	})
	return s, site.URL
}

func join(t testing.TB, url string, i web.Invitation, self driftback.Peer) *web.Member {
	t.Helper()
	id, err := identity.Generate()
	require.NoError(t, err)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	m, err := web.Join(t.Context(), web.Config{
		Server: url, Invitation: i, Make: self == 0, Self: self, Identity: id, Client: &http.Client{Transport: tr},
	})
	require.NoError(t, err)
	t.Cleanup(m.Leave)
	return m
}

// talk sends a message until it arrives, as peers do.
func talk(t testing.TB, from, to *web.Member, fromPeer, toPeer driftback.Peer) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		require.NoError(t, from.Send(t.Context(), toPeer, []byte("hello")))
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		got, data, err := to.Receive(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			continue
		}
		require.NoError(t, err)
		require.Equal(t, fromPeer, got)
		require.Equal(t, "hello", string(data))
		return
	}
	require.FailNow(t, "no message came")
}

func Example() {
	conn, err := nats.Connect("nats://127.0.0.1:1", nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	bus, err := New(conn, "mygame.signal")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.New(server.Config{Bus: bus}) // an http.Handler, one of many alike
	fmt.Println(err)
	fmt.Println(s.Close())
	// Output:
	// <nil>
	// <nil>
}

func TestMembersOfOneRoomMeetAtDifferentInstances(t *testing.T) {
	n := start(t, natsserver.RANDOM_PORT)
	_, one := open(t, n.ClientURL())
	_, two := open(t, n.ClientURL())
	i := web.NewInvitation()
	host := join(t, one, i, 0)
	guest := join(t, two, i, 1) // it makes no room: the other instance's is found
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	met, err := guest.Meet(ctx, 0)
	require.NoError(t, err)
	require.True(t, met.Proven)
	_, err = host.Meet(ctx, 1)
	require.NoError(t, err)
	talk(t, host, guest, 0, 1)
	talk(t, guest, host, 1, 0)

	id, err := identity.Generate()
	require.NoError(t, err)
	_, err = web.Join(ctx, web.Config{Server: two, Invitation: i, Make: true, Self: 0, Identity: id})
	require.ErrorIs(t, err, web.ErrTaken)
	_, err = web.Join(ctx, web.Config{Server: two, Invitation: web.NewInvitation(), Self: 1, Identity: id})
	require.ErrorIs(t, err, web.ErrNoRoom)
	http.DefaultClient.CloseIdleConnections()
}

func TestMembersHearEachOtherAgainWhenNATSHasRestarted(t *testing.T) {
	n := start(t, natsserver.RANDOM_PORT)
	first, one := open(t, n.ClientURL())
	_, two := open(t, n.ClientURL())
	i := web.NewInvitation()
	host, guest := join(t, one, i, 0), join(t, two, i, 1)
	talk(t, host, guest, 0, 1)
	port := n.Addr().(*net.TCPAddr).Port
	n.Shutdown()
	n.WaitForShutdown()
	require.NoError(t, host.Send(t.Context(), 1, []byte("into the void")))
	require.Equal(t, 1, first.Counts().Members, "who is in stays in")
	start(t, port)
	talk(t, guest, host, 1, 0)
}

func TestAPrefixThatIsNoSubjectIsRefused(t *testing.T) {
	_, err := New(nil, "")
	require.ErrorContains(t, err, "there is no connection")
	for _, prefix := range []string{"a b", "a.*", ">", ".a", "a.", "a..b"} {
		_, err := New(&nats.Conn{}, prefix)
		require.ErrorContains(t, err, "should be words with dots between them", prefix)
	}
}
