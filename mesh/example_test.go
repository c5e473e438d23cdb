package mesh_test

import (
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport/loopback"
)

// Two peers play one participant each, with inputs of one byte. One direction
// loses everything for a while; what was published meanwhile arrives with the
// first packet that does.
func Example() {
	net := loopback.New(1)
	var peers [2]*mesh.Mesh
	for i := range peers {
		m, err := mesh.New(mesh.Config{
			Transport: net.Open(driftback.Peer(i)), Self: driftback.Peer(i), Players: []driftback.Peer{0, 1},
			Stride: 1, Window: 8, FingerprintEvery: mesh.None, Match: 1, Nonce: uint64(i),
			PeerTimeout: 5 * time.Second, JoinTimeout: time.Minute,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		peers[i] = m
	}
	// frame is what a game does sixty times a second.
	frame := func() {
		net.Advance(time.Second / 60)
		for _, m := range peers {
			m.Poll(net.Now())
			if m.Phase() == mesh.Agreeing {
				_ = m.Begin(0, false) // nothing to compare, and said twice it is said once
			}
			m.Flush()
		}
	}
	for peers[0].Phase() != mesh.Playing || peers[1].Phase() != mesh.Playing {
		frame()
	}

	_ = net.Impair(0, 1, loopback.Impairment{Blocked: true})
	for t, key := range []byte("jump") {
		if err := peers[0].Publish(0, driftback.Tick(t), []byte{key}); err != nil {
			fmt.Println(err)
		}
		frame()
	}
	fmt.Println("blocked: peer 1 holds", peers[1].Held(0), "ticks of participant 0")

	_ = net.Impair(0, 1, loopback.Impairment{})
	frame()
	frame()
	fmt.Print("healed: ")
	for t := range peers[1].Held(0) {
		fmt.Printf("%s", peers[1].Input(0, t))
	}
	fmt.Println()
	fmt.Println("confirmed below tick", peers[1].Confirmed(), "because participant 1 has not published")
	// Output:
	// blocked: peer 1 holds 0 ticks of participant 0
	// healed: jump
	// confirmed below tick 0 because participant 1 has not published
}
