package sim_test

import (
	"encoding/binary"
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/racer/sim"
	"github.com/driftback/driftback/rng"
)

// play runs a game of bots, whose buttons come in as players' do, and shows each tick to
// see, before its effects are forgotten.
func play(seed uint64, karts, ticks int, see func(t driftback.Tick, s *sim.State, in []sim.Input, pass *driftback.Pass)) sim.State {
	s := sim.New(seed)
	var pass driftback.Pass
	in, playing := make([]sim.Input, karts), make([]driftback.Status, karts)
	for t := range driftback.Tick(ticks) {
		for p := range in {
			in[p] = sim.Drive(&s, p)
		}
		pass.Begin(t, playing)
		sim.Step(&s, in, &pass)
		if see != nil {
			see(t, &s, in, &pass)
		}
	}
	return s
}

// A green test over karts that never left the grid is worthless: the other tests that
// play bots rely on this one.
func TestTheBotsReallyRace(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for _, karts := range []int{2, 4, 8} {
		for seed := range seeds {
			counts := map[uint32]int{}
			items := map[int32]int{}
			play(seed, karts, 12_000, func(_ driftback.Tick, s *sim.State, _ []sim.Input, pass *driftback.Pass) {
				require.Zero(t, pass.Dropped())
				for _, e := range append(pass.Raised(), pass.RaisedConfirmed()...) {
					counts[e.Kind]++
					switch e.Kind {
					case sim.KindPickUp:
						items[e.Args[1]]++
					case sim.KindFinish:
						require.InDelta(t, 2900, e.Args[2], 500, "a race takes about 48 s")
					}
				}
			})
			for kind, least := range map[uint32]int{
				sim.KindCount: 12, sim.KindGo: 4, sim.KindBoost: 4 * karts, sim.KindPickUp: 15 * karts, sim.KindOil: 2 * karts,
				sim.KindPulse: 1, sim.KindSpin: karts, sim.KindLap: 9 * karts, sim.KindFinish: 3 * karts, sim.KindRaceEnd: 3,
			} {
				require.GreaterOrEqual(t, counts[kind], least, "%d karts, seed %d: %s", karts, seed, sim.KindName(kind))
			}
			require.Len(t, items, 3, "%d karts, seed %d: every item is found", karts, seed)
			if karts == 8 {
				require.GreaterOrEqual(t, counts[sim.KindBump], 10)
				require.GreaterOrEqual(t, counts[sim.KindWall], 3)
			}
		}
	}
}

// sum is FNV-1a over the state's fields in order, each little-endian, written here
// so that a fault in the engine's own fingerprint cannot hide.
func sum(t testing.TB, s *sim.State) uint64 {
	t.Helper()
	b, err := binary.Append(nil, binary.LittleEndian, s)
	require.NoError(t, err)
	h := fnv.New64a()
	_, err = h.Write(b)
	require.NoError(t, err)
	return h.Sum64()
}

// scripted returns what a driver holds who follows no bot: changes of mind from a seed,
// each of them held for a while.
func scripted(seed uint64, p int, t driftback.Tick) sim.Input {
	r := rng.New(seed, uint64(p))
	r.Seed(r.Uint64(), r.Uint64()+uint64(t)/uint64(10+3*p))
	in := sim.Input{Buttons: sim.Throttle}
	if r.Chance(1, 8) {
		in.Buttons = sim.Brake
	}
	in.Buttons |= [...]uint16{0, 0, sim.Left, sim.Right, sim.Left | sim.Slide, sim.Right | sim.Slide}[r.IntN(6)]
	if r.Chance(1, 5) {
		in.Buttons |= sim.Use
	}
	return in
}

