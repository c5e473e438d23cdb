package server

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/internal/waittest"
	"github.com/driftback/driftback/signalling/internal/frame"
)

// errDeadline is what a read says whose time is up.
var errDeadline = os.ErrDeadlineExceeded

// pair is two members that behave, and a check that they are not disturbed.
func pair(t testing.TB, url string) (undisturbed func()) {
	a, b := enter(t, url, roomOf(200), 0, newIdentity(t)), enter(t, url, roomOf(200), 1, newIdentity(t))
	return func() {
		t.Helper()
		require.NoError(t, a.send(1, "still there"))
		require.Equal(t, "still there", b.hears())
	}
}

func TestWhatIsNoFrameOrOutOfTurnEndsTheConnection(t *testing.T) {
	_, url := open(t, Config{})
	undisturbed := pair(t, url)
	room := byte(1)
	early := func(say func(c *client)) func() *client {
		return func() *client {
			c := dial(t, url, roomOf(room), newIdentity(t))
			say(c)
			return c
		}
	}
	late := func(say func(c *client)) func() *client {
		return func() *client {
			room++ // nobody waits for the last one to have gone
			c := enter(t, url, roomOf(room), 0, newIdentity(t))
			say(c)
			return c
		}
	}
	bytes := func(kind websocket.MessageType, b []byte) func(c *client) {
		return func(c *client) { require.NoError(t, c.ws.Write(c.ctx, kind, b)) }
	}
	for name, c := range map[string]struct {
		open func() *client
		want frame.Status
	}{
		"JSON":                        {early(bytes(websocket.MessageText, []byte(`{"join":1}`))), frame.Wrong},
		"junk":                        {early(bytes(websocket.MessageBinary, []byte{99, 1, 2})), frame.Wrong},
		"nothing":                     {early(bytes(websocket.MessageBinary, nil)), frame.Wrong},
		"a frame as text":             {early(func(c *client) { bytes(websocket.MessageText, c.entry(roomOf(room), 0, true).Append(nil))(c) }), frame.Wrong},
		"a message before it entered": {early(func(c *client) { _ = c.send(1, "x") }), frame.Wrong},
		"the server's own hello":      {early(func(c *client) { c.say(&frame.Frame{Kind: frame.Hello}) }), frame.Wrong},
		"another version": {early(func(c *client) {
			f := c.entry(roomOf(room), 0, true)
			f.Version++
			c.say(f)
		}), frame.OtherVersion},
		"a signature for another room":  {early(func(c *client) { c.say(c.entry(roomOf(9), 0, true)) }), frame.Wrong},
		"a signature for another place": {early(func(c *client) { f := c.entry(roomOf(room), 0, true); f.Peer = 1; c.say(f) }), frame.Wrong},
		"a replayed signature":          {early(func(c *client) { c.nonce = frame.Nonce{}; c.say(c.entry(roomOf(room), 0, true)) }), frame.Wrong},
		"another's key":                 {early(func(c *client) { f := c.entry(roomOf(room), 0, true); f.Key = newIdentity(t).Key(); c.say(f) }), frame.Wrong},
		"a place that the room lacks":   {early(func(c *client) { c.say(c.entry(roomOf(room), 16, true)) }), frame.Full},
		"junk later":                    {late(bytes(websocket.MessageBinary, []byte{0})), frame.Wrong},
		"entering twice":                {late(func(c *client) { c.say(c.entry(roomOf(room), 0, true)) }), frame.Wrong},
		"word of another member":        {late(func(c *client) { c.say(&frame.Frame{Kind: frame.Member, Peer: 3}) }), frame.Wrong},
		"a huge message":                {late(bytes(websocket.MessageBinary, make([]byte, 1<<20))), frame.Status(websocket.StatusMessageTooBig)},
		"one byte too many":             {late(bytes(websocket.MessageBinary, make([]byte, frame.MaxFromMember+1))), frame.Status(websocket.StatusMessageTooBig)},
	} {
		t.Run(name, func(t *testing.T) {
			client := c.open()
			code, why := client.ended()
			require.Equal(t, c.want, code, why)
			require.NotEmpty(t, why)
		})
		undisturbed()
	}
}

