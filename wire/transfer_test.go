package wire_test

import (
	"bytes"
	"fmt"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// transferVectors are the control vectors of transfers.
func transferVectors() []controlVector {
	return []controlVector{
		{"an offer", wire.TransferOffer{ID: 1, Tick: 3600, Sum: 0xfeedfacecafebeef, State: 300, Log: 64, Chunk: 128}},
		{"the largest offer", wire.TransferOffer{
			ID: 1<<64 - 1, Tick: wire.MaxTick, State: wire.MaxTransferState, Log: wire.MaxTransferLog, Chunk: wire.MaxTransferChunk,
		}},
		{"the smallest offer", wire.TransferOffer{State: 1, Chunk: 1}},
		{"a take of all", wire.TransferTake{ID: 1}},
		{"a take of nothing that is left", wire.TransferTake{ID: 1, Have: wire.MaxTransferState + wire.MaxTransferLog}},
		{"a chunk", wire.TransferChunk{ID: 1, At: 300, Bytes: []byte("left, left, jump")}},
		{"the last byte there can be", wire.TransferChunk{ID: 1, At: wire.MaxTransferState + wire.MaxTransferLog - 1, Bytes: []byte{7}}},
		{"an acknowledgement of a chunk", wire.TransferAck{ID: 1, Have: 316}},
		{"the end of a transfer", wire.TransferEnd{ID: 1, Sum: 0x0123456789abcdef}},
		{"a stop", wire.TransferStop{ID: 1, Reason: 4}},
	}
}

func describeTransfer(c wire.Control) string {
	switch c := c.(type) {
	case wire.TransferOffer:
		return fmt.Sprintf("offer %016x of tick %d sum %016x state %d log %d chunk %d\n", c.ID, c.Tick, c.Sum, c.State, c.Log, c.Chunk)
	case wire.TransferTake:
		return fmt.Sprintf("take %016x from %d\n", c.ID, c.Have)
	case wire.TransferChunk:
		return fmt.Sprintf("chunk %016x at %d: %x\n", c.ID, c.At, c.Bytes)
	case wire.TransferAck:
		return fmt.Sprintf("have %016x to %d\n", c.ID, c.Have)
	case wire.TransferEnd:
		return fmt.Sprintf("end %016x sum %016x\n", c.ID, c.Sum)
	case wire.TransferStop:
		return fmt.Sprintf("stop %016x reason %d\n", c.ID, c.Reason)
	}
	return "unknown"
}

// transfer is the second decoder's, from FORMAT.md alone.
func (d *byDocument) transfer(kind int) {
	const most = 83_886_080
	between := func(least, most int64) *big.Int {
		v := d.uvarint(big.NewInt(most))
		if v.Cmp(big.NewInt(least)) < 0 {
			refuse("too small")
		}
		return v
	}
	id := d.little(8)
	switch kind {
	case 13:
		tick := d.tick()
		sum := d.little(8)
		state, log := between(1, 67_108_864), between(0, 16_777_216)
		d.line("offer %016x of tick %d sum %016x state %d log %d chunk %d", id, tick, sum, state, log, between(1, 32_768))
	case 14:
		d.line("take %016x from %d", id, between(0, most))
	case 15:
		at := between(0, most-1)
		n := between(1, 32_768)
		if new(big.Int).Add(at, n).Cmp(big.NewInt(most)) > 0 {
			refuse("beyond the largest blob")
		}
		d.line("chunk %016x at %d: %x", id, at, d.bytes(int(n.Int64())))
	case 16:
		d.line("have %016x to %d", id, between(0, most))
	case 17:
		d.line("end %016x sum %016x", id, d.little(8))
	case 18:
		d.line("stop %016x reason %d", id, d.u8())
	}
}

func TestATransferMessageIsRefusedByName(t *testing.T) {
	const id = "01 00 00 00 00 00 00 00"
	const sum = id
	for name, c := range map[string]struct{ bytes, want string }{
		"an offer of no state":            {"0d" + id + "05" + sum + "00 00 01", "a state has 0 bytes, and at least 1 is needed"},
		"an offer that is too large":      {"0d" + id + "05" + sum + "81 80 80 20 00 01", "the size of a state is 67108865, and at most 67108864 is allowed"},
		"an offer of everything":          {"0d" + id + "05" + sum + "ff ff ff ff ff ff ff ff ff 01 00 01", "the size of a state is 18446744073709551615"},
		"a log that is too large":         {"0d" + id + "05" + sum + "01 81 80 80 08 01", "the size of a log is 16777217, and at most 16777216 is allowed"},
		"chunks of nothing":               {"0d" + id + "05" + sum + "01 00 00", "a chunk has 0 bytes, and at least 1 is needed"},
		"chunks that are too long":        {"0d" + id + "05" + sum + "01 00 81 80 02", "the size of a chunk is 32769, and at most 32768 is allowed"},
		"an offer beyond the last tick":   {"0d" + id + "81 80 80 80 80 80 80 80 40" + sum + "01 00 01", "a tick is 4611686018427387905"},
		"an offer cut short":              {"0d" + id + "05" + sum + "01 00", "the size of a chunk does not end"},
		"a take of more than there is":    {"0e" + id + "81 80 80 28", "the size of what there is is 83886081, and at most 83886080 is allowed"},
		"a chunk of nothing":              {"0f" + id + "00 00", "a chunk has 0 bytes, and at least 1 is needed"},
		"a chunk beyond every end":        {"0f" + id + "80 80 80 28 01 00", "the size of what comes before a chunk is 83886080, and at most 83886079 is allowed"},
		"a chunk that leads beyond it":    {"0f" + id + "ff ff ff 27 02 00 00", "the size of a chunk is 2, and at most 1 is allowed"},
		"a chunk that is not there":       {"0f" + id + "00 03 61 62", "cut short: 3 bytes are needed and 2 are left"},
		"a chunk with something after it": {"0f" + id + "00 01 61 62", "1 bytes follow the end"},
		"an end cut short":                {"11" + id + "00", "cut short"},
		"a stop without a reason":         {"12" + id, "cut short"},
		"a stop with two":                 {"12" + id + "00 00", "1 bytes follow the end"},
		"a kind beyond these":             {"19" + id, "a control message of kind 25, which does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			b := unhex(t, c.bytes)
			got, err := wire.ParseControl(b)
			require.ErrorIs(t, err, wire.ErrMalformed)
			require.ErrorContains(t, err, c.want)
			require.Nil(t, got)
			_, err = decodeByDocument(b, 0)
			require.Error(t, err, "FORMAT.md would let it pass")
		})
	}
}

