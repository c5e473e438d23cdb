package detour_test

import (
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport/detour"
	"github.com/driftback/driftback/transport/loopback"
)

// Ann and Bob have no link with each other, and Cid has one with both.
func Example() {
	const ann, bob, cid = driftback.Peer(0), driftback.Peer(1), driftback.Peer(2)
	net := loopback.New(1) // a real match has package quic below
	if err := net.TakeDown(ann, bob); err != nil {
		fmt.Println(err)
		return
	}

	// Each has a key, and the pins of the others came with the invitation.
	keys, pins := map[driftback.Peer]*identity.Identity{}, map[driftback.Peer]identity.Pin{}
	for _, p := range []driftback.Peer{ann, bob, cid} {
		key, err := identity.Generate()
		if err != nil {
			fmt.Println(err)
			return
		}
		keys[p], pins[p] = key, key.Pin()
	}
	links := map[driftback.Peer]*detour.Transport{}
	for p, key := range keys {
		link, err := detour.New(net.Open(p), detour.Config{
			Self: p, Identity: key, Label: "tonight's match",
			Pin: func(p driftback.Peer) (identity.Pin, bool) { pin, ok := pins[p]; return pin, ok },
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		links[p] = link
	}

	// Everybody receives at every tick, as a session does; Cid's sends on what is not for Cid.
	tick := func() {
		net.Advance(time.Second / 60)
		for _, p := range []driftback.Peer{ann, bob, cid} {
			for m, ok := links[p].Receive(); ok; m, ok = links[p].Receive() {
				if p == bob && m.From == ann {
					fmt.Printf("Bob receives: %v %q\n", m.Kind, m.Data)
				}
			}
		}
	}
	for range 20 {
		tick()
	}
	links[ann].Send(bob, []byte("jump"))
	tick()
	tick()
	via, _ := links[bob].Via(ann)
	fmt.Println("through peer", via)
	// Output:
	// Bob receives: up ""
	// Bob receives: datagram "jump"
	// through peer 2
}
