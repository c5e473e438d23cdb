package wire_test

import (
	"errors"
	"fmt"

	"github.com/driftback/driftback/wire"
)

func ExamplePacket() {
	const stride = 2 // bytes of an input, as agreed at the handshake

	// Participant 0 sends what has not been acknowledged: ticks 100 to 102.
	unacknowledged := []byte{1, 0, 1, 0, 5, 0}
	n := wire.FitRun(unacknowledged, stride, 1200-wire.HeaderSize-wire.MaxAckSize)
	out := wire.Packet{
		Tag: 0xd41f, Seq: 42,
		Runs: []wire.Run{{Participant: 0, First: 100, Count: n, Inputs: unacknowledged[:n*stride]}},
		Acks: []wire.Ack{{Participant: 1, Next: 99}},
	}
	b, err := out.Append(nil, stride)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(b), "bytes")

	var in wire.Packet
	if err := in.Parse(b, stride); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("run of", in.Runs[0].Count, "from tick", in.Runs[0].First, "inputs", fmt.Sprintf("%x", in.Runs[0].Inputs))
	fmt.Println("participant", in.Acks[0].Participant, "next", in.Acks[0].Next)

	fmt.Println(in.Parse(b[:len(b)-1], stride))
	// Output:
	// 14 bytes
	// run of 3 from tick 100 inputs 010001000500
	// participant 1 next 99
	// wire: malformed: byte 13: cut short: a difference of ticks does not end
}

func ExampleParseControl() {
	b, err := wire.AppendControl(nil, wire.Leave{Tick: 300, Text: "gone for tea"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, b := range [][]byte{b, []byte("\x01drift\x02\x00…")} {
		c, err := wire.ParseControl(b)
		var version *wire.VersionError
		if errors.As(err, &version) {
			fmt.Println("theirs is version", version.Theirs)
			continue
		}
		if leave, ok := c.(wire.Leave); ok {
			fmt.Println("left at tick", leave.Tick, "because:", leave.Text)
		}
	}
	// Output:
	// left at tick 300 because: gone for tea
	// theirs is version 2
}
