package page

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback"
)

// A game's page that is next to nothing, and its buttons.
var (
	game = fstest.MapFS{
		"index.html": {Data: []byte("a page")},
	}
	world = map[string]int{"width": 7}
)

const (
	buttons uint16 = 0xff
	looks   uint8  = 4
)

// serve returns a page server that leaves no goroutine behind when the test is over.
func serve(t *testing.T) *Server {
	t.Helper()
	others := goleak.IgnoreCurrent()
	s, err := New(Config{Addr: "127.0.0.1:0", Files: game, World: world, Buttons: buttons, Looks: looks})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		goleak.VerifyNone(t, others)
	})
	return s
}

// answer is what the server said.
type answer struct {
	status int
	header http.Header
	text   string
}

// request asks the server for something, under a name for it that may be a lie.
func request(t *testing.T, s *Server, path, host string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, http.NoBody)
	require.NoError(t, err)
	r.Host = host
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, string(text)}
}

// browser is a page that is open in somebody's browser.
type browser struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
}

// dial connects as a page of the given origin does. Without a connection it returns
// what the server said instead.
func dial(t *testing.T, s *Server, origin string) (*websocket.Conn, answer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	header := http.Header{}
	if origin != "" {
		header.Set("Origin", origin)
	}
	conn, response, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.URL(), "http")+"live", &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
	if err == nil {
		return conn, answer{}
	}
	if response == nil {
		return nil, answer{text: err.Error()}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return nil, answer{response.StatusCode, response.Header, string(text)}
}

// origin is the page's own.
func origin(s *Server) string { return strings.TrimSuffix(s.URL(), "/") }

func open(t *testing.T, s *Server) *browser {
	t.Helper()
	conn, refused := dial(t, s, origin(s))
	require.NotNil(t, conn, "%v", refused)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	b := &browser{t: t, ctx: ctx, conn: conn}
	t.Cleanup(func() {
		b.leave()
		cancel()
	})
	conn.SetReadLimit(1 << 20)
	require.NotZero(t, s.Pages(), "a page is counted before it is answered")
	return b
}

// leave closes the page without a word.
func (b *browser) leave() { _ = b.conn.CloseNow() }

func (b *browser) see() Frame {
	b.t.Helper()
	_, text, err := b.conn.Read(b.ctx)
	require.NoError(b.t, err)
	var f Frame
	require.NoError(b.t, json.Unmarshal(text, &f))
	return f
}

func (b *browser) say(text string) {
	b.t.Helper()
	require.NoError(b.t, b.conn.Write(b.ctx, websocket.MessageText, []byte(text)))
}

// farewell reads until the connection is closed, and returns the reason.
func (b *browser) farewell() (code websocket.StatusCode) {
	b.t.Helper()
	for {
		if _, _, err := b.conn.Read(b.ctx); err != nil {
			require.NoError(b.t, b.ctx.Err(), "nobody closed the connection")
			return websocket.CloseStatus(err)
		}
	}
}

func wait(t *testing.T, s *Server) Command {
	t.Helper()
	select {
	case c := <-s.Commands():
		return c
	case <-time.After(10 * time.Second):
		require.Fail(t, "no command came")
		return Command{}
	}
}

// Every example's page, with what it asks for, is there and keeps the policy.
func TestThePageAndAllThatItAsksForIsServed(t *testing.T) {
	examples, err := filepath.Glob("../../*/page/index.html")
	require.NoError(t, err)
	require.NotEmpty(t, examples)
	for _, index := range examples {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(index))), func(t *testing.T) {
			s, err := New(Config{Addr: "127.0.0.1:0", Files: os.DirFS(filepath.Dir(index)), World: world})
			require.NoError(t, err)
			defer s.Close()
			walk(t, s)
		})
	}
}

