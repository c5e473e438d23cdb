package web_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/driftback/driftback/internal/signaltest"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/internal/waittest"
	"github.com/driftback/driftback/natpunch"
	"github.com/driftback/driftback/signalling/internal/frame"
	"github.com/driftback/driftback/signalling/server"
	"github.com/driftback/driftback/signalling/web"
)

var _ natpunch.Signal = (*web.Member)(nil)

const maxSignal = web.MaxMessage - natpunch.MaxSignal // and neither is larger

var _ [maxSignal]struct{}
var _ [-maxSignal]struct{}

func TestTwoWithAnInvitationHaveEachOthersPins(t *testing.T) {
	s := signaltest.New(t, server.Config{Servers: server.Servers{
		STUN: []string{"stun:127.0.0.1"}, TURN: []string{"turn:127.0.0.1"}, Secret: "0123456789abcdef",
	}})
	drawn := web.NewInvitation()
	asked, err := web.AskInvitation(t.Context(), s.URL(), client(t))
	require.NoError(t, err)
	for _, i := range []web.Invitation{drawn, asked} {
		host, guest := newIdentity(t), newIdentity(t)
		a := join(t, web.Config{Server: s.URL(), Invitation: i, Make: true, Self: 0, Identity: host})
		typed, err := web.ParseInvitation(i.String())
		require.NoError(t, err)
		b := join(t, web.Config{Server: s.URL(), Invitation: typed, Self: 1, Identity: guest})
		got, err := a.Meet(soon(t), 1)
		require.NoError(t, err)
		require.Equal(t, web.Other{Peer: 1, Pin: guest.Pin(), Proven: true}, got)
		got, err = b.Meet(soon(t), 0)
		require.NoError(t, err)
		require.Equal(t, web.Other{Peer: 0, Pin: host.Pin(), Proven: true}, got)
		require.Equal(t, []web.Other{got}, b.Others())

		require.NoError(t, a.Send(t.Context(), 1, []byte("hello")))
		from, data, err := b.Receive(soon(t))
		require.NoError(t, err)
		require.EqualValues(t, 0, from)
		require.Equal(t, "hello", string(data))

		servers := a.Servers()
		require.Len(t, servers, 2)
		require.Equal(t, "turn:127.0.0.1", natpunch.Server(servers[1]).URL)
		require.NotEmpty(t, servers[1].Password)
		require.Zero(t, servers[0].Ends)
		require.WithinDuration(t, time.Now().Add(6*time.Hour), servers[1].Ends, time.Minute)
	}
}

// The server knows the name of the room and nothing else of an invitation. Whatever it can say to
// the host, a stranger with that name can.
func TestWhoKnowsWhatTheServerKnowsIsNotMet(t *testing.T) {
	s := signaltest.New(t, server.Config{})
	invitation := web.NewInvitation()
	host := join(t, web.Config{Server: s.URL(), Invitation: invitation, Make: true, Self: 0})
	bare, err := web.ParseInvitation(invitation.Room())
	require.NoError(t, err)
	stranger := join(t, web.Config{Server: s.URL(), Invitation: bare, Self: 1})
	waittest.Until(t, "the host is told of the stranger", func() bool { return len(host.Others()) == 1 })
	require.False(t, host.Others()[0].Proven)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = host.Meet(ctx, 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "peer 1 has not come")
	met, err := stranger.Meet(soon(t), 0) // who has no secret takes the server's word, and is told so
	require.NoError(t, err)
	require.False(t, met.Proven)

	// Once it has gone, the friend is met.
	stranger.Leave()
	friend := newIdentity(t)
	join(t, web.Config{Server: s.URL(), Invitation: invitation, Self: 1, Identity: friend})
	met, err = host.Meet(soon(t), 1)
	require.NoError(t, err)
	require.Equal(t, friend.Pin(), met.Pin)
}

