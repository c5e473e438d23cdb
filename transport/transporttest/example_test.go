package transporttest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/transport/transporttest"
)

// The test of a transport hands Run a function that opens some.
func Example() {
	open := func(_ *testing.T, peers int) transporttest.Match {
		net := loopback.New(1)
		m := transporttest.Match{Step: func() { net.Advance(time.Millisecond) }}
		for i := range peers {
			m.Ends = append(m.Ends, net.Open(driftback.Peer(i)))
		}
		return m
	}
	// This is func TestLoopback(t *testing.T) of a real test file.
	_ = func(t *testing.T) { transporttest.Run(t, open) }

	m := open(nil, 2)
	m.Step()
	first, _ := m.Ends[0].Receive()
	fmt.Println(first.Kind, "from peer", first.From)
	// Output: up from peer 1
}
