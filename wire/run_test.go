package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/wire"
)

// sizeOfInputs is what the inputs of a run take in a packet, its head aside.
func sizeOfInputs(t require.TestingT, inputs []byte, stride int) int {
	// A participant and a tick below 128 take two bytes.
	b, err := (&wire.Packet{Runs: []wire.Run{run(0, 1, stride, inputs...)}}).Append(nil, stride)
	require.NoError(t, err)
	return len(b) - wire.HeaderSize - 2
}

func TestFitRunFitsAsManyAsCanBe(t *testing.T) {
	some, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		stride := rapid.SampledFrom(strides).Draw(t, "stride")
		most := min(wire.MaxRunTicks, wire.MaxDecoded/stride)
		have := rapid.IntRange(0, min(most+5, 530)).Draw(t, "have")
		inputs := anyInputs(t, have, stride)
		budget := rapid.IntRange(-10, 1200).Draw(t, "budget")
		n := wire.FitRun(inputs, stride, budget)
		require.LessOrEqual(t, n, min(have, most))
		if n > 0 {
			require.LessOrEqual(t, wire.MaxRunHead+sizeOfInputs(t, inputs[:n*stride], stride), budget)
		}
		if n < min(have, most) {
			require.Greater(t, wire.MaxRunHead+sizeOfInputs(t, inputs[:(n+1)*stride], stride), budget)
			some++
		} else {
			all++
		}
	})
	require.NotZero(t, some, "no budget was ever too small")
	require.NotZero(t, all, "no budget was ever large enough")
}

func TestOneMoreInputNeverMakesARunShorter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stride := rapid.SampledFrom(strides[:4]).Draw(t, "stride")
		inputs := anyInputs(t, rapid.IntRange(1, 80).Draw(t, "ticks"), stride)
		size := 0
		for n := stride; n <= len(inputs); n += stride {
			next := sizeOfInputs(t, inputs[:n], stride)
			require.GreaterOrEqual(t, next, size)
			size = next
		}
	})
}

func TestNoRunIsLargerThanStated(t *testing.T) {
	largest := 0.0
	rapid.Check(t, func(t *rapid.T) {
		stride := rapid.SampledFrom(strides).Draw(t, "stride")
		// With the run beside it, no more than a packet may hold.
		ticks := rapid.IntRange(1, min(200, wire.MaxDecoded/stride-61)).Draw(t, "ticks")
		inputs := anyInputs(t, ticks, stride)
		size := wire.MaxRunHead + sizeOfInputs(t, inputs, stride)
		// Beside another run, of two values that change one byte each, it may have to be
		// written in the way that is worse for it.
		beside := held(1, 1, 1, make([]byte, stride)...)
		for range 60 {
			beside.Inputs = append(beside.Inputs, make([]byte, stride)...)
			beside.Inputs[len(beside.Inputs)-1] = byte(len(beside.Inputs) / stride)
			beside.Count++
		}
		alone := wire.Packet{Runs: []wire.Run{beside}}
		both := wire.Packet{Runs: []wire.Run{run(0, 1, stride, inputs...), beside}}
		more := len(roundTrip(t, &both, stride)) - len(roundTrip(t, &alone, stride))
		most := wire.MaxRunSize(ticks, stride)
		require.LessOrEqual(t, size, most)
		require.LessOrEqual(t, more+wire.MaxRunHead-2, most)
		largest = max(largest, float64(size)/float64(most))
	})
	// The control, which must not be left to chance: inputs that have nothing in common.
	worst := make([]byte, 200*strides[len(strides)-1])
	for i, x := 0, uint64(1); i < len(worst); i++ {
		x = x*6364136223846793005 + 1442695040888963407
		worst[i] = byte(x >> 56)
	}
	stride := strides[len(strides)-1]
	size := wire.MaxRunHead + sizeOfInputs(t, worst, stride)
	require.LessOrEqual(t, size, wire.MaxRunSize(200, stride))
	largest = max(largest, float64(size)/float64(wire.MaxRunSize(200, stride)))
	require.Greater(t, largest, 0.8, "no run came near it")
}

func TestFitRunAtItsEdges(t *testing.T) {
	for name, c := range map[string]struct {
		inputs               []byte
		stride, budget, want int
	}{
		"no inputs":                            {nil, 1, 1000, 0},
		"no budget":                            {[]byte{1, 2}, 1, 0, 0},
		"a budget below none":                  {[]byte{1, 2}, 1, -1, 0},
		"no room for one":                      {[]byte{1, 2}, 1, wire.MaxRunHead, 0},
		"room for one":                         {[]byte{1, 2}, 1, wire.MaxRunHead + 1, 1},
		"room for two":                         {[]byte{1, 2, 3}, 1, wire.MaxRunHead + 3, 2},
		"room for six of a held one":           {make([]byte, 33), 1, wire.MaxRunHead + 1, 6},
		"room for any number of a held one":    {make([]byte, 33), 1, wire.MaxRunHead + 2, 33},
		"room for a change and not for both":   {[]byte{1, 2, 3, 4, 1, 2, 3, 5}, 4, wire.MaxRunHead + 1 + 4 + 2, 1},
		"room for both, one of them a change":  {[]byte{0, 0, 3, 4, 0, 0, 3, 5}, 4, wire.MaxRunHead + 1 + 3 + 2, 2},
		"one more takes a longer header":       {make([]byte, 40), 1, wire.MaxRunHead + 2, 33},
		"a run holds 512 ticks":                {make([]byte, 1000), 1, 1 << 20, wire.MaxRunTicks},
		"a packet holds 65,536 bytes of input": {make([]byte, 512*256), 256, 1 << 20, 256},
		"half an input is none":                {[]byte{1, 2, 3}, 2, 1000, 1},
		"an input of no bytes":                 {[]byte{1}, 0, 1000, 0},
		"an input of too many bytes":           {make([]byte, 257), 257, 1000, 0},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, wire.FitRun(c.inputs, c.stride, c.budget)) })
	}
}

// A sender with far more unacknowledged input than a datagram holds cuts it into
// packets, oldest first, and a receiver gets all of it.
func TestALongHistoryCrossesInPacketsOfABoundedSize(t *testing.T) {
	const stride, datagram = 2, 64
	history := counting(400)
	var got []byte
	packets := 0
	for rest := history; len(rest) > 0; packets++ {
		n := wire.FitRun(rest, stride, datagram-wire.HeaderSize)
		require.NotZero(t, n)
		b, err := (&wire.Packet{Runs: []wire.Run{run(3, 1<<40, stride, rest[:n*stride]...)}}).Append(nil, stride)
		require.NoError(t, err)
		require.LessOrEqual(t, len(b), datagram)
		var p wire.Packet
		require.NoError(t, p.Parse(b, stride))
		got = append(got, p.Runs[0].Inputs...)
		rest = rest[n*stride:]
	}
	require.Equal(t, history, got)
	require.Greater(t, packets, 5)
}

func TestFitRunDoesNotAllocate(t *testing.T) {
	inputs := counting(512)
	require.Zero(t, testing.AllocsPerRun(20, func() { wire.FitRun(inputs, 2, 300) }))
}