func TestBrokenWebSocketsEndTheConnection(t *testing.T) {
	s, url := open(t, Config{closePatience: 50 * time.Millisecond})
	undisturbed := pair(t, url)
	for name, junk := range map[string]string{
		"a frame that is not masked":   "\x82\x01x",
		"reserved bits":                "\xf2\x81\x00\x00\x00\x00x",
		"an unknown opcode":            "\x83\x81\x00\x00\x00\x00x",
		"a length that nobody sends":   "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00" + strings.Repeat("x", 5000),
		"a continuation of nothing":    "\x80\x81\x00\x00\x00\x00x",
		"a ping that is too long":      "\x89\xfe\x01\x00\x00\x00\x00\x00",
		"HTTP once more":               "GET / HTTP/1.1\r\n\r\n",
		"fragments without an end":     strings.Repeat("\x02\xfe\x04\x00\x00\x00\x00\x00"+strings.Repeat("x", 1024), 1) + strings.Repeat("\x00\xfe\x04\x00\x00\x00\x00\x00"+strings.Repeat("x", 1024), 4),
		"a close with half a status":   "\x88\x81\x00\x00\x00\x00x",
		"a compressed frame, unagreed": "\xc2\x81\x00\x00\x00\x00x",
	} {
		t.Run(name, func(t *testing.T) {
			conn := raw(t, url, roomOf(1))
			_, err := conn.Write([]byte(junk))
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, conn) // until the server closes it, or the deadline
			_, err = conn.Read(make([]byte, 1))
			require.NotErrorIs(t, err, errDeadline)
		})
		undisturbed()
	}
	waittest.Until(t, "the connections are gone", func() bool { return s.Counts().Connections == 2 })
}

func TestOfAFloodTheSurplusIsDroppedAndThenTheMember(t *testing.T) {
	s, url := open(t, Config{MessageRate: 5, MaxMembers: 2})
	undisturbed := pair(t, url)
	a := enter(t, url, roomOf(1), 0, newIdentity(t))
	enter(t, url, roomOf(1), 1, newIdentity(t))
	go func() {
		for {
			if a.send(1, "flood") != nil {
				return
			}
		}
	}()
	code, why := a.ended()
	require.Equal(t, frame.Flood, code, why)
	require.EqualValues(t, 1, s.Counts().Flooded)
	require.Less(t, s.Counts().Messages, uint64(40))
	require.Positive(t, s.Counts().DroppedRate)
	undisturbed()
}

func TestAMemberThatSendsToManyIsHeldForEachOfThem(t *testing.T) {
	s, url := open(t, Config{MessageRate: 1})
	a := enter(t, url, roomOf(1), 0, newIdentity(t))
	for peer := range driftback.Peer(3) {
		enter(t, url, roomOf(1), peer+1, newIdentity(t))
	}
	for range 5 {
		for peer := range driftback.Peer(3) {
			require.NoError(t, a.send(peer+1, "x"))
		}
	}
	waittest.Until(t, "all are carried or dropped", func() bool { c := s.Counts(); return c.Messages+c.DroppedRate == 15 })
	require.InDelta(t, 6, s.Counts().Messages, 3, "two each, and what time has allowed since")
}

func TestAllTogetherAreHeldToo(t *testing.T) {
	s, url := open(t, Config{TotalMessageRate: 1})
	a := enter(t, url, roomOf(1), 0, newIdentity(t))
	enter(t, url, roomOf(1), 1, newIdentity(t))
	for range 10 {
		require.NoError(t, a.send(1, "x"))
	}
	waittest.Until(t, "all are carried or dropped", func() bool { c := s.Counts(); return c.Messages+c.DroppedRate == 10 })
	require.Less(t, s.Counts().Messages, uint64(6))
}

func TestRoomsConnectionsAndPlacesAreBounded(t *testing.T) {
	s, url := open(t, Config{MaxRooms: 2, MaxConnections: 4, ConnectionsPerAddress: 3})
	a := enter(t, url, roomOf(1), 0, newIdentity(t))
	enter(t, url, roomOf(2), 0, newIdentity(t))
	code, why := refuses(t, url, roomOf(3), 0, newIdentity(t), true)
	require.Equal(t, frame.Full, code, why)
	waittest.Until(t, "it is gone", func() bool { return s.Counts().Connections == 2 })
	enter(t, url, roomOf(1), 1, newIdentity(t))
	require.Equal(t, http.StatusTooManyRequests, status(t, url, roomOf(1).String(), nil))
	a.say(&frame.Frame{Kind: frame.Leave})
	a.ended()
	waittest.Until(t, "it is gone", func() bool { return s.Counts().Connections == 2 })
	require.Equal(t, http.StatusSwitchingProtocols, status(t, url, roomOf(1).String(), nil))
	require.EqualValues(t, 2, s.Counts().RefusedFull)

	_, url = open(t, Config{MaxConnections: 1})
	dial(t, url, roomOf(1), newIdentity(t))
	require.Equal(t, http.StatusServiceUnavailable, status(t, url, roomOf(1).String(), nil))

	_, url = open(t, Config{RoomsPerMinute: 2})
	enter(t, url, roomOf(1), 0, newIdentity(t))
	enter(t, url, roomOf(2), 0, newIdentity(t))
	code, why = refuses(t, url, roomOf(3), 0, newIdentity(t), true)
	require.Equal(t, frame.Full, code, why)
	answer, err := http.Post(url+"/rooms", "", nil)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusTooManyRequests, answer.StatusCode)

	_, url = open(t, Config{ConnectsPerMinute: 2})
	for _, want := range []int{101, 101, 429} {
		require.Equal(t, want, status(t, url, roomOf(1).String(), nil))
	}
}

