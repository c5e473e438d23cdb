package soak_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/simtest/soak"
	"github.com/driftback/driftback/snapshot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	state = simtest.WitnessState
	input = simtest.WitnessInput
	game  = simtest.Game[state, input]
)

// cursed is the mark of a match that goes wrong; nobody plays that participant.
const cursed = driftback.MaxParticipants - 1

// broken is a game whose snapshots forget a field in about every third match, as follows
// from its seed.
func broken() game {
	g := simtest.Witness()
	start := g.Start
	g.Start = func(seed uint64, s *state) {
		start(seed, s)
		if seed%3 == 0 {
			s.Held[cursed] = 1
		}
	}
	g.Save = func(slots int) (snapshot.Store[state], error) {
		s, err := snapshot.Assign[state](slots)
		return forgetful{s}, err
	}
	return g
}

type forgetful struct{ snapshot.Store[state] }

func (f forgetful) Load(slot int, into *state) error {
	count := into.Count
	err := f.Store.Load(slot, into)
	if into.Held[cursed] != 0 {
		into.Count = count
	}
	return err
}

// timeless is a summary without what a clock on the wall has to do with.
func timeless(s soak.Summary) soak.Summary {
	s.Wall, s.All.Playing, s.TwoPeers.Playing, s.Parallel = 0, 0, 0, 0
	return s
}

func TestWhatComesOutDoesNotDependOnTheNumberOfCores(t *testing.T) {
	o := soak.Options{First: 40, Count: 6, Parallel: 1}
	one, err := soak.Run(t.Context(), simtest.Witness(), o)
	require.NoError(t, err)
	o.Parallel = 5
	five, err := soak.Run(t.Context(), simtest.Witness(), o)
	require.NoError(t, err)
	require.Equal(t, timeless(one), timeless(five))
	require.Equal(t, soak.RangeDone, one.Ended)
	require.Equal(t, 5, five.Parallel)

	// And it is what a plain loop over the seeds comes to.
	var want soak.Summary
	traces := map[uint64]bool{}
	for seed := o.First; seed < o.First+o.Count; seed++ {
		r, err := simtest.Check(simtest.Witness(), seed)
		require.NoError(t, err)
		traces[r.Trace] = true
		want.All.Simulated += r.Simulated
		want.Events += uint64(r.Events)
		want.Rollbacks += r.Rollbacks
		want.Stalls += r.Stalls
		want.Deepest = max(want.Deepest, r.Deepest)
		for _, f := range r.Faults {
			want.Failed += uint64(f.Happened) // put by here
		}
		if len(simtest.Generate(seed).Peers) == 2 {
			want.TwoPeers.Matches++
			want.TwoPeers.Simulated += r.Simulated
		}
	}
	require.EqualValues(t, 6, one.Matches)
	require.EqualValues(t, 6, one.All.Matches)
	require.EqualValues(t, len(traces), one.Traces)
	require.EqualValues(t, 6, one.Compared)
	require.Equal(t, want.All.Simulated, one.All.Simulated)
	require.Equal(t, want.TwoPeers.Matches, one.TwoPeers.Matches)
	require.Equal(t, want.TwoPeers.Simulated, one.TwoPeers.Simulated)
	require.Equal(t, want.Events, one.Events)
	require.Equal(t, want.Rollbacks, one.Rollbacks)
	require.Equal(t, want.Stalls, one.Stalls)
	require.Equal(t, want.Deepest, one.Deepest)
	happened := uint64(0)
	for _, f := range one.Faults {
		happened += uint64(f.Happened)
	}
	require.Equal(t, want.Failed, happened)
	require.Positive(t, one.Rollbacks)
	require.Less(t, one.TwoPeers.Playing, one.All.Playing)
	require.Positive(t, one.All.PerMinute(1))
}

