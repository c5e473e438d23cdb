package quic

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	quicgo "github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"
)

// A caller who is in the middle of its greeting has made no mistake, and must not
// be told so.
func TestACallerWhoIsStillGreetingIsToldThatTheTransportCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := simulate(t, 2, 10*time.Millisecond, nil)
		defer stop()
		mine, theirs := newIdentity(t), newIdentity(t)
		tr, err := Listen(context.Background(), Config{Self: 0, Identity: mine, Conn: w.conns[0], Peers: []Remote{{Peer: 1, Pin: theirs.Pin()}}})
		require.NoError(t, err)
		caller := &quicgo.Transport{Conn: w.conns[1]}
		conn, err := caller.Dial(context.Background(), w.conns[0].LocalAddr(), theirs.ClientConfig(protocol, mine.Pin()), &quicgo.Config{EnableDatagrams: true})
		require.NoError(t, err)
		stream, err := conn.OpenStream()
		require.NoError(t, err)
		_, err = stream.Write([]byte{greetingMark})
		require.NoError(t, err)
		time.Sleep(greetTimeout / 2) // on the virtual clock: the byte has come, and patience has not ended
		require.NoError(t, tr.Close())
		<-conn.Context().Done()
		require.ErrorIs(t, reason(context.Cause(conn.Context()), defaultIdle), ErrPeerClosed)
		require.NoError(t, caller.Close())
	})
}
