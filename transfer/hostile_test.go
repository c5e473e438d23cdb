package transfer_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/wire"
)

var small = wire.TransferOffer{ID: 1, State: 8, Log: 2, Chunk: 4}

// taking returns a receiver that has taken an offer of ten bytes.
func taking(t *testing.T, set ...func(c *transfer.ReceiverConfig)) *transfer.Receiver {
	t.Helper()
	var c transfer.ReceiverConfig
	for _, change := range set {
		change(&c)
	}
	r, err := transfer.NewReceiver(c)
	require.NoError(t, err)
	r.Up()
	return r
}

// said returns what a side says when it is polled.
func said(poll func(send func(wire.Control) bool)) (list []wire.Control) {
	poll(func(c wire.Control) bool {
		list = append(list, c)
		return true
	})
	return list
}

func chunk(at int, b string) wire.TransferChunk {
	return wire.TransferChunk{ID: 1, At: at, Bytes: []byte(b)}
}

func TestAReceiverRefusesByNameWhatBreaksTheRules(t *testing.T) {
	begun := []wire.Control{small, chunk(0, "abcd")}
	for name, c := range map[string]struct {
		before []wire.Control
		bad    wire.Control
		err    error
		want   string
		reason uint8
	}{
		"a state that is too large":     {nil, wire.TransferOffer{ID: 1, State: 101, Chunk: 1}, transfer.ErrTooLarge, "a state of 101 bytes with a log of 0, and at most 100 and 50 are taken", 1},
		"a log that is too large":       {nil, wire.TransferOffer{ID: 1, State: 1, Log: 51, Chunk: 1}, transfer.ErrTooLarge, "a log of 51", 1},
		"a blob that is not wanted":     {nil, wire.TransferOffer{ID: 1, Tick: 7, State: 1, Chunk: 1}, transfer.ErrUnwanted, "not of tick 7", 2},
		"the same offer twice":          {begun, small, transfer.ErrRules, "offered twice", 5},
		"a chunk out of order":          {begun, chunk(8, "ij"), transfer.ErrRules, "begins at byte 8, and 4 have arrived", 5},
		"a chunk again":                 {begun, chunk(0, "abcd"), transfer.ErrRules, "begins at byte 0, and 4 have arrived", 5},
		"a chunk that overlaps":         {begun, chunk(3, "defg"), transfer.ErrRules, "begins at byte 3, and 4 have arrived", 5},
		"a chunk that is too long":      {begun, chunk(4, "efghi"), transfer.ErrRules, "a chunk has 5 bytes, and 1 to 4 were offered", 5},
		"a chunk of nothing":            {begun, chunk(4, ""), transfer.ErrRules, "a chunk has 0 bytes", 5},
		"a chunk beyond the end":        {append(begun[:2:2], chunk(4, "efgh")), chunk(8, "ijk"), transfer.ErrRules, "leads to byte 11 of 10", 5},
		"an end too early":              {begun, wire.TransferEnd{ID: 1}, transfer.ErrRules, "the end after 4 bytes of 10", 5},
		"a checksum that is wrong":      {append(begun[:2:2], chunk(4, "efgh"), chunk(8, "ij")), wire.TransferEnd{ID: 1, Sum: 5}, transfer.ErrChecksum, "of 10 bytes it is", 3},
		"a verdict from the wrong side": {begun, wire.TransferStop{ID: 1}, transfer.ErrRules, "verified what it sent itself", 5},
	} {
		t.Run(name, func(t *testing.T) {
			r := taking(t, func(c *transfer.ReceiverConfig) {
				c.MaxState, c.MaxLog = 100, 50
				c.Want = func(o wire.TransferOffer) error {
					if o.Tick == 7 {
						return errors.New("not of tick 7")
					}
					return nil
				}
			})
			for _, m := range c.before {
				require.NoError(t, r.Receive(m))
				said(r.Poll)
			}
			err := r.Receive(c.bad)
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, err, r.Err())
			require.Equal(t, transfer.Failed, r.Phase())
			require.Zero(t, r.Have(), "what had arrived is let go")
			_, ok := r.Blob()
			require.False(t, ok)
			require.Equal(t, []wire.Control{wire.TransferStop{ID: 1, Reason: c.reason}}, said(r.Poll))
			require.Empty(t, said(r.Poll))
			require.NoError(t, r.Receive(chunk(4, "efgh")), "what was on its way is ignored")
			require.NoError(t, r.Receive(wire.TransferEnd{ID: 1}))
			require.Equal(t, transfer.Failed, r.Phase())

			// The other side is told by the same name.
			s := moving(t)
			require.ErrorIs(t, s.Receive(wire.TransferStop{ID: 1, Reason: c.reason}), c.err)
			require.ErrorContains(t, s.Err(), "so says the receiver")
		})
	}
}

func TestAReceiverRefusesChunksBeforeItHasTakenTheOffer(t *testing.T) {
	r := taking(t)
	require.NoError(t, r.Receive(chunk(0, "abcd")), "of no blob that it knows")
	require.NoError(t, r.Receive(small))
	require.ErrorIs(t, r.Receive(chunk(0, "abcd")), transfer.ErrRules)

	r = taking(t)
	require.NoError(t, r.Receive(small))
	said(r.Poll)
	r.Up()
	require.ErrorIs(t, r.Receive(chunk(0, "abcd")), transfer.ErrRules, "the channel was down, and there was no offer since")
}

