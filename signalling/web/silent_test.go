package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/signalling/internal/frame"
)

// A machine that has lost its power closes no connection.
func TestAServerThatIsSilentIsGivenUpAndTriedAgain(t *testing.T) {
	var entered atomic.Int32
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		_ = ws.Write(r.Context(), websocket.MessageBinary, (&frame.Frame{Kind: frame.Hello, Version: frame.Version}).Append(nil))
		_, _, _ = ws.Read(r.Context())
		_ = ws.Write(r.Context(), websocket.MessageBinary, (&frame.Frame{Kind: frame.Welcome}).Append(nil))
		entered.Add(1)
		<-done // and reads nothing, not even pings
		_ = ws.CloseNow()
	}))
	defer s.Close()
	defer close(done)
	id, err := identity.Generate()
	require.NoError(t, err)
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	m, err := Join(t.Context(), Config{
		Server: s.URL, Invitation: NewInvitation(), Identity: id, Client: &http.Client{Transport: tr},
		pingEvery: 5 * time.Millisecond, pingPatience: 20 * time.Millisecond, minBackoff: time.Millisecond,
	})
	require.NoError(t, err)
	defer m.Leave()
	for end := time.Now().Add(20 * time.Second); entered.Load() < 3; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end))
	}
}

func TestOfWhatIsNotTakenAwayTheNewestIsKept(t *testing.T) {
	queue := make(chan letter, maxWaiting)
	for i := range 200 {
		put(queue, letter{data: []byte{byte(i)}})
	}
	require.Len(t, queue, maxWaiting)
	require.Equal(t, byte(200-maxWaiting), (<-queue).data[0])
}

func TestWhatIsNoUseToTryAgainIsNotTriedAgain(t *testing.T) {
	require.True(t, final(ErrReplaced))
	require.True(t, final(refusal(http.StatusForbidden)))
	for _, err := range []error{ErrTaken, ErrNoRoom, refusal(http.StatusInternalServerError), errors.New("unplugged")} {
		require.False(t, final(err), "%v", err)
	}
}

// Of an old version, say: it names servers once and never again.
func TestAServerThatNamesNoNewPasswordsIsNotWaitedForWithoutEnd(t *testing.T) {
	m := &Member{news: make(chan struct{}), done: make(chan struct{})}
	m.renewed(frame.Frame{Kind: frame.Welcome, Seconds: 100, Servers: []frame.Server{{URL: "turn:a", Username: "b", Password: "c"}}})
	got, err := m.Renew(t.Context())
	require.NoError(t, err)
	require.Equal(t, "c", got[0].Password)
	m.stale = time.Now()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.Renew(ended)
	require.ErrorContains(t, err, "web: no servers with new passwords: the signalling server has named no others")
	m.renewed(frame.Frame{Kind: frame.Welcome, Servers: []frame.Server{{URL: "stun:a"}}})
	got, err = m.Renew(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Server{{URL: "stun:a"}}, got, "no password of it ends")
}
