package wire_test

import (
	"bytes"
	"encoding/hex"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// unhex reads bytes written in hexadecimal with spaces.
func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

func TestAPacketIsRefusedByName(t *testing.T) {
	const header = "00 00 00 00"
	for name, c := range map[string]struct {
		stride int
		bytes  string
		want   string
	}{
		"nothing at all":                        {1, "", "byte 0: cut short"},
		"a control message":                     {1, "01 64 72 69 66 74", "does not begin as a packet does"},
		"entries and no inputs":                 {1, "c0" + header, "entries, and no inputs"},
		"entries promised and none there":       {1, "c2" + header + "20 05 01", "cut short: the header of an entry does not end"},
		"an entry cut short":                    {1, "c2" + header + "20 05 01 00", "cut short: 1 bytes are needed and 0 are left"},
		"an entry that is none":                 {1, "c2" + header + "20 05 01 00 00", "an entry of 0, and 1 to 36 are allowed"},
		"an entry there is not":                 {1, "c2" + header + "20 05 01 00 25", "an entry of 37, and 1 to 36 are allowed"},
		"an entry past the run":                 {1, "c2" + header + "20 05 01 02 01", "an entry for tick 2 of all the runs, which have 1"},
		"two entries for one tick":              {1, "c2" + header + "20 05 01 01 01 00 02", "an entry for tick 2 of all the runs, which have 1"},
		"an entry that says another follows":    {1, "c2" + header + "20 05 01 01 01", "cut short: the header of an entry does not end"},
		"an entry absurdly far":                 {1, "c2" + header + "20 05 01 ff ff ff ff ff ff ff ff ff 01 01", "the header of an entry is 18446744073709551615, and at most 16384"},
		"an entry written longer than needed":   {1, "c2" + header + "20 05 01 80 00 01", "the header of an entry is written longer than it need be"},
		"a header cut short":                    {1, "80 00 00 00", "byte 0: cut short: 5 bytes are needed and 4 are left"},
		"bytes after the end":                   {1, "80" + header + "00", "byte 5: 1 bytes follow the end"},
		"an input of no bytes":                  {0, "80" + header, "an input of 0 bytes, and 1 to 256 are allowed"},
		"an input of fewer than no bytes":       {-1, "80" + header, "an input of -1 bytes, and 1 to 256 are allowed"},
		"an input of too many bytes":            {257, "80" + header, "an input of 257 bytes, and 1 to 256 are allowed"},
		"an echo held too long":                 {1, "81" + header + "00 00 80 80 80 80 10", "the time an echo was held is 4294967296, and at most 4294967295"},
		"an echo without a time":                {1, "81" + header + "00 00", "the time an echo was held does not end"},
		"runs promised and none there":          {1, "82" + header, "byte 5: cut short: 1 bytes are needed and 0 are left"},
		"a run without a tick":                  {1, "82" + header + "20", "cut short: a tick does not end"},
		"a run without a value":                 {1, "82" + header + "20 05", "cut short: 1 bytes are needed and 0 are left"},
		"a run without groups":                  {1, "82" + header + "00 05", "cut short: the header of a group does not end"},
		"a run without a pattern":               {1, "82" + header + "e0 05", "cut short: 1 bytes are needed and 0 are left"},
		"a run cut inside an input":             {2, "82" + header + "20 05 01", "cut short: 2 bytes are needed and 1 are left"},
		"a run that goes on without end":        {1, "82" + header + "00 05 01 01", "the header of a group does not end"},
		"the same participant's run twice":      {1, "82" + header + "31 05 01 21 02 01", "participant 1 after participant 1: they must ascend"},
		"runs that descend":                     {1, "82" + header + "31 05 01 20 02 01", "participant 0 after participant 1: they must ascend"},
		"a run that says another one follows":   {1, "82" + header + "30 05 01", "byte 8: cut short"},
		"the same acknowledgement twice":        {1, "84" + header + "f1 05 01", "participant 1 after participant 1: they must ascend"},
		"a tick near to none":                   {1, "84" + header + "01", "a tick relative to the first one, and there is none"},
		"a tick that is near and does not say":  {1, "84" + header + "f0 05 e1 02", "an acknowledged tick is written longer than it need be"},
		"the tick itself, and apart":            {1, "84" + header + "f0 05 e1 00", "an acknowledged tick is written longer than it need be"},
		"a near tick past the last one":         {1, "84" + header + "f0 80 80 80 80 80 80 80 80 40 21", "a tick that is not between"},
		"a tick written longer than needed":     {1, "84" + header + "e0 85 00", "a tick is written longer than it need be"},
		"a tick of more than 64 bits":           {1, "84" + header + "e0 ff ff ff ff ff ff ff ff ff 02", "a tick does not fit 64 bits"},
		"a tick that never ends":                {1, "84" + header + "e0 ff ff ff ff ff ff ff ff ff ff ff", "a tick does not fit 64 bits"},
		"a tick past the last one":              {1, "84" + header + "e0 81 80 80 80 80 80 80 80 40", "a tick is 4611686018427387905, and at most 4611686018427387904"},
		"a tick before the first one":           {1, "84" + header + "f0 05 e1 0b", "a tick that is not between 0 and 4611686018427387904"},
		"a difference past the last tick":       {1, "84" + header + "f0 80 80 80 80 80 80 80 80 40 e1 10", "a tick that is not between"},
		"a difference that overflows upwards":   {1, "84" + header + "f0 80 80 80 80 80 80 80 80 40 e1 fe ff ff ff ff ff ff ff ff 01", "a tick that is not between"},
		"a difference that overflows downwards": {1, "84" + header + "f0 00 e1 ff ff ff ff ff ff ff ff ff 01", "a tick that is not between"},
		"a run that ends past the last tick":    {1, "82" + header + "20 80 80 80 80 80 80 80 80 40 01", "the run of participant 0 from tick 4611686018427387904 ends beyond"},
		"a run of 513 ticks in one group":       {1, "82" + header + "00 05 fe 0f 01", "a run of 513 ticks or more, and at most 512"},
		"a run of 513 ticks in two groups":      {1, "82" + header + "00 05 f8 0f 01 03 02", "a run of 513 ticks or more, and at most 512"},
		"a run of absurdly many ticks":          {1, "82" + header + "00 05 fe ff ff ff ff ff ff ff ff 01 01", "the header of a group is 18446744073709551614, and at most 2048"},
		"one input more than a packet holds":    {256, "82" + header + "10 01 fa 07" + strings.Repeat("00", 256) + "21 01" + strings.Repeat("00", 256), "the packet holds 65792 bytes of input or more, and at most 65536"},
		"two groups where one would do":         {1, "82" + header + "00 05 01 01 03 02", "two groups in a row where one would do"},
		"a held input held on by another group": {1, "82" + header + "00 05 00 01 02 01", "an input equals the one before it"},
		"a held input begun in a row":           {1, "82" + header + "00 05 05 01 02 02 02", "an input equals the one before it"},
		"equal inputs in a row":                 {1, "82" + header + "00 05 07 01 01", "an input equals the one before it"},
		"a group where a head would do":         {1, "82" + header + "00 05 12 01", "groups of 6 ticks: the inputs could be written shorter"},
		"groups where a pattern would do":       {1, "82" + header + "00 05 14 01 03 02", "groups of 8 ticks: the inputs could be written shorter"},
		"a pattern of no ticks":                 {1, "82" + header + "e0 05 00", "a pattern of 0x0 in which nothing changes"},
		"a pattern of one value":                {1, "82" + header + "e0 05 40 01", "a pattern of 0x40 in which nothing changes"},
		"a pattern whose value stays":           {1, "82" + header + "e0 05 03 01 01", "an input equals the one before it"},
		"a pattern cut short":                   {1, "82" + header + "e0 05 03 01", "cut short: 1 bytes are needed and 0 are left"},
		"changes and no inputs":                 {1, "a0" + header, "inputs as changes, and no inputs"},
		"changes that do not pay":               {2, "a2" + header + "20 05 01 07", "as changes, or are and could be without: the difference is 0 bytes"},
		"changes that would pay":                {3, "82" + header + "20 05 07 00 00", "as changes, or are and could be without: the difference is 1 bytes"},
		"a change cut short":                    {3, "a2" + header + "20 05 01", "cut short: 1 bytes are needed and 0 are left"},
		"a change without a mask":               {3, "a2" + header + "20 05", "cut short: 1 bytes are needed and 0 are left"},
		"a change to the same byte":             {3, "a2" + header + "20 05 01 00", "a byte is marked as changed and is the same"},
		"a change of a byte there is not":       {3, "a2" + header + "20 05 08 01", "a mask of 0x8 marks more than the 3 bytes there are"},
		"a change that changes nothing":         {3, "a2" + header + "e0 05 03 01 07 00", "an input equals the one before it"},
		"a block there is not":                  {9, "a2" + header + "20 05 04 01 01", "a mask of masks marks more than there are"},
		"a block that does not change":          {9, "a2" + header + "20 05 02 00", "a mask is 0 and could be left out"},
		"a change without a mask of masks":      {9, "a2" + header + "20 05", "cut short: 1 bytes are needed and 0 are left"},
		"fingerprints promised and none there":  {1, "88" + header, "twice the index of a fingerprint does not end"},
		"a list of no fingerprints":             {1, "88" + header + "01 00", "a list of 0 fingerprints, and 2 to 64 are allowed"},
		"a list of one fingerprint":             {1, "88" + header + "01 01 00 00 00 00 00 00 00 00", "a list of 1 fingerprints, and 2 to 64 are allowed"},
		"too many fingerprints":                 {1, "88" + header + "01 41" + strings.Repeat("00", 65*8), "65 fingerprints, and 2 to 64 are allowed"},
		"a fingerprint cut short":               {1, "88" + header + "00 00 00", "cut short: 8 bytes are needed and 2 are left"},
		"a first index past the last one":       {1, "88" + header + "82 80 80 80 80 80 80 80 80 01 00 00 00 00 00 00 00 00", "twice the index of a fingerprint is 9223372036854775810"},
		"an index past the last one":            {1, "90" + header + "81 80 80 80 80 80 80 80 40", "the index of the next fingerprint is 4611686018427387905"},
	} {
		t.Run(name, func(t *testing.T) {
			b := unhex(t, c.bytes)
			var p wire.Packet
			err := p.Parse(b, c.stride)
			require.ErrorIs(t, err, wire.ErrMalformed)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, 1, strings.Count(err.Error(), "wire:"))
			require.Equal(t, "packet tag 0x0000 seq 0\n", describePacket(&p, 1), "a refused packet leaves something behind")
			_, err = decodeByDocument(b, c.stride)
			require.Error(t, err, "FORMAT.md would let it pass")
		})
	}
}

