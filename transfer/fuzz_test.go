package transfer_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/wire"
)

// script turns bytes into the messages of a hostile peer: each is one of a few that are
// nearly right, or any that parses.
func script(b []byte) (list []wire.Control) {
	for len(b) >= 2 && len(list) < 64 {
		op, arg := b[0], int(b[1])
		b = b[2:]
		id := uint64(op >> 6)
		switch op & 7 {
		case 0:
			list = append(list, wire.TransferOffer{ID: id, State: arg%16 + 1, Log: arg / 16, Chunk: 4})
		case 1:
			list = append(list, wire.TransferTake{ID: id, Have: arg})
		case 2:
			n := min(len(b), arg%8)
			list = append(list, wire.TransferChunk{ID: id, At: arg / 8, Bytes: b[:n]})
			b = b[n:]
		case 3:
			list = append(list, wire.TransferAck{ID: id, Have: arg})
		case 4:
			n := min(len(b), arg)
			list = append(list, wire.TransferEnd{ID: id, Sum: xxh3.Hash(b[:n])})
		case 5:
			list = append(list, wire.TransferStop{ID: id, Reason: uint8(arg)})
		case 6:
			list = append(list, nil) // the channel goes down and up
		case 7:
			n := min(len(b), arg)
			if c, err := wire.ParseControl(b[:n]); err == nil {
				list = append(list, c)
			}
			b = b[n:]
		}
	}
	return list
}

// FuzzReceiver: whatever comes, nothing is given away but a blob whose hash is what the
// sender said, of the sizes that it offered, and no memory is held but for what came.
func FuzzReceiver(f *testing.F) {
	f.Add([]byte{0, 9, 2, 4, 'a', 'b', 'c', 'd', 2, 36, 'e', 'f', 'g', 'h', 2, 66, 'i', 'j', 4, 10})
	f.Add([]byte{0, 0, 2, 1, 'a', 6, 0, 0, 0, 4, 1, 'a'})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := transfer.NewReceiver(transfer.ReceiverConfig{MaxState: 100})
		require.NoError(t, err)
		r.Up()
		came := 0
		var sum uint64
		done := false
		for _, c := range script(b) {
			was := r.Phase()
			switch m := c.(type) {
			case nil:
				r.Up()
				continue
			case wire.TransferChunk:
				came += len(m.Bytes)
			case wire.TransferEnd:
				if !done {
					sum = m.Sum
				}
			}
			err := r.Receive(c)
			if was == transfer.Done {
				require.Equal(t, transfer.Done, r.Phase())
			} else if r.Phase() == transfer.Failed && was != transfer.Failed {
				require.Error(t, err)
			}
			done = r.Phase() == transfer.Done
			require.Equal(t, r.Phase() == transfer.Failed, r.Err() != nil)
			require.LessOrEqual(t, r.Have(), came)
			r.Poll(func(c wire.Control) bool {
				_, err := wire.AppendControl(nil, c)
				require.NoError(t, err)
				return true
			})
		}
		blob, ok := r.Blob()
		require.Equal(t, done, ok)
		if !ok {
			return
		}
		o, _ := r.Offer()
		require.Equal(t, o.Size(), blob.Size())
		all := make([]byte, blob.Size())
		_, err = blob.ReadAt(all, 0)
		require.NoError(t, err)
		require.Equal(t, xxh3.Hash(all), sum)
	})
}

// FuzzSender: whatever comes, a sender sends nothing but its own bytes, each in its
// place, and takes nobody's word for more than it has sent.
func FuzzSender(f *testing.F) {
	f.Add([]byte{1, 0, 3, 4, 3, 10, 5, 0})
	f.Add([]byte{1, 0, 6, 0, 1, 8, 3, 10, 5, 0})
	blob := []byte("abcdefghij")
	f.Fuzz(func(t *testing.T, b []byte) {
		offer := small
		offer.ID = 0
		s, err := transfer.NewSender(transfer.SenderConfig{Offer: offer, Source: transfer.Bytes(blob), Window: 8, Slice: 4})
		require.NoError(t, err)
		s.Up()
		sent, ended := 0, false
		poll := func() {
			s.Poll(0, transfer.Unlimited, func(c wire.Control) bool {
				b, err := wire.AppendControl(nil, c)
				require.NoError(t, err)
				switch c := c.(type) {
				case wire.TransferChunk:
					require.Equal(t, blob[c.At:c.At+len(c.Bytes)], c.Bytes)
					sent = max(sent, c.At+len(c.Bytes))
				case wire.TransferEnd:
					require.Equal(t, xxh3.Hash(blob), c.Sum)
					ended = true
				}
				return len(b)%3 > 0 || !ended
			})
		}
		for _, c := range script(b) {
			poll()
			if c == nil {
				s.Up()
				continue
			}
			_ = s.Receive(c)
			require.LessOrEqual(t, s.Acked(), sent)
			require.Equal(t, s.Phase() == transfer.Failed, s.Err() != nil)
			if s.Phase() == transfer.Done {
				require.True(t, ended)
				require.Equal(t, len(blob), sent)
			}
		}
	})
}