func TestAnInterruptedBlobMustBeTheSame(t *testing.T) {
	begun := func() *transfer.Receiver {
		r := taking(t)
		require.NoError(t, r.Receive(small))
		said(r.Poll)
		require.NoError(t, r.Receive(chunk(0, "abcd")))
		r.Up()
		return r
	}
	r := begun()
	require.NoError(t, r.Receive(small), "the control")
	require.Equal(t, []wire.Control{wire.TransferTake{ID: 1, Have: 4}}, said(r.Poll))

	r = begun()
	changed := small
	changed.State++
	require.ErrorIs(t, r.Receive(changed), transfer.ErrRules)
	require.ErrorContains(t, r.Err(), "was offered as")

	r = begun()
	other := small
	other.ID = 2
	require.NoError(t, r.Receive(other))
	require.Zero(t, r.Have(), "nothing of the one is used for the other")
	require.Equal(t, []wire.Control{wire.TransferTake{ID: 2}}, said(r.Poll))
	require.NoError(t, r.Receive(chunk(4, "efgh")), "of the blob that is no longer on offer")
	require.Equal(t, transfer.Moving, r.Phase())
}

func TestWhatComesAfterTheEndChangesNothing(t *testing.T) {
	p := newPair(t, 8, 2, 4)
	require.NoError(t, p.run(transfer.Unlimited, 20))
	require.NoError(t, p.check())
	for _, c := range []wire.Control{
		wire.TransferChunk{ID: 42, At: 10, Bytes: []byte("k")}, wire.TransferChunk{ID: 42, Bytes: []byte("k")},
		wire.TransferEnd{ID: 42}, wire.TransferStop{ID: 42, Reason: 4},
	} {
		require.ErrorIs(t, p.receiver.Receive(c), transfer.ErrRules)
		require.ErrorContains(t, p.receiver.Receive(c), "after the end of the transfer")
	}
	for _, c := range []wire.Control{wire.TransferTake{ID: 42}, wire.TransferAck{ID: 42}, wire.TransferStop{ID: 42, Reason: 4}} {
		require.NoError(t, p.sender.Receive(c))
	}
	require.NoError(t, p.receiver.Receive(small))
	require.Equal(t, []wire.Control{wire.TransferStop{ID: 1, Reason: 2}}, said(p.receiver.Poll), "one receiver takes one blob")
	require.NoError(t, p.check())
}

// moving returns a sender of ten bytes of which the first four have been sent.
func moving(t *testing.T) *transfer.Sender {
	t.Helper()
	s, err := transfer.NewSender(transfer.SenderConfig{Offer: small, Source: transfer.Bytes("abcdefghij"), Window: 4, Slice: 4})
	require.NoError(t, err)
	s.Up()
	poll := func(send func(wire.Control) bool) { s.Poll(0, transfer.Unlimited, send) }
	require.Equal(t, []wire.Control{small}, said(poll))
	require.NoError(t, s.Receive(wire.TransferTake{ID: 1}))
	require.Len(t, said(poll), 1)
	require.Empty(t, said(poll))
	return s
}

func TestASenderRefusesByNameWhatBreaksTheRules(t *testing.T) {
	for name, c := range map[string]struct {
		bad  wire.Control
		want string
	}{
		"an acknowledgement of what was not sent": {wire.TransferAck{ID: 1, Have: 5}, "the receiver has 5 bytes; it had 0, and 4 were sent"},
		"a second take":            {wire.TransferTake{ID: 1}, "taken when it was not on offer"},
		"a verdict before the end": {wire.TransferStop{ID: 1}, "verified what was not sent to its end"},
	} {
		t.Run(name, func(t *testing.T) {
			s := moving(t)
			require.NoError(t, s.Receive(wire.TransferAck{ID: 2, Have: 5}), "of another blob")
			err := s.Receive(c.bad)
			require.ErrorIs(t, err, transfer.ErrRules)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, transfer.Failed, s.Phase())
			stop := []wire.Control{wire.TransferStop{ID: 1, Reason: 5}}
			poll := func(send func(wire.Control) bool) { s.Poll(0, transfer.Unlimited, send) }
			require.Equal(t, stop, said(poll))
			require.Empty(t, said(poll))
			s.Up()
			require.Equal(t, stop, said(poll), "it may have been lost")

			r := taking(t)
			require.NoError(t, r.Receive(small))
			require.ErrorIs(t, r.Receive(stop[0]), transfer.ErrRules)
			require.ErrorContains(t, r.Err(), "so says the sender")
			require.Empty(t, said(r.Poll), "who was told need not be told")
		})
	}
	t.Run("an acknowledgement that falls", func(t *testing.T) {
		s := moving(t)
		require.NoError(t, s.Receive(wire.TransferAck{ID: 1, Have: 4}))
		require.ErrorContains(t, s.Receive(wire.TransferAck{ID: 1, Have: 3}), "the receiver has 3 bytes; it had 4")
	})
	t.Run("a take of more than was ever sent", func(t *testing.T) {
		s := moving(t)
		s.Up()
		require.ErrorIs(t, s.Receive(wire.TransferAck{ID: 1, Have: 1}), transfer.ErrRules)
		s = moving(t)
		s.Up()
		s.Poll(0, 0, func(wire.Control) bool { return true })
		require.ErrorContains(t, s.Receive(wire.TransferTake{ID: 1, Have: 5}), "the receiver has 5 bytes, and 4 were ever sent")
	})
	t.Run("a take before the offer", func(t *testing.T) {
		s := moving(t)
		s.Up()
		require.ErrorContains(t, s.Receive(wire.TransferTake{ID: 1}), "not on offer")
	})
}

