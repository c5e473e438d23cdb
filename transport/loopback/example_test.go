package loopback_test

import (
	"fmt"
	"time"

	"github.com/driftback/driftback/transport/loopback"
)

// Two peers, 50 ms apart in one direction only.
func Example() {
	net := loopback.New(2024)
	err := net.Impair(0, 1, loopback.Impairment{Latency: 50 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, b := net.Open(0), net.Open(1)

	for range 4 {
		net.Advance(25 * time.Millisecond)
		a.Send(1, []byte("jump"))
		for m, ok := b.Receive(); ok; m, ok = b.Receive() {
			fmt.Printf("%v %v from peer %d: %q\n", net.Now(), m.Kind, m.From, m.Data)
		}
	}
	fmt.Println(net.Stats(0, 1).Sent, "sent")
	// Output:
	// 50ms up from peer 0: ""
	// 100ms datagram from peer 0: "jump"
	// 3 sent
}