func TestAPacketBeyondABoundIsNotAppended(t *testing.T) {
	full := held(0, 1, 256, make([]byte, 256)...)
	next := run(1, 1, 256, make([]byte, 256)...)
	for name, c := range map[string]struct {
		stride int
		packet wire.Packet
		want   string
	}{
		"an input of no bytes":            {0, wire.Packet{}, "an input of 0 bytes, and 1 to 256 are allowed"},
		"an input of too many bytes":      {257, wire.Packet{}, "an input of 257 bytes"},
		"a run of no ticks":               {1, wire.Packet{Runs: []wire.Run{{Participant: 3}}}, "the run of participant 3 has 0 ticks, and 1 to 512 are allowed"},
		"a run of fewer than no ticks":    {1, wire.Packet{Runs: []wire.Run{{Count: -1}}}, "the run of participant 0 has -1 ticks"},
		"a run of 513 ticks":              {1, wire.Packet{Runs: []wire.Run{held(0, 0, 513, 1)}}, "has 513 ticks, and 1 to 512 are allowed"},
		"a run with an input missing":     {2, wire.Packet{Runs: []wire.Run{{Count: 2, Inputs: []byte{1, 2, 3}}}}, "has 3 bytes of input for 2 ticks of 2 bytes"},
		"a run with an input too many":    {2, wire.Packet{Runs: []wire.Run{{Count: 1, Inputs: []byte{1, 2, 3, 4}}}}, "has 4 bytes of input for 1 ticks of 2 bytes"},
		"more input than a packet holds":  {256, wire.Packet{Runs: []wire.Run{full, next}}, "the runs up to participant 1's hold 65792 bytes of input, and at most 65536 are allowed: split the packet"},
		"a run before the first tick":     {1, wire.Packet{Runs: []wire.Run{run(0, -1, 1, 1)}}, "tick -1 is not between 0 and 4611686018427387904"},
		"a run past the last tick":        {1, wire.Packet{Runs: []wire.Run{run(0, wire.MaxTick, 1, 1)}}, "from tick 4611686018427387904 ends beyond"},
		"a run at the largest tick of Go": {1, wire.Packet{Runs: []wire.Run{run(0, 1<<63-1, 1, 1)}}, "ends beyond"},
		"fewer entries than ticks":        {1, wire.Packet{Runs: []wire.Run{{Count: 2, Inputs: []byte{1, 2}, Entries: []byte{1}}}}, "the run of participant 0 has 1 entries for 2 ticks"},
		"an entry there is not":           {1, wire.Packet{Runs: []wire.Run{{First: 9, Count: 2, Inputs: []byte{1, 2}, Entries: []byte{0, 37}}}}, "the entry of participant 0 for tick 10 is 37, and at most 36 is allowed"},
		"a participant there cannot be":   {1, wire.Packet{Runs: []wire.Run{run(16, 1, 1, 1)}}, "participant 16, and at most 15 is allowed"},
		"a participant twice":             {1, wire.Packet{Runs: []wire.Run{run(2, 1, 1, 1), run(2, 2, 1, 1)}}, "participant 2 after participant 2: they must ascend"},
		"acknowledgements that descend":   {1, wire.Packet{Acks: []wire.Ack{{Participant: 2}, {Participant: 1}}}, "participant 1 after participant 2: they must ascend"},
		"an acknowledgement too far":      {1, wire.Packet{Acks: []wire.Ack{{Next: wire.MaxTick + 1}}}, "tick 4611686018427387905 is not between"},
		"too many fingerprints":           {1, wire.Packet{Sums: wire.Sums{List: make([]uint64, 65)}}, "65 fingerprints, and at most 64 are allowed: split the packet"},
		"an index too far":                {1, wire.Packet{SumAck: wire.SumAck{Set: true, Next: 1<<62 + 1}}, "the index of the next fingerprint is 4611686018427387905"},
		"a first index too far":           {1, wire.Packet{Sums: wire.Sums{First: 1<<62 + 1, List: []uint64{1}}}, "the index of a fingerprint is 4611686018427387905"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := c.packet.Append([]byte("before"), c.stride)
			require.ErrorIs(t, err, wire.ErrUnsendable)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, 1, strings.Count(err.Error(), "wire:"))
			require.Equal(t, "before", string(b))
		})
	}
	// Each half of what is too much goes through.
	for _, r := range []wire.Run{full, next} {
		p := wire.Packet{Runs: []wire.Run{r}}
		roundTrip(t, &p, 256)
	}
}

