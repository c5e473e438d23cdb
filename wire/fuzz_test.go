package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// FuzzPacket: the package and the decoder written from FORMAT.md take the same
// bytes and read the same out of them, and what was read is written as it was.
func FuzzPacket(f *testing.F) {
	for _, v := range packetVectors() {
		b, err := v.packet.Append(nil, v.stride)
		require.NoError(f, err)
		f.Add(b, v.stride)
	}
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, b []byte, stride int) {
		if stride < 1 || stride > wire.MaxStride {
			require.ErrorIs(t, new(wire.Packet).Parse(b, stride), wire.ErrMalformed)
			return
		}
		agree(t, b, stride)
	})
}

// FuzzControl: the same of the reliable channel.
func FuzzControl(f *testing.F) {
	for _, v := range controlVectors() {
		b, err := wire.AppendControl(nil, v.control)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add([]byte("\x01drift\x02\x00"))
	f.Fuzz(func(t *testing.T, b []byte) { agree(t, b, 0) })
}

// FuzzRoundTrip: whatever a caller puts into a packet is refused, or comes back as
// it went.
func FuzzRoundTrip(f *testing.F) {
	f.Add(uint16(1), uint16(2), uint32(3), uint8(0x13), int64(1<<31), int64(-3), []byte{1, 1, 2, 2, 3, 4}, uint8(1))
	f.Add(uint16(0), uint16(0), uint32(0), uint8(0xf0), int64(1<<62-3), int64(1<<61), []byte{9, 9, 9}, uint8(0))
	f.Add(uint16(0), uint16(0), uint32(0), uint8(0xff), int64(-1), int64(0), make([]byte, 600), uint8(255))
	f.Add(uint16(0), uint16(0), uint32(0), uint8(0x22), int64(5), int64(0), []byte{1, 0, 0, 34, 2, 2}, uint8(0))
	f.Fuzz(func(t *testing.T, tag, seq uint16, heldMicros uint32, parts uint8, first, apart int64, inputs []byte, strideLess1 uint8) {
		stride := int(strideLess1) + 1
		p := wire.Packet{Tag: tag, Seq: seq}
		if parts&1 != 0 {
			p.Echo = wire.Echo{Set: true, Seq: seq ^ tag, HeldMicros: heldMicros, Lead: int16(apart), Load: strideLess1}
		}
		for who := range driftback.Participant(parts >> 1 & 3) {
			n := len(inputs) / stride >> who
			at := driftback.Tick(first + int64(who)*apart)
			p.Runs = append(p.Runs, run(who*5, at, stride, inputs[:n*stride]...))
			if parts&32 != 0 && n > 0 {
				p.Runs[who].Entries = inputs[:n] // most of them are none there can be
			}
			p.Acks = append(p.Acks, wire.Ack{Participant: who * 7, Next: at})
		}
		if parts&8 != 0 {
			p.Sums.First = uint64(first)
			for i := range parts >> 4 {
				p.Sums.List = append(p.Sums.List, uint64(apart)>>i)
			}
		}
		if parts&16 != 0 {
			p.SumAck = wire.SumAck{Set: true, Next: uint64(apart)}
		}
		if _, err := p.Append(nil, stride); err != nil {
			require.ErrorIs(t, err, wire.ErrUnsendable)
			return
		}
		roundTrip(t, &p, stride)
	})
}
