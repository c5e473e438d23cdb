package rewind_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/snapshot"
)

// timed is a loop whose copies and steps take what they are said to, by a clock of its own.
type timed struct {
	*loop
	log        *inputlog.Log[uint16]
	now        time.Duration
	copy, step time.Duration
}

func newTimed(t *testing.T, copying, stepping time.Duration) *timed {
	t.Helper()
	l := &timed{copy: copying, step: stepping}
	var err error
	l.log, err = inputlog.New(inputlog.Config[uint16]{Participants: 2, Depth: 64})
	require.NoError(t, err)
	slow := wrapped(func(s *faultyStore, i int, w *world) error {
		l.now += l.copy
		return s.Store.Save(i, w)
	}, nil)
	l.loop, err = rewind.New(rewind.Config[world, uint16]{
		Step: func(w *world, in []uint16, pass *driftback.Pass) {
			l.now += l.step
			step(w, in, pass)
		},
		Inputs: l.log, Depth: 10, Spacing: 10, Save: slow(snapshot.Assign[world]), Clock: func() time.Duration { return l.now },
	})
	require.NoError(t, err)
	return l
}

func TestTheSpacingFollowsWhatCopiesAndStepsTake(t *testing.T) {
	for _, c := range []struct {
		name       string
		copy, step time.Duration
		late       driftback.Tick
		wrong      bool
		spacing    []int // one of them
	}{
		{name: "copies are dear and every guess is wrong", copy: 1000, step: 10, late: 8, wrong: true, spacing: []int{8, 9, 10}},
		{name: "steps are dear and guesses are wrong", copy: 10, step: 10_000, late: 2, wrong: true, spacing: []int{1}},
		{name: "no guess is wrong", copy: 10, step: 10_000, late: 4, spacing: []int{10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newTimed(t, c.copy, c.step)
			require.Equal(t, 10, l.Spacing(), "at first it is not known")
			playLate(t, l.loop, l.log, 1000, c.late, c.wrong)
			save, step := l.Costs()
			require.Equal(t, c.copy, save)
			require.Equal(t, c.step, step)
			require.Contains(t, c.spacing, l.Spacing())
			before, rest := l.now, l.Counts()
			playLate(t, l.loop, l.log, 1000, c.late, c.wrong)
			took := l.now - before
			now := l.Counts()
			require.Equal(t, time.Duration(now.Saves-rest.Saves)*c.copy+time.Duration(now.Steps-rest.Steps)*c.step, took)

			// Whatever else it might have been it would not have been much better.
			for _, spacing := range []int{1, 2, 5, 10} {
				fixed, log := newSpaced(t, spacing, nil)
				playLate(t, fixed, log, 1000, c.late, c.wrong)
				rest := fixed.Counts()
				playLate(t, fixed, log, 1000, c.late, c.wrong)
				now := fixed.Counts()
				require.LessOrEqual(t, took, (time.Duration(now.Saves-rest.Saves)*c.copy+time.Duration(now.Steps-rest.Steps)*c.step)*11/10, spacing)
			}
		})
	}
}

func TestWhatHoldsTheMachineUpOnceDoesNotMoveTheSpacing(t *testing.T) {
	l := newTimed(t, 1000, 10)
	playLate(t, l.loop, l.log, 500, 8, true)
	was := l.Spacing()
	l.step = time.Second
	for l.Next()%16 != 0 {
		playLate(t, l.loop, l.log, 1, 8, true)
	}
	playLate(t, l.loop, l.log, 1, 8, true)
	l.step = 10
	_, step := l.Costs()
	require.Less(t, step, 20*time.Nanosecond)
	require.Greater(t, step, 10*time.Nanosecond, "the control: it has been measured")
	playLate(t, l.loop, l.log, 300, 8, true)
	require.Equal(t, was, l.Spacing())
}