// roundTrip appends and parses a packet and returns its bytes. What both decoders
// read must be the packet.
func roundTrip(t require.TestingT, p *wire.Packet, stride int) []byte {
	b, err := p.Append([]byte("before"), stride)
	require.NoError(t, err)
	require.Equal(t, "before", string(b[:6]))
	b = b[6:]
	want := describePacket(p, stride)
	got, again, err := decodeByPackage(b, stride)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, b, again)
	document, err := decodeByDocument(b, stride)
	require.NoError(t, err)
	require.Equal(t, want, document)
	return b
}

func anyTick(t *rapid.T, most driftback.Tick, what string) driftback.Tick {
	near := rapid.SampledFrom([]driftback.Tick{0, 100, 1 << 7, 1 << 14, 1<<31 - 1, 1 << 32, 1 << 53, most}).Draw(t, what+" is near")
	off := rapid.Int64Range(-300, 300).Draw(t, what+" is off by")
	return min(max(near+driftback.Tick(off), 0), most)
}

// anyInputs draws inputs that are now held and now change, in one byte or in all.
func anyInputs(t *rapid.T, ticks, stride int) []byte {
	values := rapid.IntRange(1, 4).Draw(t, "distinct inputs")
	hold := rapid.IntRange(1, 40).Draw(t, "held for")
	sparse := rapid.Bool().Draw(t, "sparse")
	in := make([]byte, stride)
	b := make([]byte, 0, ticks*stride)
	for len(b) < ticks*stride {
		v := byte(rapid.IntRange(0, values).Draw(t, "input"))
		if sparse {
			in[rapid.IntRange(0, stride-1).Draw(t, "byte")] = v
		} else {
			in = bytes.Repeat([]byte{v}, stride)
		}
		for range min(rapid.IntRange(1, hold).Draw(t, "ticks"), ticks-len(b)/stride) {
			b = append(b, in...)
		}
	}
	return b
}