func TestAWrongCodeIsRefusedAndSaysSo(t *testing.T) {
	s := signaltest.New(t, server.Config{GuessesPerMinute: 1})
	c := web.Config{Server: s.URL(), Invitation: web.NewInvitation(), Self: 1, Identity: newIdentity(t), Client: client(t)}
	_, err := web.Join(t.Context(), c)
	require.ErrorIs(t, err, web.ErrNoRoom)
	_, err = web.Join(t.Context(), c)
	require.ErrorIs(t, err, web.ErrBusy)
}

func TestAPlaceThatIsTakenIsRefusedAndOneThatIsTakenOverIsLost(t *testing.T) {
	s := signaltest.New(t, server.Config{})
	c := web.Config{Server: s.URL(), Invitation: web.NewInvitation(), Make: true, Self: 0, Identity: newIdentity(t)}
	first := join(t, c)
	other := c
	other.Identity, other.Client = newIdentity(t), client(t)
	_, err := web.Join(t.Context(), other)
	require.ErrorIs(t, err, web.ErrTaken)

	second := join(t, c)
	_, _, err = first.Receive(soon(t))
	require.ErrorIs(t, err, web.ErrReplaced)
	_, err = first.Meet(soon(t), 1)
	require.ErrorIs(t, err, web.ErrReplaced)
	require.ErrorIs(t, first.Send(t.Context(), 1, nil), web.ErrReplaced)
	require.NoError(t, second.Err())
	first.Leave()
	second.Leave()
	second.Leave()
	_, _, err = second.Receive(soon(t))
	require.ErrorIs(t, err, web.ErrLeft)
	waittest.Until(t, "the room is gone", func() bool { return s.Counts().Rooms == 0 })
}

func TestPasswordsAreRenewedAsLongAsTheServerIsThere(t *testing.T) {
	s := signaltest.New(t, server.Config{Servers: server.Servers{TURN: []string{"turn:127.0.0.1"}, Secret: "0123456789abcdef", PasswordLifetime: time.Second}})
	m := join(t, web.Config{Server: s.URL(), Invitation: web.NewInvitation(), Make: true, Identity: newIdentity(t)})
	first := m.Servers()
	for now := first; now[0].Password == first[0].Password; {
		var err error
		now, err = m.Renew(soon(t))
		require.NoError(t, err)
		require.Len(t, now, 1)
		left := time.Until(now[0].Ends)
		require.Positive(t, left)
		require.LessOrEqual(t, left, time.Second)
	}

	s.Stop()
	waittest.Until(t, "the loss to be noticed", func() bool { return errors.Is(m.Err(), web.ErrAway) })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Renew(ended)
	require.ErrorIs(t, err, web.ErrAway)
	require.ErrorIs(t, err, context.Canceled)
	s.Start()
	_, err = m.Renew(soon(t))
	require.NoError(t, err)
	m.Leave()
	_, err = m.Renew(soon(t))
	require.ErrorIs(t, err, web.ErrLeft)
}

func TestWhenTheServerRestartsTheMembersMakeTheRoomAgain(t *testing.T) {
	s := signaltest.New(t, server.Config{})
	i, host := web.NewInvitation(), newIdentity(t)
	a := join(t, web.Config{Server: s.URL(), Invitation: i, Make: true, Self: 0, Identity: host})
	b := join(t, web.Config{Server: s.URL(), Invitation: i, Self: 1})
	_, err := a.Meet(soon(t), 1)
	require.NoError(t, err)
	_, err = b.Meet(soon(t), 0)
	require.NoError(t, err)
	s.Stop()
	for _, m := range []*web.Member{a, b} {
		waittest.Until(t, "the loss is noticed", func() bool { return errors.Is(m.Err(), web.ErrAway) })
		require.ErrorIs(t, m.Send(t.Context(), 1, nil), web.ErrAway)
	}
	require.NotEmpty(t, b.Others(), "what is known stays known")
	s.Start()
	waittest.Until(t, "both are back", func() bool { return a.Err() == nil && b.Err() == nil && s.Counts().Members == 2 })
	met, err := b.Meet(soon(t), 0)
	require.NoError(t, err)
	require.Equal(t, host.Pin(), met.Pin)
	require.NoError(t, a.Send(t.Context(), 1, []byte("again")))
	_, data, err := b.Receive(soon(t))
	require.NoError(t, err)
	require.Equal(t, "again", string(data))
}