// walk asks for a page and for all that it asks for in turn.
func walk(t *testing.T, s *Server) {
	host := s.listener.Addr().String()
	ask := regexp.MustCompile(`(?:src|href)="([^"]+)"|(?:from|fetch\() ?'\./([^']+)'|include\('[a-z]+', '\./([^']+)'`)
	seen := map[string]string{}
	queue := []string{""}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		if _, ok := seen[path]; ok {
			continue
		}
		r := request(t, s, path, host)
		require.Equal(t, http.StatusOK, r.status, path)
		require.Contains(t, r.header.Get("Content-Security-Policy"), "default-src 'self'")
		require.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"))
		text := strings.ReplaceAll(r.text, "http://www.w3.org/2000/svg", "") // a name, not an address
		seen[path] = r.header.Get("Content-Type")
		for _, m := range ask.FindAllStringSubmatch(text, -1) {
			queue = append(queue, m[1]+m[2]+m[3])
		}
		require.NotRegexp(t, `style="|onclick=|<script>|<style>`, text, "the policy forbids what stands in the page itself")
		require.NotRegexp(t, `https?://`, text, "%s asks for something elsewhere", path)
	}
	for _, path := range []string{"page.js", "live.js", "panel.js", "fit.js", "page.css", "ticks.html", "numbers.html", "icon.svg"} {
		require.Contains(t, seen, path, "the walk did not follow the page's own files")
	}
	for path, kind := range seen {
		if strings.HasSuffix(path, ".js") {
			require.Contains(t, kind, "javascript", path)
		}
	}
	require.Equal(t, http.StatusNotFound, request(t, s, "server.go", host).status)
}

func TestTheSlidersReachWhatTheProcessAllows(t *testing.T) {
	html, err := shared.ReadFile("web/numbers.html")
	require.NoError(t, err)
	for id, most := range map[string]int{"latency": MaxLatencyMs, "jitter": MaxJitterMs, "loss": MaxLossPercent} {
		m := regexp.MustCompile(`<input id="` + id + `" type="range" min="0" max="(\d+)"`).FindSubmatch(html)
		require.NotNil(t, m, "the page has no slider for %s", id)
		require.Equal(t, strconv.Itoa(most), string(m[1]), id)
	}
}

func TestWhatNeverChangesIsServedOnce(t *testing.T) {
	s := serve(t)
	r := request(t, s, "world.json", s.listener.Addr().String())
	require.Equal(t, http.StatusOK, r.status)
	require.JSONEq(t, `{"width":7}`, r.text)
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
}

func TestAGamesOwnFileGoesBeforeTheSharedOne(t *testing.T) {
	own, err := fs.ReadFile(layers{fstest.MapFS{"web/page.css": {Data: []byte("own")}}, shared}, "web/page.css")
	require.NoError(t, err)
	require.Equal(t, "own", string(own))
	_, err = fs.ReadFile(layers{nil, game}, "nowhere")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestOnlyItsOwnAddressIsAnswered(t *testing.T) {
	s := serve(t)
	host := s.listener.Addr().String()
	_, port, err := net.SplitHostPort(host)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		host string
		want int
	}{
		"the address":                            {host, http.StatusOK},
		"the name of this machine":               {"localhost:" + port, http.StatusOK},
		"a name that somebody points here":       {"game.example:" + port, http.StatusMisdirectedRequest},
		"a name that only begins like this one":  {"localhost.example:" + port, http.StatusMisdirectedRequest},
		"another port":                           {"127.0.0.1:1", http.StatusMisdirectedRequest},
		"no port":                                {"127.0.0.1", http.StatusMisdirectedRequest},
		"an address of the network":              {"192.168.1.10:" + port, http.StatusMisdirectedRequest},
		"a name that holds the address in front": {"127.0.0.1.example:" + port, http.StatusMisdirectedRequest},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, request(t, s, "", c.host).status)
		})
	}
}

func TestOnlyThePageItselfMayConnect(t *testing.T) {
	s := serve(t)
	for name, origin := range map[string]string{
		"another site":                 "https://game.example",
		"a page of another local port": "http://127.0.0.1:1",
		"a file":                       "null",
		"no browser":                   "",
		"the name of the same machine": "http://localhost",
		"another scheme":               "https://" + s.listener.Addr().String(),
	} {
		t.Run(name, func(t *testing.T) {
			_, refused := dial(t, s, origin)
			require.Equal(t, http.StatusForbidden, refused.status)
		})
	}
	require.Zero(t, s.Pages())
	open(t, s)
	require.Equal(t, 1, s.Pages())
}

