package driftback_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/quic"
)

type Input struct{ Buttons uint16 } // fixed size, no pointers, no floats

type State struct{ X, Speed [2]int32 } // the whole simulation

func step(s *State, in []Input, _ *driftback.Pass) { // pure: it sees s and in, and nothing else
	for p := range in {
		s.Speed[p] += int32(in[p].Buttons&1) - int32(in[p].Buttons>>1&1)
		s.X[p] += s.Speed[p]
	}
}

func Example_embedding() {
	// Whoever starts without arguments waits; the other is given the three words that
	// this prints: ADDR PIN CODE.
	self, other := driftback.Peer(0), quic.Remote{Peer: 1, Code: identity.NewCode()}
	if len(os.Args) == 4 {
		self, other = 1, quic.Remote{Peer: 0, Addr: os.Args[1]}
		other.Pin, other.Code = must(identity.ParsePin(os.Args[2])), must(identity.ParseCode(os.Args[3]))
	}
	quit, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	me := must(identity.Generate())
	link := must(quic.Listen(context.Background(), quic.Config{
		Self: self, Identity: me, Addr: "127.0.0.1:0", Peers: []quic.Remote{other},
	}))
	defer link.Close()
	if self == 0 {
		fmt.Println(link.LocalAddr(), me.Pin(), other.Code)
	}

	match := must(session.New(session.Config[State, Input]{
		Step: step, Transport: link, Self: self, Players: []driftback.Peer{0, 1},
		Game: "race", Nonce: rand.Uint64(), InputDelay: 2,
	}))
	defer match.Leave() // before the link closes, so that the other side is told
	start := time.Now()
	for range time.Tick(time.Second / 60) { // a game has a loop of its own
		r, err := match.Tick(time.Since(start), Input{Buttons: buttons()}) // never blocks
		if err != nil {
			log.Print(err) // why the match is over, in a sentence
		}
		if err != nil || quit.Err() != nil {
			return
		}
		draw(match.State(), r.Effects)
	}
}

func buttons() uint16 { return uint16(rand.N(4)) } // your input

func draw(s *State, _ []session.Report) { fmt.Print("\r", s.X, "   ") } // your renderer and sounds

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
