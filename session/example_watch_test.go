package session_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// One player against a wall, and somebody who comes in the middle to watch.
func ExampleWatch() {
	type ball struct{ X, Speed int32 }
	type push struct{ By int8 }
	net := loopback.New(1)
	config := session.Config[ball, push]{
		Step: func(s *ball, in []push, _ *driftback.Pass) {
			s.Speed += int32(in[0].By)
			if s.X += s.Speed; s.X >= 1000 || s.X < 0 {
				s.X, s.Speed = s.X-s.Speed, -s.Speed
			}
		},
		Players: []driftback.Peer{0}, Self: 0, Transport: net.Open(0), Nonce: 1,
		MaxWatchers: 8,
	}
	player, err := session.New(config)
	if err != nil {
		panic(err)
	}
	if err := player.Finish(1000); err != nil {
		panic(err)
	}

	var spectator *session.Spectator[ball, push]
	for tick := 0; ; tick++ {
		net.Advance(time.Second / 60)
		_, _ = player.Tick(net.Now(), push{By: int8(tick%3 - 1)})
		if tick == 700 {
			config.Self, config.Transport, config.Nonce = 9, net.Open(9), 2
			spectator, err = session.Watch(session.WatchConfig[ball, push]{Config: config})
			if err != nil {
				panic(err)
			}
		}
		if spectator == nil {
			continue
		}
		r, err := spectator.Tick(net.Now())
		for _, e := range r.Events {
			if e.Kind == session.FeedBegan {
				fmt.Println("fed by peer", e.Peer, "from a state that is newer than tick 500:", e.Tick > 500)
			}
		}
		if errors.Is(err, session.ErrFinished) {
			fmt.Println("tick", r.Tick, "and the same world:", *spectator.State() == *player.State())
			return
		}
		if err != nil {
			panic(err)
		}
	}
	// Output:
	// fed by peer 0 from a state that is newer than tick 500: true
	// tick 1000 and the same world: true
}