func TestACommandIsPassedOn(t *testing.T) {
	s := serve(t)
	b := open(t, s)
	for text, want := range map[string]Command{
		`{"buttons":0}`:               {HasButtons: true},
		`{"look":3}`:                  {Look: new(uint8(3))},
		`{"ready":true}`:              {Ready: true},
		`{"buttons":5,"pressed":4}`:   {HasButtons: true, Buttons: 5, Pressed: 4},
		`{"buttons":0,"pressed":255}`: {HasButtons: true, Pressed: 255},
		`{"bot":true}`:                {Bot: true},
		`{"pause":true}`:              {Pause: new(true)},
		`{"pause":false}`:             {Pause: new(false)},
		`{"link":{"latencyMs":60,"jitterMs":10,"lossPercent":2.5}}`:  {Link: &LinkSetting{LatencyMs: 60, JitterMs: 10, LossPercent: 2.5}},
		`{"link":{"latencyMs":300,"jitterMs":100,"lossPercent":50}}`: {Link: &LinkSetting{LatencyMs: MaxLatencyMs, JitterMs: MaxJitterMs, LossPercent: MaxLossPercent}},
	} {
		b.say(text)
		require.Equal(t, want, wait(t, s), text)
	}
}

// refusals are messages that no page of ours sends, and what is said about them.
var refusals = map[string]struct{ text, want string }{
	"nothing":                   {``, "not understood"},
	"no JSON":                   {`{"buttons"`, "not understood"},
	"a list":                    {`[]`, "not understood"},
	"an unknown field":          {`{"buttons":0,"side":1}`, "not understood"},
	"a look that there is not":  {`{"look":4}`, "look is 4: 0 to 3 are allowed"},
	"two things at once":        {`{"look":1,"ready":true}`, "one of buttons, bot, pause, link, look and ready is allowed"},
	"a button too many":         {`{"buttons":256}`, "only bits of 0xff"},
	"an edge too many":          {`{"buttons":0,"pressed":256}`, "only bits of 0xff"},
	"a number out of range":     {`{"buttons":65536}`, "not understood"},
	"less than no buttons":      {`{"buttons":-1}`, "not understood"},
	"half a button":             {`{"buttons":1.5}`, "not understood"},
	"no wish":                   {`{}`, "asks for 0 things"},
	"two wishes":                {`{"buttons":1,"bot":true}`, "asks for 2 things"},
	"a pause and a wish":        {`{"pause":false,"bot":true}`, "asks for 2 things"},
	"a pause of no kind":        {`{"pause":1}`, "not understood"},
	"edges alone":               {`{"bot":true,"pressed":1}`, "pressed comes without buttons"},
	"a latency too long":        {`{"link":{"latencyMs":301}}`, "latencyMs is 301: 0 to 300"},
	"a latency before it began": {`{"link":{"latencyMs":-1}}`, "latencyMs is -1"},
	"a jitter too large":        {`{"link":{"jitterMs":101}}`, "jitterMs is 101"},
	"a loss of more than half":  {`{"link":{"lossPercent":50.5}}`, "lossPercent is 50.5"},
	"a loss that is no number":  {`{"link":{"lossPercent":"NaN"}}`, "not understood"},
	"two commands":              {`{"buttons":1}{"buttons":2}`, "something follows"},
	"a very long one":           {`{"buttons":1}` + strings.Repeat(" ", maxCommandBytes), "bytes"},
}

func TestWhatNoPageWouldAskForIsRefused(t *testing.T) {
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			_, err := parseCommand([]byte(c.text), buttons, looks)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestWhereThereIsNothingToPickNobodyPicks(t *testing.T) {
	for _, text := range []string{`{"look":0}`, `{"ready":true}`} {
		_, err := parseCommand([]byte(text), buttons, 0)
		require.ErrorContains(t, err, "nothing to pick")
	}
}

func TestAPageThatAsksForItIsCutOff(t *testing.T) {
	s := serve(t)
	for name, c := range map[string]struct {
		kind websocket.MessageType
		text string
		want websocket.StatusCode
	}{
		"no command":         {websocket.MessageText, `{"buttons":256}`, websocket.StatusPolicyViolation},
		"a binary message":   {websocket.MessageBinary, `{"buttons":1}`, websocket.StatusPolicyViolation},
		"a message too long": {websocket.MessageText, strings.Repeat("x", maxCommandBytes+1), websocket.StatusMessageTooBig},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, s)
			require.NoError(t, b.conn.Write(b.ctx, c.kind, []byte(c.text)))
			require.Equal(t, c.want, b.farewell())
		})
	}
	require.Empty(t, s.Commands())
}