func anyPacket(t *rapid.T, stride int) wire.Packet {
	p := wire.Packet{Tag: rapid.Uint16().Draw(t, "tag"), Seq: rapid.Uint16().Draw(t, "seq")}
	if rapid.Bool().Draw(t, "echo") {
		p.Echo = wire.Echo{Set: true, Seq: rapid.Uint16().Draw(t, "echo seq"), HeldMicros: rapid.Uint32().Draw(t, "held"), Lead: rapid.Int16().Draw(t, "lead"), Load: rapid.Byte().Draw(t, "load")}
	}
	left := wire.MaxDecoded / stride
	for who := range driftback.Participant(driftback.MaxParticipants) {
		if rapid.IntRange(0, 3).Draw(t, "runs") == 0 && left > 0 {
			ticks := rapid.IntRange(1, min(wire.MaxRunTicks, left, 300)).Draw(t, "count")
			left -= ticks
			first := anyTick(t, wire.MaxTick-driftback.Tick(ticks), "first")
			r := run(who, first, stride, anyInputs(t, ticks, stride)...)
			if rapid.IntRange(0, 2).Draw(t, "entries") == 0 {
				r.Entries = make([]byte, ticks)
				for range rapid.IntRange(0, 5).Draw(t, "entries of the run") {
					r.Entries[rapid.IntRange(0, ticks-1).Draw(t, "entry at")] = rapid.ByteMax(byte(wire.EntryGone)).Draw(t, "entry")
				}
			}
			p.Runs = append(p.Runs, r)
		}
		if rapid.IntRange(0, 3).Draw(t, "acks") == 0 {
			p.Acks = append(p.Acks, wire.Ack{Participant: who, Next: anyTick(t, wire.MaxTick, "next")})
		}
	}
	if n := rapid.IntRange(-60, wire.MaxSums).Draw(t, "sums"); n > 0 {
		p.Sums = wire.Sums{First: uint64(anyTick(t, wire.MaxTick, "index")), List: make([]uint64, n)}
		p.Sums.List[n-1] = rapid.Uint64().Draw(t, "sum")
	}
	if rapid.Bool().Draw(t, "sum ack") {
		p.SumAck = wire.SumAck{Set: true, Next: uint64(anyTick(t, wire.MaxTick, "sum next"))}
	}
	return p
}

