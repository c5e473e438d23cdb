package impair_test

import (
	"fmt"
	"time"

	"github.com/driftback/driftback/transport/impair"
)

// A quarter of what crosses this link is lost; the same seed loses the same
// quarter every time.
func ExampleLink() {
	im, err := impair.ParseImpairment("latency=60ms,loss=25%")
	if err != nil {
		fmt.Println(err)
		return
	}
	link := impair.NewLink(1, 0)
	if err := link.Set(im); err != nil {
		fmt.Println(err)
		return
	}
	for i := range 4 {
		sent := time.Duration(i) * 16 * time.Millisecond
		fate := link.Offer(sent, 40)
		fmt.Println("sent at", sent, "arrives at", fate.At[:fate.Copies])
	}
	fmt.Println(link.Counts().Lost, "lost")
	// Output:
	// sent at 0s arrives at [60ms]
	// sent at 16ms arrives at []
	// sent at 32ms arrives at [92ms]
	// sent at 48ms arrives at [108ms]
	// 1 lost
}

func ExampleParseImpairment() {
	_, err := impair.ParseImpairment("latency=60ms,loss=150%")
	fmt.Println(err)
	// Output: impair: "loss=150%": want a share from 0% to 100%, such as 5% or 0.05
}
