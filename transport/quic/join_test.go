package quic

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
)

// host opens peer 0, which expects peer 1 with a code.
func host(t testing.TB, code identity.Code) (*Transport, *identity.Identity) {
	t.Helper()
	id := newIdentity(t)
	return open(t, Config{Self: 0, Identity: id, Peers: []Remote{{Peer: 1, Code: code}}}), id
}

// guest opens peer 1, which calls a host that has this pin.
func guest(t testing.TB, h *Transport, pin identity.Pin, id *identity.Identity, code identity.Code) *Transport {
	t.Helper()
	return open(t, Config{Self: 1, Identity: id, Peers: []Remote{{Peer: 0, Pin: pin, Addr: h.LocalAddr().String(), Code: code}}})
}

// lastError waits until a call has failed for a reason.
func lastError(t testing.TB, tr *Transport, peer driftback.Peer, want error) {
	t.Helper()
	until(t, "the call to fail with: "+want.Error(), func() bool {
		_, told := tr.Receive()
		require.False(t, told, "a link that was never up has nothing to tell")
		s, ok := tr.Stats(peer)
		require.True(t, ok)
		return errors.Is(s.LastError, want)
	})
	s, _ := tr.Stats(peer)
	var link *LinkError
	require.ErrorAs(t, s.LastError, &link)
	require.Equal(t, peer, link.Peer)
	require.False(t, s.Up)
	require.Zero(t, s.Ups)
}

func TestACodePinsTheFirstKeyThatPresentsIt(t *testing.T) {
	code := identity.NewCode()
	h, hostID := host(t, code)
	_, known := h.Pin(1)
	require.False(t, known)

	friend := newIdentity(t)
	g := guest(t, h, hostID.Pin(), friend, code)
	linkUp(t, h, g)
	pin, known := h.Pin(1)
	require.True(t, known)
	require.Equal(t, friend.Pin(), pin)

	t.Run("a second key is refused, code or no code", func(t *testing.T) {
		late := guest(t, h, hostID.Pin(), newIdentity(t), code)
		lastError(t, late, 0, ErrRefused)
		require.NotZero(t, h.Counts().Refused)
		require.NoError(t, g.SendReliable(0, []byte("still here")))
		require.Equal(t, "still here", string(await(t, h, transport.Reliable).Data))
	})
	t.Run("the same key comes back without it", func(t *testing.T) {
		require.NoError(t, g.Close())
		require.ErrorIs(t, await(t, h, transport.Down).Err, ErrPeerClosed)
		linkUp(t, h, guest(t, h, hostID.Pin(), friend, identity.Code{}))
	})
}

func TestAWrongCodeIsRefusedAndNotTriedAgain(t *testing.T) {
	code := identity.NewCode()
	h, hostID := host(t, code)
	wrong := guest(t, h, hostID.Pin(), newIdentity(t), identity.NewCode())
	lastError(t, wrong, 0, ErrCodeRefused)
	final, why := wrong.Why(0)
	require.ErrorIs(t, why, ErrCodeRefused)
	require.True(t, final, "an invitation is good or it is not")
	require.EqualValues(t, 1, h.Counts().BadCodes)
	require.NoError(t, wrong.Close())
	require.EqualValues(t, 1, h.Counts().BadCodes, "it asked once")

	none := guest(t, h, hostID.Pin(), newIdentity(t), identity.Code{})
	lastError(t, none, 0, ErrRefused)
	final, why = none.Why(0)
	require.ErrorIs(t, why, ErrRefused)
	require.False(t, final, "a peer may be pinned yet")

	linkUp(t, h, guest(t, h, hostID.Pin(), newIdentity(t), code))
}

func TestTwoInvitationsAreToldApartByTheirCodes(t *testing.T) {
	one, two := identity.NewCode(), identity.NewCode()
	hostID := newIdentity(t)
	h := open(t, Config{Self: 0, Identity: hostID, Peers: []Remote{{Peer: 1, Code: one}, {Peer: 2, Code: two}}})
	second := open(t, Config{Self: 2, Identity: newIdentity(t), Peers: []Remote{
		{Peer: 0, Pin: hostID.Pin(), Addr: h.LocalAddr().String(), Code: two},
	}})
	linkUp(t, h, second)
	_, known := h.Pin(1)
	require.False(t, known)
	linkUp(t, h, guest(t, h, hostID.Pin(), newIdentity(t), one))
}

