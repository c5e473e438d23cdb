package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/net/netutil"

	"github.com/driftback/driftback/internal/cmdline"
	"github.com/driftback/driftback/signalling/server"
	"github.com/driftback/driftback/signalling/turnserver"
)

// maxSockets is how many TCP connections there are at a time, of members, of requests, and of those who say nothing.
const maxSockets = 50_000

// Patience with clients' requests and, when it ends, with its members.
const (
	headerPatience   = 10 * time.Second
	idlePatience     = time.Minute
	shutdownPatience = 10 * time.Second
)

// Where secrets come from: a command line is for all to read.
const (
	turnSecretVar = "DRIFTBACK_TURN_SECRET"
	roomKeyVar    = "DRIFTBACK_ROOM_KEY"
)

// signalCommand serves rooms in which players find each other.
func signalCommand() *cli.Command {
	return &cli.Command{
		Name:  "signal",
		Usage: "serve rooms in which players behind routers find each other",
		UsageText: "driftback signal -addr :8080 -trust-proxy -stun stun:stun.example.org    behind a proxy that does TLS\n" +
			"driftback signal -addr :443 -cert cert.pem -key key.pem -turn :3478 -turn-host 192.0.2.1    with a relay\n\n" +
			"docs/signalling.md says how to run it. The secret shared with TURN servers comes from\n" +
			turnSecretVar + ", and the key of rooms that only POST /rooms makes from " + roomKeyVar + ".",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "addr", Value: ":8080", Usage: "TCP `address` to listen on"},
			&cli.StringFlag{Name: "cert", Usage: "`file` with the certificate, for TLS; read again when it is renewed"},
			&cli.StringFlag{Name: "key", Usage: "`file` with the certificate's key"},
			&cli.BoolFlag{Name: "trust-proxy", Usage: "every request comes through one proxy, whose X-Forwarded-For is believed"},
			&cli.StringSliceFlag{Name: "stun", Usage: "`URL` of a STUN server that members are told of, \"stun:host:port\"; may be given again"},
			&cli.StringSliceFlag{Name: "turn-url", Usage: "`URL` of a TURN server that shares the secret, \"turn:host:port\"; may be given again"},
			&cli.StringFlag{Name: "turn", Usage: "UDP `address` on which to run a TURN and STUN relay here, such as :3478"},
			&cli.StringFlag{Name: "turn-host", Usage: "`IP address` by which the internet reaches that relay"},
			&cli.StringFlag{Name: "turn-name", Usage: "`name` for that relay in members' URLs; -turn-host if not given"},
			&cli.StringFlag{Name: "turn-ports", Value: "49152-65535", Usage: "UDP `ports` of the relay for peers, first-last"},
			&cli.BoolFlag{Name: "turn-private", Usage: "the relay also carries to private and loopback addresses"},
			&cli.DurationFlag{Name: "turn-lifetime", Value: 6 * time.Hour, Usage: "how `long` a relay's password holds: members get another at half of it"},
		}, signalLimits()...),
		Action: signal,
	}
}

// signalLimits are the bounds, of which 0 is the default that the packages document.
func signalLimits() []cli.Flag {
	n := func(name, usage string) cli.Flag {
		return &cli.IntFlag{Name: name, Usage: usage + "; 0 is the default"}
	}
	return []cli.Flag{
		n("max-rooms", "how `many` rooms at a time, by default 10,000"),
		n("max-members", "how `many` places in a room, by default 16"),
		n("max-connections", "how `many` connections at a time, by default 20,000"),
		n("max-connections-per-address", "how `many` of them from one address, by default 64"),
		n("message-rate", "how `many` messages a second from one member to another, by default 12"),
		n("guesses", "how `many` rooms that do not exist one address may ask for in a minute, by default 10"),
		n("rooms-per-minute", "how `many` rooms one address may make in a minute, by default 30"),
		n("turn-allocations", "how `many` allocations on the relay at a time, by default 1,000"),
		n("turn-allocations-per-user", "how `many` of them for one member, by default 16"),
		n("turn-allocations-per-address", "how `many` of them asked for from one address, by default 64"),
		n("turn-rate", "how `many` bytes a second through one allocation each way, by default 262,144"),
		&cli.DurationFlag{Name: "room-lifetime", Usage: "how `long` a room lasts; 0 is 12h"},
	}
}