func TestEitherOwnerMayGiveUp(t *testing.T) {
	for name, stop := range map[string]func(p *pair){
		"the sender":   func(p *pair) { p.sender.Stop() },
		"the receiver": func(p *pair) { p.receiver.Stop() },
		"the source":   func(p *pair) { p.source.err = errors.New("the world has ended") },
	} {
		for _, down := range []bool{false, true} {
			p := newPair(t, 5000, 0, 100, func(c *transfer.SenderConfig, _ *transfer.ReceiverConfig) { c.Slice = 200 })
			for range 8 {
				p.poll(transfer.Unlimited)
				p.deliver(2)
			}
			require.Positive(t, p.receiver.Have(), name)
			stop(p)
			if down {
				p.poll(transfer.Unlimited)
				p.down()
				p.up()
			}
			require.NoError(t, p.run(transfer.Unlimited, 100), name)
			require.ErrorIs(t, p.sender.Err(), transfer.ErrWithdrawn, name)
			require.ErrorIs(t, p.receiver.Err(), transfer.ErrWithdrawn, name)
			if p.source.err != nil {
				require.ErrorIs(t, p.sender.Err(), p.source.err)
			}
			require.Zero(t, p.receiver.Have())
		}
	}
}

func TestAMessageToTheWrongSideChangesNothing(t *testing.T) {
	p := newPair(t, 100, 0, 10)
	require.EqualError(t, p.sender.Receive(small), "transfer: wire.TransferOffer is no message to a sender")
	require.EqualError(t, p.receiver.Receive(wire.TransferAck{ID: 42}), "transfer: wire.TransferAck is no message to a receiver")
	require.NoError(t, p.run(transfer.Unlimited, 50))
	require.NoError(t, p.check())
}

// An offer of everything, without a byte of it, costs nothing.
func TestWhatAnOfferClaimsAllocatesNothing(t *testing.T) {
	r := taking(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for id := range uint64(1000) {
		require.NoError(t, r.Receive(wire.TransferOffer{ID: id, State: wire.MaxTransferState, Log: wire.MaxTransferLog, Chunk: wire.MaxTransferChunk}))
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))

	// The control: bytes do.
	said(r.Poll)
	require.NoError(t, r.Receive(wire.TransferChunk{ID: 999, Bytes: make([]byte, 100)}))
	require.Equal(t, 100, r.Have())
}

func TestNewRefusesWhatCannotBeHandedOver(t *testing.T) {
	good := transfer.SenderConfig{Offer: wire.TransferOffer{State: 1}, Source: transfer.Bytes("a")}
	for name, c := range map[string]struct {
		change func(c *transfer.SenderConfig)
		want   string
	}{
		"no source":     {func(c *transfer.SenderConfig) { c.Source = nil }, "transfer: Source is nil: it must have the bytes of the blob"},
		"no state":      {func(c *transfer.SenderConfig) { c.Offer.State = 0 }, "transfer: Offer: wire: cannot be sent: a state has 0 bytes, and 1 to 67108864 are allowed"},
		"a small slice": {func(c *transfer.SenderConfig) { c.Slice = 5 }, "transfer: Slice is 5 bytes: it must be 16384, a chunk, to 83886080"},
		"a small window": {func(c *transfer.SenderConfig) { c.Window = -1 },
			"transfer: Window is -1 bytes: it must be 16384, a chunk, to 83886080"},
		"a state that is too large": {func(c *transfer.SenderConfig) { c.Offer.State = 64<<20 + 1 },
			"transfer: too large: a state of 67108865 bytes with a log of 0, and at most 67108864 and 16777216 are allowed"},
		"long chunks": {func(c *transfer.SenderConfig) { c.Offer.Chunk = 1 << 20 },
			"transfer: Offer: wire: cannot be sent: a chunk has 1048576 bytes, and 1 to 32768 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := transfer.NewSender(good)
			require.NoError(t, err)
			changed := good
			c.change(&changed)
			s, err := transfer.NewSender(changed)
			require.EqualError(t, err, c.want)
			require.Nil(t, s)
		})
	}
	_, err := transfer.NewReceiver(transfer.ReceiverConfig{MaxState: wire.MaxTransferState + 1})
	require.EqualError(t, err, "transfer: MaxState is 67108865 bytes and MaxLog 16777216: 1 to 67108864 and 0 to 16777216 are allowed")
}