func FuzzParseCommand(f *testing.F) {
	f.Add([]byte(`{"buttons":5,"pressed":4}`))
	f.Add([]byte(`{"bot":true}`))
	f.Add([]byte(`{"pause":true}`))
	f.Add([]byte(`{"link":{"latencyMs":60,"jitterMs":10,"lossPercent":5}}`))
	for _, c := range refusals {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseCommand(text, buttons, looks)
		if err != nil {
			return
		}
		require.Zero(t, (c.Buttons|c.Pressed)&^buttons)
		require.True(t, c.HasButtons || c.Buttons|c.Pressed == 0)
		if c.Link != nil {
			require.NoError(t, c.Link.check())
			require.False(t, c.HasButtons || c.Bot || c.Pause != nil)
		}
	})
}

func TestNoMorePagesThanEight(t *testing.T) {
	s := serve(t)
	var pages []*browser
	for range maxPages {
		pages = append(pages, open(t, s))
	}
	_, refused := dial(t, s, origin(s))
	require.Equal(t, http.StatusServiceUnavailable, refused.status)
	require.Contains(t, refused.text, "8 pages are open")

	pages[0].leave()
	require.Eventually(t, func() bool { return s.Pages() == maxPages-1 }, 10*time.Second, time.Millisecond)
	open(t, s)
}

func TestALatePageSeesTheNewestFrame(t *testing.T) {
	s := serve(t)
	link := &LinkSetting{LatencyMs: 60}
	s.Show(&Frame{Tick: 7, Link: link, Effects: []Effect{{Name: "jump"}}})
	link.LatencyMs = 61 // what was shown stays as it was
	f := open(t, s).see()
	require.Equal(t, driftback.Tick(7), f.Tick)
	require.Equal(t, 60, f.Link.LatencyMs)
	require.Empty(t, f.Effects, "an effect from before the page came is over")
}

// shows calls Show n times with an effect every tenth time, and returns how many
// effects that were. The frames are long, so that they soon fill a socket.
func shows(s *Server, n int) (effects int) {
	end := strings.Repeat("x", 8<<10)
	for i := range n {
		f := Frame{Tick: driftback.Tick(i), End: end}
		if i%10 == 0 {
			effects++
			f.Effects = []Effect{{Kind: "happened", Name: "hit", Tick: driftback.Tick(i)}}
		}
		s.Show(&f)
	}
	return effects
}

func TestASlowPageMissesFramesButNoEffect(t *testing.T) {
	s := serve(t)
	slow := open(t, s)
	const n = 3000
	began := time.Now()
	want := shows(s, n)
	require.Less(t, time.Since(began), pageWriteTimeout, "Show waited for the page")

	frames, last := 0, driftback.Tick(-1)
	var effects []driftback.Tick
	for last < n-1 {
		f := slow.see()
		require.Greater(t, f.Tick, last, "frames come in order")
		last = f.Tick
		frames++
		for _, e := range f.Effects {
			effects = append(effects, e.Tick)
		}
	}
	require.Less(t, frames, n, "the page was not slow, so this test shows nothing")
	require.Len(t, effects, want)
	for i, tick := range effects {
		require.Equal(t, driftback.Tick(10*i), tick, "each effect once and in order")
	}
}

func TestAPageThatIsTooFarBehindIsCutOff(t *testing.T) {
	s := serve(t)
	b, other := open(t, s), open(t, s)
	s.Show(&Frame{Effects: make([]Effect, maxPageEffects)})
	require.Len(t, b.see().Effects, maxPageEffects)
	require.Len(t, other.see().Effects, maxPageEffects)
	s.Show(&Frame{Effects: make([]Effect, maxPageEffects+1)})
	require.Equal(t, websocket.StatusTryAgainLater, b.farewell())
}

