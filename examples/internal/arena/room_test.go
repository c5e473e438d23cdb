package arena

import (
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/driftback/driftback/internal/signaltest"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback/examples/internal/arenatest"
	"github.com/driftback/driftback/examples/internal/command"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/natpunch"
	"github.com/driftback/driftback/signalling/server"
	"github.com/driftback/driftback/signalling/web"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // what is parallel waits for a network, and not for a processor
	goleak.VerifyTestMain(m)
}

// side is one of two in this process, host or guest.
type side struct {
	t      *testing.T
	out    command.Output
	errs   command.Output
	status int
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// newSide starts one that meets the other at a site. It is interrupted when the test ends.
func newSide(t *testing.T, s *signaltest.Site, o func(*options), args ...string) *side {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	p := &side{t: t, cancel: cancel}
	g := tallying()
	args = append([]string{args[0], "-headless", "-addr", "127.0.0.1:0", "-signal", s.URL()}, args[1:]...)
	parsed, err := g.parse(args[0], args[1:], io.Discard)
	require.NoError(t, err)
	if o != nil {
		o(parsed)
	}
	p.ended.Go(func() { p.status = g.status(g.do(ctx, args[0], parsed, nil, &p.out), &p.errs) })
	t.Cleanup(func() {
		cancel()
		p.ended.Wait()
	})
	return p
}

// end waits for a side's end.
func (p *side) end() int {
	p.ended.Wait()
	return p.status
}

// says waits until a side has written what the pattern matches, and returns its last group.
func (p *side) says(pattern string) string {
	p.t.Helper()
	var found []string
	require.Eventually(p.t, func() bool {
		found = regexp.MustCompile(pattern).FindStringSubmatch(p.out.String())
		return found != nil
	}, 20*time.Second, 5*time.Millisecond, "it has not written %q", pattern)
	return found[len(found)-1]
}

// oneSentence requires that a side has failed with one sentence.
func (p *side) oneSentence(contains string) {
	p.t.Helper()
	require.Equal(p.t, ExitFailed, p.end(), p.out.String())
	require.Regexp(p.t, `^tally: [^\n]+\.\n$`, p.errs.String())
	require.Contains(p.t, p.errs.String(), contains)
}

const codeLine = `(?m)^([0-9a-z.-]{19,})$`

// requireAlike requires that two sides have ended in the same world.
func requireAlike(t *testing.T, a, b *side) {
	t.Helper()
	require.Zero(t, a.end(), a.errs.String())
	require.Zero(t, b.end(), b.errs.String())
	finished := `finished: (tick [1-9]\d* is confirmed with fingerprint [0-9a-f]{16})\n`
	require.Equal(t, a.says(finished), b.says(finished))
}

func TestTwoMeetInARoomAndTheMatchGoesOnWhileTheServerRestarts(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{})
	host := newSide(t, s, nil, "host", "-ticks", "900", "-rate", "240")
	pasted := strings.Fields(host.says(`The other player runs: go run ./examples/tally (join.*)\n`))
	require.Equal(t, []string{"join", "-ticks", "900", "-rate", "240", "-signal", s.URL(), host.says(codeLine)}, pasted)
	guest := newSide(t, s, nil, pasted...)
	for _, p := range []*side{host, guest} {
		p.says(`the path to the other player is direct, 127\.0\.0\.1:\d+\n`)
		p.says(arenatest.Played)
	}
	s.Restart()
	s.Await(2) // the room is there again
	require.NotContains(t, host.out.String(), "finished", "the control: it was in the middle of the match")
	requireAlike(t, host, guest)
	s.Await(0) // both have left
}

func TestAGuestWhoComesBeforeTheHostWaitsAndPlays(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{GuessesPerMinute: 10_000})
	code := web.NewInvitation().String()
	soon := func(o *options) { o.room.again = 20 * time.Millisecond }
	guest := newSide(t, s, soon, "join", strings.ToUpper(code), "-ticks", "60")
	require.Equal(t, "it is wrong, or the host is not there", guest.says(`there is no room with this code at http\S+: (.*); trying again every 20ms, for up to 1m0s\n`))
	host := newSide(t, s, nil, "host", "-code", code, "-key", t.TempDir()+"/key", "-ticks", "60")
	requireAlike(t, host, guest)
	require.Equal(t, 1, strings.Count(guest.out.String(), "trying again"), "it is said once")
	require.Positive(t, s.Counts().Guesses, "the control")
}

