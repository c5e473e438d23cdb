package quic_test

import (
	"context"
	"fmt"
	"time"

	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/quic"
)

// One player hosts and reads pin, address and code to the other, who joins.
func Example() {
	ctx := context.Background()
	hostKey, err := identity.Generate()
	if err != nil {
		fmt.Println(err)
		return
	}
	guestKey, err := identity.Generate()
	if err != nil {
		fmt.Println(err)
		return
	}
	code := identity.NewCode()

	host, err := quic.Listen(ctx, quic.Config{
		Self: 0, Identity: hostKey, Addr: "127.0.0.1:0",
		Peers: []quic.Remote{{Peer: 1, Code: code}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	guest, err := quic.Listen(ctx, quic.Config{
		Self: 1, Identity: guestKey, Addr: "127.0.0.1:0",
		Peers: []quic.Remote{{Peer: 0, Pin: hostKey.Pin(), Addr: host.LocalAddr().String(), Code: code}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// A game asks once per tick; here there is nothing else to do.
	next := func(t transport.Transport) transport.Message {
		for {
			if m, ok := t.Receive(); ok {
				return m
			}
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Println("host:", next(host).Kind)
	fmt.Println("guest:", next(guest).Kind)
	if err := guest.SendReliable(0, []byte("good luck")); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("host: %s\n", next(host).Data)
	if err := guest.Close(); err != nil {
		fmt.Println(err)
	}
	fmt.Println("host:", next(host).Kind)
	if err := host.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// host: up
	// guest: up
	// host: good luck
	// host: down
}