var strides = []int{1, 2, 3, 4, 8, 9, 31, 64, 65, 255, 256}

func TestAnyPacketComesBackAsItWent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stride := rapid.SampledFrom(strides).Draw(t, "stride")
		p := anyPacket(t, stride)
		roundTrip(t, &p, stride)
	})
}

func TestASizeThatOverflowsAByteComesBack(t *testing.T) {
	for _, ticks := range []int{1, 2, 31, 32, 33, 34, 127, 128, 129, 254, 255, 256, 257, 258, 511, 512} {
		still := wire.Packet{Runs: []wire.Run{held(0, 1, ticks, 9)}}
		moving := wire.Packet{Runs: []wire.Run{run(0, 1, 1, counting(ticks)...)}}
		roundTrip(t, &still, 1)
		roundTrip(t, &moving, 1)
	}
	for _, n := range []int{1, 63, 64} {
		roundTrip(t, &wire.Packet{Sums: wire.Sums{List: make([]uint64, n)}}, 1)
	}
}

func TestTheSizeOfATypicalPacket(t *testing.T) {
	const tick = 60 * 60 * 4 // four minutes into a match
	ack := []wire.Ack{{Participant: 1, Next: tick - 3}}
	for name, c := range map[string]struct {
		packet wire.Packet
		size   int
	}{
		"nothing to say":                     {wire.Packet{}, 5},
		"one new input":                      {wire.Packet{Runs: []wire.Run{run(0, tick, 2, 1, 0)}, Acks: ack}, 12},
		"three unacknowledged, held":         {wire.Packet{Runs: []wire.Run{held(0, tick-2, 3, 1, 0)}, Acks: ack}, 12},
		"three unacknowledged, one new":      {wire.Packet{Runs: []wire.Run{run(0, tick-2, 2, 1, 0, 1, 0, 2, 0)}, Acks: ack}, 15},
		"the same in the fifth hour":         {wire.Packet{Runs: []wire.Run{run(0, 5*60*60*60, 2, 1, 0, 1, 0, 2, 0)}, Acks: []wire.Ack{{Participant: 1, Next: 5 * 60 * 60 * 60}}}, 15},
		"a key held for sixty ticks":         {wire.Packet{Runs: []wire.Run{held(0, tick-59, 60, 1, 0)}, Acks: ack}, 14},
		"sixty ticks of a stick that moves":  {wire.Packet{Runs: []wire.Run{run(0, tick-59, 2, counting(120)...)}, Acks: ack}, 132},
		"three other players acknowledged":   {wire.Packet{Runs: []wire.Run{held(0, tick, 3, 1, 0)}, Acks: []wire.Ack{{Participant: 1, Next: tick - 3}, {Participant: 2, Next: tick - 4}, {Participant: 3, Next: tick}}}, 15},
		"a round trip and a fingerprint too": {wire.Packet{Runs: []wire.Run{held(0, tick, 3, 1, 0)}, Acks: ack, Echo: wire.Echo{Set: true, HeldMicros: 8_000}, Sums: wire.Sums{First: 200, List: []uint64{1}}, SumAck: wire.SumAck{Set: true, Next: 200}}, 31},
	} {
		t.Run(name, func(t *testing.T) { require.Len(t, roundTrip(t, &c.packet, 2), c.size) })
	}
}

