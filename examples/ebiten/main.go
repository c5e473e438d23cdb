// Command ebiten is the fighter in a window: how a game made with Ebitengine embeds
// driftback.
//
//	go run .                                two players at one keyboard
//	go run . host                           wait for a second player, and print what to tell them
//	go run . join ADDR PIN CODE             join the player who was told that
//
// (On Linux, Ebitengine wants a few libraries: https://ebitengine.org/en/documents/install.html)
//
// The whole of it is in game.go: Update calls the match's Tick, with what is held at that
// moment, as often as a clock says that follows the other player's pace, and Draw reads
// the match's State. The rest is what every game has
// anyway: devices (hands.go), pictures (draw.go) and how two players meet (link.go).
// The rules are package sim of the fighter, which knows nothing of either engine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"github.com/hajimehoshi/ebiten/v2"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/quic"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "ebiten: %v.\n", err)
		os.Exit(1)
	}
}

func run() error {
	frames := flag.Int64("frames", 0, "end after as many `ticks`, the same on both sides; 0 plays on")
	delay := flag.Int("delay", 2, "input delay in `ticks`, between two machines")
	addr := flag.String("addr", "127.0.0.1:7777", "UDP `address` that host is reached at; on a network, this machine's there")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: ebiten [flags] [host | join ADDR PIN CODE]\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()

	// What holds for every match of this game.
	c := session.Config[sim.State, sim.Input]{
		Step: sim.Step, Start: sim.Start, Valid: sim.Input.Valid,
		Match: 1, // where players meet, a real game draws a number for each match
		Game:  fmt.Sprintf("fighter in a window, to tick %d", *frames),
		Nonce: rand.Uint64(),
	}
	keys := []keymap{anyKeys}
	var link *quic.Transport
	var err error
	switch words := flag.Args(); {
	case len(words) == 0:
		// Without a transport one peer plays everybody: a training mode.
		c.Players = []driftback.Peer{0, 0}
		keys = []keymap{leftKeys, rightKeys}
	case len(words) == 1 && words[0] == "host":
		alike := ""
		if *frames != 0 {
			alike = fmt.Sprintf("-frames %d ", *frames)
		}
		link, err = host(*addr, alike, os.Stdout)
	case len(words) == 4 && words[0] == "join":
		c.Self = 1
		link, err = join(words[1], words[2], words[3])
	default:
		return fmt.Errorf("%q is not understood; -help lists what is", words)
	}
	if err != nil {
		return err
	}
	if link != nil {
		defer link.Close()
		c.Players, c.Transport, c.InputDelay = []driftback.Peer{0, 1}, link, *delay
	}
	match, err := session.New(c)
	if err != nil {
		return err
	}
	defer match.Leave() // before the link closes, so that the other side is told at once
	if *frames != 0 {
		if err := match.Finish(driftback.Tick(*frames)); err != nil {
			return err
		}
	}

	quit, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	g, err := newGame(match, keys, quit.Done())
	if err != nil {
		return err
	}
	g.ending = *frames != 0
	ebiten.SetWindowTitle("driftback: the fighter")
	ebiten.SetWindowSize(960, 540)
	ebiten.SetWindowResizingMode(ebiten.WindowResizingModeEnabled)
	// Ebitengine's own ticks are of one length, and a match's must not be: see Update.
	ebiten.SetTPS(ebiten.SyncWithFPS)
	// A match goes on while its player looks at another window.
	ebiten.SetRunnableOnUnfocused(true)
	if err := ebiten.RunGame(g); err != nil {
		return err
	}
	if errors.Is(g.over, session.ErrFinished) {
		sums, err := fingerprint.New[sim.State]()
		if err != nil {
			return err
		}
		fmt.Printf("finished: tick %d is confirmed with fingerprint %v\n", *frames, sums.Sum(match.State()))
		return nil
	}
	return g.over // nil if the player closed the window
}