func TestTheBotTakesOverWhenThePageThatPlaysHasGone(t *testing.T) {
	s := serve(t)
	first, second := open(t, s), open(t, s)
	first.say(`{"buttons":1}`)
	require.True(t, wait(t, s).HasButtons)
	second.say(`{"buttons":2}`)
	require.True(t, wait(t, s).HasButtons)

	first.leave()
	require.Eventually(t, func() bool { return s.Pages() == 1 }, 10*time.Second, time.Millisecond)
	second.say(`{"buttons":0}`)
	require.Equal(t, Command{HasButtons: true}, wait(t, s), "a page that no longer played has gone, and nobody noticed")
	second.leave()
	require.Equal(t, Command{Bot: true}, wait(t, s))
}

func TestAnAddressThatCannotBeServedIsNamed(t *testing.T) {
	s := serve(t)
	taken := s.listener.Addr().String()
	for addr, want := range map[string]string{
		taken:              "page: the address " + taken + " is taken by another program: choose another, or 127.0.0.1:0 for any free port",
		":8080":            `page: the address ":8080" is not on this machine alone: the page is served on 127.0.0.1 only`,
		"0.0.0.0:8080":     `page: the address "0.0.0.0:8080" is not on this machine alone: the page is served on 127.0.0.1 only`,
		"192.168.1.2:8080": `page: the address "192.168.1.2:8080" is not on this machine alone: the page is served on 127.0.0.1 only`,
		"8080":             `page: the address "8080" is not a host and a port: write it like 127.0.0.1:8080`,
	} {
		_, err := New(Config{Addr: addr, Files: game})
		require.EqualError(t, err, want)
	}
}

func TestCloseSaysGoodbyeAndEndsEverything(t *testing.T) {
	s := serve(t)
	polite, deaf := open(t, s), open(t, s)
	for range maxCommands + 10 { // more than anybody takes
		deaf.say(`{"buttons":1}`)
	}
	require.Eventually(t, func() bool { return len(s.commands) == maxCommands }, 10*time.Second, time.Millisecond)
	s.mu.Lock()
	for page := range s.pages { // it is there to be sent, and nobody has been told
		page.frame = &Frame{Phase: "ended", End: "The match is over."}
	}
	s.mu.Unlock()
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	require.Equal(t, "The match is over.", polite.see().End)
	require.Equal(t, websocket.StatusGoingAway, polite.farewell())
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		require.Fail(t, "Close waits for a page that does not listen")
	}
	require.Zero(t, s.Pages())
	s.Show(&Frame{}) // nothing happens
	require.NoError(t, s.Close(), "and a second time")
	_, refused := dial(t, s, origin(s))
	require.Contains(t, refused.text, "refused")
}

func TestAPageThatHasOnlyJustConnectedIsToldTheEndToo(t *testing.T) {
	for range 100 {
		s := serve(t)
		b := open(t, s)
		s.Show(&Frame{Phase: "ended", End: "The match is over."})
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		require.Equal(t, "The match is over.", b.see().End)
		require.Equal(t, websocket.StatusGoingAway, b.farewell())
		require.NoError(t, <-closed)
	}
}

func TestAPageThatDoesNotSayGoodbyeIsNotWaitedFor(t *testing.T) {
	for name, end := range map[string]func(s *Server, b *browser){
		"when the process ends":               func(s *Server, _ *browser) { require.NoError(t, s.Close()) },
		"when it asks for what no page would": func(s *Server, b *browser) { b.say("nonsense") },
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			b := open(t, s) // which reads nothing from here on, and so answers nothing
			defer func() { _ = b.conn.CloseNow() }()
			from := time.Now()
			end(s, b)
			require.Eventually(t, func() bool { return s.Pages() == 0 }, 10*time.Second, 10*time.Millisecond)
			require.Less(t, time.Since(from), 3*time.Second, "it takes %v at most", pageFarewell)
		})
	}
}