func TestTheStatedSizesAreTheLargest(t *testing.T) {
	size := func(p wire.Packet) int { return len(roundTrip(t, &p, 1)) }
	require.Equal(t, wire.HeaderSize, size(wire.Packet{}))
	require.Equal(t, wire.HeaderSize+wire.MaxEchoSize, size(wire.Packet{Echo: wire.Echo{Set: true, HeldMicros: 1<<32 - 1}}))
	near, far := wire.Ack{Participant: 0}, wire.Ack{Participant: 1, Next: wire.MaxTick}
	require.Equal(t, wire.MaxAckSize, size(wire.Packet{Acks: []wire.Ack{near, far}})-size(wire.Packet{Acks: []wire.Ack{near}}))
	first, second := held(0, 0, 2, 1), held(1, wire.MaxTick-2, 2, 1)
	// Two ticks before the last the difference still takes nine bytes.
	require.Equal(t, wire.MaxRunHead-1+1, size(wire.Packet{Runs: []wire.Run{first, second}})-size(wire.Packet{Runs: []wire.Run{first}}))
	sums := wire.Sums{First: uint64(wire.MaxTick), List: make([]uint64, wire.MaxSums)}
	require.Equal(t, wire.HeaderSize+wire.MaxSumsHead+wire.MaxSums*wire.SumSize, size(wire.Packet{Sums: sums}))
	var all wire.Packet
	for who := range driftback.Participant(driftback.MaxParticipants) {
		all.Runs = append(all.Runs, held(who, 0, wire.MaxRunTicks, 1))
	}
	without := size(all)
	all.Runs[15] = entered(all.Runs[15], map[int]wire.Entry{wire.MaxRunTicks - 1: wire.EntryPause})
	require.Equal(t, wire.MaxEntrySize, size(all)-without)
	all.Runs[15] = entered(all.Runs[15], nil)
	require.Equal(t, without, size(all), "entries that are none cost nothing")
	require.Equal(t, wire.HeaderSize+wire.MaxSumAckSize, size(wire.Packet{SumAck: wire.SumAck{Set: true, Next: uint64(wire.MaxTick)}}))
}