func TestWhoGuessesCodesIsLetInNowhereAnyMoreAndNobodyElseIsKeptOut(t *testing.T) {
	s, url := open(t, Config{GuessesPerMinute: 3, TrustProxy: true})
	from := func(addr string) http.Header { return http.Header{"X-Forwarded-For": {addr}} }
	enter(t, url, roomOf(1), 0, newIdentity(t)) // from no address, as the proxy says nothing
	guess := func(addr string) {
		ws, _, err := websocket.Dial(t.Context(), url+"/rooms/"+roomOf(99).String(), &websocket.DialOptions{HTTPHeader: from(addr)}) //nolint:bodyclose // Dial says that there is nothing to close
		require.NoError(t, err)
		c := &client{t: t, ws: ws, id: newIdentity(t), ctx: t.Context()}
		c.nonce = c.read().Nonce
		c.say(c.entry(roomOf(99), 1, false))
		code, why := c.ended()
		require.Equal(t, frame.NoRoom, code, why)
	}
	guess("1.1.1.1")
	guess("1.1.1.1")
	require.Equal(t, http.StatusNotFound, status(t, url, "no-name-at-all", from("1.1.1.1")))
	require.Equal(t, http.StatusTooManyRequests, status(t, url, roomOf(99).String(), from("1.1.1.1")))
	require.Equal(t, http.StatusTooManyRequests, status(t, url, roomOf(1).String(), from("1.1.1.1")), "not even where it may have guessed right")
	require.Equal(t, http.StatusSwitchingProtocols, status(t, url, roomOf(1).String(), from("2.2.2.2")))
	require.EqualValues(t, 3, s.Counts().Guesses)
}

func TestWhoReadsSlowlyLosesMessagesAndThenItsPlace(t *testing.T) {
	s, url := open(t, Config{MessageRate: 10_000, writePatience: 200 * time.Millisecond})
	undisturbed := pair(t, url)
	a := enter(t, url, roomOf(1), 0, newIdentity(t))
	enter(t, url, roomOf(1), 1, newIdentity(t)) // and reads no more
	big := strings.Repeat("x", frame.MaxData)
	for s.Counts().DroppedSlow == 0 || s.Counts().Members > 3 {
		require.NoError(t, a.send(1, big), "the sender is not held up")
	}
	require.Equal(t, 3, s.Counts().Members, "it has been cut, and nobody else")
	undisturbed()
}

func TestWhoLeavesWhatTheServerSaysUnreadIsSentAway(t *testing.T) {
	c := &conn{out: make(chan []byte, maxOwed), over: make(chan struct{})}
	for range maxOwed {
		c.must(nil)
	}
	require.False(t, c.may(nil), "nothing that may be lost goes in with the rest")
	select {
	case <-c.over:
		require.Fail(t, "too early")
	default:
	}
	c.must(nil)
	<-c.over
	require.Equal(t, int(frame.Slow), c.status)
}

func TestWhoDoesNotSpeakOrAnswerIsCut(t *testing.T) {
	s, url := open(t, Config{enterPatience: 50 * time.Millisecond, pingEvery: 20 * time.Millisecond, pingPatience: 200 * time.Millisecond})
	silent := raw(t, url, roomOf(1)) // it never enters
	_, err := io.Copy(io.Discard, bufio.NewReader(silent))
	require.NotErrorIs(t, err, errDeadline)
	enter(t, url, roomOf(1), 0, newIdentity(t)) // a client that does not read does not answer pings
	waittest.Until(t, "it is cut", func() bool { return s.Counts().Silent == 1 && s.Counts().Connections == 0 })
}

func TestAShutdownDoesNotWaitForWhoIsNotThere(t *testing.T) {
	s, url := open(t, Config{})
	enter(t, url, roomOf(1), 0, newIdentity(t)) // and never answers that the connection is closed
	raw(t, url, roomOf(1))
	waittest.Until(t, "both are there", func() bool { return s.Counts().Connections == 2 })
	began := time.Now()
	require.NoError(t, s.Close())
	require.Less(t, time.Since(began), 4*time.Second)
	require.Zero(t, s.Counts().Connections)
}
