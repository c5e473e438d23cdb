package wire_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

type packetVector struct {
	name   string
	stride int
	packet wire.Packet
}

type controlVector struct {
	name    string
	control wire.Control
}

// run makes a run of inputs, which are repeated to give the number of ticks.
func run(who driftback.Participant, first driftback.Tick, stride int, inputs ...byte) wire.Run {
	return wire.Run{Participant: who, First: first, Count: len(inputs) / stride, Inputs: inputs}
}

func held(who driftback.Participant, first driftback.Tick, ticks int, input ...byte) wire.Run {
	return wire.Run{Participant: who, First: first, Count: ticks, Inputs: bytes.Repeat(input, ticks)}
}

// entered returns a run with entries, each at a tick of the run.
func entered(r wire.Run, entries map[int]wire.Entry) wire.Run {
	r.Entries = make([]byte, r.Count)
	for at, e := range entries {
		r.Entries[at] = byte(e)
	}
	return r
}

// packetVectors are the packets under testdata, and the seeds of the fuzz tests.
func packetVectors() []packetVector {
	one := run(0, 10_000, 2, 1, 0)
	ack := wire.Ack{Participant: 1, Next: 9_996}
	var everybody wire.Packet
	for p := range driftback.Participant(driftback.MaxParticipants) {
		everybody.Runs = append(everybody.Runs, held(p, 600-driftback.Tick(p), 2, byte(p)))
		everybody.Acks = append(everybody.Acks, wire.Ack{Participant: p, Next: 590 + driftback.Tick(p)})
	}
	sums := wire.Sums{First: 70, List: []uint64{0x0123456789abcdef, 0, 1<<64 - 1}}
	list := []packetVector{
		{"an empty packet says that its sender is alive", 2, wire.Packet{}},
		{"the first packet of a match", 2, wire.Packet{Tag: 0x1234, Runs: []wire.Run{run(0, 0, 2, 0, 0)}, Acks: []wire.Ack{{Participant: 1}}}},
		{"one new input and an acknowledgement", 2, wire.Packet{Tag: 0xbeef, Seq: 513, Runs: []wire.Run{one}, Acks: []wire.Ack{ack}}},
		{"a held key", 2, wire.Packet{Tag: 0xbeef, Seq: 1, Runs: []wire.Run{held(0, 9_998, 3, 1, 0)}, Acks: []wire.Ack{ack}}},
		{"a key pressed on the newest tick", 2, wire.Packet{Tag: 0xbeef, Seq: 1, Runs: []wire.Run{run(0, 9_998, 2, 0, 0, 0, 0, 1, 0)}, Acks: []wire.Ack{ack}}},
		{"a key tapped between held ones", 1, wire.Packet{Runs: []wire.Run{run(3, 7, 1, 5, 5, 6, 7, 7, 7, 5)}}},
		{"two held keys in a row", 1, wire.Packet{Runs: []wire.Run{run(3, 7, 1, 5, 5, 6, 6, 5, 5)}}},
		{"inputs that never repeat", 3, wire.Packet{Runs: []wire.Run{run(15, 7, 3, 1, 2, 3, 1, 2, 4, 1, 2, 5, 1, 2, 3)}}},
		{"acknowledgements alone", 2, wire.Packet{Acks: []wire.Ack{{Participant: 1, Next: 100}, {Participant: 2, Next: 99}, {Participant: 9, Next: 101}}}},
		{"an echo", 2, wire.Packet{Seq: 65_535, Echo: wire.Echo{Set: true, Seq: 65_534, HeldMicros: 16_667, Lead: 6*64 + 32, Load: 9}}},
		{"an echo held as long as can be said", 2, wire.Packet{Echo: wire.Echo{Set: true, HeldMicros: 1<<32 - 1}}},
		{"an echo of a sender that is far ahead and overloaded", 2, wire.Packet{Echo: wire.Echo{Set: true, Lead: 1<<15 - 1, Load: 255}}},
		{"an echo of a sender that is far behind", 2, wire.Packet{Echo: wire.Echo{Set: true, Lead: -1 << 15}}},
		{"an echo of a sender that holds one input more than it needs", 2, wire.Packet{Echo: wire.Echo{Set: true, Lead: -wire.PaceUnit}}},
		{"fingerprints", 2, wire.Packet{Sums: sums}},
		{"fingerprints acknowledged", 2, wire.Packet{SumAck: wire.SumAck{Set: true, Next: 71}}},
		{"every part at once", 2, wire.Packet{
			Tag: 0xffff, Seq: 0xfffe, Echo: wire.Echo{Set: true, Seq: 3, HeldMicros: 5},
			Runs: []wire.Run{one, held(2, 10_003, 4, 9, 9)}, Acks: []wire.Ack{ack}, Sums: sums, SumAck: wire.SumAck{Set: true},
		}},
		{"sixteen participants", 1, everybody},
		{"past two to the thirty-first tick", 2, wire.Packet{Runs: []wire.Run{held(0, 1<<31-2, 5, 1, 0)}, Acks: []wire.Ack{{Participant: 1, Next: 1<<31 + 1}}}},
		{"the last tick there is", 1, wire.Packet{
			Runs:   []wire.Run{run(0, 1<<62-1, 1, 7)},
			Acks:   []wire.Ack{{Participant: 0, Next: 1 << 62}, {Participant: 1, Next: 0}},
			SumAck: wire.SumAck{Set: true, Next: 1 << 62},
		}},
		{"ticks as far apart as can be", 1, wire.Packet{Acks: []wire.Ack{{Participant: 0}, {Participant: 1, Next: 1 << 62}}}},
		{"the largest input", 256, wire.Packet{Runs: []wire.Run{held(0, 1, 2, bytes.Repeat([]byte{0xee}, 256)...)}}},
	}
	for _, ticks := range []int{1, 6, 7, 8, 9} {
		alike := wire.Packet{Runs: []wire.Run{held(0, 60, ticks, 8, 1)}}
		differ := wire.Packet{Runs: []wire.Run{run(0, 60, 1, counting(ticks)...)}}
		list = append(list,
			packetVector{fmt.Sprintf("one value for %d ticks", ticks), 2, alike},
			packetVector{fmt.Sprintf("%d values", ticks), 1, differ},
		)
	}
	moves := wire.Run{Participant: 2, First: 60, Count: 4, Inputs: make([]byte, 4*11)}
	copy(moves.Inputs, "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09")
	copy(moves.Inputs[11:], moves.Inputs[:11])
	copy(moves.Inputs[22:], "\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00\x0a")
	copy(moves.Inputs[33:], "\x03\x00\x00\x00\x00\x00\x00\x00\x07\x00\x0a")
	list = append(list,
		packetVector{"one byte of four changes", 4, wire.Packet{Runs: []wire.Run{run(0, 60, 4, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 2)}}},
		packetVector{"nothing is pressed", 4, wire.Packet{Runs: []wire.Run{held(0, 60, 5, 0, 0, 0, 0)}}},
		packetVector{"few bytes of eleven change", 11, wire.Packet{Runs: []wire.Run{moves}}},
		packetVector{"one byte of 256 changes, for longer than a pattern", 256, wire.Packet{Runs: []wire.Run{
			run(0, 60, 256, append(make([]byte, 256*12), bytes.Repeat(append(make([]byte, 255), 4), 2)...)...),
		}}},
		packetVector{"as short without changes", 2, wire.Packet{Runs: []wire.Run{run(0, 60, 2, 1, 0, 2, 0)}}},
		packetVector{"changes that pay for one run and not for the other", 3, wire.Packet{Runs: []wire.Run{
			run(0, 60, 3, 1, 2, 3), run(1, 60, 3, 1, 0, 0, 2, 0, 0),
		}}},
		packetVector{"acknowledgements near and far", 1, wire.Packet{
			Runs: []wire.Run{held(0, 100, 2, 1)},
			Acks: []wire.Ack{{Participant: 1, Next: 99}, {Participant: 2, Next: 100}, {Participant: 3, Next: 106}, {Participant: 4, Next: 107}},
		}},
		packetVector{"one fingerprint", 1, wire.Packet{Sums: wire.Sums{First: 63, List: []uint64{5}}}},
		packetVector{"two fingerprints up to the last index", 1, wire.Packet{Sums: wire.Sums{First: 1 << 62, List: []uint64{5, 6}}}},
	)
	half, fast := wire.EntrySpeed(4), wire.EntrySpeed(wire.MaxSpeed)
	list = append(list,
		packetVector{"a pause", 2, wire.Packet{Runs: []wire.Run{entered(one, map[int]wire.Entry{0: wire.EntryPause})}, Acks: []wire.Ack{ack}}},
		packetVector{"a pause that is not acknowledged yet", 1, wire.Packet{Runs: []wire.Run{entered(held(1, 60, 5, 3), map[int]wire.Entry{2: wire.EntryPause})}}},
		packetVector{"a relay's marks", 1, wire.Packet{
			Runs: []wire.Run{entered(held(0, 60, 3, 8), map[int]wire.Entry{1: wire.EntryLate}), entered(held(1, 60, 3, 0), map[int]wire.Entry{0: wire.EntryGone, 1: wire.EntryGone, 2: wire.EntryGone})},
		}},
		packetVector{"entries on every tick, and far into the second run", 1, wire.Packet{
			Runs: []wire.Run{
				entered(held(0, 60, 4, 3), map[int]wire.Entry{0: wire.EntryPause, 1: wire.EntryResume, 2: half, 3: fast}),
				held(1, 60, 100, 3),
				entered(held(2, 60, 2, 3), map[int]wire.Entry{1: wire.EntrySpeed(1)}),
			},
			SumAck: wire.SumAck{Set: true},
		}},
	)
	for _, ticks := range []int{33, 34, 255, 256, 257, 512} {
		list = append(list, packetVector{
			fmt.Sprintf("a key held for %d ticks", ticks), 1, wire.Packet{Runs: []wire.Run{held(0, 60, ticks, 8)}},
		})
	}
	for _, ticks := range []int{32, 33, 256} {
		list = append(list, packetVector{
			fmt.Sprintf("a stick that moves for %d ticks", ticks), 1, wire.Packet{Runs: []wire.Run{run(0, 60, 1, counting(ticks)...)}},
		})
	}
	return list
}

