package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/internal/waittest"
	"github.com/driftback/driftback/signalling/internal/frame"
)

// The handler fits into any server, here below a path.
func Example() {
	s, err := New(Config{Servers: Servers{STUN: []string{"stun:stun.example.org"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }()
	mux := http.NewServeMux()
	mux.Handle("/signal/", http.StripPrefix("/signal", s))
	web := httptest.NewServer(mux)
	defer web.Close()

	answer, err := http.Get(web.URL + "/signal/healthz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	fmt.Print(answer.StatusCode, " ", string(b))
	fmt.Println(err)
	// Output:
	// 200 ok
	// <nil>
}

func TestMembersAreToldOfEachOtherAndHearEachOther(t *testing.T) {
	s, url := open(t, Config{})
	a := enter(t, url, roomOf(1), 0, newIdentity(t))
	b := enter(t, url, roomOf(1), 5, newIdentity(t))
	f := a.read()
	require.Equal(t, frame.Frame{Kind: frame.Member, Peer: 5, Key: b.id.Key(), Proof: frame.Proof{1}}, f)
	require.Equal(t, frame.Frame{Kind: frame.Member, Peer: 0, Key: a.id.Key(), Proof: frame.Proof{1}}, b.read())
	require.NoError(t, a.send(5, "hello"))
	require.Equal(t, "hello", b.hears())
	require.NoError(t, b.send(0, ""))
	require.Empty(t, a.hears())
	require.NoError(t, a.send(0, "to itself"))
	require.NoError(t, a.send(3, "to nobody"))
	require.NoError(t, a.send(63, "to no place"))
	b.say(&frame.Frame{Kind: frame.Leave})
	require.Equal(t, frame.Frame{Kind: frame.Gone, Peer: 5}, a.read())
	b.ended()
	waittest.Until(t, "the counts", func() bool {
		c := s.Counts()
		return c.Rooms == 1 && c.Members == 1 && c.Entered == 2 && c.Messages == 2 && c.Bytes == 5 && c.DroppedAbsent == 3
	})
	stranger := enter(t, url, roomOf(2), 5, newIdentity(t))
	require.NoError(t, stranger.send(0, "from another room"))
	waittest.Until(t, "the message is dropped", func() bool { return s.Counts().DroppedAbsent == 4 })
	require.EqualValues(t, 2, s.Counts().Messages)
}

func TestAPlaceIsKeptForItsKey(t *testing.T) {
	s, url := open(t, Config{PlaceKept: time.Second, sweepEvery: 5 * time.Millisecond})
	host, guest := newIdentity(t), newIdentity(t)
	a := enter(t, url, roomOf(1), 0, host)
	enter(t, url, roomOf(1), 1, guest)
	code, why := refuses(t, url, roomOf(1), 0, newIdentity(t), true)
	require.Equal(t, frame.Taken, code, why)

	again := enter(t, url, roomOf(1), 0, host) // its connection may be half open
	code, why = a.ended()
	require.Equal(t, frame.Replaced, code, why)
	require.NoError(t, again.ws.CloseNow()) // it is lost without a word
	waittest.Until(t, "its loss is noticed", func() bool { return s.Counts().Members == 1 })
	code, why = refuses(t, url, roomOf(1), 0, newIdentity(t), true)
	require.Equal(t, frame.Taken, code, why)
	again = enter(t, url, roomOf(1), 0, host)

	again.say(&frame.Frame{Kind: frame.Leave})
	again.ended()
	third := enter(t, url, roomOf(1), 0, newIdentity(t)) // whoever left has given it up
	require.NoError(t, third.ws.CloseNow())
	waittest.Until(t, "the place is kept no longer", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.rooms[roomOf(1)].places[0] == nil
	})
	enter(t, url, roomOf(1), 0, newIdentity(t))
}

func TestARoomEndsWithItsTimeOrItsMembers(t *testing.T) {
	s, url := open(t, Config{RoomLifetime: time.Second, PlaceKept: time.Second, sweepEvery: 5 * time.Millisecond})
	a := enter(t, url, roomOf(1), 0, newIdentity(t))
	lost := enter(t, url, roomOf(2), 0, newIdentity(t))
	require.NoError(t, lost.ws.CloseNow())
	left := enter(t, url, roomOf(3), 0, newIdentity(t))
	left.say(&frame.Frame{Kind: frame.Leave})
	left.ended()
	require.LessOrEqual(t, s.Counts().Rooms, 2, "it went with its last member")
	code, why := a.ended()
	require.Equal(t, frame.Expired, code, why)
	waittest.Until(t, "no room is left", func() bool { return s.Counts().Rooms == 0 })
	code, _ = refuses(t, url, roomOf(2), 0, newIdentity(t), false)
	require.Equal(t, frame.NoRoom, code)
}

func TestTheNamesOfRoomsAreMadeHereAndWithAKeyNowhereElse(t *testing.T) {
	name := func(url string) string {
		answer, err := http.Post(url+"/rooms", "", nil)
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }()
		require.Equal(t, http.StatusOK, answer.StatusCode)
		var made struct{ Room string }
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&made))
		return made.Room
	}
	key := []byte("0123456789abcdef")
	openly, url := open(t, Config{})
	_, keyed := open(t, Config{RoomKey: key})
	fellow, second := open(t, Config{RoomKey: key})
	_, other := open(t, Config{RoomKey: []byte("another key, of 24 bytes")})
	require.NotEqual(t, name(url), name(url))
	require.Zero(t, openly.Counts().Rooms, "nothing is kept")
	require.Equal(t, http.StatusSwitchingProtocols, status(t, url, name(url), nil))

	made := name(keyed)
	require.Equal(t, http.StatusSwitchingProtocols, status(t, keyed, made, nil))
	require.Equal(t, http.StatusSwitchingProtocols, status(t, second, made, nil), "another instance of the fleet")
	require.Equal(t, http.StatusNotFound, status(t, other, made, nil))
	require.Equal(t, http.StatusNotFound, status(t, second, name(url), nil))
	require.EqualValues(t, 1, fellow.Counts().Guesses)
}

