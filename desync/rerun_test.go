package desync_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/desync"
	"github.com/driftback/driftback/fingerprint"
)

func TestTheTickOfAReportIsRunAgain(t *testing.T) {
	good, bad := play(t, step, nil), play(t, step, spoilt)

	// Who wrote this report did as its program does; the other one did not.
	r := reported(t, good, bad)
	require.Equal(t, driftback.Tick(6), r.Tick)
	require.True(t, r.Exact)
	require.Equal(t, []fingerprint.Difference{{Path: "Karts[1].Speed", A: "9", B: "25"}}, r.Fields)
	o, err := desync.Rerun(r, step)
	require.NoError(t, err)
	require.Equal(t, &desync.Outcome{Start: 5, End: 6, Runs: 64, Sum: o.Sum, Ours: true, TheirsKnown: true, Steady: true}, o)
	require.Contains(t, o.Text(r), "They come to what peer 0 had.")

	// And here it is the other way round.
	r = reported(t, bad, good)
	o, err = desync.Rerun(r, step)
	require.NoError(t, err)
	require.False(t, o.Ours)
	require.True(t, o.Theirs)
	require.Equal(t, []fingerprint.Difference{{Path: "Karts[1].Speed", A: "25", B: "9"}}, o.Fields)
	require.Contains(t, o.Text(r), "They come to what peer 1 had, and not to what peer 0 had: what made the difference happened at peer 0")
	require.Contains(t, o.Text(r), "Karts[1].Speed  25          9")

	// A program that is neither's.
	o, err = desync.Rerun(r, func(s *State, in []Input, pass *driftback.Pass) { step(s, in, pass); s.Odd += 100 })
	require.NoError(t, err)
	require.False(t, o.Ours || o.Theirs)
	require.Contains(t, o.Text(r), "They come to neither what peer 0 nor what peer 1 had: this program is another one than theirs.")
	r.Roots = nil
	o, err = desync.Rerun(r, step)
	require.NoError(t, err)
	require.False(t, o.TheirsKnown)
	require.Contains(t, o.Text(r), "nor what peer 1 had, as far as is known: ")
}

func TestManyTicksAreRunAgainWithPausesAndStatuses(t *testing.T) {
	good, bad := play(t, step, nil), play(t, step, spoilt)
	r := reported(t, good, bad)
	r.Start, r.Before, r.End, r.After = 0, good[0], 8, good[8]
	o, err := desync.Rerun(r, step)
	require.NoError(t, err)
	require.True(t, o.Ours)
	require.True(t, o.TheirsKnown, "as of the tick at which it was noticed")
	require.Contains(t, o.Text(r), "Ticks 0 to 7 run again here")

	// Controls: without the pause, or the statuses, it is another state.
	r.Inputs[4].Paused = false
	o, err = desync.Rerun(r, step)
	require.NoError(t, err)
	require.False(t, o.Ours)
	r.Inputs[4].Paused, r.Inputs[7].Given[1].Status = true, driftback.Playing
	o, err = desync.Rerun(r, step)
	require.NoError(t, err)
	require.Equal(t, []fingerprint.Difference{{Path: "Karts[1].Bot", A: "true", B: "false"}}, o.Fields)
}

func TestAStepThatIsNotPureIsSeen(t *testing.T) {
	r := reported(t, play(t, step, nil), play(t, step, spoilt))
	calls := 0
	for name, impure := range map[string]driftback.Step[State, Input]{
		"counts":  func(s *State, in []Input, pass *driftback.Pass) { step(s, in, pass); calls++; s.Odd = uint32(calls) },
		"chances": func(s *State, in []Input, pass *driftback.Pass) { step(s, in, pass); s.Odd = rand.Uint32() },
		"ranges": func(s *State, in []Input, pass *driftback.Pass) {
			step(s, in, pass)
			for k := range map[uint32]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true} {
				s.Odd = k
			}
		},
	} {
		o, err := desync.Rerun(r, impure)
		require.NoError(t, err)
		require.False(t, o.Steady, name)
		require.Equal(t, "Odd", o.Unsteady[0].Path)
		require.Contains(t, o.Text(r), "The runs do not come to the same: the step is not pure")
	}
	o, err := desync.Rerun(r, func(s *State, in []Input, pass *driftback.Pass) { step(s, in, pass); clear(in) })
	require.NoError(t, err)
	require.True(t, o.Steady && o.Ours, "each run has its own inputs")
}

// own is the same game with bytes of its own.
type own struct{ state *State }

var errOwn = errors.New("nothing to make it of")

func (o *own) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint32(b, uint32(o.state.Karts[0].X))
	return binary.LittleEndian.AppendUint32(b, uint32(o.state.Karts[0].Speed)), nil
}

func (o *own) UnmarshalBinary(b []byte) error {
	if len(b) != 8 {
		return errOwn
	}
	o.state = &State{}
	o.state.Karts[0].X = int32(binary.LittleEndian.Uint32(b))
	if b[7] == 0 {
		o.state.Karts[0].Speed = int32(binary.LittleEndian.Uint32(b[4:]))
	}
	return nil
}

