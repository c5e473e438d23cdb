package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"

	"github.com/urfave/cli/v3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/internal/carry"
	"github.com/driftback/driftback/internal/cmdline"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/relay"
	"github.com/driftback/driftback/transport/quic"
)

// relayCommand carries one match.
func relayCommand() *cli.Command {
	return &cli.Command{
		Name:  "relay",
		Usage: "carry a match between players who need not reach each other",
		UsageText: "driftback relay -players 4 -addr :4000    carry one match of four\n\n" +
			"It prints a line for each player, with what that one needs to join: the relay's number,\n" +
			"its address, its pin and a code that lets one key in. It ends with the match.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "players", Value: 2, Usage: "`how many` players there are, each a peer with one participant: 1 to 16"},
			&cli.StringFlag{Name: "addr", Value: ":0", Usage: "UDP `address` to listen on"},
			&cli.StringFlag{Name: "host", Usage: "`name or address` that players reach this machine by, for the lines that are printed"},
			&cli.Uint64Flag{Name: "match", Value: 1, Usage: "the match's `number`, which the players give too"},
			&cli.DurationFlag{Name: "deadline", Value: relay.DefaultDeadline, Usage: "how `long` a tick waits for inputs after it has started"},
			&cli.DurationFlag{Name: "peer-timeout", Value: relay.DefaultPeerTimeout, Usage: "how `long` a player may be silent before the others go on without it"},
			&cli.DurationFlag{Name: "join-timeout", Value: relay.DefaultJoinTimeout, Usage: "how `long` all may take to come"},
		},
		Action: carryMatch,
	}
}

func carryMatch(ctx context.Context, c *cli.Command) error {
	if c.Args().Present() {
		return cmdline.Usagef("relay takes no arguments, and was given %q", c.Args().First())
	}
	n := c.Int("players")
	if n < 1 || n > driftback.MaxParticipants {
		return cmdline.Usagef("-players is %d: 1 to %d are allowed", n, driftback.MaxParticipants)
	}
	id, err := identity.Generate()
	if err != nil {
		return err
	}
	q := quic.Config{Self: carry.Peer, Identity: id, Addr: c.String("addr")}
	r := relay.Config{
		Self: carry.Peer, Match: c.Uint64("match"), Nonce: max(rand.Uint64(), 1), Deadline: c.Duration("deadline"),
		PeerTimeout: c.Duration("peer-timeout"), JoinTimeout: c.Duration("join-timeout"),
	}
	for p := range n {
		q.Peers = append(q.Peers, quic.Remote{Peer: driftback.Peer(p), Code: identity.NewCode()})
		r.Players = append(r.Players, driftback.Peer(p))
	}
	link, err := quic.Listen(ctx, q)
	if err != nil {
		return cmdline.Usagef("-addr is %q: %v", q.Addr, err)
	}
	defer link.Close()
	r.Transport = link
	carrier, err := relay.New(r)
	if err != nil {
		return cmdline.Usagef("%v", err)
	}
	w := c.Root().Writer
	for _, p := range q.Peers {
		fmt.Fprintf(w, "player %d: relay %d %s %s %s\n", p.Peer, carry.Peer, reachedBy(c.String("host"), link.LocalAddr().String()), id.Pin(), p.Code)
	}
	return carryOn(ctx, carrier, w)
}

// reachedBy returns the address with another host, if one is given.
func reachedBy(host, addr string) string {
	if _, port, err := net.SplitHostPort(addr); err == nil && host != "" {
		return net.JoinHostPort(host, port)
	}
	return addr
}

// carryOn carries the match to its end, or to the context's.
func carryOn(ctx context.Context, r *relay.Relay, w io.Writer) error {
	err := carry.Match(ctx, r)
	switch {
	case errors.Is(err, context.Canceled):
		return &cmdline.Error{Code: cmdline.Interrupted, Err: errors.New("interrupted, and so the match is over")}
	case errors.Is(err, mesh.ErrFinished):
		fmt.Fprintf(w, "finished: %d ticks\n", r.Closed())
		return nil
	}
	return &cmdline.Error{Code: cmdline.Found, Err: err}
}