func TestMembersAreToldOfServersWithPasswordsOfTheirOwn(t *testing.T) {
	_, url := open(t, Config{Servers: Servers{
		STUN: []string{"stun:one"}, TURN: []string{"turn:two", "turns:three?transport=tcp"}, Secret: "0123456789abcdef", PasswordLifetime: time.Hour,
	}})
	passwords := map[string]bool{}
	for i := range 2 {
		c := dial(t, url, roomOf(byte(i)), newIdentity(t))
		c.say(c.entry(roomOf(byte(i)), 0, true))
		f := c.read()
		require.EqualValues(t, 3600, f.Seconds)
		require.Len(t, f.Servers, 3)
		require.Equal(t, frame.Server{URL: "stun:one"}, f.Servers[0])
		require.Equal(t, "turns:three?transport=tcp", f.Servers[2].URL)
		require.Regexp(t, `^\d{10}:[0-9a-z]{16}$`, f.Servers[1].Username)
		require.NotContains(t, f.Servers[1].Password, "0123456789abcdef")
		passwords[f.Servers[1].Password] = true
	}
	require.Len(t, passwords, 2)
}

func TestAMemberIsGivenAnotherPasswordBeforeItsOwnEnds(t *testing.T) {
	_, url := open(t, Config{Servers: Servers{TURN: []string{"turn:one"}, Secret: "0123456789abcdef", PasswordLifetime: time.Second}})
	dial(t, url, roomOf(2), newIdentity(t)) // who has not entered is told nothing
	began := time.Now()
	c := dial(t, url, roomOf(1), newIdentity(t))
	c.say(c.entry(roomOf(1), 0, true))
	first := c.read()
	require.Equal(t, frame.Welcome, first.Kind)
	for now := first; now.Servers[0] == first.Servers[0]; { // of which each second has one
		now = c.read()
		require.Equal(t, frame.Welcome, now.Kind)
		require.EqualValues(t, 1, now.Seconds)
		require.Len(t, now.Servers, 1)
		require.Equal(t, first.Servers[0].Username[10:], now.Servers[0].Username[10:], "it is the same user to the relay")
	}
	require.GreaterOrEqual(t, time.Since(began), time.Second/2)
}