func TestAStateWithBytesOfItsOwnIsRunAgain(t *testing.T) {
	r := reported(t, play(t, step, nil), play(t, step, spoilt))
	r.StateLayout, r.Roots, r.Fields = 0, nil, nil
	r.Before, r.After = []byte{1, 0, 0, 0, 2, 0, 0, 0}, []byte{6, 0, 0, 0, 5, 0, 0, 0}
	ownStep := func(s *own, in []Input, pass *driftback.Pass) { step(s.state, in, pass) }
	o, err := desync.Rerun(r, ownStep)
	require.NoError(t, err)
	require.True(t, o.Ours)
	r.After[4] = 9
	o, err = desync.Rerun(r, ownStep)
	require.NoError(t, err)
	require.Equal(t, []fingerprint.Difference{{Path: "byte 4", A: "0x09", B: "0x05"}}, o.Fields)

	r.Before = r.Before[:7]
	_, err = desync.Rerun(r, ownStep)
	require.ErrorIs(t, err, errOwn)
	require.ErrorIs(t, err, desync.ErrNotRun)
	r.Before = []byte{1, 0, 0, 0, 2, 0, 0, 1}
	_, err = desync.Rerun(r, ownStep)
	require.ErrorContains(t, err, "the state's UnmarshalBinary does not bring back what its AppendBinary writes: the state of tick 5 has other bytes afterwards")
}

type otherInput struct{ Buttons uint32 }

type otherState struct{ X int64 }

type pointing struct{ Next *int }

func TestWhatCannotBeRunIsSaidInASentence(t *testing.T) {
	type change = func(r *desync.Report)
	run := func(c change) error {
		r := reported(t, play(t, step, nil), play(t, step, spoilt))
		if c != nil {
			c(r)
		}
		o, err := desync.Rerun(r, step)
		if err != nil {
			require.Nil(t, o)
		}
		return err
	}
	require.NoError(t, run(nil), "the control")
	for says, c := range map[string]change{
		"the report has no state to begin with":                              func(r *desync.Report) { r.Before, r.Start = nil, 0 },
		"the report has no state to compare with":                            func(r *desync.Report) { r.After, r.End = nil, 0 },
		"the report has not the inputs of all ticks from 5 to 5":             func(r *desync.Report) { r.Inputs = r.Inputs[:5] },
		"the state of this program has other fields: its layout is":          func(r *desync.Report) { r.StateLayout++ },
		"and the report's its own bytes; use the program of build \"example": func(r *desync.Report) { r.StateLayout = 0 },
		"the input of this program has other fields: its layout is":          func(r *desync.Report) { r.InputLayout++ },
		"the state of tick 5 cannot be made of its bytes: layout: malformed": func(r *desync.Report) { r.Before = append(r.Before, 0) },
		"the input of participant 1 for tick 5: layout: malformed":           func(r *desync.Report) { r.Inputs[5].Given[1].Input = []byte{1} },
	} {
		err := run(c)
		require.ErrorIs(t, err, desync.ErrNotRun)
		require.ErrorContains(t, err, "desync: the ticks cannot be run again: ")
		require.ErrorContains(t, err, says)
	}
	require.ErrorContains(t, run(func(r *desync.Report) { r.Inputs = r.Inputs[6:] }), "the inputs of all ticks")
	require.ErrorContains(t, run(func(r *desync.Report) { r.Inputs = nil }), "the inputs of all ticks")

	r := reported(t, play(t, step, nil), play(t, step, spoilt))
	_, err := desync.Rerun(r, func(*State, []Input, *driftback.Pass) { panic("no kart") })
	require.EqualError(t, err, "desync: the ticks cannot be run again: the step panics in tick 5: no kart")
	_, err = desync.Rerun(r, func(*otherState, []Input, *driftback.Pass) {})
	require.ErrorContains(t, err, "the state of this program has other fields")
	_, err = desync.Rerun(r, func(*State, []otherInput, *driftback.Pass) {})
	require.ErrorContains(t, err, "the input of this program has other fields: its layout is")
	_, err = desync.Rerun(r, func(*pointing, []Input, *driftback.Pass) {})
	require.ErrorContains(t, err, "a state cannot be made of its bytes: it needs UnmarshalBinary beside AppendBinary")
}

// A file may come from anybody, and the game of the tests indexes by participant.
func TestAReportFromAStrangerRunsOrIsAnError(t *testing.T) {
	r := reported(t, play(t, step, nil), play(t, step, spoilt))
	r.Players = append(r.Players, 5)
	for i := range r.Inputs {
		r.Inputs[i].Given = append(r.Inputs[i].Given, desync.Given{Input: []byte{1, 0}})
	}
	r, err := desync.Parse(file(t, r))
	require.NoError(t, err)
	_, err = desync.Rerun(r, step)
	require.ErrorContains(t, err, "the step panics in tick 5: runtime error: index out of range [2]")
}

func TestManyTicksAndLargeStatesAreRunFewerTimes(t *testing.T) {
	r := reported(t, play(t, step, nil), play(t, step, spoilt))
	r.Inputs = nil
	r.Found, r.End = 2000, 2000
	for at := range driftback.Tick(2000) {
		in := given(7)
		in.Tick = at
		r.Inputs = append(r.Inputs, in)
	}
	calls := 0
	o, err := desync.Rerun(r, func(*State, []Input, *driftback.Pass) { calls++ })
	require.NoError(t, err)
	require.Equal(t, 4, o.Runs)
	require.Equal(t, 4*1995, calls)

	for _, c := range []struct{ bytes, runs int }{{0, 64}, {16 << 20, 63}, {40 << 20, 25}, {64 << 20, 15}} {
		r.End, r.Before = r.Start+1, make([]byte, c.bytes)
		require.Equal(t, c.runs, r.Runs())
	}
}
