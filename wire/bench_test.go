package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/wire"
)

func benchmarkPackets() []packetVector {
	ack := []wire.Ack{{Participant: 1, Next: 14_397}}
	three := []wire.Run{run(0, 14_398, 2, 1, 0, 1, 0, 2, 0)}
	return []packetVector{
		{"typical", 2, wire.Packet{Tag: 7, Seq: 9, Runs: three, Acks: ack}},
		{"held60", 2, wire.Packet{Tag: 7, Seq: 9, Runs: []wire.Run{held(0, 14_340, 60, 1, 0)}, Acks: ack}},
		{"everything", 2, wire.Packet{
			Tag: 7, Seq: 9, Echo: wire.Echo{Set: true, HeldMicros: 8000}, Runs: three, Acks: ack,
			Sums: wire.Sums{First: 9, List: []uint64{1}}, SumAck: wire.SumAck{Set: true, Next: 9},
		}},
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, v := range benchmarkPackets() {
		b.Run(v.name, func(b *testing.B) {
			b.ReportAllocs()
			out := make([]byte, 0, 1200)
			for b.Loop() {
				out, _ = v.packet.Append(out[:0], v.stride)
			}
			require.NotEmpty(b, out)
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, v := range benchmarkPackets() {
		b.Run(v.name, func(b *testing.B) {
			data, err := v.packet.Append(nil, v.stride)
			require.NoError(b, err)
			var into wire.Packet
			b.ReportAllocs()
			for b.Loop() {
				err = into.Parse(data, v.stride)
			}
			require.NoError(b, err)
		})
	}
}

func BenchmarkFitRun(b *testing.B) {
	inputs := counting(16)
	b.ReportAllocs()
	for b.Loop() {
		wire.FitRun(inputs, 2, 1000)
	}
}

// BenchmarkExchange is all that the inputs of one tick take here: how many fit, the packet
// with them, and reading it.
func BenchmarkExchange(b *testing.B) {
	for _, v := range benchmarkPackets() {
		b.Run(v.name, func(b *testing.B) {
			out := make([]byte, 0, 1200)
			var into wire.Packet
			var err error
			b.ReportAllocs()
			for b.Loop() {
				wire.FitRun(v.packet.Runs[0].Inputs, v.stride, 1000)
				out, _ = v.packet.Append(out[:0], v.stride)
				err = into.Parse(out, v.stride)
			}
			require.NoError(b, err)
			b.ReportMetric(float64(len(out)), "B/packet")
		})
	}
}
