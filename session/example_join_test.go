package session_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// Three play, one of them loses its process, and comes back with a new one.
func ExampleJoin() {
	type worm struct{ X [3]int32 }
	type push struct{ By int8 }
	net := loopback.New(1)
	config := func(self driftback.Peer, nonce uint64) session.Config[worm, push] {
		return session.Config[worm, push]{
			Step: func(s *worm, in []push, _ *driftback.Pass) {
				for p := range in {
					s.X[p] += int32(in[p].By)
				}
			},
			Players: []driftback.Peer{0, 1, 2}, Self: self, Transport: net.Open(self), Nonce: nonce,
			WhenLost: session.PlayOn, Rejoin: true, PeerTimeout: time.Second,
		}
	}
	var players [3]*session.Lockstep[worm, push]
	for i := range players {
		players[i], _ = session.New(config(driftback.Peer(i), uint64(i)+1))
	}
	var joiner *session.Joiner[worm, push]
	for frame := 0; ; frame++ {
		net.Advance(time.Second / 60)
		switch frame {
		case 200: // the last process dies
			players[2] = nil
		case 400: // and is started anew, with a new nonce
			c := config(2, 33)
			joiner, _ = session.Join(session.JoinConfig[worm, push]{Config: c})
		case 800:
			for _, p := range players {
				if err := p.Finish(1000); err != nil {
					panic(err)
				}
			}
		}
		if joiner != nil && players[2] == nil {
			if _, err := joiner.Tick(net.Now()); err != nil {
				panic(err)
			}
			if players[2] = joiner.Session(); players[2] != nil {
				from, _ := players[2].Joined(2)
				fmt.Println("let in, to play from tick", from, "on, which is still to come:", from > players[0].Stats().Tick)
			}
		}
		for i, p := range players {
			if p == nil {
				continue
			}
			r, err := p.Tick(net.Now(), push{By: int8(i + 1)})
			for _, e := range r.Events {
				if i == 0 && (e.Kind == session.PeerCut || e.Kind == session.PeerReturned) {
					fmt.Println("peer", e.Peer, e.Kind)
				}
			}
			if errors.Is(err, session.ErrFinished) && i == 2 {
				fmt.Println("tick", r.Tick, "and the same world:", *p.State() == *players[0].State())
				return
			}
			if err != nil && !errors.Is(err, session.ErrFinished) {
				panic(err)
			}
		}
	}
	// Output:
	// peer 2 cut
	// peer 2 returned
	// let in, to play from tick 431 on, which is still to come: true
	// tick 1000 and the same world: true
}