func TestKeysThatAreNotPinnedMakeNoLink(t *testing.T) {
	for name, c := range map[string]struct {
		hostPins, guestPins func(host, guest, other identity.Pin) identity.Pin
		guestSays           error
	}{
		"the host has another key pinned": {
			hostPins:  func(_, _, other identity.Pin) identity.Pin { return other },
			guestPins: func(host, _, _ identity.Pin) identity.Pin { return host },
			guestSays: ErrRefused,
		},
		"the guest has another key pinned": {
			hostPins:  func(_, guest, _ identity.Pin) identity.Pin { return guest },
			guestPins: func(_, _, other identity.Pin) identity.Pin { return other },
			guestSays: identity.ErrNotPinned,
		},
	} {
		t.Run(name, func(t *testing.T) {
			hostID, guestID, other := newIdentity(t), newIdentity(t), newIdentity(t).Pin()
			h := open(t, Config{Self: 0, Identity: hostID, Peers: []Remote{{Peer: 1, Pin: c.hostPins(hostID.Pin(), guestID.Pin(), other)}}})
			g := guest(t, h, c.guestPins(hostID.Pin(), guestID.Pin(), other), guestID, identity.Code{})
			lastError(t, g, 0, c.guestSays)
			_, told := h.Receive()
			require.False(t, told)
			require.ErrorIs(t, h.SendReliable(1, nil), transport.ErrNoLink)
		})
	}
}

func TestGuessingIsLimited(t *testing.T) {
	now := time.Now()
	b := bucket{room: guessBurst, at: now}
	taken := 0
	for range 10 * guessBurst {
		if b.take(now) {
			taken++
		}
	}
	require.Equal(t, guessBurst, taken)
	require.False(t, b.take(now.Add(guessEvery-1)))
	require.True(t, b.take(now.Add(guessEvery)))
	require.False(t, b.take(now.Add(guessEvery)))
	b.take(now.Add(time.Hour))
	require.Equal(t, guessBurst-1, b.room, "the room does not grow beyond the burst")
}

func TestListenRefusesAConfigurationThatCannotWork(t *testing.T) {
	id, pin, code := newIdentity(t), newIdentity(t).Pin(), identity.NewCode()
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"no identity":              {Config{}, "Config.Identity is nil"},
		"a number too high":        {Config{Identity: id, Self: 64}, "Config.Self is 64 and must be below 64"},
		"a peer's number too high": {Config{Identity: id, Peers: []Remote{{Peer: 64, Pin: pin}}}, "holds peer 64"},
		"ourselves as a peer":      {Config{Identity: id, Self: 3, Peers: []Remote{{Peer: 3, Pin: pin}}}, "peer 3, which is Config.Self"},
		"our own pin":              {Config{Identity: id, Peers: []Remote{{Peer: 1, Pin: id.Pin()}}}, "that of Config.Identity"},
		"a peer twice":             {Config{Identity: id, Peers: []Remote{{Peer: 1, Pin: pin}, {Peer: 1, Code: code}}}, "peer 1 twice"},
		"a pin twice":              {Config{Identity: id, Peers: []Remote{{Peer: 1, Pin: pin}, {Peer: 2, Pin: pin}}}, "peers 1 and 2 have the same"},
		"a code twice":             {Config{Identity: id, Peers: []Remote{{Peer: 1, Code: code}, {Peer: 2, Code: code}}}, "peers 1 and 2 have the same"},
		"anybody":                  {Config{Identity: id, Peers: []Remote{{Peer: 1}}}, "anybody could be it"},
		"anybody at an address":    {Config{Identity: id, Peers: []Remote{{Peer: 1, Addr: "127.0.0.1:1", Code: code}}}, "anybody could answer"},
		"a code that does nothing": {Config{Identity: id, Peers: []Remote{{Peer: 1, Pin: pin, Code: code}}}, "needs no code"},
		"an address without port":  {Config{Identity: id, Peers: []Remote{{Peer: 1, Pin: pin, Addr: "127.0.0.1"}}}, "must be host:port"},
		"an address with port 0":   {Config{Identity: id, Peers: []Remote{{Peer: 1, Pin: pin, Addr: "127.0.0.1:0"}}}, "from 1 to 65535"},
		"a port that is none":      {Config{Identity: id, Peers: []Remote{{Peer: 1, Pin: pin, Addr: "127.0.0.1:99999"}}}, "from 1 to 65535"},
		"an empty identity":        {Config{Identity: &identity.Identity{}}, "Config.Identity is empty"},
		"an idle time too short":   {Config{Identity: id, IdleTimeout: 1}, "Config.IdleTimeout is 1ns and must be between 500ms and 5m0s"},
		"an address of nobody's":   {Config{Identity: id, Addr: "192.0.2.1:0"}, "no socket"},
		"an address that is none":  {Config{Identity: id, Addr: "nonsense"}, `Config.Addr is "nonsense"`},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := Listen(context.Background(), c.config)
			require.Nil(t, tr)
			require.ErrorContains(t, err, c.want)
		})
	}
}