func TestWhoIsBehindAProxyIsKnownByWhatTheProxySays(t *testing.T) {
	for name, c := range map[string]struct {
		trust  bool
		header []string
		want   string
	}{
		"nobody is trusted":       {false, []string{"1.2.3.4"}, "192.0.2.1"},
		"the proxy":               {true, []string{"1.2.3.4"}, "1.2.3.4"},
		"a client that lies":      {true, []string{"6.6.6.6, 1.2.3.4"}, "1.2.3.4"},
		"a client that lies more": {true, []string{"6.6.6.6", "7.7.7.7,  2001:db8::1 "}, "2001:db8::1"},
		"with a port":             {true, []string{"[2001:db8::1]:80"}, "2001:db8::1"},
		"in another form":         {true, []string{"::ffff:1.2.3.4"}, "1.2.3.4"},
		"no header":               {true, nil, "invalid IP"},
		"no address":              {true, []string{"unknown"}, "invalid IP"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Server{c: Config{TrustProxy: c.trust}}
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody) // from 192.0.2.1
			for _, line := range c.header {
				r.Header.Add("X-Forwarded-For", line)
			}
			require.Equal(t, c.want, s.address(r).String())
		})
	}
	require.Equal(t, netip.Addr{}, (&Server{}).address(&http.Request{RemoteAddr: "@"}), "a Unix socket")
}

func TestWhoIsSentAwayByAShutdownIsToldThatTheServerComesBack(t *testing.T) {
	s, url := open(t, Config{})
	a := enter(t, url, roomOf(1), 0, newIdentity(t))
	b := dial(t, url, roomOf(2), newIdentity(t)) // in the middle of entering
	ended := make(chan int, 2)
	for _, c := range []*client{a, b} {
		go func() {
			_, _, err := c.ws.Read(c.ctx)
			ended <- int(websocket.CloseStatus(err))
		}()
	}
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
	defer cancel()
	require.NoError(t, s.Shutdown(ctx))
	require.Equal(t, statusRestart, <-ended)
	require.Equal(t, statusRestart, <-ended)
	require.Equal(t, http.StatusServiceUnavailable, status(t, url, roomOf(1).String(), nil))
	answer, err := http.Get(url + "/healthz")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
	require.NoError(t, s.Shutdown(ctx), "twice is once")
	require.Zero(t, s.Counts().Rooms)
}

func TestTheMetricsAreWhatWasCounted(t *testing.T) {
	_, url := open(t, Config{})
	enter(t, url, roomOf(1), 0, newIdentity(t))
	refuses(t, url, roomOf(2), 0, newIdentity(t), false)
	answer, err := http.Get(url + "/metrics")
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	for _, line := range []string{
		"# TYPE driftback_signal_rooms gauge\ndriftback_signal_rooms 1\n",
		"driftback_signal_entered_total 1\n",
		"driftback_signal_refused_total{reason=\"no_room\"} 1\n",
		"driftback_signal_dropped_total{reason=\"slow\"} 0\n",
	} {
		require.Contains(t, string(b), line)
	}
	for line := range strings.Lines(string(b)) {
		require.Regexp(t, `^(# (HELP|TYPE) [a-z_]+ .*|[a-z_]+(\{reason="[a-z_]+"\})? \d+)\n$`, line)
	}
}

func TestAConfigurationThatMakesNoSenseIsRefusedInASentence(t *testing.T) {
	for want, c := range map[string]Config{
		"Config.MaxRooms is -1: 1 to 1000000 are allowed, and 0 for 10000":        {MaxRooms: -1},
		"Config.MaxMembers is 65: 2 to 64 are allowed":                            {MaxMembers: 65},
		"Config.RoomLifetime is 1ms: 1s to 720h0m0s are allowed, and 0 for 12h":   {RoomLifetime: time.Millisecond},
		"Config.RoomKey has 3 bytes, and 16 is the least":                         {RoomKey: []byte("key")},
		"Config.Servers holds 9 URLs, and 8 is the most":                          {Servers: Servers{STUN: make([]string, 9)}},
		"Config.Servers.Secret has 0 bytes, and 16 is the least":                  {Servers: Servers{TURN: []string{"turn:x"}}},
		`Config.Servers.STUN holds "turn:x", and should hold stun:host:port`:      {Servers: Servers{STUN: []string{"turn:x"}}},
		"Config.Servers.PasswordLifetime is -1s: 1s to 720h0m0s are allowed, and": {Servers: Servers{PasswordLifetime: -time.Second}},
	} {
		_, err := New(c)
		require.ErrorContains(t, err, want)
	}
}
