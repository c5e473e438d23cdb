// Package page shows one process of an example's match as a web page, and hears what is
// pressed there.
//
// A [Server] serves the game's own files, and those that every game's page needs (the
// strip of ticks, the numbers, the sliders, keys and sounds: folder web), on the loopback
// interface. It sends each [Frame] to the pages that look and passes on each [Command].
// It refuses to know the game: what there is to draw is the frame's View, and drawing it
// is the game's own script.
package page

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// shared are the files that every game's page needs.
//
//go:embed web
var shared embed.FS

const (
	// maxPages bounds the pages that watch at the same time.
	maxPages = 8
	// maxPageEffects bounds the effects that wait for one page. A page that is
	// further behind is cut off, for it would otherwise miss some; it comes back by
	// itself.
	maxPageEffects = 512
	// maxCommands bounds the commands that wait; the pages wait with the others.
	maxCommands = 64
	// pageWriteTimeout is how long a page may take to accept one message.
	pageWriteTimeout = 5 * time.Second
	// pageFarewell is how long Close waits for a page to say goodbye.
	pageFarewell = time.Second
)

// windowsAddressInUse is what Windows calls syscall.EADDRINUSE; other systems have no
// error of this number.
const windowsAddressInUse = syscall.Errno(10048)

// Config says what is served.
type Config struct {
	// Addr must be on the loopback interface: "127.0.0.1:0" for any port there.
	Addr string
	// Files are the game's own. Where a file of the same name is shared, the game's goes.
	Files fs.FS
	// World is what the page draws that never changes, if anything: it is served as
	// world.json.
	World any
	// Buttons are the buttons that there are. A page that sends others is cut off.
	Buttons uint16
	// Looks is how many looks there are to pick from before a match; 0: none.
	Looks uint8
	// Logger is told what went wrong with a page; nil is silence.
	Logger *slog.Logger
}

// Server serves the web page of one peer on the loopback interface, passes
// frames to whoever looks at it, and what they ask for back. Its methods are safe
// for use by several goroutines.
type Server struct {
	buttons  uint16
	looks    uint8
	listener net.Listener
	server   *http.Server
	logger   *slog.Logger
	commands chan Command
	closed   chan struct{}
	serving  sync.WaitGroup // the server
	running  sync.WaitGroup // every page

	mu      sync.Mutex
	closing bool
	pages   map[*watcher]struct{}
	holder  *watcher // the page whose buttons came last
	newest  *Frame   // never changed once it is here
}

// watcher is one page.
type watcher struct {
	wake chan struct{} // holds a token when there is something to send

	// Guarded by the server's mu.
	frame   *Frame // the newest one not sent yet, or nil
	effects []Effect
	behind  bool // too many effects were waiting
}

// New starts to serve a page. Close must be called.
func New(c Config) (*Server, error) {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil, fmt.Errorf("page: the address %q is not a host and a port: write it like 127.0.0.1:8080", c.Addr)
	}
	if !onLoopback(host) {
		return nil, fmt.Errorf("page: the address %q is not on this machine alone: the page is served on 127.0.0.1 only", c.Addr)
	}
	files, err := filesOf(&c)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	listener, err := net.Listen("tcp", c.Addr)
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, windowsAddressInUse) {
		return nil, fmt.Errorf("page: the address %s is taken by another program: choose another, or 127.0.0.1:0 for any free port", c.Addr)
	} else if err != nil {
		return nil, fmt.Errorf("page: cannot serve the page: %w", err)
	}
	logger := c.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		buttons: c.Buttons, looks: c.Looks, listener: listener, logger: logger,
		commands: make(chan Command, maxCommands), closed: make(chan struct{}),
		pages: map[*watcher]struct{}{},
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", files)
	mux.HandleFunc("GET /live", s.live)
	s.server = &http.Server{
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, wireKey{}, c) },
		Handler:     s.guarded(mux), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	s.serving.Go(func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("page: the server stopped", "error", err)
		}
	})
	return s, nil
}

// onLoopback says whether a host names this machine alone.
func onLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// URL returns the page's address.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Commands returns what the pages ask for. It is never closed.
func (s *Server) Commands() <-chan Command { return s.commands }

// Pages returns the number of pages that are connected.
func (s *Server) Pages() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pages)
}

// Show sends a frame to every page. It copies what it keeps and never waits: a slow
// page misses frames, but no effect. It does nothing after Close.
func (s *Server) Show(f *Frame) {
	kept := f.kept()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest = kept
	for w := range s.pages {
		if len(w.effects)+len(f.Effects) > maxPageEffects {
			w.behind = true
			w.effects = nil
		}
		if !w.behind {
			w.effects = append(w.effects, f.Effects...)
		}
		w.frame = kept
		w.notify()
	}
}

func (w *watcher) notify() {
	select {
	case w.wake <- struct{}{}:
	default: // it has been told already
	}
}

// Close sends the pages what is waiting for them, says goodbye, and returns when
// everything that the server started has ended.
func (s *Server) Close() error {
	s.mu.Lock()
	first := !s.closing
	s.closing = true
	s.mu.Unlock()
	var err error
	if first {
		close(s.closed)
		// The pages first: one that is just being accepted still belongs to the server,
		// which would cut it off in the middle of its goodbye.
		s.running.Wait()
		if err = s.server.Close(); err != nil {
			err = fmt.Errorf("page: cannot close the server: %w", err)
		}
	}
	s.running.Wait()
	s.serving.Wait()
	return err
}

