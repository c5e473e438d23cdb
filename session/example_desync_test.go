package session_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// Two programs of which one heals a fighter by more than the other. Both say from which tick on the worlds
// differ and in which field, and can write a report, which `driftback desync` opens.
func ExampleLockstep_Report() {
	type pressed struct{ Jab, Rest bool }
	type ring struct{ Health [2]int32 }
	fight := func(heals int32) driftback.Step[ring, pressed] {
		return func(s *ring, in []pressed, pass *driftback.Pass) {
			for p, i := range in {
				if i.Jab {
					s.Health[1-p] -= 3
				}
				if i.Rest {
					s.Health[p] += heals
				}
			}
		}
	}
	net := loopback.New(1)
	var peers [2]*session.Lockstep[ring, pressed]
	for i := range peers {
		var err error
		peers[i], err = session.New(session.Config[ring, pressed]{
			Step: fight(5 + int32(i)), Initial: &ring{Health: [2]int32{100, 100}}, InputDelay: 1,
			Transport: net.Open(driftback.Peer(i)), Self: driftback.Peer(i), Players: []driftback.Peer{0, 1}, Nonce: uint64(i + 1),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	var err error
	for range 200 {
		net.Advance(time.Second / 60)
		for i, p := range peers {
			next := p.Stats().Tick
			if _, err = p.Tick(net.Now(), pressed{Jab: next%3 == 0, Rest: next == 59 && i == 0}); err != nil {
				break
			}
		}
	}
	var desync *session.DesyncError
	if errors.As(err, &desync) {
		for _, d := range desync.Fields {
			fmt.Printf("the worlds differ from tick %d on: %s is %s here and %s at peer %d\n", desync.Tick, d.Path, d.A, d.B, desync.Peer)
		}
	}
	if report, ok := peers[0].Report(); ok {
		file, err := report.Append(nil)
		fmt.Println(len(file) > 0, err)
	}
	// Output:
	// the worlds differ from tick 61 on: Health[0] is 45 here and 46 at peer 1
	// true <nil>
}