// A scripted race on every architecture: three who drive well, one who is replaced half
// way, one who leaves, one who comes late, and two who blunder about. A change here is a
// change of the rules or of the bot, and breaks every recorded match.
func TestARaceIsPinned(t *testing.T) {
	for seed, want := range map[uint64]struct{ middle, end uint64 }{
		0:                  {0xc3b7f2ead2e47c99, 0xa1490844621fbf6c},
		1:                  {0x2503e55a3f20b53, 0x272b42f65118c9eb},
		0xfedcba9876543210: {0x3e8c1325050a2911, 0x453769db68402e1c},
	} {
		s := sim.New(seed)
		var pass driftback.Pass
		var in [sim.MaxKarts]sim.Input
		var statuses [sim.MaxKarts]driftback.Status
		var middle uint64
		finished := 0
		for at := range driftback.Tick(6_000) {
			for p := range in {
				in[p] = sim.Drive(&s, p)
				if p >= 6 {
					in[p] = scripted(seed, p, at)
				}
			}
			statuses[3], statuses[4], statuses[5] = driftback.Playing, driftback.Playing, driftback.Absent
			if at >= 1_500 {
				statuses[3], statuses[4] = driftback.Replaced, driftback.Absent
				in[3] = sim.Input{}
			}
			if at >= 700 {
				statuses[5] = driftback.Playing
			}
			pass.Begin(at, statuses[:])
			sim.Step(&s, in[:], &pass)
			for _, e := range pass.RaisedConfirmed() {
				if e.Kind == sim.KindFinish {
					finished++
				}
			}
			if at == 2_999 {
				middle = sum(t, &s)
			}
		}
		require.GreaterOrEqual(t, finished, 4, "the control: a race was finished")
		got := [...]uint64{middle, sum(t, &s)}
		require.Equal(t, [...]uint64{want.middle, want.end}, got, "seed %#x: {%#x, %#x}", seed, got[0], got[1])
	}
}

func TestDifferentSeedsPlayDifferentGames(t *testing.T) {
	a, b := play(1, 4, 1000, nil), play(2, 4, 1000, nil)
	require.NotEqual(t, sum(t, &a), sum(t, &b))
	var started sim.State
	sim.Start(1, &started)
	require.Equal(t, sim.New(1), started)
}

func TestABotOnlyLooks(t *testing.T) {
	s := play(4, 4, 700, nil)
	before := s
	for p := range 4 {
		require.True(t, sim.Drive(&s, p).Valid())
		require.NotZero(t, sim.Drive(&s, p))
	}
	require.Equal(t, before, s)
	for _, p := range []int{-1, 4, sim.MaxKarts} {
		require.Zero(t, sim.Drive(&s, p), "nobody is there")
	}
}

func TestNothingInATickAllocates(t *testing.T) {
	s := sim.New(1)
	var pass driftback.Pass
	var in [sim.MaxKarts]sim.Input
	var statuses [sim.MaxKarts]driftback.Status
	require.Zero(t, testing.AllocsPerRun(3_000, func() {
		for p := range in {
			in[p] = sim.Drive(&s, p)
		}
		pass.Begin(0, statuses[:])
		sim.Step(&s, in[:], &pass)
		if v := s.View(); v.Race == 0 {
			panic("no race")
		}
	}))
	require.Positive(t, s.Karts[0].Passed, "the race never came to anything")
}

func BenchmarkStep(b *testing.B) {
	var inputs [4_096][sim.MaxKarts]sim.Input
	play(1, sim.MaxKarts, len(inputs), func(t driftback.Tick, _ *sim.State, in []sim.Input, _ *driftback.Pass) {
		inputs[t] = [sim.MaxKarts]sim.Input(in)
	})
	s := sim.New(1)
	var pass driftback.Pass
	var statuses [sim.MaxKarts]driftback.Status
	b.ReportAllocs()
	at := 0
	for b.Loop() {
		pass.Begin(driftback.Tick(at), statuses[:])
		sim.Step(&s, inputs[at][:], &pass)
		if at++; at == len(inputs) {
			at, s = 0, sim.New(1)
		}
	}
}
