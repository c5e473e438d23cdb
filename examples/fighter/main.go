// Command fighter is a small fighting game for two, played over a real network:
// the example that shows the whole engine at work.
//
//	go run ./examples/fighter
//
// starts two processes that play each other over QUIC on this machine and prints
// the address of a web page for each side. Bots fight until a page's keys are
// touched. A process that is killed is started anew and comes back to the match, unless
// -back=false says otherwise. On two terminals, or two machines:
//
//	go run ./examples/fighter host
//	go run ./examples/fighter join ADDR PIN CODE
//
// Behind routers the two meet on a signalling server, which [docs/signalling.md] is about:
//
//	go run ./examples/fighter host -signal URL
//	go run ./examples/fighter join -signal URL CODE
//
// Whoever is given a file for its key, -key FILE, can come back in either way as well.
//
// The game itself is package sim, and its looks are the files under page; the processes,
// the sockets and the clock are package arena's, which it shares with the other examples.
//
// [docs/signalling.md]: https://github.com/driftback/driftback/blob/main/docs/signalling.md
package main

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/examples/internal/arena"
)

func main() { arena.Main(game()) }

//go:embed page
var files embed.FS

// game is the fighter as package arena plays it.
func game() *arena.Game[sim.State, sim.Input] {
	own, err := fs.Sub(files, "page")
	if err != nil {
		panic(err) // the name is no path
	}
	return &arena.Game[sim.State, sim.Input]{
		Name: "fighter", Match: 0x66696768746572, TicksPerSecond: sim.TicksPerSecond,
		Seats: []string{"left player", "right player"}, Players: sim.Sides,
		Bots: "Bots fight until a page's keys are touched.",
		Step: sim.Step, Start: sim.Start, Valid: sim.Input.Valid, Blot: blot,
		Input: func(buttons uint16) sim.Input { return sim.Input{Buttons: buttons} }, Buttons: sim.Buttons,
		Bot: func(seed uint64, self driftback.Participant) func(s *sim.State) sim.Input {
			bot := sim.NewBot(seed + uint64(self))
			return func(s *sim.State) sim.Input { return bot.Input(s, int(self)) }
		},
		Picks: &arena.Picks[sim.State]{
			Looks: sim.NumLooks, Of: looks, Wear: wear, Won: sim.KindMatchEnd, Cheer: 150,
			WonFor: (*sim.State).WonFor,
		},
		Page: own, View: func(s *sim.State) any { return s.View() },
		EffectName: sim.KindName, Score: score,
	}
}

// blot stuns the left fighter for 64 ticks more.
func blot(s *sim.State) { s.Fighters[0].Stun ^= 1 << 6 }

// looks are what the fighters wear, and wear is the state that a match begins from in
// which they wear them.
func looks(s *sim.State) (looks [2]uint8) {
	for side, look := range s.Looks {
		looks[side] = uint8(look)
	}
	return looks
}

func wear(looks [2]uint8) (s sim.State) {
	for side, look := range looks {
		s.Looks[side] = uint32(look)
	}
	return s
}

func score(s *sim.State) string {
	a, b := &s.Fighters[0], &s.Fighters[1]
	return fmt.Sprintf("health %d:%d, rounds %d:%d", a.Health, b.Health, a.Wins, b.Wins)
}