func signal(ctx context.Context, c *cli.Command) error {
	if c.Args().Present() {
		return cmdline.Usagef("signal takes no arguments, and was given %q", c.Args().First())
	}
	log := slog.New(slog.NewTextHandler(c.Root().ErrWriter, nil))
	certificate, err := certificateOf(c.String("cert"), c.String("key"))
	if err != nil {
		return err
	}
	servers := server.Servers{
		STUN: c.StringSlice("stun"), TURN: c.StringSlice("turn-url"), Secret: secretOf(turnSecretVar), PasswordLifetime: c.Duration("turn-lifetime"),
	}
	relay, err := startRelay(c, &servers, log)
	if err != nil {
		return err
	}
	if relay != nil {
		defer func() { _ = relay.Close() }() // which nobody is told of any more
	}
	rooms, err := server.New(server.Config{
		MaxRooms: c.Int("max-rooms"), MaxMembers: c.Int("max-members"), MaxConnections: c.Int("max-connections"),
		ConnectionsPerAddress: c.Int("max-connections-per-address"), MessageRate: c.Int("message-rate"), GuessesPerMinute: c.Int("guesses"),
		RoomsPerMinute: c.Int("rooms-per-minute"), RoomLifetime: c.Duration("room-lifetime"),
		RoomKey: []byte(secretOf(roomKeyVar)), TrustProxy: c.Bool("trust-proxy"), Servers: servers, Logger: log,
	})
	if err != nil {
		return cmdline.Usagef("%v", err)
	}
	listener, err := net.Listen("tcp", c.String("addr"))
	if err != nil {
		return errors.Join(cmdline.Usagef("-addr is %q: %v", c.String("addr"), err), rooms.Close())
	}
	attrs := []any{"address", listener.Addr().String(), "tls", certificate != nil, "stun", servers.STUN, "turn", servers.TURN}
	if relay != nil {
		attrs = append(attrs, "relay", relay.Addr().String())
	}
	log.Info("serving", attrs...)
	return serve(ctx, listener, certificate, rooms, log)
}

// serve serves until ctx ends, and then sends everybody away.
func serve(ctx context.Context, l net.Listener, certificate *tls.Config, rooms *server.Server, log *slog.Logger) error {
	// Those that only connect are held too; a member has one connection.
	l = netutil.LimitListener(l, maxSockets)
	web := &http.Server{
		Handler: rooms, TLSConfig: certificate, ReadHeaderTimeout: headerPatience, IdleTimeout: idlePatience, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // what strangers do is no error of ours
	}
	ended := make(chan error, 1)
	go func() {
		if certificate != nil {
			ended <- web.ServeTLS(l, "", "")
		} else {
			ended <- web.Serve(l)
		}
	}()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		log.Info("shutting down")
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownPatience)
	defer cancel()
	late := errors.Join(rooms.Shutdown(patience), web.Shutdown(patience))
	switch {
	case err != nil:
		return &cmdline.Error{Code: cmdline.Found, Err: fmt.Errorf("it serves no more: %w", err)}
	case late != nil:
		log.Warn("some connections had to be cut", "reason", late)
	}
	log.Info("shut down")
	return nil
}

// startRelay starts the relay that the flags ask for, and adds it to the servers that members are told of. It returns nil
// if they ask for none.
func startRelay(c *cli.Command, servers *server.Servers, log *slog.Logger) (*turnserver.Relay, error) {
	addr := c.String("turn")
	if addr == "" {
		return nil, nil
	}
	host, err := netip.ParseAddr(c.String("turn-host"))
	if err != nil {
		return nil, cmdline.Usagef("-turn-host is %q: give the IP address by which players reach the relay", c.String("turn-host"))
	}
	first, last, err := portRange(c.String("turn-ports"))
	if err != nil {
		return nil, err
	}
	if servers.Secret == "" { // nobody else need know it
		servers.Secret = rand.Text()
	}
	relay, err := turnserver.Listen(turnserver.Config{
		Addr: addr, PublicIP: host, Secret: servers.Secret, MinPort: first, MaxPort: last, MaxAllocations: c.Int("turn-allocations"),
		AllocationsPerUser: c.Int("turn-allocations-per-user"), AllocationsPerAddress: c.Int("turn-allocations-per-address"), BytesPerSecond: c.Int("turn-rate"), AllowPrivate: c.Bool("turn-private"), Logger: log,
	})
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	name := c.String("turn-name")
	if name == "" {
		name = host.String()
	}
	_, port, err := net.SplitHostPort(relay.Addr().String())
	if err != nil {
		return nil, errors.Join(err, relay.Close())
	}
	at := net.JoinHostPort(name, port)
	servers.STUN, servers.TURN = append(servers.STUN, "stun:"+at), append(servers.TURN, "turn:"+at)
	return relay, nil
}

// portRange reads "first-last".
func portRange(s string) (first, last uint16, err error) {
	a, b, _ := strings.Cut(s, "-")
	low, errLow := strconv.ParseUint(a, 10, 16)
	high, errHigh := strconv.ParseUint(b, 10, 16)
	if errors.Join(errLow, errHigh) != nil || low == 0 || high < low {
		return 0, 0, cmdline.Usagef("-turn-ports is %q: give two ports such as 49152-65535", s)
	}
	return uint16(low), uint16(high), nil
}