func TestARunStopsAtTheLowestSeedThatFails(t *testing.T) {
	var failing []uint64
	for seed := range uint64(10) {
		r, err := simtest.Play(broken(), simtest.Generate(seed))
		require.NoError(t, err)
		if r.Violation != nil {
			failing = append(failing, seed)
		}
	}
	require.Greater(t, len(failing), 1)
	require.Less(t, len(failing), 9)

	o := soak.Options{Count: 10, Once: true, Shrink: soak.None, Dir: t.TempDir()}
	for _, o.Parallel = range []int{1, 2, 7} {
		s, err := soak.Run(t.Context(), broken(), o)
		require.NoError(t, err)
		require.Equal(t, soak.Failed, s.Ended)
		require.Len(t, s.Failures, 1)
		require.Equal(t, failing[0], s.Failures[0].Seed)
		require.Equal(t, failing[0]+1, s.Matches, "no seed above it is counted")
	}

	o.KeepGoing = true
	for _, o.Parallel = range []int{1, 4} {
		s, err := soak.Run(t.Context(), broken(), o)
		require.NoError(t, err)
		require.Equal(t, soak.RangeDone, s.Ended)
		require.EqualValues(t, 10, s.Matches)
		require.EqualValues(t, len(failing), s.Failed)
		var seeds []uint64
		for _, f := range s.Failures {
			seeds = append(seeds, f.Seed)
		}
		require.Equal(t, failing, seeds)
	}
}

func TestAFailureHasFilesThatBreakTheSameRule(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	s, err := soak.Run(t.Context(), broken(), soak.Options{Count: 20, Dir: dir, Shrink: 60})
	require.NoError(t, err)
	require.Len(t, s.Failures, 1)
	f := &s.Failures[0]
	require.Equal(t, simtest.RuleState, f.Violation.Rule)
	require.True(t, f.Violation.Different)
	require.NotEmpty(t, f.Commit)
	require.Equal(t, f.Violation, f.Err())

	parse := func(name string) simtest.Scenario {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		s, err := simtest.Parse(b)
		require.NoError(t, err)
		return s
	}
	require.Equal(t, simtest.Generate(f.Seed), parse(f.Whole))
	whole, err := soak.Check(t.Context(), broken(), parse(f.Whole))
	require.NoError(t, err)
	require.Equal(t, f.Violation, whole.Violation, "the same event, tick and field")
	require.Equal(t, f.Trace, whole.Trace)
	require.Equal(t, string(f.Small.JSON()), string(parse(f.File()).JSON()))
	require.Equal(t, f.Shrunk, f.File())
	require.Less(t, f.Small.Ticks, simtest.Generate(f.Seed).Ticks)
	small, err := soak.Check(t.Context(), broken(), *f.Small)
	require.NoError(t, err)
	require.Equal(t, f.Less, small.Violation)

	// Control: the sound game breaks nothing in it.
	sound, err := soak.Check(t.Context(), simtest.Witness(), *f.Small)
	require.NoError(t, err)
	require.Nil(t, sound.Violation)
}

func TestWhatDependsOnMoreThanTheSeedIsFoundByPlayingTwice(t *testing.T) {
	g := simtest.Witness()
	var guesses atomic.Uint64
	g.Predict = func(input, int) input { return input{Buttons: uint16(guesses.Add(7))} }
	o := soak.Options{Count: 5, Dir: t.TempDir(), Shrink: 1}
	s, err := soak.Run(t.Context(), g, o)
	require.NoError(t, err)
	require.EqualValues(t, 1, s.Failed)
	require.Equal(t, simtest.RuleReplay, s.Failures[0].Violation.Rule)
	require.True(t, s.Twice)

	o.Once = true
	s, err = soak.Run(t.Context(), g, o)
	require.NoError(t, err)
	require.Zero(t, s.Failed)
	require.False(t, s.Twice)
}

func TestARunThatIsInterruptedSaysWhatItHasDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := soak.Run(ctx, simtest.Witness(), soak.Options{
		Count: 1 << 40, Parallel: 3, Every: time.Millisecond,
		Progress: func(p soak.Progress) {
			if p.Done >= 5 {
				cancel()
			}
		},
	})
	require.NoError(t, err)
	require.Equal(t, soak.Interrupted, s.Ended)
	require.GreaterOrEqual(t, s.Matches, uint64(5))
	require.Less(t, s.Matches, uint64(1000))
	require.Equal(t, s.Matches, s.Traces)

	// What was found by then is kept, and not shrunk.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	s, err = soak.Run(ctx, broken(), soak.Options{
		Count: 1 << 40, KeepGoing: true, Dir: t.TempDir(), Every: time.Millisecond,
		Progress: func(p soak.Progress) {
			if p.Failed > 0 {
				cancel()
			}
		},
	})
	require.NoError(t, err)
	require.Equal(t, soak.Interrupted, s.Ended)
	require.Less(t, s.Matches, uint64(1000))
	require.NotEmpty(t, s.Failures)
	for _, f := range s.Failures {
		require.FileExists(t, f.Whole)
		require.Equal(t, "the run was interrupted", f.Why)
	}
}