// counting returns n bytes, none like the one before it.
func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// controlVectors are the control messages under testdata, and the seeds of the
// fuzz test.
func controlVectors() []controlVector {
	return append([]controlVector{
		{"a hello of a spectator", wire.Hello{Match: 1, Nonce: 2}},
		{"a hello of a player", wire.Hello{
			Match: 0x0123456789abcdef, Nonce: 1<<64 - 1,
			Settings: []wire.Setting{{Name: "game", Value: "brawl 1.2"}, {Name: "input delay", Value: ""}, {Name: "ünïcode", Value: "日本"}},
			Delays:   []wire.Delay{{Participant: 0, Ticks: 2}, {Participant: 15, Ticks: wire.MaxDelayTicks}},
		}},
		{"a hello whose name begins with the one before", wire.Hello{Settings: []wire.Setting{{Name: "a"}, {Name: "a "}, {Name: "ab"}}}},
		{"a hello with the longest name and value", wire.Hello{Settings: []wire.Setting{
			{Name: strings.Repeat("n", wire.MaxName), Value: strings.Repeat("v", wire.MaxValue)},
		}}},
		{"a start", wire.Start{Digest: 1, Seed: 2, State: 3, HasState: true}},
		{"a start without a fingerprint", wire.Start{Digest: 1<<64 - 1, Seed: 1 << 63}},
		{"a finish", wire.Finish{At: 3600, Sum: 9, HasSum: true}},
		{"a finish without a fingerprint at the last tick there is", wire.Finish{At: 1 << 62}},
		{"a leave", wire.Leave{Reason: 2, Tick: 300, Text: "gone for tea"}},
		{"a leave without a word", wire.Leave{Reason: 255}},
		{"a leave with many", wire.Leave{Text: strings.Repeat("é", wire.MaxText/2)}},
		{"a disagreement", wire.Disagree{Tick: 1 << 31, Sum: 0xfeedfacecafebeef}},
		{"evidence", wire.Evidence{Tick: 504, Data: []byte{1, 0, 2}}},
		{"evidence that is all", wire.Evidence{Tick: wire.MaxTick}},
		{"evidence of the largest size", wire.Evidence{Data: []byte(strings.Repeat("e", wire.MaxEvidence))}},
		{"a message", wire.Message{Taken: 300, Data: []byte("ready?")}},
		{"a message without data", wire.Message{Taken: wire.MaxTaken}},
		{"a message of the largest size", wire.Message{Data: []byte(strings.Repeat("m", wire.MaxMessage))}},
	}, slices.Concat(viewVectors(), transferVectors(), feedVectors(), joinVectors())...)
}