// Whoever waits asks for less than the server takes from one address.
func TestAGuestWaitsAtAPaceThatTheServerBears(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{})
	var o options
	guest := newSide(t, s, func(p *options) { o = *p }, "join", web.NewInvitation().String(), "-wait", "300ms")
	guest.oneSentence("there is no room with this code at " + s.URL() + ": it is wrong, or the host is not there, for 300ms now")
	perMinute := int(time.Minute / o.room.again)
	require.Less(t, perMinute, 10)
	require.Positive(t, perMinute)
	require.EqualValues(t, 1, s.Counts().Guesses)
}

func TestWhoGuessedTooMuchWaitsAsWell(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{GuessesPerMinute: 1})
	soon := func(o *options) { o.room.again = 20 * time.Millisecond }
	guest := newSide(t, s, soon, "join", web.NewInvitation().String(), "-wait", "1s")
	guest.oneSentence("the signalling server takes no more for now: 429 Too Many Requests, for 1s now")
	require.Equal(t, 2, strings.Count(guest.out.String(), "trying again"), "each reason is said once: %s", &guest.out)
}

func TestACodeLetsOneGuestIn(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{})
	host := newSide(t, s, nil, "host")
	code := host.says(codeLine)
	first := newSide(t, s, nil, "join", code)
	first.says(arenatest.Played)
	newSide(t, s, nil, "join", code).oneSentence("somebody with another key has this place in the room: the code lets one guest in")

}

func TestACodeWhoseGuestHasGoneIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{})
	host := newSide(t, s, nil, "host")
	code := host.says(codeLine)
	invitation, err := web.ParseInvitation(code)
	require.NoError(t, err)
	id, err := identity.Generate()
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	member, err := web.Join(t.Context(), web.Config{Server: s.URL(), Invitation: invitation, Self: 1, Identity: id, Client: client})
	require.NoError(t, err)
	host.says("the other player is in the room")
	member.Leave()
	began := time.Now()
	newSide(t, s, nil, "join", code).oneSentence("it does not have our key pinned")
	require.Less(t, time.Since(began), 15*time.Second, "it did not wait in vain")
}

func TestWhoIsInterruptedOrWaitsInVainLeavesTheRoom(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{})
	host := newSide(t, s, nil, "host")
	host.says(codeLine)
	require.Equal(t, 1, s.Counts().Rooms)
	host.cancel()
	require.Equal(t, ExitInterrupted, host.end())
	require.Equal(t, "tally: interrupted, so the match is over.\n", host.errs.String())

	newSide(t, s, nil, "host", "-wait", "300ms").oneSentence("the other player has not come to the room in 300ms")
	s.Await(0)
	guest := newSide(t, s, nil, "join", web.NewInvitation().String())
	guest.says("trying again every 7s")
	guest.cancel()
	require.Equal(t, ExitInterrupted, guest.end())
}

func TestAServerThatNamesItsRoomsItselfIsAskedForOne(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{RoomKey: []byte("sixteen bytes or more")})
	host := newSide(t, s, nil, "host", "-ticks", "30")
	code := host.says(codeLine)
	require.Len(t, code, 32+1+19)
	requireAlike(t, host, newSide(t, s, nil, "join", "-ticks", "30", code))
}

func TestAPageShowsThatTheOtherPlayerIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{})
	host := newSide(t, s, nil, "host", "-headless=false")
	url := host.says(`page http:(\S+)\n`)
	host.says(codeLine)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	from := http.Header{"Origin": {"http:" + strings.TrimSuffix(url, "/")}}
	conn, _, err := websocket.Dial(ctx, "ws:"+url+"live", &websocket.DialOptions{HTTPClient: client, HTTPHeader: from}) //nolint:bodyclose // Dial says that there is nothing to close
	require.NoError(t, err)
	defer func() { _ = conn.CloseNow() }()
	var f struct {
		Phase string
		View  *tally
	}
	require.NoError(t, wsjson.Read(ctx, conn, &f))
	require.Equal(t, "joining", f.Phase)
	require.NotNil(t, f.View)
}

