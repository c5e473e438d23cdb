package rewind_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/rewind"
)

// newSpaced returns a loop for two that can go back nine ticks, and puts away as few snapshots as it can.
func newSpaced(t *testing.T, spacing int, wanted func(driftback.Tick) bool) (*loop, *inputlog.Log[uint16]) {
	t.Helper()
	log, err := inputlog.New(inputlog.Config[uint16]{Participants: 2, Depth: 64})
	require.NoError(t, err)
	l, err := rewind.New(rewind.Config[world, uint16]{Step: step, Inputs: log, Depth: 10, Spacing: spacing, Wanted: wanted})
	require.NoError(t, err)
	return l, log
}

// playLate plays n ticks in which participant 1's input comes so late, and is another one each time or never.
func playLate(t *testing.T, l *loop, log *inputlog.Log[uint16], n int, late driftback.Tick, another bool) {
	t.Helper()
	for range n {
		tick := l.Next()
		require.NoError(t, l.Supply(0, tick, uint16(tick)))
		if from := tick - late; from >= 0 {
			in := uint16(0)
			if another {
				in = uint16(from + 1)
			}
			require.NoError(t, l.Supply(1, from, in))
		}
		_, err := l.Advance()
		require.NoError(t, err)
		log.Forget(l.Oldest())
	}
}

func TestWhereEveryGuessIsWrongOneSnapshotATickIsEnough(t *testing.T) {
	l, log := newSpaced(t, 10, nil)
	playLate(t, l, log, 40, 8, true)
	before := l.Counts()
	playLate(t, l, log, 100, 8, true)
	after := l.Counts()
	require.Equal(t, uint64(800), after.Resimulated-before.Resimulated, "the control: every tick goes back by eight")
	require.Equal(t, uint64(100), after.Saves-before.Saves)
	require.Equal(t, uint64(100), after.Loads-before.Loads)
	require.Equal(t, before.Approached, after.Approached, "and no tick more is run than had to be")
}

func TestWhereEveryGuessIsRightASnapshotInSoManyTicksIsEnough(t *testing.T) {
	for _, spacing := range []int{1, 2, 5, 10} {
		l, log := newSpaced(t, spacing, nil)
		playLate(t, l, log, 40, 4, false)
		before := l.Counts()
		playLate(t, l, log, 100, 4, false)
		after := l.Counts()
		require.Zero(t, after.Rollbacks, "the control")
		require.Equal(t, uint64(100/spacing), after.Saves-before.Saves)
		require.LessOrEqual(t, l.Next()-l.Oldest(), driftback.Tick(9+spacing), "the log can forget what is older")
		require.NoError(t, l.Supply(1, l.Next()-4, 7))
		again, err := l.Settle()
		require.NoError(t, err)
		require.Equal(t, 4, again.Len(), "what was right is not said to have been run again")
		require.Less(t, l.Counts().Approached, uint64(spacing))
	}
}

func TestATickThatIsWantedHasASnapshot(t *testing.T) {
	wanted := func(tick driftback.Tick) bool { return tick%8 == 3 }
	l, log := newSpaced(t, 10, wanted)
	playLate(t, l, log, 30, 6, true) // which runs the wanted ticks again
	before := l.Counts()
	w := snapshotOf(t, l, 27)
	require.Equal(t, uint64(27), w.Tick)
	require.Equal(t, before.Steps, l.Counts().Steps)
	require.Equal(t, before.Loads+1, l.Counts().Loads)
	snapshotOf(t, l, 28)
	require.Greater(t, l.Counts().Steps, before.Steps, "the control: another has to be run to")
}

func TestTheSpacingChangesWhileALoopRuns(t *testing.T) {
	l, log := newSpaced(t, 5, nil)
	for _, spacing := range []int{0, 6, -1} {
		require.Error(t, l.Space(spacing))
	}
	playLate(t, l, log, 40, 4, false)
	for _, spacing := range []int{1, 5, 2} {
		require.NoError(t, l.Space(spacing))
		playLate(t, l, log, 10, 4, false)
		before := l.Counts()
		playLate(t, l, log, 100, 4, false)
		require.Equal(t, uint64(100/spacing), l.Counts().Saves-before.Saves)
	}
}

func TestASpacingBeyondTheDepthIsRefused(t *testing.T) {
	log, err := inputlog.New(inputlog.Config[uint16]{Participants: 2, Depth: 64})
	require.NoError(t, err)
	for _, spacing := range []int{-1, 11} {
		_, err = rewind.New(rewind.Config[world, uint16]{Step: step, Inputs: log, Depth: 10, Spacing: spacing})
		require.ErrorContains(t, err, "Spacing")
	}
}

// An owner that lets the log forget too much is told, and nothing is run on inputs that were not.
func TestATickThatTheLogHasForgottenIsNotRunAgain(t *testing.T) {
	l, log := newSpaced(t, 10, nil)
	playLate(t, l, log, 40, 1, false)
	had := *l.State()
	require.Less(t, l.Oldest(), l.Next()-2)
	log.Forget(l.Next() - 1)
	var w world
	err := l.Snapshot(l.Next()-1, &w)
	require.ErrorIs(t, err, rewind.ErrOutOfReach)
	require.ErrorContains(t, err, "has forgotten tick")
	require.Equal(t, had, *l.State(), "the present is back")
}

func TestAWarmLoopThatPutsLittleAwayDoesNotAllocate(t *testing.T) {
	l, log := newSpaced(t, 10, nil)
	playLate(t, l, log, 64, 8, true)
	var w world
	require.Zero(t, testing.AllocsPerRun(100, func() {
		playLate(t, l, log, 1, 8, true)
		if err := l.Snapshot(l.Next()-3, &w); err != nil {
			t.Fatal(err)
		}
		if err := l.Lend(l.Next()-2, func(*world) {}); err != nil {
			t.Fatal(err)
		}
	}))
}
