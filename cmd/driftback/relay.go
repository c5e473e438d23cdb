package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/internal/cmdline"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/relay"
	"github.com/driftback/driftback/transport/quic"
)

// relayPeer is the relay's number in the matches of the command: above all players'.
const relayPeer driftback.Peer = driftback.MaxPeers - 1

// relayPolls is how often the command looks at what has come. It is what a deadline can be
// off by, and what an input may wait on its way.
const relayPolls = time.Millisecond

// lastWords is how often it looks once more when the match is over.
const lastWords = 200

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
		Action: carry,
	}
}

func carry(ctx context.Context, c *cli.Command) error {
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
	q := quic.Config{Self: relayPeer, Identity: id, Addr: c.String("addr")}
	r := relay.Config{
		Self: relayPeer, Match: c.Uint64("match"), Nonce: max(rand.Uint64(), 1), Deadline: c.Duration("deadline"),
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
		fmt.Fprintf(w, "player %d: relay %d %s %s %s\n", p.Peer, relayPeer, reachedBy(c.String("host"), link.LocalAddr().String()), id.Pin(), p.Code)
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
	began := time.Now() // of which only the monotonic reading is used
	beat := time.NewTicker(relayPolls)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			r.Halt("the relay was stopped")
			_ = r.Poll(time.Since(began)) // it says why the match has ended, which is known
			return &cmdline.Error{Code: cmdline.Interrupted, Err: errors.New("interrupted, and so the match is over")}
		case <-beat.C:
		}
		err := r.Poll(time.Since(began))
		if err == nil {
			continue
		}
		for range lastWords { // what there was no room for may still go
			<-beat.C
			_ = r.Poll(time.Since(began))
		}
		switch {
		case errors.Is(err, mesh.ErrFinished):
			fmt.Fprintf(w, "finished: %d ticks\n", r.Closed())
			return nil
		default:
			return &cmdline.Error{Code: cmdline.Found, Err: err}
		}
	}
}