// What the server and the flags name is asked by whoever looks for a path. Neither is there, which
// holds nobody up.
func TestTheServersOfBothAreUsed(t *testing.T) {
	stun := [2]net.PacketConn{}
	for i := range stun {
		conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		stun[i] = conn
	}
	s := signaltest.New(t, server.Config{Servers: server.Servers{STUN: []string{"stun:" + stun[0].LocalAddr().String()}}})
	host := newSide(t, s, nil, "host", "-ticks", "30", "-server", "stun:"+stun[1].LocalAddr().String())
	guest := newSide(t, s, nil, "join", "-ticks", "30", host.says(codeLine))
	for _, conn := range stun {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
		b := make([]byte, 1500)
		n, _, err := conn.ReadFrom(b)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, 20)
		require.Equal(t, []byte{0x21, 0x12, 0xa4, 0x42}, b[4:8], "it is a question of STUN")
	}
	requireAlike(t, host, guest)
}

func TestNoSuchServerIsOneSentenceAtOnce(t *testing.T) {
	t.Parallel()
	s := signaltest.New(t, server.Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close()) // nobody is there any more
	newSide(t, s, nil, "host", "-signal", "http://"+l.Addr().String()).oneSentence("web: cannot enter the room at http://" + l.Addr().String())
	newSide(t, s, nil, "join", web.NewInvitation().String(), "-signal", "http://"+l.Addr().String()).oneSentence("web: cannot enter the room at")
	newSide(t, s, nil, "host", "-signal", "ftp://x").oneSentence("should begin with https:// or http://")
}

func TestWhatDoesNotGoWithARoomIsRefusedInASentence(t *testing.T) {
	code := web.NewInvitation()
	pin := identity.Pin{1}.String()
	for want, words := range map[string]string{
		code.String() + " is the code of a room, and -signal URL has to say on which server":                                      "join " + code.String(),
		"with -signal the code of a room is needed: web: this is not an invitation: ":                                             "join -signal http://x 127.0.0.1:1 " + pin + " " + code.String(),
		code.Room() + " is the name of a room without its secret, and so anybody could be the other player":                       "join -signal http://x " + code.Room(),
		"join needs what host prints, a room's CODE or the three words ADDR PIN CODE, and was given 0":                            "join",
		"-code and -server are for a room, and -signal URL has to say on which server":                                            "host -code " + code.String(),
		"-guest is for a host with an address; in a room -code says who may come":                                                 "host -signal http://x -guest " + pin,
		"-code is for a host that has been in the room before: give its -key too":                                                 "host -signal http://x -code " + code.String(),
		"with -signal the code of a room is needed":                                                                               "host -signal http://x -key k -code abcd",
		`invalid value "stun:" for flag -server: want stun:host:port or turn:user:password@host:port`:                             "host -signal http://x -server stun:",
		`invalid value "turn:relay.example.org" for flag -server: want stun:host:port or turn:user:password@host:port; -help`:     "join -signal http://x -server turn:relay.example.org " + code.String(),
		`invalid value "http:a:b@relay.example.org" for flag -server: want stun:host:port or turn:user:password@host:port; -help`: "join -signal http://x -server http:a:b@relay.example.org " + code.String(),
		`"me" is one argument too many`: "host -signal http://x me",
	} {
		args := strings.Fields(words)
		_, err := tallying().parse(args[0], args[1:], io.Discard)
		require.ErrorContains(t, err, want, words)
	}
}

func TestACodeAndFlagsAreReadInAnyOrderAndHoweverTheyAreTyped(t *testing.T) {
	code := web.NewInvitation()
	blanks := strings.Fields(strings.ReplaceAll(code.String(), "-", " "))
	for _, args := range [][]string{
		{"-signal", "http://x", "-ticks", "9", code.String()},
		{code.String(), "-signal", "http://x", "-ticks", "9"},
		append(append([]string{"-ticks", "9"}, blanks...), "-signal", "http://x"),
	} {
		o, err := tallying().parse("join", args, io.Discard)
		require.NoError(t, err, args)
		require.Equal(t, code, o.room.invitation)
		require.EqualValues(t, 9, o.ticks)
	}
	o, err := tallying().parse("host", []string{
		"-signal", "http://x", "-server", "stun:s", "-server", "turn:17:me:pass@r:1?transport=tcp",
	}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []natpunch.Server{{URL: "stun:s"}, {URL: "turn:r:1?transport=tcp", Username: "17:me", Password: "pass"}}, o.room.servers)
	require.Empty(t, o.addr)
	o, err = tallying().parse("host", nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, hostAddr, o.addr, "the direct mode stays as it was")
}
