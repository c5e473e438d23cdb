package quic

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transport"
)

func TestAPeerIsCalledOnceThereIsAPath(t *testing.T) {
	hostID, guestID := newIdentity(t), newIdentity(t)
	h := open(t, Config{Self: 0, Identity: hostID, Peers: []Remote{{Peer: 1, Pin: guestID.Pin()}}})
	path := make(chan struct{})
	asked := make(chan struct{}, 1)
	g := open(t, Config{Self: 1, Identity: guestID, Peers: []Remote{{
		Peer: 0, Pin: hostID.Pin(), Addr: h.LocalAddr().String(),
		Ready: func(ctx context.Context) {
			signal(asked)
			select {
			case <-path:
			case <-ctx.Done():
			}
		},
	}}})
	<-asked
	time.Sleep(2 * headStart) // whether it calls can only be found out by waiting
	_, err := g.Why(0)
	require.NoError(t, err, "nothing was tried")
	s, _ := h.Stats(1)
	require.Zero(t, s.Ups)
	close(path)
	linkUp(t, h, g)
}

func TestClosingEndsTheWaitForAPath(t *testing.T) {
	hostID := newIdentity(t)
	g := open(t, Config{Self: 1, Identity: newIdentity(t), Peers: []Remote{{
		Peer: 0, Pin: hostID.Pin(), Addr: "127.0.0.1:9", Ready: func(ctx context.Context) { <-ctx.Done() },
	}}})
	start := time.Now()
	require.NoError(t, g.Close())
	require.Less(t, time.Since(start), time.Second)
}

func TestAddressesAreCalledWhatTheConfigurationSays(t *testing.T) {
	hostID, guestID := newIdentity(t), newIdentity(t)
	h := open(t, Config{Self: 0, Identity: hostID, Peers: []Remote{{Peer: 1, Pin: guestID.Pin()}}})
	name := func(net.Addr) string { return "the host" }
	remote := Remote{Peer: 0, Pin: hostID.Pin(), Addr: h.LocalAddr().String()}
	g := open(t, Config{Self: 1, Identity: guestID, Describe: name, Peers: []Remote{remote}})
	linkUp(t, h, g)
	s, _ := g.Stats(0)
	require.Equal(t, "the host", s.Addr)
	require.NoError(t, h.Close())
	require.ErrorContains(t, await(t, g, transport.Down).Err, "no link with peer 0 at the host: ")

	remote.Pin = newIdentity(t).Pin() // somebody else answers there
	open(t, Config{Self: 0, Identity: hostID, Addr: h.LocalAddr().String(), Peers: []Remote{{Peer: 1, Pin: guestID.Pin()}}})
	g = open(t, Config{Self: 1, Identity: guestID, Describe: name, Peers: []Remote{remote}})
	until(t, "the call to fail", func() bool { _, err := g.Why(0); return err != nil })
	_, err := g.Why(0)
	require.ErrorContains(t, err, "no link with peer 0 at the host: ")
}
