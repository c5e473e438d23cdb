// Package server is a signalling server as a net/http handler: rooms in which the peers of a
// match find each other (package signalling/web is their side). Mount it in any server:
//
//	s, err := server.New(server.Config{})
//	http.Handle("/signal/", http.StripPrefix("/signal", s))
//
// It serves
//
//	GET  /rooms/NAME  a WebSocket in that room
//	POST /rooms       the name of a new room, as {"room": "…"}; nothing is kept
//	GET  /healthz     200, or 503 once it is being shut down
//	GET  /metrics     counts, as Prometheus reads them
//
// A room is made by the first member that says so, and its name is all that lets anybody in: 160 bits, of
// which at least 80 are drawn by chance. A member has a place, which is the number of its peer in the
// match, and the place is kept for its key, which it proves to hold. Rooms share nothing, so many
// instances may run behind a balancer that picks one by the path; with a [Bus] any may serve any room.
//
// Whatever strangers do is bounded: rooms, members, connections, sizes, rates and times, all by
// [Config], and tries at names by address. Of a flood it counts what it drops.
//
// The package owns rooms and what is carried in them. It refuses to know what that
// means, whom the players trust, and how TLS is done. Any goroutine may use a Server.
package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/signalling/internal/frame"
	"github.com/driftback/driftback/signalling/internal/limit"
)

// Config bounds what a server takes on. The zero Config is a useful one.
type Config struct {
	// MaxRooms is how many rooms there may be at a time; 0 is 10,000.
	MaxRooms int
	// MaxMembers is how many places a room has, and so one more than the highest number of a peer; 0 is
	// 16, and 64 the most.
	MaxMembers int
	// MaxConnections is how many connections there may be at a time; 0 is 20,000.
	MaxConnections int
	// ConnectionsPerAddress is how many of them may come from one address; 0 is 64.
	ConnectionsPerAddress int
	// RoomLifetime is how long a room lasts at most: then its members are sent away, and those that
	// are still playing make it again. 0 is 12 h.
	RoomLifetime time.Duration
	// PlaceKept is for how long the place of a member whose connection was lost is kept for its key, and so
	// how long a room lasts without anybody in it; 0 is 1 min.
	PlaceKept time.Duration
	// MessageRate is how many messages a second one member may send to each other one, twice as many at
	// once; more are dropped. 0 is 12, of which natpunch uses 10 at most.
	MessageRate int
	// TotalMessageRate is the same for all members together; 0 is 50,000.
	TotalMessageRate int
	// GuessesPerMinute is how often one address may ask for rooms that do not exist; 0 is 10.
	GuessesPerMinute int
	// RoomsPerMinute is how many rooms one address may make or ask names for; 0 is 30.
	RoomsPerMinute int
	// ConnectsPerMinute is how many connections one address may make; 0 is 240.
	ConnectsPerMinute int
	// RoomKey, if it is not empty, makes this a server for rooms whose names were made by POST /rooms with the
	// same key, and for no others: whoever may not ask for names cannot make rooms. 16 bytes at
	// least.
	RoomKey []byte
	// TrustProxy says that every request comes through one proxy, which puts the address of whom it
	// serves at the end of X-Forwarded-For. Without such a proxy anybody could be any address.
	TrustProxy bool
	// Servers are the STUN and TURN servers that members are told of.
	Servers Servers
	// Bus connects this instance with others; nil is an instance of its own.
	Bus Bus
	// Logger is told about rooms and refusals, never about messages; nil is silence.
	Logger *slog.Logger

	// For tests: what is used in place of the constants below.
	pingEvery, pingPatience, writePatience, enterPatience, closePatience, sweepEvery, asking time.Duration
}

// Patience with members, and with the rest of a fleet.
const (
	pingEvery     = 15 * time.Second
	pingPatience  = 10 * time.Second
	writePatience = 10 * time.Second
	enterPatience = 5 * time.Second
	closePatience = time.Second
	sweepEvery    = time.Second
	asking        = 300 * time.Millisecond // for who else has a room
)

// maxAddresses bounds the addresses whose rates are remembered, for each of the rates.
const maxAddresses = 20_000

// Server is a signalling server. It is an http.Handler.
type Server struct {
	c        Config
	log      *slog.Logger
	mux      *http.ServeMux
	instance uint64
	rate     limit.Rate // of one member to another
	flood    limit.Rate // of all that one member says
	all      limit.Rate
	counts   counts

	guesses, makes, connects *limit.Keyed

	cancel  context.CancelFunc
	running sync.WaitGroup // connections, and the sweeping

	mu      sync.Mutex // everything below, and rooms, and what a conn says it guards
	rooms   map[frame.Room]*room
	conns   map[*conn]struct{}
	from    map[netip.Prefix]int // connections by address
	total   limit.Bucket
	closing bool
	cutting bool // connections that come about now are cut
}

var _ http.Handler = (*Server)(nil)

