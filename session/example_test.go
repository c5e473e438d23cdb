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

// In a lobby two peers choose, tell each other and go on to the match, over the same
// links. Nobody needs to be first.
func ExampleLockstep_Rematch() {
	type Input struct{ Buttons uint8 }
	type State struct{ Characters [2]uint8 }
	step := func(*State, []Input, *driftback.Pass) {}

	net := loopback.New(1)
	var peers [2]*session.Lockstep[State, Input]
	var picks [2]State // what each peer knows
	var told, playing [2]bool
	config := func(self int, match, nonce uint64) session.Config[State, Input] {
		return session.Config[State, Input]{
			Step: step, Initial: &picks[self], Self: driftback.Peer(self), Players: []driftback.Peer{0, 1},
			Game: "duel", Match: match, Nonce: nonce + uint64(self), // in a game: rand.Uint64()
		}
	}
	for self := range peers {
		picks[self].Characters[self] = uint8(7 + self)
		c := config(self, 1, 10)
		c.Initial, c.Transport = nil, net.Open(driftback.Peer(self)) // alike in the lobby
		peers[self], _ = session.New(c)
	}
	for !playing[0] || !playing[1] {
		net.Advance(time.Second / 60)
		for self, p := range peers {
			other := 1 - self
			r, err := p.Poll(net.Now())
			for _, m := range r.Messages {
				picks[self].Characters[m.From] = m.Data[0]
			}
			if !told[self] {
				told[self] = p.Send(driftback.Peer(other), picks[self].Characters[self:self+1]) == nil
			}
			switch {
			case playing[self]:
			case told[self] && picks[self].Characters[other] != 0: // the lobby may be over: the other has gone on
				peers[self], err = p.Rematch(config(self, 2, 20))
				playing[self] = err == nil
			case err != nil:
				fmt.Println(err)
				return
			}
		}
	}
	for range 60 {
		net.Advance(time.Second / 60)
		for _, p := range peers {
			if _, err := p.Tick(net.Now(), Input{}); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	for self, p := range peers {
		fmt.Println("peer", self, "plays with", p.State().Characters, "since tick 0:", p.Stats().Confirmed > 0)
	}
	// Output:
	// peer 0 plays with [7 8] since tick 0: true
	// peer 1 plays with [7 8] since tick 0: true
}