func TestLeavingWhileTheServerIsGoneDoesNotWaitForIt(t *testing.T) {
	s := signaltest.New(t, server.Config{})
	a := join(t, web.Config{Server: s.URL(), Invitation: web.NewInvitation(), Make: true})
	s.Stop()
	waittest.Until(t, "the loss is noticed", func() bool { return a.Err() != nil })
	began := time.Now()
	a.Leave()
	require.Less(t, time.Since(began), 2*time.Second)
	s.Start()
}

func TestAMessageIsCopiedBoundedAndNeverWaitedFor(t *testing.T) {
	s := signaltest.New(t, server.Config{})
	a := join(t, web.Config{Server: s.URL(), Invitation: web.NewInvitation(), Make: true})
	require.ErrorContains(t, a.Send(t.Context(), 1, make([]byte, web.MaxMessage+1)), "2049 bytes, and 2048 is the most")
	require.ErrorContains(t, a.Send(t.Context(), 64, nil), "numbers end at 63")
	began := time.Now()
	for range 10_000 {
		require.NoError(t, a.Send(t.Context(), 1, make([]byte, web.MaxMessage)))
	}
	require.Less(t, time.Since(began), 10*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := a.Receive(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = a.Meet(ctx, 0)
	require.ErrorContains(t, err, "cannot be met")
}

// Servers that say what they should not, or nothing, hold nobody up for long.
func TestAServerThatMakesNoSenseIsLeftAlone(t *testing.T) {
	hello := (&frame.Frame{Kind: frame.Hello, Version: frame.Version}).Append(nil)
	say := func(frames ...[]byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			ws, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			for _, b := range frames {
				_ = ws.Write(r.Context(), websocket.MessageBinary, b)
			}
			_, _, _ = ws.Read(r.Context()) // what the member says, if it does
			_, _, _ = ws.Read(r.Context())
			_ = ws.CloseNow()
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"another site":    {http.NotFound, web.ErrNoRoom.Error()},
		"a page":          {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hi")) }, web.ErrRefused.Error()},
		"out of order":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }, web.ErrBusy.Error()},
		"junk":            {say([]byte("junk")), "malformed frame"},
		"a huge frame":    {say(make([]byte, 1<<20)), "too big"},
		"another version": {say((&frame.Frame{Kind: frame.Hello, Version: 9}).Append(nil)), "it speaks version 9, and we 1"},
		"no hello":        {say((&frame.Frame{Kind: frame.Gone}).Append(nil)), "it does not say hello"},
		"no welcome":      {say(hello, hello), "it does not say welcome"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(c.handler)
			defer s.Close()
			_, err := web.Join(soon(t), web.Config{Server: s.URL, Invitation: web.NewInvitation(), Identity: newIdentity(t), Client: client(t)})
			require.ErrorContains(t, err, c.want)
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // which accepts and says nothing
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = web.Join(ctx, web.Config{Server: "http://" + l.Addr().String(), Invitation: web.NewInvitation(), Identity: newIdentity(t), Client: client(t)})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAConfigurationThatMakesNoSenseIsRefusedInASentence(t *testing.T) {
	i, id := web.NewInvitation(), newIdentity(t)
	for want, c := range map[string]web.Config{
		"Config.Invitation is empty":                   {Identity: id},
		"Config.Identity is nil":                       {Invitation: i},
		"Config.Self is 64 and must be below 64":       {Invitation: i, Identity: id, Self: 64},
		"should begin with https:// or http://":        {Invitation: i, Identity: id, Server: "signal.example.org"},
		"should be a host, its port and a path":        {Invitation: i, Identity: id, Server: "https://user@signal.example.org?x"},
		`the server's URL is "https://%"`:              {Invitation: i, Identity: id, Server: "https://%"},
		"web: cannot enter the room at http://[::1]:1": {Invitation: i, Identity: id, Server: "http://[::1]:1"},
	} {
		_, err := web.Join(t.Context(), c)
		require.ErrorContains(t, err, want)
	}
}
