package sim_test

import (
	"encoding/binary"
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
)

// play runs a game of two bots and shows each tick to see, before its effects are
// forgotten.
func play(seed uint64, ticks int, see func(t driftback.Tick, s *sim.State, in []sim.Input, pass *driftback.Pass)) sim.State {
	s := sim.New(seed)
	bots := [sim.Sides]sim.Bot{sim.NewBot(seed), sim.NewBot(seed + 1)}
	var pass driftback.Pass
	var in [sim.Sides]sim.Input
	for t := range driftback.Tick(ticks) {
		for side := range bots {
			in[side] = bots[side].Input(&s, side)
		}
		pass.Begin(t, nil)
		sim.Step(&s, in[:], &pass)
		if see != nil {
			see(t, &s, in[:], &pass)
		}
	}
	return s
}

// tally is what a game raised, by kind and by the side that each names.
type tally map[uint32]*[sim.Sides]int

func (c tally) add(effects []driftback.Effect) {
	for _, e := range effects {
		if c[e.Kind] == nil {
			c[e.Kind] = new([sim.Sides]int)
		}
		if side := e.Args[0]; side >= 0 && side < sim.Sides {
			c[e.Kind][side]++
		}
	}
}

// A green test over a match that never left its title screen is worthless: the
// other tests that play bots rely on this one.
func TestTheBotsReallyFight(t *testing.T) {
	for seed := range uint64(5) {
		counts, longest := tally{}, int32(0)
		did := map[sim.Action]*[sim.Sides]int{}
		play(seed, 10_000, func(_ driftback.Tick, s *sim.State, _ []sim.Input, pass *driftback.Pass) {
			require.Zero(t, pass.Dropped())
			counts.add(pass.Raised())
			counts.add(pass.RaisedConfirmed())
			for _, e := range pass.Raised() {
				if e.Kind == sim.KindHit {
					longest = max(longest, e.Args[2])
				}
			}
			for side := range s.Fighters {
				a := s.Fighters[side].Action
				if did[a] == nil {
					did[a] = new([sim.Sides]int)
				}
				did[a][side]++
			}
		})
		for kind, least := range map[uint32]int{
			sim.KindHit: 35, sim.KindBlock: 8, sim.KindWhiff: 20, sim.KindThrow: 1, sim.KindShot: 8,
			sim.KindJump: 8, sim.KindLand: 5, sim.KindFall: 10, sim.KindKO: 1, sim.KindRoundEnd: 1,
		} {
			require.NotNil(t, counts[kind], "seed %d: no %s", seed, sim.KindName(kind))
			for side, n := range counts[kind] {
				require.GreaterOrEqual(t, n, least, "seed %d, side %d: %s", seed, side, sim.KindName(kind))
			}
		}
		require.Positive(t, counts[sim.KindTech][0]+counts[sim.KindTech][1], "seed %d: no throw was broken", seed)
		require.GreaterOrEqual(t, longest, int32(3), "seed %d: no combo", seed)
		for a := sim.Stand; a < sim.Kneel; a++ {
			require.NotNil(t, did[a], "seed %d: nobody ever did %v", seed, a)
		}
		for _, a := range []sim.Action{sim.BlockLow, sim.LowKick, sim.Sweep, sim.Fireball} {
			require.Positive(t, min(did[a][0], did[a][1]), "seed %d: %v", seed, a)
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

// The same ten thousand ticks on every architecture: a change here is a change of
// the rules or of the bots, and breaks every recorded match.
func TestTheGameIsPinned(t *testing.T) {
	for seed, want := range map[uint64]struct{ inputs, middle, end uint64 }{
		0:                  {0x7b0d9775de644a1e, 0x7b8973a763a3cff0, 0x76e44cd5af830fc6},
		1:                  {0x868c073e33a7966c, 0xe9c0861461f9b111, 0x533f11a554f01421},
		2:                  {0x3d3b822d76cc445e, 0x19b8262955a7a61b, 0x786eee06cd1dc13a},
		0xfedcba9876543210: {0xc6e710930e5a4502, 0xb2065041b02b94d3, 0xae4ebb6f15fe8182},
	} {
		inputs, middle := fnv.New64a(), uint64(0)
		end := play(seed, 10_000, func(at driftback.Tick, s *sim.State, in []sim.Input, _ *driftback.Pass) {
			for _, i := range in {
				_, err := inputs.Write([]byte{byte(i.Buttons), byte(i.Buttons >> 8)})
				require.NoError(t, err)
			}
			if at == 4_999 {
				middle = sum(t, s)
			}
		})
		got := [...]uint64{inputs.Sum64(), middle, sum(t, &end)}
		require.Equal(t, [...]uint64{want.inputs, want.middle, want.end}, got, "seed %#x: {%#x, %#x, %#x}", seed, got[0], got[1], got[2])
	}
}

func TestDifferentSeedsPlayDifferentGames(t *testing.T) {
	a, b := play(1, 1000, nil), play(2, 1000, nil)
	require.NotEqual(t, sum(t, &a), sum(t, &b))
	var started sim.State
	sim.Start(1, &started)
	require.Equal(t, sim.New(1), started)
}

func TestARecordedGameReplaysFromAnyTick(t *testing.T) {
	const ticks = 2_000
	var states []sim.State
	var inputs [][sim.Sides]sim.Input
	play(3, ticks, func(_ driftback.Tick, s *sim.State, in []sim.Input, _ *driftback.Pass) {
		states = append(states, *s)
		inputs = append(inputs, [sim.Sides]sim.Input(in))
	})
	var pass driftback.Pass
	for from := 0; from < ticks-60; from += 97 {
		s := states[from]
		for at := from + 1; at <= from+60; at++ {
			pass.Begin(driftback.Tick(at), nil)
			sim.Step(&s, inputs[at][:], &pass)
			require.Equal(t, states[at], s, "tick %d run again from tick %d", at, from)
		}
	}
}

func TestABotOnlyLooks(t *testing.T) {
	s := play(4, 700, nil)
	before := s
	bot := sim.NewBot(9)
	twin := bot
	pressed := false
	for range 200 {
		in := bot.Input(&s, 1)
		require.Equal(t, in, twin.Input(&s, 1))
		require.True(t, in.Valid())
		pressed = pressed || in != sim.Input{}
	}
	require.True(t, pressed)
	require.Equal(t, before, s)
	require.Zero(t, bot.Input(&s, 2))
	require.Zero(t, bot.Input(&s, -1))
}

func TestNothingInATickAllocates(t *testing.T) {
	s := sim.New(1)
	bots := [sim.Sides]sim.Bot{sim.NewBot(1), sim.NewBot(2)}
	var pass driftback.Pass
	var in [sim.Sides]sim.Input
	require.Zero(t, testing.AllocsPerRun(3_000, func() {
		for side := range bots {
			in[side] = bots[side].Input(&s, side)
		}
		pass.Begin(0, nil)
		sim.Step(&s, in[:], &pass)
		if v := s.View(); v.Round == 0 {
			panic("no round")
		}
	}))
	require.Greater(t, s.Fighters[0].Wins+s.Fighters[1].Wins, uint8(0), "the fight never came to anything")
}

func BenchmarkStep(b *testing.B) {
	const ticks = 8_192
	var inputs [ticks][sim.Sides]sim.Input
	play(1, ticks, func(t driftback.Tick, _ *sim.State, in []sim.Input, _ *driftback.Pass) {
		inputs[t] = [sim.Sides]sim.Input(in)
	})
	s := sim.New(1)
	var pass driftback.Pass
	b.ReportAllocs()
	at := 0
	for b.Loop() {
		pass.Begin(driftback.Tick(at), nil)
		sim.Step(&s, inputs[at][:], &pass)
		if at++; at == ticks {
			at, s = 0, sim.New(1)
		}
	}
}
