package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/internal/waittest"
	"github.com/driftback/driftback/signalling/internal/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a server on this machine and shuts it down when the test ends.
func open(t testing.TB, c Config) (*Server, string) {
	t.Helper()
	s, err := New(c)
	require.NoError(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Shutdown(ctx) // some of the tests leave connections that have to be cut
		web.Close()
		require.Zero(t, s.Counts().Connections)
	})
	return s, web.URL
}

func newIdentity(t testing.TB) *identity.Identity {
	t.Helper()
	id, err := identity.Generate()
	require.NoError(t, err)
	return id
}

func roomOf(b byte) (r frame.Room) { r[0] = b; return r }

// client is a member as badly behaved as a test wants.
type client struct {
	t     testing.TB
	ws    *websocket.Conn
	id    *identity.Identity
	nonce frame.Nonce
	ctx   context.Context
}

// dial connects to a room, and hears the server's hello.
func dial(t testing.TB, url string, room frame.Room, id *identity.Identity) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
	t.Cleanup(cancel)
	ws, _, err := websocket.Dial(ctx, url+"/rooms/"+room.String(), nil) //nolint:bodyclose // Dial says that there is nothing to close
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(frame.Max)
	c := &client{t: t, ws: ws, id: id, ctx: ctx}
	hello := c.read()
	require.Equal(t, frame.Hello, hello.Kind)
	c.nonce = hello.Nonce
	return c
}

// entry is the frame with which the client enters.
func (c *client) entry(room frame.Room, peer driftback.Peer, anew bool) *frame.Frame {
	f := &frame.Frame{Kind: frame.Enter, Version: frame.Version, Make: anew, Peer: peer, Key: c.id.Key(), Proof: frame.Proof{1}}
	copy(f.Signature[:], c.id.Sign(frame.Purpose, frame.Entry(c.nonce, room, peer)))
	return f
}

// enter enters a room, and returns the welcome.
func enter(t testing.TB, url string, room frame.Room, peer driftback.Peer, id *identity.Identity) *client {
	t.Helper()
	c := dial(t, url, room, id)
	c.say(c.entry(room, peer, true))
	require.Equal(t, frame.Welcome, c.read().Kind)
	return c
}

func (c *client) say(f *frame.Frame) {
	c.t.Helper()
	require.NoError(c.t, c.ws.Write(c.ctx, websocket.MessageBinary, f.Append(nil)))
}

// send sends a message, and does not mind if the server has closed the connection.
func (c *client) send(to driftback.Peer, data string) error {
	f := frame.Frame{Kind: frame.Message, Peer: to, Data: []byte(data)}
	return c.ws.Write(c.ctx, websocket.MessageBinary, f.Append(nil))
}

func (c *client) read() (f frame.Frame) {
	c.t.Helper()
	_, b, err := c.ws.Read(c.ctx)
	require.NoError(c.t, err)
	require.NoError(c.t, f.Parse(b))
	return f
}

// hears reads until a message comes, and returns it.
func (c *client) hears() string {
	c.t.Helper()
	for {
		if f := c.read(); f.Kind == frame.Message {
			return string(f.Data)
		}
	}
}

// ended reads until the connection ends, and returns the status and the sentence with which it did.
func (c *client) ended() (frame.Status, string) {
	c.t.Helper()
	for {
		_, _, err := c.ws.Read(c.ctx)
		var closed websocket.CloseError
		switch {
		case err == nil:
		case c.ctx.Err() != nil:
			require.NoError(c.t, c.ctx.Err(), "the server does not close the connection")
		case websocket.CloseStatus(err) == -1:
			return 0, err.Error()
		default:
			require.ErrorAs(c.t, err, &closed)
			return frame.Status(closed.Code), closed.Reason
		}
	}
}

// refuses dials and enters a room, and returns why that is refused.
func refuses(t testing.TB, url string, room frame.Room, peer driftback.Peer, id *identity.Identity, anew bool) (frame.Status, string) {
	t.Helper()
	c := dial(t, url, room, id)
	c.say(c.entry(room, peer, anew))
	return c.ended()
}

// status dials and returns the HTTP status, 101 if a WebSocket is open.
func status(t testing.TB, url, room string, header http.Header) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
	defer cancel()
	ws, answer, err := websocket.Dial(ctx, url+"/rooms/"+room, &websocket.DialOptions{HTTPHeader: header}) //nolint:bodyclose // Dial says that there is nothing to close
	if err == nil {
		_ = ws.CloseNow()
	}
	require.NotNil(t, answer)
	return answer.StatusCode
}

// raw upgrades a connection by hand, and returns it.
func raw(t testing.TB, url string, room frame.Room) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(waittest.Patience)))
	_, err = conn.Write([]byte("GET /rooms/" + room.String() + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"))
	require.NoError(t, err)
	return conn
}
