package nattest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/natpunch"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/signalling/web"
)

// seed is what the fight begins from.
const seed = 7

// orders are what a player is told when it has said who it is.
type orders struct {
	Self       driftback.Peer
	Other      string // the other's pin
	Invitation string // to the room of both
	Relay      string // its URL
	Renew      bool   // its password is one of those that the signalling server makes
	Ticks      driftback.Tick
}

// status is what a player says of itself, ten times a second.
type status struct {
	Pin       string `json:",omitempty"`
	Confirmed driftback.Tick
	Path      natpunch.Path
	Ups       int
	// Gap is the longest time so far, in ticks, for which no input of the other's came
	// that confirmed another tick.
	Gap int
	// At the end: what was held on each tick, and the fingerprint of the state.
	Inputs []uint16 `json:",omitempty"`
	Sum    fingerprint.Sum
}

// play is a player's process.
func play() error {
	me, err := identity.Generate()
	if err != nil {
		return err
	}
	say(status{Pin: me.Pin().String()})
	var o orders
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return err
	}
	pin, err := identity.ParsePin(o.Other)
	if err != nil {
		return err
	}
	invitation, err := web.ParseInvitation(o.Invitation)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	member, err := web.Join(context.Background(), web.Config{
		Server: fmt.Sprintf("http://%s:%d", signalAddr, serverPort), Invitation: invitation, Make: true, Self: o.Self, Identity: me, Logger: log,
	})
	if err != nil {
		return err
	}
	defer member.Leave()
	config := natpunch.Config{
		Self: o.Self, Identity: me, Peers: []natpunch.Remote{{Peer: 1 - o.Self, Pin: pin}}, Signal: member,
		Servers: []natpunch.Server{
			{URL: fmt.Sprintf("stun:%s:%d", stunAddr, serverPort)},
			{URL: o.Relay, Username: username, Password: password},
		},
		Logger: log,
	}
	if o.Renew {
		config.Renew = func(ctx context.Context) (servers []natpunch.Server, err error) {
			list, err := member.Renew(ctx)
			for _, s := range list {
				servers = append(servers, natpunch.Server(s))
			}
			return servers, err
		}
		if config.Servers, err = config.Renew(context.Background()); err != nil {
			return err
		}
	}
	link, err := natpunch.Listen(context.Background(), config)
	if err != nil {
		return err
	}
	err = playOver(link, &o)
	return errors.Join(err, link.Close())
}

// playOver plays a match to its end, and then waits until the test has seen it.
func playOver(link *natpunch.Transport, o *orders) error {
	start := sim.New(seed)
	match, err := session.New(session.Config[sim.State, sim.Input]{
		Step: sim.Step, Initial: &start, Valid: sim.Input.Valid, Transport: link,
		Self: o.Self, Players: []driftback.Peer{0, 1}, Nonce: uint64(time.Now().UnixNano()) | 1, InputDelay: 2,
	})
	if err != nil {
		return err
	}
	if err := match.Finish(o.Ticks); err != nil {
		return err
	}
	p := player{link: link, match: match, orders: o, bot: sim.NewBot(seed + uint64(o.Self))}
	p.Inputs = make([]uint16, o.Ticks)
	ticks := time.NewTicker(time.Second / sim.TicksPerSecond)
	defer ticks.Stop()
	over := inputEnds()
	for began := time.Now(); err == nil; err = p.tick(time.Since(began)) {
		select {
		case <-ticks.C:
		case <-over:
			return fmt.Errorf("the test was over at tick %d", p.Confirmed)
		}
	}
	if !errors.Is(err, session.ErrFinished) {
		return fmt.Errorf("the match ended at tick %d: %w", p.Confirmed, err)
	}
	var end sim.State
	if p.Confirmed, err = match.ConfirmedState(&end); err != nil {
		return err
	}
	h, err := fingerprint.New[sim.State]()
	if err != nil {
		return err
	}
	p.Sum = h.Sum(&end)
	p.look()
	say(p.status)
	<-over
	return nil
}

type player struct {
	status
	link    *natpunch.Transport
	match   *session.Lockstep[sim.State, sim.Input]
	orders  *orders
	bot     sim.Bot
	held    sim.Input // on the next tick
	chosen  bool      // held is what the bot wants
	waiting int       // ticks for which none was confirmed
	turns   int
}

// tick is one turn of the loop that a game has.
func (p *player) tick(now time.Duration) error {
	if !p.chosen {
		p.held, p.chosen = p.bot.Input(p.match.State(), int(p.orders.Self)), true
	}
	r, err := p.match.Tick(now, p.held)
	if err != nil {
		return err
	}
	if r.Phase == session.Advanced {
		p.chosen = false
		if at := r.InputFor[0]; at >= 0 && at < p.orders.Ticks {
			p.Inputs[at] = p.held.Buttons
		}
	}
	if p.waiting++; r.Confirmed > p.Confirmed || r.Confirmed == 0 || r.Confirmed == p.orders.Ticks {
		p.waiting = 0
	}
	p.Confirmed, p.Gap = r.Confirmed, max(p.Gap, p.waiting)
	if p.turns++; p.turns%6 == 0 {
		p.look()
		s := p.status
		s.Inputs = nil
		say(s)
	}
	return nil
}

// look notes where the packets go.
func (p *player) look() {
	s, _ := p.link.Stats(1 - p.orders.Self)
	p.Path, p.Ups = s.Path, s.Ups
}
