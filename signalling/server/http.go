package server

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/driftback/driftback/signalling/internal/frame"
	"github.com/driftback/driftback/signalling/internal/limit"
)

// maxPings is how many WebSocket pings of a member are answered: some a second.
var maxPings = limit.Per(5)

// serveRoom serves a connection to a room.
func (s *Server) serveRoom(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	addr := s.address(r)
	if !s.connects.Take(addr, now) || !s.guesses.Has(addr, now) {
		s.counts.refusedRate.Add(1)
		http.Error(w, "too much has come from your address: wait a minute", http.StatusTooManyRequests)
		return
	}
	name, err := frame.ParseRoom(r.PathValue("room"))
	if err != nil || !s.made(name) {
		s.counts.guesses.Add(1)
		s.guesses.Take(addr, now)
		http.Error(w, "there is no such room", http.StatusNotFound)
		return
	}
	c := &conn{s: s, addr: addr, out: make(chan []byte, maxOwed), over: make(chan struct{})}
	if status, no := s.admit(c); no != "" {
		s.counts.refusedFull.Add(1)
		http.Error(w, no, status)
		return
	}
	defer s.running.Done()
	defer s.release(c)
	below := &hijacker{ResponseWriter: w}
	ws, err := websocket.Accept(below, r, &websocket.AcceptOptions{
		OnPingReceived: func(context.Context, []byte) bool { return c.pings.Take(maxPings, time.Now()) },
	})
	if err != nil {
		s.counts.wrong.Add(1)
		return // Accept has said why
	}
	ws.SetReadLimit(frame.MaxFromMember)
	s.mu.Lock()
	c.ws, c.net = ws, below.conn
	cutting := s.cutting
	s.mu.Unlock()
	if cutting {
		c.cut()
		return
	}
	// The request's context ends when the server that mounts this one is shut down, which
	// is not for it to decide.
	c.serve(context.WithoutCancel(r.Context()), name)
}

// hijacker remembers the connection that a WebSocket is made of.
type hijacker struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, rw, err
}

// admit counts a connection in, or says why not.
func (s *Server) admit(c *conn) (status int, no string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := limit.Owner(c.addr)
	switch {
	case s.closing:
		return http.StatusServiceUnavailable, "the server is being shut down"
	case len(s.conns) >= s.c.MaxConnections:
		return http.StatusServiceUnavailable, "the server has as many connections as it takes"
	case s.from[from] >= s.c.ConnectionsPerAddress:
		return http.StatusTooManyRequests, "your address has as many connections as it may"
	}
	s.running.Add(1)
	s.conns[c] = struct{}{}
	s.from[from]++
	return 0, ""
}

// release counts a connection out.
func (s *Server) release(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	from := limit.Owner(c.addr)
	if s.from[from]--; s.from[from] == 0 {
		delete(s.from, from)
	}
}

// serveNames makes the name of a room.
func (s *Server) serveNames(w http.ResponseWriter, r *http.Request) {
	if !s.makes.Take(s.address(r), time.Now()) {
		s.counts.refusedRate.Add(1)
		http.Error(w, "too many rooms have been made from your address: wait a minute", http.StatusTooManyRequests)
		return
	}
	var name frame.Room
	_, _ = rand.Read(name[:]) // never fails, by its own documentation
	if len(s.c.RoomKey) > 0 {
		copy(name[frame.RoomSize/2:], s.check(name))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(struct { // to somebody who may have gone
		Room string `json:"room"`
	}{name.String()})
}

// check returns the second half of a name that this server made, which follows from the first.
func (s *Server) check(name frame.Room) []byte {
	h := hmac.New(sha256.New, s.c.RoomKey)
	h.Write([]byte("driftback signalling: room"))
	h.Write(name[:frame.RoomSize/2])
	return h.Sum(nil)[:frame.RoomSize/2]
}

// made says whether the name of a room may be used here.
func (s *Server) made(name frame.Room) bool {
	return len(s.c.RoomKey) == 0 || hmac.Equal(name[frame.RoomSize/2:], s.check(name))
}

func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	closing := s.closing
	s.mu.Unlock()
	if closing {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n")) // to somebody who may have gone
}

// address returns the address that a request comes from; the zero Addr if that says nothing.
func (s *Server) address(r *http.Request) netip.Addr {
	if s.c.TrustProxy {
		// The proxy adds to what is there already, which anybody may have written.
		lines := r.Header.Values("X-Forwarded-For")
		if len(lines) == 0 {
			return netip.Addr{}
		}
		list := lines[len(lines)-1]
		last := strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
		if host, _, err := net.SplitHostPort(last); err == nil {
			last = host
		}
		a, _ := netip.ParseAddr(strings.Trim(last, "[]"))
		return a.Unmap()
	}
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr().Unmap()
}