func TestReplayingAndShrinkingStopInTheMiddle(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := broken()
	press, calls := g.Input, 0
	g.Input = func(r *rng.PCG, p driftback.Participant, tick driftback.Tick) input {
		if calls++; calls == 100 {
			cancel()
		}
		return press(r, p, tick)
	}
	long := simtest.Generate(1)
	long.Ticks = simtest.MaxTicks
	_, err := soak.Check(ctx, g, long)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, calls, 10_000_000)
	_, _, err = soak.Shrink(ctx, g, simtest.Generate(1), 1000)
	require.ErrorIs(t, err, context.Canceled)
}

func TestATimeBoundsARunWithoutEnd(t *testing.T) {
	var told []soak.Progress
	s, err := soak.Run(t.Context(), simtest.Witness(), soak.Options{
		First: 7, Budget: 200 * time.Millisecond, Every: 20 * time.Millisecond,
		Progress: func(p soak.Progress) { told = append(told, p) },
	})
	require.NoError(t, err)
	require.Equal(t, soak.TimeUp, s.Ended)
	require.Zero(t, s.Asked)
	require.GreaterOrEqual(t, s.Wall, 200*time.Millisecond)
	require.Greater(t, len(told), 2)
	require.Zero(t, told[0].Done)
	last := told[len(told)-1]
	require.True(t, last.Over)
	require.Equal(t, s.Matches, last.Done)
	require.Equal(t, s.All.Simulated, last.Simulated)
}

func TestAPanicIsAFailureWithItsSeed(t *testing.T) {
	g := simtest.Witness()
	press := g.Input
	g.Input = func(r *rng.PCG, p driftback.Participant, tick driftback.Tick) input {
		if tick == 120 {
			panic("at last")
		}
		return press(r, p, tick)
	}
	s, err := soak.Run(t.Context(), g, soak.Options{First: 3, Count: 4, Dir: t.TempDir()})
	require.NoError(t, err)
	require.EqualValues(t, 1, s.Failed)
	f := &s.Failures[0]
	require.EqualValues(t, 3, f.Seed)
	require.Nil(t, f.Violation)
	require.EqualError(t, f.Err(), "soak: the match panicked: at last")
	require.Contains(t, f.Panic.Stack, "soak_test.go")
	require.Empty(t, f.Shrunk)
	require.Equal(t, f.Whole, f.File())
	require.Equal(t, "a panic is not shrunk", f.Why)
}

func TestWhatCannotBePlayedIsRefusedInASentence(t *testing.T) {
	_, err := soak.Run(t.Context(), game{}, soak.Options{First: 9, Count: 3})
	require.EqualError(t, err, "soak: seed 9: simtest: Game.Step is nil: it must be the game's step function")
	for says, o := range map[string]soak.Options{
		"soak: 2 seeds from 18446744073709551614 on: there is none above 18446744073709551615": {First: math.MaxUint64 - 1, Count: 2},
		"soak: Budget is -1s: it must not be negative":                                         {Budget: -time.Second},
		"soak: Parallel is -1: from 1 to 1024 are allowed, or 0 for all cores":                 {Parallel: -1},
		"soak: Shrink is -2 plays: it must not be negative, or -1 for none":                    {Shrink: -2},
		"soak: Every is -1s: it must not be negative":                                          {Every: -time.Second},
	} {
		_, err := soak.Run(t.Context(), simtest.Witness(), o)
		require.EqualError(t, err, says)
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	s, err := soak.Run(t.Context(), broken(), soak.Options{Count: 20, Dir: file, Shrink: soak.None})
	require.ErrorContains(t, err, "cannot be kept")
	require.EqualValues(t, 1, s.Failed, "what was found is not lost")
}

func TestHowLongARunWillGoOn(t *testing.T) {
	_, known := soak.Progress{Asked: 10}.Left()
	require.False(t, known)
	left, known := soak.Progress{Asked: 10, Done: 4, Wall: 4 * time.Second}.Left()
	require.True(t, known)
	require.Equal(t, 6*time.Second, left)
	left, _ = soak.Progress{Asked: 10, Done: 4, Wall: 4 * time.Second, Budget: 5 * time.Second}.Left()
	require.Equal(t, time.Second, left)
	require.Equal(t, 2*time.Hour, soak.Speed{Simulated: time.Hour, Playing: time.Minute}.PerMinute(2))
	require.Zero(t, soak.Speed{}.PerMinute(2))
}
