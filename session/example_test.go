package session_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// Two players push a crate from either side, over a link of 60 ms one way. Each
// peer runs on guesses and is right in the end.
func Example() {
	type Push struct{ Hard bool }
	type Crate struct{ At int32 }
	step := func(c *Crate, in []Push, _ *driftback.Pass) {
		for p, push := range in {
			if push.Hard {
				c.At += 1 - 2*int32(p)
			}
		}
	}

	net := loopback.New(1)
	var peers [2]*session.Lockstep[Crate, Push]
	for self := range driftback.Peer(2) {
		err := net.Impair(self, 1-self, loopback.Impairment{Latency: 60 * time.Millisecond})
		if err != nil {
			fmt.Println(err)
			return
		}
		peers[self], err = session.New(session.Config[Crate, Push]{
			Step: step, Transport: net.Open(self), Self: self, Players: []driftback.Peer{0, 1},
			Game: "crate", Match: 1, Nonce: 10 + uint64(self), // in a game: rand.Uint64()
			InputDelay: 2,
		})
		if err == nil {
			err = peers[self].Finish(120)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}

	var ended [2]error
	for ended[0] == nil || ended[1] == nil {
		net.Advance(time.Second / 60) // in a game: wait for the next frame
		for self, match := range peers {
			tick := match.Stats().Tick
			push := Push{Hard: tick%driftback.Tick(2+self) == 0} // in a game: read the keyboard
			_, ended[self] = match.Tick(net.Now(), push)
		}
	}
	rewound := false
	for self, match := range peers {
		fmt.Printf("peer %d: finished %v, the crate is at %d\n", self, errors.Is(ended[self], session.ErrFinished), match.State().At)
		rewound = rewound || match.Stats().Loop.Rollbacks > 0
	}
	fmt.Println("guessed wrongly on the way:", rewound)
	// Output:
	// peer 0: finished true, the crate is at 19
	// peer 1: finished true, the crate is at 19
	// guessed wrongly on the way: true
}
