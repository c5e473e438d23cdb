// Command racer is a kart race for two to eight, played over a real network by a full
// mesh of processes, each of which has a link to every other.
//
//	go run ./examples/racer
//
// starts four processes that race each other over QUIC on this machine and prints the
// address of a web page for each of them. Bots drive until a page's keys are touched.
// With -karts 8 it is eight, with -block 1-2 the first two have no direct link and play
// through a third, and with -relay all play through one more process that plays nobody. A process that is killed is started anew and comes back to the
// race, unless -back=false says otherwise. Two who drive on two terminals, or two machines, meet as the
// fighter's players do:
//
//	go run ./examples/racer host
//	go run ./examples/racer join ADDR PIN CODE
//
// or in a room of a signalling server, with -signal URL.
//
// The game itself is package sim, and its looks are the files under page; the processes,
// the sockets and the clock are package arena's, which it shares with the other examples.
package main

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/arena"
	"github.com/driftback/driftback/examples/racer/sim"
)

func main() { arena.Main(game()) }

//go:embed page
var files embed.FS

// game is the race as package arena plays it.
func game() *arena.Game[sim.State, sim.Input] {
	own, err := fs.Sub(files, "page")
	if err != nil {
		panic(err) // the name is no path
	}
	g := &arena.Game[sim.State, sim.Input]{
		Name: "racer", Match: 0x7261636572, TicksPerSecond: sim.TicksPerSecond,
		Players: 4, CountFlag: "karts",
		Bots: "Bots drive until a page's keys are touched.",
		Step: sim.Step, Start: sim.Start, Valid: sim.Input.Valid,
		Blot:  func(s *sim.State) { s.Karts[0].Boost ^= 1 << 6 },
		Input: func(buttons uint16) sim.Input { return sim.Input{Buttons: buttons} }, Buttons: sim.Buttons,
		Bot: func(_ uint64, self driftback.Participant) func(s *sim.State) sim.Input {
			return func(s *sim.State) sim.Input { return sim.Drive(s, int(self)) }
		},
		Page: own, World: sim.Track(), View: func(s *sim.State) any { return s.View() },
		EffectName: sim.KindName, Score: score,
	}
	for p := range sim.MaxKarts {
		g.Seats = append(g.Seats, fmt.Sprintf("kart %d", p+1))
	}
	return g
}

// score is the order at present, by the numbers of the karts.
func score(s *sim.State) string {
	v := s.View()
	var order [sim.MaxKarts]string
	lap := 1
	for p := range v.Karts {
		if k := &v.Karts[p]; k.On {
			order[k.Rank-1] = fmt.Sprint(p + 1)
			lap = max(lap, k.Lap)
		}
	}
	return fmt.Sprintf("race %d, %s, lap %d, order %s", v.Race, v.Phase, lap, strings.Join(strings.Fields(strings.Join(order[:], " ")), " "))
}