func TestATransferMessageBeyondABoundIsNotAppended(t *testing.T) {
	good := wire.TransferOffer{State: 1, Chunk: 1}
	offer := func(change func(o *wire.TransferOffer)) wire.TransferOffer {
		o := good
		change(&o)
		return o
	}
	for name, c := range map[string]struct {
		control wire.Control
		want    string
	}{
		"no state":        {offer(func(o *wire.TransferOffer) { o.State = 0 }), "a state has 0 bytes, and 1 to 67108864 are allowed"},
		"a large state":   {offer(func(o *wire.TransferOffer) { o.State = 64<<20 + 1 }), "a state has 67108865 bytes"},
		"a large log":     {offer(func(o *wire.TransferOffer) { o.Log = 16<<20 + 1 }), "a log has 16777217 bytes, and 0 to 16777216 are allowed"},
		"a negative log":  {offer(func(o *wire.TransferOffer) { o.Log = -1 }), "a log has -1 bytes"},
		"no chunks":       {offer(func(o *wire.TransferOffer) { o.Chunk = 0 }), "a chunk has 0 bytes, and 1 to 32768 are allowed"},
		"a tick nowhere":  {offer(func(o *wire.TransferOffer) { o.Tick = -1 }), "tick -1 is not between 0 and"},
		"a negative take": {wire.TransferTake{Have: -1}, "what there is has -1 bytes"},
		"an empty chunk":  {wire.TransferChunk{}, "a chunk has 0 bytes, and 1 to 32768 are allowed"},
		"a long chunk":    {wire.TransferChunk{Bytes: make([]byte, wire.MaxTransferChunk+1)}, "a chunk has 32769 bytes"},
		"a chunk too far": {wire.TransferChunk{At: 80<<20 - 1, Bytes: make([]byte, 2)}, "a chunk has 2 bytes, and 1 to 1 are allowed"},
		"a large ack":     {wire.TransferAck{Have: 80<<20 + 1}, "what there is has 83886081 bytes, and 0 to 83886080 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := wire.AppendControl([]byte("before"), c.control)
			require.ErrorIs(t, err, wire.ErrUnsendable)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, "before", string(b))
		})
	}
	_, err := wire.AppendControl(nil, good)
	require.NoError(t, err, "the control")
}

func TestAnyTransferMessageComesBackAsItWent(t *testing.T) {
	const most = wire.MaxTransferState + wire.MaxTransferLog
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Uint64().Draw(t, "id")
		var c wire.Control
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			c = wire.TransferOffer{
				ID: id, Tick: anyTick(t, wire.MaxTick, "tick"), Sum: rapid.Uint64().Draw(t, "sum"),
				State: rapid.IntRange(1, wire.MaxTransferState).Draw(t, "state"), Log: rapid.IntRange(0, wire.MaxTransferLog).Draw(t, "log"),
				Chunk: rapid.IntRange(1, wire.MaxTransferChunk).Draw(t, "chunk"),
			}
		case 1:
			c = wire.TransferTake{ID: id, Have: rapid.IntRange(0, most).Draw(t, "have")}
		case 2:
			b := rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "bytes")
			c = wire.TransferChunk{ID: id, At: rapid.IntRange(0, most-len(b)).Draw(t, "at"), Bytes: b}
		case 3:
			c = wire.TransferAck{ID: id, Have: rapid.IntRange(0, most).Draw(t, "have")}
		case 4:
			c = wire.TransferEnd{ID: id, Sum: rapid.Uint64().Draw(t, "sum")}
		case 5:
			c = wire.TransferStop{ID: id, Reason: rapid.Uint8().Draw(t, "reason")}
		}
		b, err := wire.AppendControl(nil, c)
		require.NoError(t, err)
		got, err := wire.ParseControl(b)
		require.NoError(t, err)
		require.Equal(t, c, got)
		document, err := decodeByDocument(b, 0)
		require.NoError(t, err)
		require.Equal(t, describeTransfer(c), document)
	})
}

func TestTheLongestChunkFitsAReliableMessageAndIsBorrowed(t *testing.T) {
	b, err := wire.AppendControl(nil, wire.TransferChunk{
		ID: 1<<64 - 1, At: wire.MaxTransferState, Bytes: bytes.Repeat([]byte{3}, wire.MaxTransferChunk),
	})
	require.NoError(t, err)
	require.Less(t, len(b), transport.MaxReliable/2+64)
	c, err := wire.ParseControl(b)
	require.NoError(t, err)
	got := c.(wire.TransferChunk).Bytes
	b[len(b)-1] = 4
	require.Equal(t, byte(4), got[len(got)-1])
}
