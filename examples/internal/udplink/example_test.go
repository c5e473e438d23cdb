package udplink_test

import (
	"context"
	"fmt"
	"net"

	"github.com/driftback/driftback/examples/internal/udplink"
	"github.com/driftback/driftback/transport/impair"
)

// A joiner dials the link instead of the host, and everything it sends arrives
// twice.
func Example() {
	host, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()
	link, err := udplink.Start(context.Background(), udplink.Config{
		Target: host.LocalAddr().(*net.UDPAddr).AddrPort(), ToTarget: impair.Impairment{Duplicate: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer link.Close()

	joiner, err := net.Dial("udp", link.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer joiner.Close()
	if _, err := joiner.Write([]byte("hello")); err != nil {
		fmt.Println(err)
		return
	}
	b := make([]byte, 100)
	for range 2 {
		n, err := host.Read(b)
		fmt.Printf("%s %v\n", b[:n], err)
	}
	// Output:
	// hello <nil>
	// hello <nil>
}
