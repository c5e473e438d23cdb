package transfer_test

import (
	"fmt"
	"io"
	"time"

	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/wire"
)

// A state of 28 bytes and a log of ten, eight bytes at a time, over a channel that
// goes down in the middle.
func Example() {
	blob := []byte("the world as a tick begins.." + "and inputs")
	sender, err := transfer.NewSender(transfer.SenderConfig{
		Offer:  wire.TransferOffer{ID: 7, Tick: 600, State: 28, Log: 10, Chunk: 8},
		Source: transfer.Bytes(blob), Slice: 16,
	})
	if err != nil {
		panic(err)
	}
	receiver, err := transfer.NewReceiver(transfer.ReceiverConfig{})
	if err != nil {
		panic(err)
	}

	// A channel that delivers at once. A real one carries what wire.AppendControl makes
	// of a message.
	forth := func(c wire.Control) bool { return receiver.Receive(c) == nil }
	back := func(c wire.Control) bool { return sender.Receive(c) == nil }
	for tick := 0; !sender.Phase().Over(); tick++ {
		if tick == 0 || tick == 3 {
			sender.Up() // again: a channel that was down begins anew
			receiver.Up()
		}
		const bytesPerSecond = 100_000
		sender.Poll(time.Duration(tick)*time.Second/60, bytesPerSecond, forth)
		receiver.Poll(back)
		fmt.Printf("tick %d: %v, %d of %d bytes have arrived\n", tick, receiver.Phase(), receiver.Have(), len(blob))
	}
	got, _ := receiver.Blob()
	state, _ := io.ReadAll(got.State())
	log, _ := io.ReadAll(got.Log())
	fmt.Printf("%q, %q\n", state, log)
	// Output:
	// tick 0: moving, 0 of 38 bytes have arrived
	// tick 1: moving, 16 of 38 bytes have arrived
	// tick 2: moving, 32 of 38 bytes have arrived
	// tick 3: moving, 32 of 38 bytes have arrived
	// tick 4: done, 38 of 38 bytes have arrived
	// "the world as a tick begins..", "and inputs"
}