// New returns a server, which has to be shut down.
func New(c Config) (*Server, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails, by its own documentation
	s := &Server{
		c: c, log: c.Logger, mux: http.NewServeMux(), instance: binary.LittleEndian.Uint64(seed[:]),
		rate: limit.Per(c.MessageRate), flood: limit.Per(4 * c.MessageRate * c.MaxMembers), all: limit.Per(c.TotalMessageRate),
		guesses:  limit.NewKeyed(perMinute(c.GuessesPerMinute), maxAddresses),
		makes:    limit.NewKeyed(perMinute(c.RoomsPerMinute), maxAddresses),
		connects: limit.NewKeyed(perMinute(c.ConnectsPerMinute), maxAddresses),
		rooms:    map[frame.Room]*room{}, conns: map[*conn]struct{}{}, from: map[netip.Prefix]int{},
	}
	s.mux.HandleFunc("GET /rooms/{room}", s.serveRoom)
	s.mux.HandleFunc("POST /rooms", s.serveNames)
	s.mux.HandleFunc("GET /healthz", s.serveHealth)
	s.mux.HandleFunc("GET /metrics", s.serveMetrics)
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.running.Go(func() { s.sweeping(ctx) })
	return s, nil
}

// perMinute allows n a minute, all of them at once.
func perMinute(n int) limit.Rate { return limit.Rate{Every: time.Minute / time.Duration(n), Burst: n} }

// validate checks the configuration and fills in the defaults.
func (c *Config) validate() error {
	for _, f := range []struct {
		name         string
		value        *int
		usual, least int
		most         int
	}{
		{"MaxRooms", &c.MaxRooms, 10_000, 1, 1_000_000},
		{"MaxMembers", &c.MaxMembers, 16, 2, driftback.MaxPeers},
		{"MaxConnections", &c.MaxConnections, 20_000, 1, 1_000_000},
		{"ConnectionsPerAddress", &c.ConnectionsPerAddress, 64, 1, 1_000_000},
		{"MessageRate", &c.MessageRate, 12, 1, 10_000},
		{"TotalMessageRate", &c.TotalMessageRate, 50_000, 1, 100_000_000},
		{"GuessesPerMinute", &c.GuessesPerMinute, 10, 1, 100_000},
		{"RoomsPerMinute", &c.RoomsPerMinute, 30, 1, 100_000},
		{"ConnectsPerMinute", &c.ConnectsPerMinute, 240, 1, 1_000_000},
	} {
		if *f.value == 0 {
			*f.value = f.usual
		}
		if *f.value < f.least || *f.value > f.most {
			return fmt.Errorf("server: Config.%s is %d: %d to %d are allowed, and 0 for %d", f.name, *f.value, f.least, f.most, f.usual)
		}
	}
	for _, f := range []struct {
		name   string
		value  *time.Duration
		usual  time.Duration
		hidden bool
	}{
		{"RoomLifetime", &c.RoomLifetime, 12 * time.Hour, false},
		{"PlaceKept", &c.PlaceKept, time.Minute, false},
		{"", &c.pingEvery, pingEvery, true}, {"", &c.pingPatience, pingPatience, true}, {"", &c.sweepEvery, sweepEvery, true},
		{"", &c.writePatience, writePatience, true}, {"", &c.enterPatience, enterPatience, true}, {"", &c.asking, asking, true},
		{"", &c.closePatience, closePatience, true},
	} {
		if *f.value == 0 {
			*f.value = f.usual
		}
		if least := time.Second; !f.hidden && (*f.value < least || *f.value > maxTime) {
			return fmt.Errorf("server: Config.%s is %v: %v to %v are allowed, and 0 for %v", f.name, *f.value, least, maxTime, f.usual)
		}
	}
	if n := len(c.RoomKey); n > 0 && n < minKey {
		return fmt.Errorf("server: Config.RoomKey has %d bytes, and %d is the least", n, minKey)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c.Servers.validate()
}

// maxTime bounds times in Config, and minKey the secrets in it, in bytes.
const (
	maxTime = 30 * 24 * time.Hour
	minKey  = 16
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Shutdown sends every member away, which is told that the server restarts and comes back by itself, and waits for
// their connections to end. When ctx ends it waits no longer, cuts them, and returns ctx's error. Nobody is let in
// any more. Call it before http.Server.Shutdown, which does not wait for WebSockets.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	for c := range s.conns {
		c.end(statusRestart, "the server is being shut down")
	}
	s.mu.Unlock()
	s.cancel()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
		s.mu.Lock()
		s.cutting = true
		for c := range s.conns {
			if c.ws != nil {
				c.cut()
			}
		}
		s.mu.Unlock()
		<-done
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rooms {
		s.drop(r)
	}
	return err
}

// Close cuts every connection. It is Shutdown without patience.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Shutdown(ctx) // it says that ctx has ended, which is how it was called
	return nil
}
