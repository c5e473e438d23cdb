package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/desync"
	fightersim "github.com/driftback/driftback/examples/fighter/sim"
	racersim "github.com/driftback/driftback/examples/racer/sim"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/simtest"
)

// reported writes the report of a peer whose state, after a tick with neutral inputs, spoil has changed.
func reported[S any, I comparable](t *testing.T, game string, start S, step driftback.Step[S, I], spoil func(s *S)) string {
	states, err := layout.Of[S]()
	require.NoError(t, err)
	inputs, err := layout.OfInput[I]()
	require.NoError(t, err)
	h, err := fingerprint.New[S]()
	require.NoError(t, err)
	const tick = 500
	after := start
	var pass driftback.Pass
	pass.Begin(tick, make([]driftback.Status, 2))
	step(&after, make([]I, 2), &pass)
	other := after
	spoil(&after)
	var none I
	given := desync.Given{Input: inputs.Append(nil, &none)}
	r := &desync.Report{
		Game: game, Platform: desync.Platform(), Peer: 1, Players: []driftback.Peer{0, 1}, Agreed: tick, Found: tick + 1, Tick: tick + 1, Exact: true,
		Ours: h.Sum(&after), Theirs: fingerprint.Sum(xxh3.Hash(states.Append(nil, &other))), At: tick + 1, Compared: true,
		OursSize: states.Size(), TheirsSize: states.Size(), Fields: h.Diff(nil, &after, &other),
		InputSize: inputs.Size(), InputLayout: inputs.Hash(), StateLayout: states.Hash(),
		Inputs: []desync.Inputs{{Tick: tick, Speed: 8, Given: []desync.Given{given, given}}},
		Start:  tick, End: tick + 1, Before: states.Append(nil, &start), After: states.Append(nil, &after),
	}
	b, err := r.Append(nil)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "match.desync")
	require.NoError(t, os.WriteFile(name, b, 0o644))
	return name
}

func TestReportsOfTheEnginesOwnGamesAreRunAgainInAnotherProcess(t *testing.T) {
	for field, file := range map[string]string{
		"Fighters[1].Stun": reported(t, "fighter, to tick 600", fightersim.New(1), fightersim.Step, func(s *fightersim.State) { s.Fighters[1].Stun ^= 1 }),
		"Karts[1].Charge":  reported(t, "racer, to the end", racersim.New(1), racersim.Step, func(s *racersim.State) { s.Karts[1].Charge ^= 1 }),
		"Digest":           reported(t, "witness", simtest.WitnessState{}, simtest.Witness().Step, func(s *simtest.WitnessState) { s.Digest ^= 1 }),
	} {
		code, out, errs := run(t, "desync", file)
		require.Equal(t, 1, code, errs)
		require.Empty(t, errs)
		require.Contains(t, out, "They come to what peer 1 had, and not to what peer 0 had", field)
		require.Contains(t, out, "\n  "+field+" ")
		require.Contains(t, out, "Tick 500 is where they part")
	}
	untouched := reported(t, "racer", racersim.New(1), racersim.Step, func(*racersim.State) {})
	code, out, errs := run(t, "desync", untouched, "-json")
	require.Zero(t, code, errs)
	require.Contains(t, out, `"ours":true`)

	code, out, errs = run(t, "desync", reported(t, "chess", racersim.New(1), racersim.Step, func(*racersim.State) {}))
	require.Zero(t, code, errs)
	require.Contains(t, out, `does not know the game "chess" (it knows fighter, racer and witness)`)
	code, _, errs = run(t, "desync")
	require.Equal(t, 2, code)
	require.Equal(t, "driftback: driftback desync opens one file, and was given 0.\n", errs)
}

func TestTheUsageOfDesyncIsWhatIsTyped(t *testing.T) {
	require.Equal(t, "driftback desync FILE\ndriftback desync FILE -json", desyncCommand().UsageText)
}