// guarded refuses requests that no page of ours makes. A site that has its own name
// resolve to 127.0.0.1 is of the same origin as the page in its browser's eyes, but
// still asks for its own name.
func (s *Server) guarded(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, asked, err := net.SplitHostPort(r.Host)
		if err != nil || !onLoopback(host) || asked != port {
			http.Error(w, "page: this server answers to its own address alone", http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; connect-src 'self' ws://"+r.Host+"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // the next process may serve another build's page
		next.ServeHTTP(w, r)
	})
}

// live is a page's connection.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	if origin := r.Header.Get("Origin"); origin != "http://"+r.Host {
		http.Error(w, fmt.Sprintf("page: the origin %q is not this page", origin), http.StatusForbidden)
		return
	}
	page, err := s.join()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.running.Done()
	defer s.leave(page)
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.logger.Debug("page: a page did not connect", "error", err)
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxCommandBytes)
	// The request's context belongs to the HTTP server, which has let go of the
	// connection.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	var reader sync.WaitGroup
	reader.Go(func() {
		defer cancel()
		s.listen(ctx, conn, page)
	})
	s.send(ctx, conn, page)
	_ = conn.CloseNow()
	cancel()
	reader.Wait()
}

func (s *Server) join() (*watcher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return nil, errors.New("page: the process is ending")
	case len(s.pages) >= maxPages:
		return nil, fmt.Errorf("page: %d pages are open, and no more are served: close one", len(s.pages))
	}
	s.running.Add(1)
	page := &watcher{wake: make(chan struct{}, 1), frame: s.newest}
	s.pages[page] = struct{}{}
	if page.frame != nil {
		page.notify()
	}
	return page, nil
}

// leave forgets a page. If its buttons were the ones that counted, the bot takes
// over: nobody can let go of them any more.
func (s *Server) leave(page *watcher) {
	s.mu.Lock()
	delete(s.pages, page)
	held := s.holder == page
	if held {
		s.holder = nil
	}
	s.mu.Unlock()
	if held {
		s.ask(context.Background(), Command{Bot: true})
	}
}

// ask hands a command over, and waits for a place in the queue.
func (s *Server) ask(ctx context.Context, c Command) {
	select {
	case s.commands <- c:
	case <-ctx.Done():
	case <-s.closed:
	}
}

// listen reads a page's commands until it is gone or has said what no page of ours
// would.
func (s *Server) listen(ctx context.Context, conn *websocket.Conn, page *watcher) {
	for {
		kind, text, err := conn.Read(ctx)
		if err != nil {
			s.logger.Debug("page: a page has gone", "error", err)
			return
		}
		var c Command
		if kind != websocket.MessageText {
			err = errors.New("a command is text")
		} else {
			c, err = parseCommand(text, s.buttons, s.looks)
		}
		if err != nil {
			s.logger.Warn("page: a page was cut off", "error", err)
			s.farewell(ctx, conn, websocket.StatusPolicyViolation, "page: this command is not understood")
			return
		}
		if c.HasButtons || c.Bot {
			s.mu.Lock()
			s.holder = nil
			if c.HasButtons {
				s.holder = page
			}
			s.mu.Unlock()
		}
		s.ask(ctx, c)
	}
}

// send writes the newest frame, with the effects of all, whenever there is one.
func (s *Server) send(ctx context.Context, conn *websocket.Conn, page *watcher) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-page.wake:
			if !s.sendNewest(ctx, conn, page) {
				return
			}
		case <-s.closed:
			if s.sendNewest(ctx, conn, page) {
				s.farewell(ctx, conn, websocket.StatusGoingAway, "page: the process has ended")
			}
			return
		}
	}
}

func (s *Server) sendNewest(ctx context.Context, conn *websocket.Conn, page *watcher) bool {
	s.mu.Lock()
	f, effects, behind := page.frame, page.effects, page.behind
	page.frame, page.effects = nil, nil
	s.mu.Unlock()
	if behind {
		s.farewell(ctx, conn, websocket.StatusTryAgainLater, "page: too far behind")
		return false
	}
	if f == nil {
		return true
	}
	message := *f
	message.Effects = effects
	text, err := json.Marshal(&message)
	if err != nil {
		s.logger.Error("page: a frame cannot be written", "error", err)
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, pageWriteTimeout)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageText, text); err != nil {
		s.logger.Debug("page: a page has gone", "error", err)
		return false
	}
	return true
}

// wireKey is where a request's context has the connection beneath.
type wireKey struct{}

// farewell closes a connection with a reason, and waits only so long for the page
// to do the same: beneath, for once Close has begun CloseNow waits for it.
func (s *Server) farewell(ctx context.Context, conn *websocket.Conn, code websocket.StatusCode, reason string) {
	if wire, ok := ctx.Value(wireKey{}).(net.Conn); ok {
		_ = wire.SetDeadline(time.Now().Add(pageFarewell))
	}
	if err := conn.Close(code, reason); err != nil {
		s.logger.Debug("page: a page did not say goodbye", "error", err)
	}
}
