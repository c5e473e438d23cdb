package arena

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/internal/carry"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/relay"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/quic"
)

// relayWindow is the prediction window through a relay, in ticks, unless another is asked for: a
// player's own input too is a guess until it has come back from there.
const relayWindow = 2 * session.DefaultWindow

// playThroughRelay is what -relay means for the options that were given.
func (o *options) playThroughRelay(f *flag.FlagSet) error {
	given := map[string]bool{}
	f.Visit(func(one *flag.Flag) { given[one.Name] = true })
	switch {
	case given["block"]:
		return errors.New("-relay and -block: through a relay no two players have a direct link, so there is none to be without")
	case given["back"] && o.back:
		return errors.New("-relay and -back: through a relay nobody comes back to a match yet")
	}
	o.relay, o.back = carry.Peer, false
	if !given["window"] {
		o.window = relayWindow
	}
	return nil
}

// startRelay starts the process that all play through, after theirs.
func (a *parent) startRelay() error {
	o := *a.o
	o.headless = true // it has nothing to show
	a.relay = &player{seat: len(a.players), name: "relay"}
	if err := a.relay.start(&o, a.words); err != nil {
		return fmt.Errorf("the relay cannot be started: %w", err)
	}
	return nil
}

// connectRelay tells each player of the relay, which it calls through a bad link of its own, and the relay
// of all players.
func (a *parent) connectRelay(ctx context.Context) error {
	for i, p := range a.players {
		addr, err := a.links.add(ctx, a.relay.here.Addr, a.o)
		if err != nil {
			return err
		}
		p.orders.Others = []other{{Peer: a.o.relay, Pin: a.relay.here.Pin, Addr: addr}}
		a.relay.orders.Others = append(a.relay.orders.Others, other{Peer: driftback.Peer(i), Pin: p.here.Pin})
	}
	a.relay.orders.Self = a.o.relay
	return nil
}

// carry is the relay's part in a match.
func (g *Game[S, I]) carry(ctx context.Context, o *options, c quic.Config) (outcome, error) {
	c.IdleTimeout = idleTimeout
	link, err := quic.Listen(ctx, c)
	if err != nil {
		return outcome{}, err
	}
	defer link.Close()
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // never fails, by its own documentation
	r, err := relay.New(relay.Config{
		Transport: link, Self: c.Self, Players: o.everybody(), Match: g.Match, Nonce: binary.LittleEndian.Uint64(nonce[:]) | 1, JoinTimeout: o.wait,
	})
	if err != nil {
		return outcome{}, err
	}
	err = carry.Match(ctx, r)
	switch {
	case errors.Is(err, mesh.ErrFinished):
		return outcome{Tick: r.Closed()}, nil
	case errors.Is(err, context.Canceled):
		return outcome{}, errInterrupted
	}
	return outcome{}, fmt.Errorf("the match ended at tick %d: %w", r.Closed(), err)
}