func TestTheTagIsReadWithoutTheRest(t *testing.T) {
	b, err := (&wire.Packet{Tag: 0xabcd, Runs: []wire.Run{run(0, 1, 2, 1, 2)}}).Append(nil, 2)
	require.NoError(t, err)
	tag, ok := wire.TagOf(b)
	require.True(t, ok)
	require.EqualValues(t, 0xabcd, tag)
	_, ok = wire.TagOf(b[:4])
	require.False(t, ok)
	_, ok = wire.TagOf([]byte{1, 2, 3, 4, 5, 6})
	require.False(t, ok)
	_, ok = wire.TagOf(nil)
	require.False(t, ok)
}

func TestAParsedPacketOutlivesTheBytesAndNotTheNextParse(t *testing.T) {
	b := roundTrip(t, &wire.Packet{
		Runs: []wire.Run{run(0, 1, 1, 1, 2), held(1, 1, 300, 7)}, Sums: wire.Sums{First: 9, List: []uint64{1}},
	}, 1)
	var p wire.Packet
	require.NoError(t, p.Parse(b, 1))
	require.NoError(t, p.Parse(b, 1)) // into slices that are long enough by now
	clear(b)
	require.Equal(t, []byte{1, 2}, p.Runs[0].Inputs)
	require.Equal(t, bytes.Repeat([]byte{7}, 300), p.Runs[1].Inputs)
	// An append to one run's inputs does not reach into the next one's.
	_ = append(p.Runs[0].Inputs, 99)
	require.EqualValues(t, 7, p.Runs[1].Inputs[0])

	require.NoError(t, p.Parse(roundTrip(t, &wire.Packet{Seq: 3}, 1), 1))
	require.Empty(t, p.Runs)
	require.EqualValues(t, 3, p.Seq)
	require.Zero(t, p.Sums.First)
}

func TestAWarmPacketDoesNotAllocate(t *testing.T) {
	for _, v := range packetVectors() {
		b, err := v.packet.Append(nil, v.stride)
		require.NoError(t, err)
		var p wire.Packet
		require.NoError(t, p.Parse(b, v.stride))
		failed := false
		require.Zero(t, testing.AllocsPerRun(20, func() {
			out, err := v.packet.Append(b[:0], v.stride)
			failed = failed || err != nil || len(out) != len(b) || p.Parse(b, v.stride) != nil
		}), v.name)
		require.False(t, failed, v.name)
	}
}

// Sixteen runs of few bytes claim sixteen times more input than a packet may
// hold. What a fresh packet allocates before it refuses is bounded all the same.
func TestAFewBytesCannotMakeALargeAllocation(t *testing.T) {
	const stride = 128
	b := []byte{0x82, 0, 0, 0, 0}
	for who := range byte(16) {
		b = append(b, who|0x10, 0, 0xfa, 0x0f) // 512 ticks of one input
		b = append(b, bytes.Repeat([]byte{who}, stride)...)
	}
	var before, after runtime.MemStats
	const times = 20
	runtime.ReadMemStats(&before)
	for range times {
		require.ErrorContains(t, new(wire.Packet).Parse(b, stride), "the packet holds 131072 bytes of input or more, and at most 65536")
	}
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/times, uint64(8*wire.MaxDecoded))
}
