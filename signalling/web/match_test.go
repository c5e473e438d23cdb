package web_test

import (
	"errors"
	"testing"

	"github.com/driftback/driftback/internal/signaltest"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/internal/waittest"
	"github.com/driftback/driftback/natpunch"
	"github.com/driftback/driftback/signalling/server"
	"github.com/driftback/driftback/signalling/web"
	"github.com/driftback/driftback/transport"
)

// listen opens the link of one of two players.
func listen(t testing.TB, self driftback.Peer, id *identity.Identity, m *web.Member) *natpunch.Transport {
	t.Helper()
	other, err := m.Meet(soon(t), 1-self)
	require.NoError(t, err)
	link, err := natpunch.Listen(t.Context(), natpunch.Config{
		Self: self, Identity: id, Signal: m, Addr: "127.0.0.1:0",
		Peers: []natpunch.Remote{{Peer: other.Peer, Pin: other.Pin}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, link.Close()) })
	return link
}

func TestAMatchGoesOnWhileTheServerRestartsAndFindsPathsOverItAfterwards(t *testing.T) {
	s := signaltest.New(t, server.Config{})
	i := web.NewInvitation()
	ids := [2]*identity.Identity{newIdentity(t), newIdentity(t)}
	var members [2]*web.Member
	for self := range 2 {
		members[self] = join(t, web.Config{Server: s.URL(), Invitation: i, Make: self == 0, Self: driftback.Peer(self), Identity: ids[self]})
	}
	host, guest := listen(t, 0, ids[0], members[0]), listen(t, 1, ids[1], members[1])
	waittest.Message(t, host, transport.Up)
	waittest.Message(t, guest, transport.Up)

	s.Stop()
	waittest.Until(t, "the loss is noticed", func() bool {
		return errors.Is(members[0].Err(), web.ErrAway) && errors.Is(members[1].Err(), web.ErrAway)
	})
	require.NoError(t, host.SendReliable(1, []byte("without the server")))
	require.Equal(t, "without the server", string(waittest.Message(t, guest, transport.Reliable).Data))

	// The guest's process dies, without a word, and comes back at another port before the server does: only the
	// server can tell the host where it is.
	members[1].Leave()
	require.NoError(t, guest.Close())
	waittest.Message(t, host, transport.Down)
	s.Start()
	waittest.Until(t, "the host is back", func() bool { return members[0].Err() == nil })
	again := join(t, web.Config{Server: s.URL(), Invitation: i, Self: 1, Identity: ids[1]})
	guest = listen(t, 1, ids[1], again)
	waittest.Message(t, host, transport.Up)
	waittest.Message(t, guest, transport.Up)
	require.NoError(t, guest.SendReliable(0, []byte("back again")))
	require.Equal(t, "back again", string(waittest.Message(t, host, transport.Reliable).Data))
}
